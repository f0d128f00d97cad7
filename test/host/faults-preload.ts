/**
 * Loaded into a Pi process before anything else: stands between it and the disk, and does at the
 * file operations that a plan names what power cuts, full disks and `kill -9` do. See `faults.ts`.
 */
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import type { Fault, FaultPlan } from "./faults.ts";

const planPath = process.env["FAULT_PLAN"] ?? "";
const real = { ...fs };

/** The paths of open files, by their descriptors. */
const open = new Map<number, string>();
let plan: FaultPlan = { root: "", trace: "", clock: 0, faults: [] };
let planText = "";
/** How often the faults of this plan have met their operation. */
let met = new Map<number, number>();

function refreshPlan(): void {
  const text = real.readFileSync(planPath, "utf8");
  if (text === planText) return;
  planText = text;
  plan = JSON.parse(text) as FaultPlan;
  met = new Map();
}

/** The path that an operation is about; of a rename or link, where it leads. */
function pathOf(call: string, args: readonly unknown[]): string {
  const named = call === "renameSync" || call === "linkSync" ? args[1] : args[0];
  return typeof named === "number" ? (open.get(named) ?? "") : String(named);
}

/** Whether an operation needs to change something on the disk. */
function writes(call: string, flags: unknown): boolean {
  if (call === "openSync") {
    const { O_WRONLY, O_RDWR } = real.constants;
    return typeof flags === "number"
      ? (flags & (O_WRONLY | O_RDWR)) !== 0
      : typeof flags === "string" && /[wax+]/.test(flags);
  }
  return !/^(lstat|stat|read|readdir|watch)/.test(call);
}

function pass(call: string, path: string, when: Fault["when"], flags: unknown): void {
  if (plan.trace !== "") {
    real.appendFileSync(plan.trace, `${when} ${call} ${path}\n`);
  }
  for (const [index, fault] of plan.faults.entries()) {
    if (fault.when !== when || !new RegExp(`^(${fault.call})$`).test(call)) continue;
    if (!new RegExp(fault.path).test(path)) continue;
    if (fault.only === "writing" && !writes(call, flags)) continue;
    const count = (met.get(index) ?? 0) + 1;
    met.set(index, count);
    if (fault.nth !== undefined && count !== fault.nth) continue;
    if (fault.then.startsWith("SIG")) process.kill(process.pid, fault.then);
    else {
      const error = new Error(`${fault.then}: so the test wants it, ${call} '${path}'`);
      throw Object.assign(error, { code: fault.then });
    }
  }
}

let inside = false;

type Operation = (...args: unknown[]) => unknown;

const OPERATIONS = [
  "appendFileSync",
  "chmodSync",
  "fsyncSync",
  "linkSync",
  "lstatSync",
  "mkdirSync",
  "openSync",
  "readFileSync",
  "readdirSync",
  "renameSync",
  "rmSync",
  "statSync",
  "unlinkSync",
  "watch",
  "writeFileSync",
] as const;

for (const call of OPERATIONS) {
  const operation = real[call] as unknown as Operation;
  const watched: Operation = (...args) => {
    // One operation of Node's may be made of others.
    if (inside) return operation(...args);
    inside = true;
    try {
      refreshPlan();
      const path = pathOf(call, args);
      if (!path.startsWith(plan.root)) return operation(...args);
      pass(call, path, "before", args[1]);
      const result = operation(...args);
      if (call === "openSync") open.set(result as number, path);
      pass(call, path, "after", args[1]);
      return result;
    } finally {
      inside = false;
    }
  };
  Object.assign(fs, { [call]: watched });
}

// A number that a new file gets must not lead to the path of an old one.
const closeSync = real.closeSync;
fs.closeSync = (file) => {
  open.delete(file);
  closeSync(file);
};

const { now } = Date;
Date.now = () => {
  refreshPlan();
  return now() + plan.clock;
};

syncBuiltinESMExports();
