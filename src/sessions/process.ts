import { execFileSync } from "node:child_process";
import { closeSync, openSync, readFileSync, readSync } from "node:fs";
import { errorCode, whenThere } from "../mail/errors.ts";

/** What the system tells of the process that has a pid now. */
export interface Process {
  /** Opaque token of when it started; no two that ever had the same pid have the same (S3.2). */
  readonly token: string;
  /** It was stopped by a signal and does nothing until it is continued (S3.5). */
  readonly stopped: boolean;
}

/** By pid; `undefined` where there is no such process, and no entry where the system cannot tell. */
export type Processes = ReadonlyMap<number, Process | undefined>;

/**
 * The processes that have these pids now. One `ps` serves all pids on macOS; on a platform with
 * no such thing the result is empty.
 */
export function findProcesses(pids: readonly number[]): Processes {
  if (process.platform === "linux") return fromProc(pids);
  if (process.platform === "darwin") return fromPs(pids);
  return new Map();
}

/**
 * Whether the process that had this start token is still there. Without a token, the pid alone
 * decides (S3.2). A process that has ended and was not yet collected by its parent is gone.
 */
export function isRunning(pid: number, started: string, processes: Processes): boolean {
  if (processes.has(pid)) {
    const found = processes.get(pid);
    return found !== undefined && (started === "" || found.token === started);
  }
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errorCode(error) === "EPERM";
  }
}

/** How long `ps` may take, in ms; without its listing, the pids alone decide. */
const PS_TIMEOUT = 2000;

/** Where fields stand in /proc/<pid>/stat, counted from behind the command. */
const STATE = 0;
const START_TIME = 19;

function fromProc(pids: readonly number[]): Processes {
  const processes = new Map<number, Process | undefined>();
  try {
    const boot = bootId();
    for (const pid of pids) processes.set(pid, readStat(pid, boot));
  } catch {
    // Too many open files, or no /proc: of the rest nothing is known, least of all that it is gone.
  }
  return processes;
}

let ownBoot: string | undefined;

/** It stays as it is for as long as this process can run. */
function bootId(): string {
  return (ownBoot ??= readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim());
}

function readStat(pid: number, boot: string): Process | undefined {
  const stat = whenThere(() => readStatFile(`/proc/${String(pid)}/stat`), "");
  // The command's name may hold blanks and brackets; the last bracket closes it.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [state = "", start] = [fields[STATE], fields[START_TIME]];
  if (start === undefined || /[ZXx]/.test(state)) return undefined;
  return { token: `${boot}-${start}`, stopped: /[Tt]/.test(state) };
}

const STAT = Buffer.allocUnsafe(4096);

/** Such a file is some hundred bytes long and read in one go. */
function readStatFile(path: string): string {
  const file = openSync(path, "r");
  try {
    return STAT.toString("utf8", 0, readSync(file, STAT));
  } finally {
    closeSync(file);
  }
}

function fromPs(pids: readonly number[]): Processes {
  if (pids.length === 0) return new Map();
  // It fails as a whole on a pid that no system gives out.
  const possible = pids.filter((pid) => pid <= MAX_PID);
  return parsePs(runPs([process.pid, ...possible]), pids, process.pid);
}

/** The greatest pid of macOS. */
const MAX_PID = 99_998;

/**
 * What a listing of `ps -o pid=,state=,lstart=` says of these pids. One without `own`, which must be
 * in it, was cut off and says nothing.
 */
export function parsePs(listing: string, pids: readonly number[], own: number): Processes {
  const listed = new Map<number, Process>();
  for (const line of listing.split("\n")) {
    const [, pid, state, token] = /^\s*(\d+)\s+(\S+)\s+(.+?)\s*$/.exec(line) ?? [];
    if (pid !== undefined && state !== undefined && token !== undefined && !state.startsWith("Z")) {
      listed.set(Number(pid), { token, stopped: state.startsWith("T") });
    }
  }
  return listed.has(own) ? new Map(pids.map((pid) => [pid, listed.get(pid)])) : new Map();
}

/** What `ps` lists for these pids; it exits with 1, and lists the rest, when one of them is gone. */
function runPs(pids: readonly number[]): string {
  const options = ["-o", "pid=,state=,lstart=", "-p", pids.join(",")];
  try {
    return execFileSync("/bin/ps", options, {
      encoding: "utf8",
      env: { TZ: "UTC", LC_ALL: "C" },
      stdio: ["ignore", "pipe", "ignore"],
      timeout: PS_TIMEOUT,
    });
  } catch (error) {
    if (errorCode(error) === "ETIMEDOUT") return "";
    return error instanceof Error && "stdout" in error && typeof error.stdout === "string"
      ? error.stdout
      : "";
  }
}
