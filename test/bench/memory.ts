/** What mail that has passed through a session leaves in its memory. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Part } from "./part.ts";
import { valueRow } from "./table.ts";

export const memory: Part = {
  name: "memory",
  about: "memory held per 10,000 mails that have passed through",
  async run(folder) {
    const child = join(import.meta.dirname, "memory-child.ts");
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ["--expose-gc", "--no-warnings", child, folder],
      { env: { ...process.env, XDG_STATE_HOME: folder } },
    );
    const held = Number(stdout) / 1e6;
    if (Number.isNaN(held)) throw new Error(`the memory is told as ${stdout}`);
    return {
      rows: [valueRow("memory held per 10,000 mails that have passed through", held, "MB", "≤", 1)],
    };
  },
};
