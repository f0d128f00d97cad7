/** The machine that the numbers are from. */
import { execFileSync } from "node:child_process";
import { cpus, release, totalmem, type } from "node:os";
import { piUnderTest } from "../host/pi.ts";

/** What the numbers depend on beside the code. */
export interface Machine {
  readonly date: string;
  readonly cpu: string;
  readonly cpus: number;
  readonly memory: string;
  readonly kernel: string;
  /** Of the state directory. */
  readonly fileSystem: string;
  readonly node: string;
  readonly pi: string;
}

/** @param folder on the file system that the state directories are on. */
export function thisMachine(folder: string): Machine {
  const found = cpus();
  return {
    date: new Date().toISOString(),
    cpu: found[0]?.model.trim() ?? "unknown",
    cpus: found.length,
    memory: `${Math.round(totalmem() / 2 ** 30)} GiB`,
    kernel: `${type()} ${release()}`,
    fileSystem: fileSystemOf(folder),
    node: process.version,
    pi: piUnderTest().version,
  };
}

/** The machine in one line. */
export function machineLine(machine: Machine): string {
  const { cpu, cpus: count, memory, kernel, fileSystem, node, pi, date } = machine;
  return `${count} × ${cpu}, ${memory}, ${kernel}, ${fileSystem}, Node ${node}, Pi ${pi}, ${date}`;
}

function fileSystemOf(folder: string): string {
  if (process.platform !== "linux") return "unknown";
  const listing = execFileSync("df", ["-PT", folder], { encoding: "utf8" });
  const last = listing.trim().split("\n").at(-1);
  return last?.split(/\s+/)[1] ?? "unknown";
}
