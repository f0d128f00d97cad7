/** Faults of the disk, and the end of a process, at one named file operation of a real session. */
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { packageFolder } from "./pi.ts";
import type { Workplace } from "./workplace.ts";

/** What happens at which operation. */
export interface Fault {
  /** A pattern for the whole name of the function of `node:fs`, such as "renameSync". */
  readonly call: string;
  /** A pattern for the path that it is about; of a rename or link, where it leads. */
  readonly path: string;
  readonly when: "before" | "after";
  /** Only the nth such operation from now, counted from 1; absent: each. */
  readonly nth?: number;
  /** Not where something is only read. */
  readonly only?: "writing";
  /** A signal that the process sends itself, or the code of the error that is thrown. */
  readonly then: "SIGKILL" | "SIGSTOP" | "ENOSPC" | "EROFS" | "EACCES" | "EMFILE" | "EIO";
}

/** For the preload: what it looks at, what it does. */
export interface FaultPlan {
  /** Operations on paths that begin so are looked at. */
  readonly root: string;
  /** Where each is written down, or empty. */
  readonly trace: string;
  /** How far the clock is ahead, in ms. */
  readonly clock: number;
  readonly faults: readonly Fault[];
}

let plans = 0;

/** The faults of the sessions that are started with its environment; none until they are set. */
export class Faults {
  /** For `Workplace.session`. */
  readonly env: Record<string, string>;
  readonly #plan: string;
  readonly #trace: string;
  readonly #none: FaultPlan;

  /** Looks at all that happens in the workplace's folder. */
  constructor(workplace: Workplace) {
    plans += 1;
    this.#plan = join(workplace.folder, `faults-${plans}.json`);
    this.#trace = join(workplace.folder, `trace-${plans}.txt`);
    this.#none = { root: workplace.folder, trace: "", clock: 0, faults: [] };
    const preload = pathToFileURL(join(packageFolder, "test/host/faults-preload.ts")).href;
    this.env = { NODE_OPTIONS: `--no-warnings --import ${preload}`, FAULT_PLAN: this.#plan };
    this.set();
  }

  /** From now on these happen, and no others. */
  set(...faults: Fault[]): void {
    this.#write({ ...this.#none, faults });
  }

  /** From now on every operation is written down. */
  trace(): void {
    this.#write({ ...this.#none, trace: this.#trace });
  }

  /** From now on the clock is so many ms ahead of the true one. */
  setClock(ahead: number): void {
    this.#write({ ...this.#none, clock: ahead });
  }

  /** What was written down, oldest first. */
  get traced(): string[] {
    if (!existsSync(this.#trace)) return [];
    return readFileSync(this.#trace, "utf8").split("\n").slice(0, -1);
  }

  #write(plan: FaultPlan): void {
    // Replaced whole: a session may be reading it.
    writeFileSync(`${this.#plan}.next`, JSON.stringify(plan));
    renameSync(`${this.#plan}.next`, this.#plan);
  }
}
