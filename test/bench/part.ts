/** What the parts of the benchmark have in common. */
import type { Row } from "./table.ts";

/** What a part of the benchmark found. */
export interface Found {
  readonly rows: readonly Row[];
  /** What was left out, and why. */
  readonly notes?: readonly string[];
}

/** A part of the benchmark, which can be run alone. */
export interface Part {
  readonly name: string;
  /** What it measures, for choosing it by a word. */
  readonly about: string;
  /** @param folder for all files that it makes; the parts do not share it. */
  run(folder: string): Promise<Found>;
}

/** Runs something with a state directory of its own. */
export async function withState<T>(state: string, run: () => T | Promise<T>): Promise<T> {
  const before = process.env["XDG_STATE_HOME"];
  process.env["XDG_STATE_HOME"] = state;
  try {
    return await run();
  } finally {
    if (before === undefined) delete process.env["XDG_STATE_HOME"];
    else process.env["XDG_STATE_HOME"] = before;
  }
}
