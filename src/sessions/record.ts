import { readdirSync } from "node:fs";
import { join } from "node:path";
import { Type, type Static } from "typebox";
import { isAddress } from "../mail/address.ts";
import {
  createFile,
  versionOf,
  readRegularFile,
  removeVersion,
  replaceFile,
  UnreadableFile,
} from "../mail/disk.ts";
import { errorCode, NOT_THERE, whenThere } from "../mail/errors.ts";
import { makeRunningFolder, runningFolder } from "../mail/root.ts";
import { checkOf } from "../schema.ts";
import { cleanValue, cutToBytes } from "../text.ts";
import { findProcesses, isRunning } from "./process.ts";

const MAX_RECORD_BYTES = 64 * 1024;

const MAX_NAME_BYTES = 1024;

const MAX_PATH_BYTES = 4096;

const RecordSchema = Type.Object({
  address: Type.String(),
  name: Type.Optional(Type.String()),
  cwd: Type.String(),
  pid: Type.Integer({ minimum: 1 }),
  /** Opaque token of the process's start time; empty where the platform has none (S3.2). */
  started: Type.String(),
  state: Type.Union([Type.Literal("idle"), Type.Literal("busy")]),
  /** The address whose answer the session waits for, or empty. */
  waitingOn: Type.String(),
  updated: Type.String(),
});

const isRecord = checkOf(RecordSchema);

const UNSAID = { started: "", state: "idle", waitingOn: "", updated: "" };

/** One running session, as it tells the others (S3.1). The field names are a contract. */
export type SessionRecord = Static<typeof RecordSchema>;

/** The record of a session whose process is there. */
export interface RunningSession extends SessionRecord {
  /** Its process was stopped by a signal (S3.5). */
  readonly stopped: boolean;
}

function recordPath(address: string): string {
  return join(runningFolder(), `${address}.json`);
}

/** The start token of this process, for its own records. */
export function ownStartToken(): string {
  return findProcesses([process.pid]).get(process.pid)?.token ?? "";
}

/** Writes a record, `0600`, through a temporary file and a rename, and returns its version. */
export function writeRecord(record: SessionRecord): string | undefined {
  makeRunningFolder();
  return replaceFile(recordPath(record.address), JSON.stringify(record), false);
}

/**
 * Writes the first record of a process for an address, unless another process that runs has one:
 * of two that try at the same moment, one succeeds (S3.4).
 *
 * @returns its version, or `undefined` when another process has one.
 * @throws an error when something is in the way that is no record, or the system's.
 */
export function takeRecord(record: SessionRecord): string | undefined {
  makeRunningFolder();
  const path = recordPath(record.address);
  for (let tries = 0; tries < 3; tries++) {
    const version = createFile(path, JSON.stringify(record));
    if (version !== undefined) return version;
    const there = versionOf(path);
    const found = runningRecord(record.address);
    if (found && found.pid !== record.pid) return undefined;
    // Of a process that is gone, or of this one from a session that it has closed; or no record.
    if (there !== undefined) removeVersion(path, there);
  }
  throw new Error(`${path} is in the way; remove it`);
}

/** The version of the record of an address as it is now; `undefined` when there is none. */
export function recordVersion(address: string): string | undefined {
  return versionOf(recordPath(address));
}

/**
 * Removes the record of an address if it is this version of it; one of another process stays (S3.3).
 *
 * @throws the system's error.
 */
export function removeRecord(address: string, version: string): void {
  removeVersion(recordPath(address), version);
}

/**
 * The record of an address while its process runs; that of one which is gone is deleted (S3.2).
 *
 * @throws the system's error when that cannot be told for now.
 */
export function runningRecord(address: string): RunningSession | undefined {
  return onlyRunning([readRecord(address)])[0];
}

/**
 * The record of an address as it is, and whether its process runs; nothing is deleted. `undefined`
 * where there is none.
 *
 * @throws the system's error when that cannot be told for now.
 */
export function recordAsIs(
  address: string,
):
  | { readonly record: SessionRecord; readonly runs: boolean; readonly stopped: boolean }
  | undefined {
  const record = readRecord(address);
  if (!record) return undefined;
  const processes = findProcesses([record.pid]);
  const runs = isRunning(record.pid, record.started, processes);
  return { record, runs, stopped: processes.get(record.pid)?.stopped ?? false };
}

/**
 * The records of all running sessions, in order of their addresses; others are deleted (S3.2).
 *
 * @param own the session's own, which is then not read.
 * @throws the system's error when they cannot be read for now.
 */
export function runningRecords(own?: RunningSession): RunningSession[] {
  const folder = runningFolder();
  const addresses = whenThere(() => readdirSync(folder, { withFileTypes: true }), [])
    .filter((found) => found.isFile() && found.name.endsWith(".json"))
    .map(({ name }) => name.slice(0, -".json".length))
    .filter(isAddress)
    .sort();
  const others = addresses.filter((address) => address !== own?.address);
  const running = onlyRunning(others.map((address) => readRecord(address, folder, true)));
  if (own === undefined || others.length === addresses.length) return running;
  return [...running, own].sort((one, other) => (one.address < other.address ? -1 : 1));
}

function onlyRunning(records: readonly (SessionRecord | undefined)[]): RunningSession[] {
  const found = records.filter((record) => record !== undefined);
  const processes = findProcesses(found.map(({ pid }) => pid));
  return found.flatMap((record) => {
    if (isRunning(record.pid, record.started, processes)) {
      return [{ ...record, stopped: processes.get(record.pid)?.stopped ?? false }];
    }
    removeDead(record);
    return [];
  });
}

/** Deletes the record of a process that is gone, unless another process has replaced it since. */
function removeDead(dead: SessionRecord): void {
  try {
    const version = recordVersion(dead.address);
    const now = readRecord(dead.address);
    if (version === undefined || now?.pid !== dead.pid || now.started !== dead.started) return;
    removeRecord(dead.address, version);
  } catch {
    // Whoever reads it next tries again.
  }
}

/**
 * What is written of an address; `undefined` where that is no record.
 *
 * @throws the system's error when there may be one that cannot be read for now: to take it for
 * none would give the address away.
 */
function readRecord(
  address: string,
  folder = runningFolder(),
  isListed = false,
): SessionRecord | undefined {
  try {
    const path = join(folder, `${address}.json`);
    const written: unknown = JSON.parse(readRegularFile(path, MAX_RECORD_BYTES, isListed));
    // A record may come from a copy that did not write all of it.
    const record: unknown = { ...UNSAID, ...(written as object) };
    return isRecord(record) && record.address === address ? bounded(record) : undefined;
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof UnreadableFile) return undefined;
    if (NOT_THERE.includes(errorCode(error)) || isForbidden(error)) return undefined;
    throw error;
  }
}

/** Whether a file is not this user's; Windows says so as well of one that is being replaced. */
function isForbidden(error: unknown): boolean {
  return process.platform !== "win32" && ["EACCES", "EPERM"].includes(errorCode(error) ?? "");
}

/** Names and folders stand in every mail and in the list: none may fill it, or be blank there. */
function bounded({ name = "", ...record }: SessionRecord): SessionRecord {
  return {
    ...record,
    ...(cleanValue(name) === "" ? {} : { name: cutToBytes(name, MAX_NAME_BYTES) }),
    cwd: cutToBytes(record.cwd, MAX_PATH_BYTES),
    waitingOn: cutToBytes(record.waitingOn, MAX_NAME_BYTES),
  };
}

/** A session whose record was not touched for this long does not respond (S3.5). */
const SILENT_AFTER = 90_000;

/**
 * What a running session does, in words for a list.
 *
 * @param now in ms since 1970.
 */
export function stateOf(
  { state, updated, stopped }: RunningSession,
  now: number,
): SessionRecord["state"] | "not responding" {
  return stopped || now - Date.parse(updated) > SILENT_AFTER ? "not responding" : state;
}
