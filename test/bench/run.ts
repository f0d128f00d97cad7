/**
 * `npm run bench`: measures what a mailbox costs against the least that it could, and prints one
 * table. `-- --json FILE` writes the same as data, `-- --only <words>` runs the parts that one of
 * the words is in. A bound that is missed is shown and no error; an error ends it with 1.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { batch } from "./batch.ts";
import { delivery } from "./delivery.ts";
import { drain } from "./drain.ts";
import { idle } from "./idle.ts";
import { kept } from "./kept.ts";
import { launch } from "./launch.ts";
import { list } from "./list.ts";
import { machineLine, thisMachine } from "./machine.ts";
import { memory } from "./memory.ts";
import type { Part } from "./part.ts";
import { isMet, type Row, tableOf } from "./table.ts";
import { waking } from "./waking.ts";

const parts: readonly Part[] = [delivery, waking, drain, batch, kept, list, launch, idle, memory];

const { values, positionals } = parseArgs({
  options: { json: { type: "string" }, only: { type: "string" } },
  allowPositionals: true,
});
const words = [values.only ?? "", ...positionals]
  .flatMap((text) => text.toLowerCase().split(/\s+/))
  .filter((word) => word !== "");
const chosen = parts.filter(
  ({ name, about }) =>
    words.length === 0 || words.some((word) => `${name} ${about}`.toLowerCase().includes(word)),
);
if (chosen.length === 0) {
  console.error(`No part has any of these words. The parts are:\n${partsText()}`);
  process.exit(1);
}

// All that a run makes is below one folder, and goes with it however the run ends.
const folder = mkdtempSync(join(tmpdir(), "pi-session-mail-bench-"));
process.env["TMPDIR"] = folder;
process.once("exit", () => {
  rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
});
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));
// A part that does not choose a state directory fails, and does not write to the user's.
process.env["XDG_STATE_HOME"] = "/dev/null/choose-a-state-directory-in-the-part";

const machine = thisMachine(folder);
const rows: Row[] = [];
const notes: string[] = [];
const started = performance.now();
for (const part of chosen) {
  const place = join(folder, part.name);
  const start = performance.now();
  try {
    mkdirSync(place);
    const found = await part.run(place);
    rows.push(...found.rows);
    notes.push(...(found.notes ?? []));
  } catch (error) {
    process.exitCode = 1;
    console.error(`${part.name} failed:`, error);
  } finally {
    rmSync(place, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
  }
  console.error(`${part.name}: ${((performance.now() - start) / 1000).toFixed(1)} s`);
}

console.log(`\n${tableOf(rows)}\n`);
for (const note of notes) console.log(note);
console.log(machineLine(machine));
console.log(
  `Medians of paired runs, by turns; ${((performance.now() - started) / 1000).toFixed(0)} s in all.`,
);
if (values.json !== undefined) {
  const data = { machine, notes, rows: rows.map((row) => ({ ...row, met: isMet(row) })) };
  writeFileSync(values.json, `${JSON.stringify(data, null, 2)}\n`);
}

function partsText(): string {
  return parts.map(({ name, about }) => `  ${name}: ${about}`).join("\n");
}
