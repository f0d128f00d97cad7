/** The system's code for an error (`ENOENT`, `ENOSPC`, …), or `undefined` when it has none. */
export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string"
    ? error.code
    : undefined;
}

/** What there is to do about an error of the system that is not this package's to mend. */
const REMEDIES: Readonly<Record<string, string>> = {
  EACCES: "check the permissions of that path",
  EDQUOT: "make room: the quota is used up",
  EIO: "check the disk",
  EMFILE: "close some programs or raise `ulimit -n`",
  ENFILE: "close some programs",
  ENOSPC: "make room on the disk",
  EPERM: "check the permissions of that path",
  EROFS: "mount it for writing or set XDG_STATE_HOME to another folder",
};

/** What went wrong, in the words of whoever threw it, and what can be done about it where known. */
export function errorText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const remedy = REMEDIES[errorCode(error) ?? ""];
  return remedy === undefined ? error.message : `${error.message}; ${remedy}`;
}

/** The codes of a path that leads nowhere, or that no file can have; of a process that ends, too. */
export const NOT_THERE: readonly unknown[] = [
  "ENOENT",
  "ENOTDIR",
  "ELOOP",
  "ESRCH",
  "ENAMETOOLONG",
  "ERR_INVALID_ARG_VALUE",
];

/** Runs `read` and gives `fallback` instead when what it looks for is not there. */
export function whenThere<T>(read: () => T, fallback: T): T {
  try {
    return read();
  } catch (error) {
    if (NOT_THERE.includes(errorCode(error))) return fallback;
    throw error;
  }
}
