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

/**
 * Replaces a file whole: a reader sees the old text or the new, never a part (S3.1). With
 * `durable` the new text survives a power cut once this returns (S1.6).
 */
export function replaceFile(path: string, text: string, durable: boolean): void {
  const temporary = join(dirname(path), `.${basename(path)}.${randomUUID()}`);
  writeNewFile(temporary, text, durable);
  try {
    renameSync(temporary, path);
    if (durable) flushFolder(dirname(path));
  } catch (error) {
    removeQuietly(temporary);
    throw error;
  }
}

/**
 * Makes a file whole unless there is one: of several that try, one succeeds.
 *
 * @returns whether it was made.
 */
export function createFile(path: string, text: string): boolean {
  const temporary = join(dirname(path), `.${basename(path)}.${randomUUID()}`);
  writeNewFile(temporary, text, false);
  try {
    linkSync(temporary, path);
    return true;
  } catch (error) {
    if (errorCode(error) === "EEXIST") return false;
    if (!NO_LINKS.includes(errorCode(error))) throw error;
    return makeInPlace(path, text);
  } finally {
    removeQuietly(temporary);
  }
}

/** The codes of a file system that has no hard links. */
const NO_LINKS: readonly unknown[] = ["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"];

function makeInPlace(path: string, text: string): boolean {
  try {
    writeNewFile(path, text, false);
    return true;
  } catch (error) {
    if (errorCode(error) === "EEXIST") return false;
    throw error;
  }
}

/** Makes what a file holds survive a power cut (S1.6). */
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
