import { randomUUID } from "node:crypto";
import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  linkSync,
  lstatSync,
  openSync,
  readFileSync,
  renameSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";

/** Thrown when a file is there but is not one that may be read; the message says why. */
export class UnreadableFile extends Error {
  override name = "UnreadableFile";
}

/** The system's code for an error (`ENOENT`, `ENOSPC`, …), or `undefined` when it has none. */
export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string"
    ? error.code
    : undefined;
}

/** What there is to do about an error of the system that is not this package's to mend. */
const REMEDIES: Readonly<Record<string, string>> = {
  EACCES: "give this user the right to write there",
  EDQUOT: "make room: the quota is used up",
  EIO: "check the disk",
  EMFILE: "close some programs or raise `ulimit -n`",
  ENFILE: "close some programs",
  ENOSPC: "make room on the disk",
  EPERM: "give this user the right to write there",
  EROFS: "mount it for writing or set XDG_STATE_HOME to another folder",
};

/** What went wrong, in the words of whoever threw it, and what can be done about it where known. */
export function errorText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const remedy = REMEDIES[errorCode(error) ?? ""];
  return remedy === undefined ? error.message : `${error.message} (${remedy})`;
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

/** Whether anything of that name is there; links are not followed. */
export function isThere(path: string): boolean {
  return whenThere(() => {
    lstatSync(path);
    return true;
  }, false);
}

/**
 * The text of a regular file of at most `maxBytes`. Neither a link nor a FIFO, socket or device
 * is followed, opened for long or waited on (S2.7), and a larger file is not read at all (S2.6).
 *
 * @throws UnreadableFile for those, and for bytes that are not UTF-8; the system's error otherwise.
 */
export function readRegularFile(path: string, maxBytes: number): string {
  if (!lstatSync(path).isFile()) throw new UnreadableFile("it is not a regular file");
  // On Windows, where the two are not defined, they count as 0.
  const file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const found = fstatSync(file);
    if (!found.isFile()) throw new UnreadableFile("it is not a regular file");
    if (found.size > maxBytes) {
      throw new UnreadableFile(`it is larger than ${String(maxBytes / 1024)} KiB`);
    }
    return decodeUtf8(readFileSync(file));
  } finally {
    closeSync(file);
  }
}

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new UnreadableFile("it is not UTF-8 text");
  }
}

/**
 * Writes a new file, `0600`, and flushes it to disk when `durable`. On failure nothing is left.
 *
 * @throws the system's error, `EEXIST` included.
 */
export function writeNewFile(path: string, text: string, durable: boolean): void {
  const file = openSync(path, "wx", 0o600);
  try {
    writeFileSync(file, text);
    if (durable) fsyncSync(file);
  } catch (error) {
    closeSync(file);
    removeQuietly(path);
    throw error;
  }
  closeSync(file);
}

/** Tells one writing of a file from any other, without reading it; `undefined` where there is none. */
export function markOf(path: string): string | undefined {
  const found = lstatSync(path, { throwIfNoEntry: false });
  return found && `${String(found.ino)} ${String(found.mtimeMs)} ${String(found.size)}`;
}

/**
 * Replaces a file whole: a reader sees the old text or the new, never a part (S3.1). With
 * `durable` the new text survives a power cut once this returns (S1.6).
 *
 * @returns the mark of what was written.
 */
export function replaceFile(path: string, text: string, durable: boolean): string | undefined {
  const temporary = join(dirname(path), `.${basename(path)}.${randomUUID()}`);
  writeNewFile(temporary, text, durable);
  try {
    // Before it has its name: behind that it could be another's already.
    const mark = markOf(temporary);
    renameSync(temporary, path);
    if (durable) flushFolder(dirname(path));
    return mark;
  } catch (error) {
    removeQuietly(temporary);
    throw error;
  }
}

/**
 * Makes a file whole unless there is one: of several that try, one succeeds.
 *
 * @returns the mark of what was written, or `undefined` where there is one.
 */
export function createFile(path: string, text: string): string | undefined {
  const temporary = join(dirname(path), `.${basename(path)}.${randomUUID()}`);
  writeNewFile(temporary, text, false);
  try {
    const mark = markOf(temporary);
    linkSync(temporary, path);
    return mark;
  } catch (error) {
    if (errorCode(error) === "EEXIST") return undefined;
    if (!NO_LINKS.includes(errorCode(error))) throw error;
    return makeInPlace(path, text);
  } finally {
    removeQuietly(temporary);
  }
}

/** The codes of a file system that has no hard links. */
const NO_LINKS: readonly unknown[] = ["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"];

function makeInPlace(path: string, text: string): string | undefined {
  try {
    writeNewFile(path, text, false);
    return markOf(path);
  } catch (error) {
    if (errorCode(error) === "EEXIST") return undefined;
    throw error;
  }
}

/**
 * Makes what a file holds survive a power cut. With `durable` (S1.6) that is done to all whose loss
 * would lose mail or an answer: a mail before it is renamed into `new/`, and that folder after; the
 * ledger and its folder; folders that had to be made; and the session file before the ledger strikes
 * what it holds. It is not done to the copies in `sent/`, which are for quoting; to the move of a
 * mail from `new/` to `cur/`, since the ledger names it and it is in one of the two; and to running
 * records, since after a power cut no session runs.
 */
export function flushFile(path: string): void {
  // Windows flushes only what may be written.
  const file = openSync(path, constants.O_RDWR);
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** Makes the names in a folder survive a power cut (S1.6); Windows has no such call and no need. */
export function flushFolder(path: string): void {
  if (process.platform === "win32") return;
  const folder = openSync(path, constants.O_RDONLY);
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

/** Removes a file where it can; for cleaning up after another error, which is the one to report. */
export function removeQuietly(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // The error that led here says what is wrong.
  }
}
