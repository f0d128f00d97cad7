/** What the extension adds to the start of Pi. */
import { join } from "node:path";
import { mailExtension, Workplace } from "../host/workplace.ts";
import { paired, type Run } from "./paired.ts";
import type { Part } from "./part.ts";
import { ratioRow } from "./table.ts";

const leastExtension = join(import.meta.dirname, "least-extension.ts");

export const launch: Part = {
  name: "launch",
  about: "start of Pi with it, until its first RPC answer",
  async run() {
    await using workplace = await Workplace.open();
    const start = (extensions: string[]): Run => {
      return async () => {
        const begun = performance.now();
        const session = await workplace.session({ extensions });
        const time = performance.now() - begun;
        await session.quit();
        return time;
      };
    };
    const rounds = { rounds: 15, warmUp: 1 };
    const [none, least] = [start([]), start([leastExtension])];
    const what = "start of Pi with it, until its first RPC answer";
    const pair = await paired(rounds, start([mailExtension]), none);
    const share = await paired(rounds, least, none);
    return {
      rows: [
        ratioRow(what, "without it", pair, 1.03),
        ratioRow("the same with an extension that does nothing", "without it", share),
      ],
    };
  },
};
