/** What a session does while nothing happens. */
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { setTimeout as delay } from "node:timers/promises";
import { send } from "../../src/mail/store.ts";
import { mail } from "../fixtures/mail.ts";
import type { PiSession } from "../host/session.ts";
import { Workplace } from "../host/workplace.ts";
import type { Idling } from "./idle-preload.ts";
import { type Part, withState } from "./part.ts";
import { valueRow } from "./table.ts";

export const idle: Part = {
  name: "idle",
  about: "a session that sits idle for a minute, watcher healthy",
  async run() {
    await using workplace = await Workplace.open();
    const preload = pathToFileURL(join(import.meta.dirname, "idle-preload.ts")).href;
    const bob = await workplace.session({
      name: "bob",
      extensions: [join(import.meta.dirname, "idle-extension.ts")],
      env: { NODE_OPTIONS: `--no-warnings --import ${preload}` },
    });
    await withState(workplace.stateDirectory, async () => {
      // The watcher shows that it works: each of these is found by it.
      for (let count = 0; count < 3; count++) {
        const mark = bob.mark();
        send(mail({ to: bob.id, kind: "message", ts: new Date().toISOString() }), false);
        await bob.settled(mark);
      }
    });
    await delay(1000);
    await counted(bob);
    await delay(60_000);
    const { wakeUps, reads, operations } = await counted(bob);
    const listed = Object.entries(operations).map(([call, count]) => `${call} ${count}`);
    return {
      rows: [
        valueRow("a session that sits idle for a minute: wake-ups", wakeUps, "", "≤", 15),
        valueRow("a session that sits idle for a minute: file contents read", reads, "", "=", 0),
      ],
      notes: [`Idle for a minute, it called: ${listed.join(", ") || "nothing"}.`],
    };
  },
};

/** What it did since this was asked last. */
async function counted(session: PiSession): Promise<Idling> {
  const [answer] = await session.command("/idling");
  return JSON.parse(answer?.message ?? "") as Idling;
}
