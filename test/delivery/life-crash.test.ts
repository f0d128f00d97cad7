/** `kill -9`, quitting and resuming: what was unread is read once, what was owed is answered once. */
import { existsSync, rmSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
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
  mailIds,
  newGate,
  openSession,
  openWorkplace,
  turnsOf,
  untilIdle,
} from "./life-support.ts";

let workplace: Workplace;

beforeAll(async () => {
  workplace = await openWorkplace();
});
afterAll(() => workplace.close());

const resumed = (session: PiSession): Promise<PiSession> =>
  openSession(workplace, session.label, { id: session.id, resume: true });

async function isStored(session: PiSession): Promise<boolean> {
  const { sessionFile } = await session.state();
  return sessionFile !== undefined && existsSync(sessionFile);
}

/** An answer that says that the session was closed in between, and then `text`. */
function expectClosedOpening(body: string, text: string): void {
  const [opening, ...rest] = body.split("\n\n");
  expect(opening).toMatch(/closed/);
  expect(rest).toEqual([text]);
}

describe("S5.5 killed with mail unread", () => {
  test("in the text of its first run", async () => {
    const first = await openSession(workplace, "kill-text-new");
    const erin = new Correspondent(workplace);
    const step = stall("half");
    workplace.model.script("kill-text-new", step);
    await first.prompt("write");
    await step.started;
    const letters = [erin.send(first, "message", "one"), erin.send(first, "request", "two")];
    await claimed(workplace, first.id);
    await first.kill();

    workplace.model.script("kill-text-new", say("after the kill"));
    const second = await resumed(first);
    expect(await erin.answerTo(letters[1])).toMatchObject({
      status: "done",
      body: "after the kill",
    });
    await untilIdle(second);
    expect(turnsOf(workplace.model, "kill-text-new")).toHaveLength(2);
    await expectEachOnce(workplace, second, "kill-text-new", letters);
    await second.quit();
  });

  test("in a text, with the session on disk", async () => {
    const first = await openSession(workplace, "kill-text");
    const erin = new Correspondent(workplace);
    await first.ask("hello");
    expect(await isStored(first)).toBe(true);
    const step = stall("half");
    workplace.model.script("kill-text", step);
    await first.prompt("write");
    await step.started;
    const letters = [
      erin.send(first, "message", "one"),
      erin.send(first, "request", "two"),
      erin.sendQuietly(first, "three"),
    ];
    await claimed(workplace, first.id);
    await first.kill();

    workplace.model.script("kill-text", say("after the kill"));
    const second = await resumed(first);
    expect(await erin.answerTo(letters[1])).toMatchObject({ body: "after the kill" });
    await untilIdle(second);
    expect(turnsOf(workplace.model, "kill-text")).toHaveLength(3);
    await expectEachOnce(workplace, second, "kill-text", letters);
    await second.quit();
  });

  test("in a tool call", async () => {
    const first = await openSession(workplace, "kill-tool");
    const erin = new Correspondent(workplace);
    await first.ask("hello");
    const mark = first.mark();
    workplace.model.script("kill-tool", call("wait_for_file", { path: newGate(workplace).path }));
    await first.prompt("use the tool");
    await inTool(first, mark);
    const letters = [erin.send(first, "ask", "one"), erin.send(first, "message", "two")];
    await claimed(workplace, first.id);
    await first.kill();

    workplace.model.script("kill-tool", say("after the kill"));
    const second = await resumed(first);
    expect(await erin.answerTo(letters[0])).toMatchObject({ body: "after the kill" });
    await untilIdle(second);
    await expectEachOnce(workplace, second, "kill-tool", letters);
    await second.quit();
  });

  test("quiet mail that is shown in a session not yet on disk", async () => {
    const first = await openSession(workplace, "kill-quiet");
    const erin = new Correspondent(workplace);
    const letter = erin.sendQuietly(first, "shown only");
    await entryOf(first, letter);
    expect(await isStored(first)).toBe(false);
    await first.kill();
    const second = await resumed(first);
    await entryOf(second, letter);
    expect(turnsOf(workplace.model, "kill-quiet")).toHaveLength(0);
    await expectEachOnce(workplace, second, "kill-quiet", [letter]);
    await second.quit();
  });

  test("several times in a row", async () => {
    const erin = new Correspondent(workplace);
    let session = await openSession(workplace, "kill-often");
    await session.ask("hello");
    const letters = [];
    for (const text of ["one", "two", "three"]) {
      const step = stall("half");
      workplace.model.script("kill-often", step);
      letters.push(erin.send(session, "message", text));
      await step.started;
      letters.push(erin.send(session, "message", `unread ${text}`));
      await claimed(workplace, session.id);
      await session.kill();
      const next = stall("half again");
      workplace.model.script("kill-often", next);
      session = await resumed(session);
      await next.started;
      const mark = session.mark();
      next.release();
      await session.settled(mark);
    }
    await untilIdle(session);
    await expectEachOnce(workplace, session, "kill-often", letters);
    await session.quit();
  });
});

describe("S6.7 killed with mail read and unanswered", () => {
  test("it is still owed; a run that completes answers it, saying that it was closed", async () => {
    const first = await openSession(workplace, "owed");
    const [erin, frank] = [new Correspondent(workplace), new Correspondent(workplace)];
    const gate = newGate(workplace);
    const mark = first.mark();
    const step = stall("half");
    workplace.model.script("owed", call("wait_for_file", { path: gate.path }), step);
    await first.prompt("use the tool");
    await inTool(first, mark);
    const request = erin.send(first, "request", "work");
    const ask = frank.send(first, "ask", "a question");
    await claimed(workplace, first.id);
    gate.open();
    await step.started;
    await first.kill();

    const second = await resumed(first);
    await untilIdle(second);
    expect(mailIds(await second.entries())).toEqual([request.id, ask.id]);
    expect(turnsOf(workplace.model, "owed")).toHaveLength(2);
    expect(erin.received()).toEqual([]);

    workplace.model.script("owed", say("the work is done"));
    await second.ask("go on");
    for (const [sender, letter] of [
      [erin, request],
      [frank, ask],
    ] as const) {
      const answer = await sender.answerTo(letter);
      expect(answer).toMatchObject({ status: "done", in_reply_to: [letter.id] });
      expectClosedOpening(answer.body, "the work is done");
    }
    await expectEachOnce(workplace, second, "owed", [request, ask]);
    expect([...erin.received(), ...frank.received()]).toHaveLength(2);
    await second.quit();
  });

  test("a run on other mail that completes answers it too", async () => {
    const first = await openSession(workplace, "owed-other");
    await first.ask("hello");
    const [erin, frank] = [new Correspondent(workplace), new Correspondent(workplace)];
    const step = stall("half");
    workplace.model.script("owed-other", step);
    const owed = erin.send(first, "request", "work");
    await step.started;
    await first.kill();
    const second = await resumed(first);
    workplace.model.script("owed-other", say("for both"));
    const fresh = frank.send(second, "request", "more work");
    expect((await frank.answerTo(fresh)).body).toBe("for both");
    expectClosedOpening((await erin.answerTo(owed)).body, "for both");
    await untilIdle(second);
    await expectEachOnce(workplace, second, "owed-other", [owed, fresh]);
    await second.quit();
  });

  test("before the session was on disk, it is unread again, and read and answered as new", async () => {
    const first = await openSession(workplace, "owed-new");
    const erin = new Correspondent(workplace);
    const step = stall("half");
    workplace.model.script("owed-new", step);
    const request = erin.send(first, "request", "work");
    await step.started;
    expect(await isStored(first)).toBe(false);
    await first.kill();

    workplace.model.script("owed-new", say("done in the second life"));
    const second = await resumed(first);
    expect(await erin.answerTo(request)).toMatchObject({
      status: "done",
      body: "done in the second life",
    });
    await untilIdle(second);
    expect(turnsOf(workplace.model, "owed-new")).toHaveLength(2);
    await expectEachOnce(workplace, second, "owed-new", [request]);
    expect(erin.received()).toHaveLength(1);
    await second.quit();
  });

  test("after the answer went out, nothing is owed", async () => {
    const first = await openSession(workplace, "answered");
    const erin = new Correspondent(workplace);
    const request = erin.send(first, "request", "work");
    await erin.answerTo(request);
    await first.kill();
    const second = await resumed(first);
    await expectEachOnce(workplace, second, "answered", [request]);
    expect(erin.received()).toHaveLength(1);
    await second.quit();
  });

  test("also when it is killed again before it can answer", async () => {
    let session = await openSession(workplace, "owed-twice");
    await session.ask("hello");
    const erin = new Correspondent(workplace);
    let step = stall("half");
    workplace.model.script("owed-twice", step);
    const request = erin.send(session, "request", "work");
    await step.started;
    await session.kill();
    session = await resumed(session);
    step = stall("half");
    workplace.model.script("owed-twice", step);
    await session.prompt("go on");
    await step.started;
    await session.kill();
    session = await resumed(session);
    workplace.model.script("owed-twice", say("third time lucky"));
    await session.ask("go on");
    expectClosedOpening((await erin.answerTo(request)).body, "third time lucky");
    await expectEachOnce(workplace, session, "owed-twice", [request]);
    expect(erin.received()).toHaveLength(1);
    await session.quit();
  });

  test("and the ledger gone: it is made anew from the mail and the session", async () => {
    const first = await openSession(workplace, "no-ledger");
    await first.ask("hello");
    const erin = new Correspondent(workplace);
    const answered = erin.send(first, "request", "answered before");
    await erin.answerTo(answered);
    await untilIdle(first);
    const step = stall("half");
    workplace.model.script("no-ledger", step);
    const owed = erin.send(first, "request", "owed");
    await step.started;
    const unread = erin.send(first, "message", "unread");
    await claimed(workplace, first.id);
    await first.kill();
    rmSync(workplace.mailbox(first.id).ledger);

    workplace.model.script("no-ledger", say("all is well"));
    const second = await resumed(first);
    await entryOf(second, unread);
    expectClosedOpening((await erin.answerTo(owed)).body, "all is well");
    await untilIdle(second);
    await expectEachOnce(workplace, second, "no-ledger", [answered, owed, unread]);
    expect(erin.received()).toHaveLength(2);
    await second.quit();
  });
});

describe("S6.7 quit and resumed", () => {
  test("a request that is held is answered once, by a run that completes", async () => {
    const first = await openSession(workplace, "quit-held");
    const erin = new Correspondent(workplace);
    const step = stall("half");
    workplace.model.script("quit-held", step);
    const mark = first.mark();
    const request = erin.send(first, "request", "work");
    await step.started;
    await first.waitForText("half", { since: mark });
    await first.escape();
    await first.settled(mark);
    expect(await first.quit()).toEqual({ code: 0, signal: null });

    const second = await resumed(first);
    workplace.model.script("quit-held", say("done at last"));
    await second.ask("go on");
    const answer = await erin.answerTo(request);
    expect(answer.status).toBe("done");
    const [held, closed, ...rest] = answer.body.split("\n\n");
    expect(held).toBe(HELD);
    expect(closed).toMatch(/closed/);
    expect(rest).toEqual(["done at last"]);
    await expectEachOnce(workplace, second, "quit-held", [request]);
    await second.quit();
  });

  // Pi 1.6.0 stops a run before it quits, so that `agent_settled` tells of a stop by the user.
  test("in the middle of a run: what it had read is owed, an ask as well as a request", async () => {
    const first = await openSession(workplace, "quit-owed");
    await first.ask("hello");
    const [erin, frank] = [new Correspondent(workplace), new Correspondent(workplace)];
    const gate = newGate(workplace);
    const mark = first.mark();
    const step = stall("half");
    workplace.model.script("quit-owed", call("wait_for_file", { path: gate.path }), step);
    await first.prompt("use the tool");
    await inTool(first, mark);
    const owed = [erin.send(first, "request", "owed"), frank.send(first, "ask", "asked")];
    await claimed(workplace, first.id);
    gate.open();
    await step.started;
    expect(await first.quit()).toEqual({ code: 0, signal: null });

    workplace.model.script("quit-owed", say("for both"));
    const second = await resumed(first);
    await second.ask("go on");
    for (const [sender, letter] of [
      [erin, owed[0]],
      [frank, owed[1]],
    ] as const) {
      const answer = await sender.answerTo(letter);
      expect(answer.status).toBe("done");
      expect(answer.body).toMatch(/closed[^]*\n\nfor both$/);
    }
    await expectEachOnce(workplace, second, "quit-owed", owed);
    expect([...erin.received(), ...frank.received()]).toHaveLength(2);
    await second.quit();
  });

  test("S5.5 in the middle of a run: what it had not read is read when it is resumed", async () => {
    const first = await openSession(workplace, "quit-unread");
    await first.ask("hello");
    const erin = new Correspondent(workplace);
    const step = stall("half");
    workplace.model.script("quit-unread", step);
    await first.prompt("write");
    await step.started;
    const unread = [erin.send(first, "request", "unread"), erin.send(first, "message", "news")];
    await claimed(workplace, first.id);
    expect(await first.quit()).toEqual({ code: 0, signal: null });

    workplace.model.script("quit-unread", say("read at last"));
    const second = await resumed(first);
    expect(await erin.answerTo(unread[0])).toMatchObject({ status: "done", body: "read at last" });
    await untilIdle(second);
    await expectEachOnce(workplace, second, "quit-unread", unread);
    expect(erin.received()).toHaveLength(1);
    await second.quit();
  });
});
