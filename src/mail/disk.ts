import { randomUUID } from "node:crypto";
import {
  closeSync,
  constants,
  fdatasyncSync,
  fstatSync,
  fsyncSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { errorCode, whenThere } from "./errors.ts";

/** Thrown when a file is there but is not one that may be read; the message says why. */
export class UnreadableFile extends Error {
  override name = "UnreadableFile";
}

/** Whether anything of that name is there; links are not followed. */
export function isThere(path: string): boolean {
  return whenThere(() => lstatSync(path, { throwIfNoEntry: false }) !== undefined, false);
}

/**
 * The text of a regular file of at most `maxBytes`. Neither a link nor a FIFO, socket or device
 * is followed, opened for long or waited on (S2.7), and a larger file is not read at all (S2.6).
 *
 * @param isListed whether a listing of its folder has just said that it is a regular file.
 * @throws UnreadableFile for those, and for bytes that are not UTF-8; the system's error otherwise.
 */
export function readRegularFile(path: string, maxBytes: number, isListed = false): string {
  if (!isListed && !lstatSync(path).isFile()) throw new UnreadableFile("it is not a regular file");
  // On Windows, where the two are not defined, they count as 0.
  const file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const found = fstatSync(file);
    if (!found.isFile()) throw new UnreadableFile("it is not a regular file");
    if (found.size > maxBytes) {
      throw new UnreadableFile(`it is larger than ${String(maxBytes / 1024)} KiB`);
    }
    return decodeUtf8(readWhole(file, found.size));
  } finally {
    closeSync(file);
  }
}

/** Most files are small: they are read in one go, and into memory that is there already. */
const SMALL = Buffer.allocUnsafe(64 * 1024);

function readWhole(file: number, size: number): Uint8Array {
  if (size >= SMALL.length) return readFileSync(file);
  // One byte more than it should have: a file that has grown meanwhile is read the other way.
  const length = readSync(file, SMALL, 0, size + 1, 0);
  return length === size ? SMALL.subarray(0, length) : readFileSync(file);
}

const UTF8 = new TextDecoder("utf-8", { fatal: true });

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return UTF8.decode(bytes);
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
    try {
      writeFileSync(file, text);
      if (durable) fsyncSync(file);
    } finally {
      closeSync(file);
    }
  } catch (error) {
    removeQuietly(path);
    throw error;
  }
}

/** Tells this version of a file from any other, without reading it; `undefined` where there is none. */
export function versionOf(path: string): string | undefined {
  const found = lstatSync(path, { throwIfNoEntry: false });
  return found && `${String(found.ino)} ${String(found.mtimeMs)} ${String(found.size)}`;
}

/**
 * Replaces a file whole: a reader sees the old text or the new, never a part (S3.1). With
 * `durable` the new text survives a power cut once this returns (S1.6).
 *
 * @returns the version that was written.
 */
export function replaceFile(path: string, text: string, durable: boolean): string | undefined {
  const temporary = join(dirname(path), `.${basename(path)}.${randomUUID()}`);
  writeNewFile(temporary, text, durable);
  try {
    // Before it has its name: behind that it could be another's already.
    const version = versionOf(temporary);
    renameSync(temporary, path);
    if (durable) flushFolder(dirname(path));
    return version;
  } catch (error) {
    removeQuietly(temporary);
    throw error;
  }
}

/**
 * Removes a file or link if it is still this version, and not one that another process has put in
 * its place.
 *
 * @throws the system's error, but not where there is no such file.
 */
export function removeVersion(path: string, version: string): void {
  if (lstatSync(path, { throwIfNoEntry: false })?.isDirectory() !== false) return;
  const aside = join(dirname(path), `.${basename(path)}.${randomUUID()}`);
  // What is at a name may change until the moment it is removed; what was moved aside stays.
  if (!whenThere(() => (renameSync(path, aside), true), false)) return;
  if (versionOf(aside) !== version) linkFile(aside, path);
  removeQuietly(aside);
}

/**
 * Adds text to the end of a file that is there and holds less than `maxBytes`. With `durable` it
 * survives a power cut once this returns (S1.6). After an error a part of it may stand there.
 *
 * @returns whether it was added.
 * @throws the system's error, but not where there is no such file.
 */
export function appendToFile(
  path: string,
  text: string,
  { durable, maxBytes }: { durable: boolean; maxBytes: number },
): boolean {
  return whenThere(() => {
    const file = openSync(path, constants.O_WRONLY | constants.O_APPEND | constants.O_NOFOLLOW);
    try {
      if (fstatSync(file).size >= maxBytes) return false;
      writeFileSync(file, text);
      if (durable) fdatasyncSync(file);
      return true;
    } finally {
      closeSync(file);
    }
  }, false);
}

/**
 * Makes a file whole unless there is one: of several that try, one succeeds.
 *
 * @returns the version that was written, or `undefined` where there is one.
 */
export function createFile(path: string, text: string): string | undefined {
  const temporary = join(dirname(path), `.${basename(path)}.${randomUUID()}`);
  writeNewFile(temporary, text, false);
  try {
    const version = versionOf(temporary);
    linkSync(temporary, path);
    return version;
  } catch (error) {
    if (errorCode(error) === "EEXIST") return undefined;
    // A file system without links, or one that cannot be written, which this will tell.
    return makeInPlace(path, text);
  } finally {
    removeQuietly(temporary);
  }
}

/** Gives a file a second name, which costs less than to write it again; whether that can be done. */
export function linkFile(path: string, name: string): boolean {
  try {
    linkSync(path, name);
    return true;
  } catch {
    // Where it is not for want of links, writing the file will say why.
    return false;
  }
}

function makeInPlace(path: string, text: string): string | undefined {
  try {
    writeNewFile(path, text, false);
    return versionOf(path);
  } catch (error) {
    if (errorCode(error) === "EEXIST") return undefined;
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

/** The codes of a file system that cannot flush a folder, and of Windows, which need not. */
const NO_FOLDER_FLUSH: readonly unknown[] = [
  "EINVAL",
  "ENOTSUP",
  "EOPNOTSUPP",
  "ENOSYS",
  "EBADF",
  "EISDIR",
];

/** Makes the names in a folder survive a power cut, where the file system can do that (S1.6). */
export function flushFolder(path: string): void {
  if (process.platform === "win32") return;
  const folder = openSync(path, constants.O_RDONLY);
  try {
    fsyncSync(folder);
  } catch (error) {
    if (!NO_FOLDER_FLUSH.includes(errorCode(error))) throw error;
  } finally {
    closeSync(folder);
  }
}

/**
 * Makes folders and those above them where they are missing, `0700`. With `durable`, each folder in
 * which one was made is flushed once (S1.6).
 */
export function makeFolders(paths: readonly string[], durable: boolean): void {
  const changed = new Set<string>();
  for (const path of paths) {
    const first = mkdirSync(path, { recursive: true, mode: 0o700 });
    if (first === undefined) continue;
    for (let made = path; ; made = dirname(made)) {
      changed.add(dirname(made));
      if (made === first || made === dirname(made)) break;
    }
  }
  if (durable) for (const folder of changed) flushFolder(folder);
}

/** Removes a file where it can; for cleaning up after another error, which is the one to report. */
export function removeQuietly(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // The error that led here says what is wrong.
  }
}
