/** One process, several sessions: /reload, /new, /resume, /fork, /clone, and sessions kept nowhere. */
import { readdirSync } from "node:fs";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { call, say, stall } from "../host/model.ts";
import type { PiSession } from "../host/session.ts";
import type { Workplace } from "../host/workplace.ts";
import {
  claimed,
  Correspondent,
  entryOf,
  expectEachOnce,
  HELD,
  inTool,
  type Letter,
  mailIds,
  newGate,
  openSession,
  openWorkplace,
  turnsOf,
  untilIdle,
} from "./life-support.ts";

let workplace: Workplace;
let session: PiSession;
let name: string;
let lives = 0;

beforeAll(async () => {
  workplace = await openWorkplace();
});
afterAll(() => workplace.close());

beforeEach(async () => {
  lives += 1;
  name = `life-${lives}`;
  session = await openSession(workplace, name);
});
afterEach(() => session.kill());

const count = (): number => turnsOf(workplace.model, name).length;

/** A request that the session has read, and that it holds since the user stopped the run on it. */
async function held(from: Correspondent): Promise<Letter> {
  const { sessionId } = await session.state();
  const step = stall("half");
  workplace.model.script(name, step);
  const mark = session.mark();
  const request = from.send(sessionId, "request", "work that is held");
  await step.started;
  await session.waitForText("half", { since: mark });
  await session.escape();
  await session.settled(mark);
  return request;
}

describe("/reload", () => {
  test("changes nothing for mail: one watcher, one delivery, one answer", async () => {
    const { sessionId } = await session.state();
    const erin = new Correspondent(workplace);
    const early = erin.send(sessionId, "request", "before");
    await erin.answerTo(early);
    await untilIdle(session);
    await session.command("/reload-now");
    await session.command("/reload-now");
    const before = count();
    const late = erin.send(sessionId, "request", "after");
    await erin.answerTo(late);
    await untilIdle(session);
    expect(count()).toBe(before + 1);
    await expectEachOnce(workplace, session, name, [early, late]);
    expect(erin.received()).toHaveLength(2);
  });

  test("S6.7 a request that is held is answered as such, and the session was not closed", async () => {
    const erin = new Correspondent(workplace);
    const request = await held(erin);
    await session.command("/reload-now");
    workplace.model.script(name, say("done"));
    await session.ask("go on");
    expect((await erin.answerTo(request)).body).toBe(`${HELD}\n\ndone`);
    await expectEachOnce(workplace, session, name, [request]);
  });
});

describe("S6.7 /new and back", () => {
  test("what is owed is owed by the old session alone, and what comes waits for it", async () => {
    const old = await session.state();
    const [erin, frank] = [new Correspondent(workplace), new Correspondent(workplace)];
    const owed = await held(erin);
    await session.newSession();
    const fresh = await session.state();
    expect(fresh.sessionId).not.toBe(old.sessionId);

    const waiting = [
      frank.send(old.sessionId, "request", "for the old one"),
      frank.sendQuietly(old.sessionId, "also for the old one"),
    ];
    const own = frank.send(fresh.sessionId, "request", "for the new one");
    expect((await frank.answerTo(own)).body).toBe("ok");
    await untilIdle(session);
    await expectEachOnce(workplace, session, name, [own]);
    expect(mailIds(await session.entries())).toEqual([own.id]);
    expect(readdirSync(workplace.mailbox(old.sessionId).new)).toHaveLength(2);
    expect(erin.received()).toEqual([]);

    workplace.model.script(name, say("for both"));
    await session.switchSession(old.sessionFile ?? "");
    expect((await frank.answerTo(waiting[0])).body).toBe("for both");
    const answer = await erin.answerTo(owed);
    expect(answer.status).toBe("done");
    expect(answer.body.startsWith(`${HELD}\n\n`)).toBe(true);
    expect(answer.body).toMatch(/closed[^]*\n\nfor both$/);
    await untilIdle(session);
    await expectEachOnce(workplace, session, name, [owed, ...waiting]);
    expect([...erin.received(), ...frank.received()]).toHaveLength(3);
  });

  // Pi stops the run before it opens the other session, so that `agent_settled` tells of a stop.
  test("in the middle of a run: what it had read is still owed, an ask as well as a request", async () => {
    const [erin, frank] = [new Correspondent(workplace), new Correspondent(workplace)];
    await session.ask("hello");
    const old = await session.state();
    const gate = newGate(workplace);
    const mark = session.mark();
    const step = stall("half");
    workplace.model.script(name, call("wait_for_file", { path: gate.path }), step);
    await session.prompt("use the tool");
    await inTool(session, mark);
    const owed = [
      erin.send(old.sessionId, "request", "owed"),
      frank.send(old.sessionId, "ask", "asked"),
    ];
    await claimed(workplace, old.sessionId);
    gate.open();
    await step.started;
    await session.newSession();
    await session.switchSession(old.sessionFile ?? "");
    workplace.model.script(name, say("for both"));
    await session.ask("go on");
    for (const [sender, letter] of [
      [erin, owed[0]],
      [frank, owed[1]],
    ] as const) {
      const answer = await sender.answerTo(letter);
      expect(answer.status).toBe("done");
      expect(answer.body).toMatch(/closed[^]*\n\nfor both$/);
    }
    await expectEachOnce(workplace, session, name, owed);
    expect([...erin.received(), ...frank.received()]).toHaveLength(2);
  });

  test("S5.5 in the middle of a run: what it had not read is read on the way back", async () => {
    const erin = new Correspondent(workplace);
    await session.ask("hello");
    const old = await session.state();
    const step = stall("half");
    workplace.model.script(name, step);
    await session.prompt("write");
    await step.started;
    const unread = [
      erin.send(old.sessionId, "request", "unread"),
      erin.send(old.sessionId, "message", "news"),
    ];
    await claimed(workplace, old.sessionId);
    await session.newSession();
    expect(mailIds(await session.entries())).toEqual([]);
    workplace.model.script(name, say("read at last"));
    await session.switchSession(old.sessionFile ?? "");
    expect(await erin.answerTo(unread[0])).toMatchObject({ status: "done", body: "read at last" });
    await untilIdle(session);
    await expectEachOnce(workplace, session, name, unread);
    expect(erin.received()).toHaveLength(1);
  });
});

describe.each(["fork", "clone"] as const)("/%s", (how) => {
  test("copies the conversation and not the mailbox", async () => {
    const erin = new Correspondent(workplace);
    const owed = await held(erin);
    await session.ask("hello");
    const answer = await erin.answerTo(owed);
    const owedStill = await held(erin);
    const old = await session.state();
    const user = (await session.entries()).findLast((entry) => entry.message?.role === "user");
    if (how === "fork") await session.fork(user?.id ?? "");
    else await session.clone();
    const copy = await session.state();
    expect(copy.sessionId).not.toBe(old.sessionId);
    expect(mailIds(await session.entries())).toContain(owed.id);

    // The copy owes nothing, and has an address of its own.
    const own = erin.send(copy.sessionId, "request", `for the ${how}`);
    expect((await erin.answerTo(own)).in_reply_to).toEqual([own.id]);
    await untilIdle(session);
    await expectEachOnce(workplace, session, name, [own]);
    expect(erin.answersTo(owed)).toEqual([answer]);
    expect(erin.answersTo(owedStill)).toEqual([]);

    await session.switchSession(old.sessionFile ?? "");
    workplace.model.script(name, say("done in the original"));
    await session.ask("go on");
    expect((await erin.answerTo(owedStill)).body).toMatch(/\n\ndone in the original$/);
    await expectEachOnce(workplace, session, name, [owed, owedStill]);
    expect(erin.received()).toHaveLength(3);
  });
});

describe("--no-session", () => {
  test("has mail for as long as it lives", async () => {
    const unstored = await openSession(workplace, "unstored", { session: false });
    const { sessionId, sessionFile } = await unstored.state();
    expect(sessionFile).toBeUndefined();
    const erin = new Correspondent(workplace);
    const gate = newGate(workplace);
    const mark = unstored.mark();
    workplace.model.script("unstored", call("wait_for_file", { path: gate.path }), say("done"));
    const first = erin.send(sessionId, "request", "one");
    await inTool(unstored, mark);
    const second = erin.send(sessionId, "message", "two");
    await claimed(workplace, sessionId);
    gate.open();
    expect((await erin.answerTo(first)).body).toBe("done");
    await untilIdle(unstored);
    const third = erin.sendQuietly(sessionId, "three");
    await entryOf(unstored, third);
    expect(turnsOf(workplace.model, "unstored")).toHaveLength(2);
    await expectEachOnce(workplace, unstored, "unstored", [first, second, third]);
    expect(erin.received()).toHaveLength(1);
    await unstored.quit();
  });
});
