/** How long it takes from one model's tool call until another session's model is asked. */
import { join } from "node:path";
import { call, say } from "../host/model.ts";
import type { PiSession } from "../host/session.ts";
import { mailExtension, Workplace } from "../host/workplace.ts";
import { paired, type Run } from "./paired.ts";
import type { Part } from "./part.ts";
import { ratioRow, type Row } from "./table.ts";

const floorExtension = join(import.meta.dirname, "floor-extension.ts");

const MESSAGE = "The tests pass again. ".repeat(10);

export const waking: Part = {
  name: "waking",
  about: "tool call in one real Pi until the other's model is asked, durable and not",
  async run() {
    const rows: Row[] = [];
    for (const durable of [true, false]) {
      // A session that sends nothing reads its settings at its start alone.
      await using workplace = await Workplace.open();
      workplace.settings({ durable });
      const [alice, bob] = await sessions(workplace, mailExtension, "alice", "bob");
      const [carol, dave] = await sessions(workplace, floorExtension, "carol", "dave");
      const ours = waker(workplace, "session_mail_send", [alice, bob]);
      const floor = waker(workplace, "move_file", [carol, dave]);
      rows.push(
        ratioRow(
          `tool call in one Pi until the other's model is asked, ${durable ? "durable" : "not durable"}`,
          "an extension that moves a file",
          await paired({ rounds: 45, warmUp: 8 }, ours, floor),
          durable ? 1.25 : 1.15,
        ),
      );
    }
    return { rows };
  },
};

type Two = readonly [from: PiSession, to: PiSession];

async function sessions(
  workplace: Workplace,
  extension: string,
  from: string,
  to: string,
): Promise<Two> {
  const open = (name: string): Promise<PiSession> =>
    workplace.session({ name, extensions: [extension] });
  return [await open(from), await open(to)];
}

/** A run in which the model of one session calls the tool, and both sessions are idle at its end. */
function waker({ model }: Workplace, tool: string, [from, to]: Two): Run {
  let calledAt = 0;
  model.answer(from.label, ({ messages }) => {
    if (messages.at(-1)?.role === "tool") return say("Told it.");
    calledAt = performance.now();
    return call(tool, { to: to.label, message: MESSAGE });
  });
  return async () => {
    const before = model.requests(to.label).length;
    const mark = to.mark();
    await from.ask("Tell the other session.");
    await to.settled(mark);
    const asked = model.requests(to.label).slice(before);
    if (asked.length !== 1) throw new Error(`${to.label}'s model was asked ${asked.length} times`);
    return asked[0]!.at - calledAt;
  };
}
