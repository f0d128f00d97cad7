/** Mail and a session in the middle of a run. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { call, calls, say, stall } from "../host/model.ts";
import type { PiSession } from "../host/session.ts";
import type { Workplace } from "../host/workplace.ts";
import {
  bodiesIn,
  claimed,
  Correspondent,
  entryOf,
  expectEachOnce,
  inTool,
  mailIds,
  newGate,
  openSession,
  openWorkplace,
  outline,
  turnsOf,
  untilIdle,
} from "./life-support.ts";

let workplace: Workplace;
let session: PiSession;

beforeAll(async () => {
  workplace = await openWorkplace();
  session = await openSession(workplace, "busy");
});
afterAll(() => workplace.close());

const count = (): number => turnsOf(workplace.model, "busy").length;

/** Starts a run and waits until its tool waits for the gate. */
async function busyInTool(tool: "wait_for_file" | "wait_and_end" = "wait_for_file") {
  const gate = newGate(workplace);
  const mark = session.mark();
  workplace.model.script("busy", call(tool, { path: gate.path }));
  await session.prompt("use the tool");
  await inTool(session, mark);
  return { mark, gate };
}

describe("S5.3 a session in a tool call", () => {
  test("S5.6 reads all that waits at the gap, with the request that follows anyway", async () => {
    const [erin, frank] = [new Correspondent(workplace), new Correspondent(workplace)];
    const before = count();
    const { mark, gate } = await busyInTool();
    const letters = [
      erin.send(session, "request", "one"),
      frank.send(session, "message", "two"),
      erin.send(session, "ask", "three"),
      frank.sendQuietly(session, "four"),
    ];
    await claimed(workplace, session.id);
    expect(mailIds(await session.entries())).not.toContain(letters[0]?.id);
    workplace.model.script("busy", say("all is done"));
    gate.open();
    expect((await session.settled(mark)).text).toBe("all is done");
    expect(count()).toBe(before + 2);
    expect(bodiesIn(workplace.model.requests("busy").at(-1))).toEqual(
      letters.map(({ body }) => body),
    );
    expect(await outline(session, 7)).toEqual([
      "assistant: ",
      `toolResult: found ${gate.path}`,
      ...letters.map(({ body }) => `mail: ${body}`),
      "assistant: all is done",
    ]);
    for (const asked of [letters[0], letters[2]]) {
      expect(await erin.answerTo(asked)).toMatchObject({ status: "done", body: "all is done" });
    }
    await expectEachOnce(workplace, session, "busy", letters);
    expect(frank.received()).toEqual([]);
  });

  test("reads mail that has not even been noticed when the tool ends", async () => {
    const erin = new Correspondent(workplace);
    const before = count();
    const { mark, gate } = await busyInTool();
    session.pause();
    const letter = erin.send(session, "message", "in the last moment");
    gate.open();
    session.resume();
    await session.settled(mark);
    expect(count()).toBe(before + 2);
    await expectEachOnce(workplace, session, "busy", [letter]);
  });

  test("reads a quiet reply at the gap, at no extra request", async () => {
    const erin = new Correspondent(workplace);
    const before = count();
    const { mark, gate } = await busyInTool();
    const letter = erin.sendQuietly(session, "by the way");
    await claimed(workplace, session.id);
    gate.open();
    await session.settled(mark);
    expect(count()).toBe(before + 2);
    expect(bodiesIn(workplace.model.requests("busy").at(-1))).toContain(letter.body);
    await expectEachOnce(workplace, session, "busy", [letter]);
  });

  test("reads mail behind all results of parallel calls", async () => {
    const erin = new Correspondent(workplace);
    const gates = [newGate(workplace), newGate(workplace)];
    const before = count();
    const mark = session.mark();
    workplace.model.script(
      "busy",
      calls(gates.map(({ path }) => ({ name: "wait_for_file", args: { path } }))),
      say("both are there"),
    );
    await session.prompt("use both");
    await inTool(session, mark, 2);
    gates[1]?.open();
    await session.waitFor((event) => event.type === "tool_execution_end", "the end of one call", {
      since: mark,
    });
    const letter = erin.send(session, "request", "between two calls");
    await claimed(workplace, session.id);
    gates[0]?.open();
    await session.settled(mark);
    expect(count()).toBe(before + 2);
    expect(await outline(session, 4)).toEqual([
      `toolResult: found ${gates[0]?.path}`,
      `toolResult: found ${gates[1]?.path}`,
      `mail: ${letter.body}`,
      "assistant: both are there",
    ]);
    expect((await erin.answerTo(letter)).body).toBe("both are there");
    await expectEachOnce(workplace, session, "busy", [letter]);
  });

  test("reads mail at each of several gaps, where it came", async () => {
    const erin = new Correspondent(workplace);
    const before = count();
    const { mark, gate } = await busyInTool();
    const next = newGate(workplace);
    workplace.model.script("busy", call("wait_for_file", { path: next.path }), say("through"));
    const first = erin.send(session, "request", "first gap");
    gate.open();
    await inTool(session, mark, 2);
    const second = erin.send(session, "request", "second gap");
    next.open();
    await session.settled(mark);
    expect(count()).toBe(before + 3);
    expect(await outline(session, 6)).toEqual([
      `toolResult: found ${gate.path}`,
      `mail: ${first.body}`,
      "assistant: ",
      `toolResult: found ${next.path}`,
      `mail: ${second.body}`,
      "assistant: through",
    ]);
    const answer = await erin.answerTo(first);
    expect(answer.in_reply_to).toEqual([first.id, second.id]);
    await expectEachOnce(workplace, session, "busy", [first, second]);
  });

  test("whose result ends the run goes on for waking mail, at one request", async () => {
    const erin = new Correspondent(workplace);
    const before = count();
    const { mark, gate } = await busyInTool("wait_and_end");
    const letter = erin.send(session, "request", "not yet");
    await claimed(workplace, session.id);
    workplace.model.script("busy", say("then this too"));
    gate.open();
    await session.settled(mark);
    expect((await erin.answerTo(letter)).body).toBe("then this too");
    expect(count()).toBe(before + 2);
    await expectEachOnce(workplace, session, "busy", [letter]);
  });

  test("whose result ends the run ends it for quiet mail, which the next request holds", async () => {
    const erin = new Correspondent(workplace);
    const before = count();
    const { mark, gate } = await busyInTool("wait_and_end");
    const letter = erin.sendQuietly(session, "no hurry");
    await claimed(workplace, session.id);
    gate.open();
    await session.settled(mark);
    await entryOf(session, letter);
    expect(count()).toBe(before + 1);
    await expectEachOnce(workplace, session, "busy", [letter]);
  });
});

describe("S5.3 mail is not held back by input of the user that is queued", () => {
  test("to steer the run", async () => {
    const erin = new Correspondent(workplace);
    const before = count();
    const { mark, gate } = await busyInTool();
    await session.steer("and mind the cat");
    const letter = erin.send(session, "request", "feed the dog");
    await claimed(workplace, session.id);
    workplace.model.script("busy", say("both animals are fine"));
    gate.open();
    await session.settled(mark);
    expect(count()).toBe(before + 2);
    const shown = workplace.model.requests("busy").at(-1);
    expect(shown?.text).toContain("and mind the cat");
    expect(bodiesIn(shown)).toContain(letter.body);
    expect((await erin.answerTo(letter)).body).toBe("both animals are fine");
    await expectEachOnce(workplace, session, "busy", [letter]);
  });

  test("for after the run", async () => {
    const erin = new Correspondent(workplace);
    const before = count();
    const { mark, gate } = await busyInTool();
    await session.followUp("then sweep the floor");
    const letter = erin.send(session, "message", "before sweeping");
    await claimed(workplace, session.id);
    workplace.model.script("busy", say("noted"), say("swept"));
    gate.open();
    expect((await session.settled(mark)).text).toBe("swept");
    expect(count()).toBe(before + 3);
    const [, atGap] = turnsOf(workplace.model, "busy").slice(before);
    expect(bodiesIn(atGap)).toContain(letter.body);
    expect(atGap?.text).not.toContain("then sweep the floor");
    await expectEachOnce(workplace, session, "busy", [letter]);
  });

  test("while the model writes", async () => {
    const erin = new Correspondent(workplace);
    const before = count();
    const mark = session.mark();
    const step = stall("writing");
    workplace.model.script("busy", step, say("steered"), say("read"));
    await session.prompt("write");
    await step.started;
    await session.steer("shorter, please");
    const letter = erin.send(session, "request", "and then mine");
    await claimed(workplace, session.id);
    step.release(" it");
    await session.settled(mark);
    expect((await erin.answerTo(letter)).body).toBe("read");
    await untilIdle(session);
    expect(count()).toBe(before + 3);
    await expectEachOnce(workplace, session, "busy", [letter]);
  });
});

describe("S6.9 mail that comes when the last text is being written", () => {
  test("does not enter that run; it starts the next, at one request", async () => {
    const [erin, frank] = [new Correspondent(workplace), new Correspondent(workplace)];
    const before = count();
    const step = stall("the answer ");
    workplace.model.script("busy", step, say("the next answer"));
    const asked = erin.send(session, "request", "what is it?");
    await step.started;
    const letters = [
      frank.send(session, "request", "and mine?"),
      frank.send(session, "message", "news"),
      erin.sendQuietly(session, "thanks for last time"),
      erin.send(session, "ask", "and this?"),
    ];
    await claimed(workplace, session.id);
    const mark = session.mark();
    step.release("to the first");
    await session.settled(mark);
    expect(await erin.answerTo(asked)).toMatchObject({
      status: "done",
      body: "the answer to the first",
      in_reply_to: [asked.id],
    });
    expect(await frank.answerTo(letters[0])).toMatchObject({ body: "the next answer" });
    expect(await erin.answerTo(letters[3])).toMatchObject({ body: "the next answer" });
    await untilIdle(session);
    expect(count()).toBe(before + 2);
    expect(bodiesIn(turnsOf(workplace.model, "busy")[before])).not.toContain(letters[0]?.body);
    expect(await outline(session, 6)).toEqual([
      "assistant: the answer to the first",
      ...letters.map(({ body }) => `mail: ${body}`),
      "assistant: the next answer",
    ]);
    await expectEachOnce(workplace, session, "busy", [asked, ...letters]);
  });

  test("leaves the user's own answer alone", async () => {
    const erin = new Correspondent(workplace);
    const mark = session.mark();
    const step = stall("dear ");
    workplace.model.script("busy", step, say("to the mail"));
    await session.prompt("write to me");
    await step.started;
    const letter = erin.send(session, "request", "and to me");
    await claimed(workplace, session.id);
    step.release("user");
    expect((await session.settled(mark)).text).toBe("dear user");
    expect((await erin.answerTo(letter)).body).toBe("to the mail");
    await untilIdle(session);
    await expectEachOnce(workplace, session, "busy", [letter]);
  });

  test("starts nothing when it is quiet", async () => {
    const erin = new Correspondent(workplace);
    const before = count();
    const mark = session.mark();
    const step = stall("one ");
    workplace.model.script("busy", step);
    await session.prompt("count");
    await step.started;
    const letter = erin.sendQuietly(session, "no hurry at all");
    await claimed(workplace, session.id);
    step.release("two");
    await session.settled(mark);
    await entryOf(session, letter);
    expect(count()).toBe(before + 1);
    await expectEachOnce(workplace, session, "busy", [letter]);
  });

  test("enters at the gap after all when the model then calls a tool", async () => {
    const erin = new Correspondent(workplace);
    const gate = newGate(workplace);
    gate.open();
    const before = count();
    const mark = session.mark();
    const step = stall("let me see ");
    workplace.model.script("busy", step, say("seen"));
    await session.prompt("look");
    await step.started;
    const letter = erin.send(session, "request", "look here too");
    await claimed(workplace, session.id);
    step.release(call("wait_for_file", { path: gate.path }));
    expect((await session.settled(mark)).text).toBe("seen");
    expect((await erin.answerTo(letter)).body).toBe("seen");
    expect(count()).toBe(before + 2);
    await expectEachOnce(workplace, session, "busy", [letter]);
  });
});
