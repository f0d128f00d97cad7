import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { errorCode } from "../mail/disk.ts";

/**
 * Opaque tokens of when processes started, by pid; a pid that has none is left out (S3.2). Two
 * processes that had the same pid at different times have different tokens. One `ps` serves all
 * pids on macOS; on a platform with no such thing the result is empty.
 */
export function startTokens(pids: readonly number[]): Map<number, string> {
  if (process.platform === "linux") return fromProc(pids);
  if (process.platform === "darwin") return fromPs(pids);
  return new Map();
}

/**
 * Whether the process that had this start token is still there. Without a token, the pid alone
 * decides (S3.2). A process that has ended and was not yet collected by its parent is gone.
 */
export function isRunning(
  pid: number,
  started: string,
  tokens: ReadonlyMap<number, string>,
): boolean {
  const token = tokens.get(pid);
  if (token === GONE) return false;
  if (token !== undefined && started !== "") return token === started;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errorCode(error) === "EPERM";
  }
}

const GONE = "gone";

/** How long `ps` may take, in ms; without its listing, the pids alone decide. */
const PS_TIMEOUT = 2000;

/** Where fields stand in /proc/<pid>/stat, counted from behind the command. */
const STATE = 0;
const START_TIME = 19;

function fromProc(pids: readonly number[]): Map<number, string> {
  const boot = readText("/proc/sys/kernel/random/boot_id")?.trim();
  const tokens = new Map<number, string>();
  if (boot === undefined) return tokens;
  for (const pid of pids) {
    const stat = readText(`/proc/${pid}/stat`) ?? "";
    // The command's name may hold blanks and brackets; the last bracket closes it.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const start = fields[START_TIME];
    if (start === undefined) tokens.set(pid, GONE);
    else tokens.set(pid, /[ZXx]/.test(fields[STATE] ?? "") ? GONE : `${boot}-${start}`);
  }
  return tokens;
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}

function fromPs(pids: readonly number[]): Map<number, string> {
  const tokens = new Map<number, string>();
  if (pids.length === 0) return tokens;
  const listing = runPs(pids);
  if (listing === undefined) return tokens;
  for (const pid of pids) tokens.set(pid, GONE);
  for (const line of listing.split("\n")) {
    const [, pid, state, start] = /^\s*(\d+)\s+(\S+)\s+(.+?)\s*$/.exec(line) ?? [];
    if (pid !== undefined && state !== undefined && start !== undefined) {
      tokens.set(Number(pid), state.startsWith("Z") ? GONE : start);
    }
  }
  return tokens;
}

/** What `ps` lists for these pids; it exits with 1, and lists the rest, when one of them is gone. */
function runPs(pids: readonly number[]): string | undefined {
  const options = ["-o", "pid=,state=,lstart=", "-p", pids.join(",")];
  try {
    return execFileSync("/bin/ps", options, {
      encoding: "utf8",
      env: { TZ: "UTC", LC_ALL: "C" },
      stdio: ["ignore", "pipe", "ignore"],
      timeout: PS_TIMEOUT,
    });
  } catch (error) {
    return error instanceof Error && "stdout" in error && typeof error.stdout === "string"
      ? error.stdout
      : undefined;
  }
}
