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
let plan: FaultPlan = { root: "", trace: "", faults: [] };
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

function pass(call: string, path: string, when: Fault["when"]): void {
  if (plan.trace !== "") {
    real.appendFileSync(plan.trace, `${when} ${call} ${path}\n`);
  }
  for (const [index, fault] of plan.faults.entries()) {
    if (fault.call !== call || fault.when !== when) continue;
    if (!new RegExp(fault.path).test(path)) continue;
    const count = (met.get(index) ?? 0) + 1;
    met.set(index, count);
    if (fault.nth !== undefined && count !== fault.nth) continue;
    if (fault.then === "SIGKILL" || fault.then === "SIGSTOP") {
      if (fault.note !== undefined) real.writeFileSync(fault.note, "");
      process.kill(process.pid, fault.then);
    } else {
      throw Object.assign(new Error(`${fault.then}: injected, ${call} '${path}'`), {
        code: fault.then,
      });
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
      pass(call, path, "before");
      const result = operation(...args);
      if (call === "openSync") open.set(result as number, path);
      pass(call, path, "after");
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

syncBuiltinESMExports();
