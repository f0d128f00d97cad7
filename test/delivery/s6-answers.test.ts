/** What a session gives back when its run settles, and what it still owes. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { call, fail, say, stall } from "../host/model.ts";
import type { PiSession } from "../host/session.ts";
import type { Workplace } from "../host/workplace.ts";
import {
  claimed,
  Correspondent,
  entryOf,
  expectEachOnce,
  framesIn,
  HELD,
  inTool,
  newGate,
  openSession,
  openWorkplace,
  untilIdle,
} from "./life-support.ts";

let workplace: Workplace;
let session: PiSession;

beforeAll(async () => {
  workplace = await openWorkplace();
  session = await openSession(workplace, "worker");
});
afterAll(() => workplace.close());

/** Has a run read what `send` sends, and gives the mark of its beginning. */
async function readInGap(send: () => void, ...rest: Parameters<Workplace["model"]["script"]>[1][]) {
  const gate = newGate(workplace);
  const mark = session.mark();
  workplace.model.script("worker", call("wait_for_file", { path: gate.path }), ...rest);
  await session.prompt("use the tool");
  await inTool(session, mark);
  send();
  await claimed(workplace, session.id);
  gate.open();
  return mark;
}

/** Stops a run in its text. */
async function stopInText(mark: number, step: ReturnType<typeof stall>): Promise<void> {
  await step.started;
  await session.waitForText(step.partialText, { since: mark });
  await session.escape();
  await session.settled(mark);
}

describe("S6.1 one answer", () => {
  test("for each sender names all its requests, and asks get one of their own", async () => {
    const [erin, frank] = [new Correspondent(workplace), new Correspondent(workplace)];
    const letters = [
      () => erin.send(session, "request", "one"),
      () => frank.send(session, "request", "two"),
      () => erin.send(session, "ask", "three"),
      () => erin.send(session, "request", "four"),
      () => erin.send(session, "ask", "five"),
      () => frank.send(session, "message", "six"),
    ];
    const sent: ReturnType<(typeof letters)[0]>[] = [];
    const mark = await readInGap(() => {
      for (const send of letters) sent.push(send());
    }, say("the final answer"));
    await session.settled(mark);
    const [one, two, three, four, five] = sent;
    await erin.answerTo(five);
    await frank.answerTo(two);
    const given = { kind: "reply", status: "done", body: "the final answer", from: session.id };
    const toErin = erin.received();
    expect(toErin).toHaveLength(2);
    expect(toErin).toContainEqual(
      expect.objectContaining({ ...given, in_reply_to: [one?.id, four?.id] }),
    );
    expect(toErin).toContainEqual(
      expect.objectContaining({ ...given, in_reply_to: [three?.id, five?.id] }),
    );
    expect(frank.received()).toEqual([
      expect.objectContaining({ ...given, in_reply_to: [two?.id] }),
    ]);
    await expectEachOnce(workplace, session, "worker", sent);
    expect([...erin.received(), ...frank.received()]).toHaveLength(3);
  });

  test("names at most 50 requests; the rest get further ones", async () => {
    const erin = new Correspondent(workplace);
    session.pause();
    const mark = session.mark();
    const letters = Array.from({ length: 51 }, (_, count) =>
      erin.send(session, "request", `number ${count}`),
    );
    workplace.model.script("worker", say("all of them"));
    session.resume();
    await session.settled(mark);
    for (const letter of letters) {
      expect(await erin.answerTo(letter)).toMatchObject({ status: "done", body: "all of them" });
    }
    expect(erin.received().map((reply) => reply.in_reply_to.length)).toEqual([50, 1]);
    await expectEachOnce(workplace, session, "worker", letters);
  });

  test("is the last text of the run, also when the user followed up", async () => {
    const erin = new Correspondent(workplace);
    const step = stall("first ");
    workplace.model.script("worker", step, say("second text"));
    const letter = erin.send(session, "request", "and the user goes on");
    await step.started;
    await session.followUp("one more thing");
    step.release("text");
    expect(await erin.answerTo(letter)).toMatchObject({ status: "done", body: "second text" });
    await untilIdle(session);
    await expectEachOnce(workplace, session, "worker", [letter]);
  });
});

describe("S6.2 a run that completes", () => {
  test("with no text is answered with a placeholder that says so", async () => {
    const erin = new Correspondent(workplace);
    workplace.model.script("worker", say(""));
    const letter = erin.send(session, "request", "say nothing");
    const answer = await erin.answerTo(letter);
    expect(answer.status).toBe("done");
    expect(answer.body).toMatch(/without a text|no text/i);
    await untilIdle(session);
    await expectEachOnce(workplace, session, "worker", [letter]);
  });
});

describe("S6.3 a run that ends on an error", () => {
  test("is answered `failed` with the error, once, and never again", async () => {
    const erin = new Correspondent(workplace);
    workplace.model.script("worker", fail(500, "the boiler is out"));
    const letter = erin.send(session, "request", "heat it");
    const answer = await erin.answerTo(letter);
    expect(answer.status).toBe("failed");
    expect(answer.body).toContain("the boiler is out");
    await untilIdle(session);
    await expectEachOnce(workplace, session, "worker", [letter]);
    expect(erin.received()).toEqual([answer]);
  });

  test("is answered with the error and then the partial text", async () => {
    const erin = new Correspondent(workplace);
    const gate = newGate(workplace);
    gate.open();
    workplace.model.script(
      "worker",
      call("wait_for_file", { path: gate.path }, "lukewarm so far"),
      fail(500, "the boiler is out"),
    );
    const letters = [erin.send(session, "request", "heat it")];
    const answer = await erin.answerTo(letters[0]);
    expect(answer.status).toBe("failed");
    expect(answer.body).toMatch(/the boiler is out[^]*lukewarm so far$/);
    await untilIdle(session);
    await expectEachOnce(workplace, session, "worker", letters);
  });

  test("answers its asks, too", async () => {
    const erin = new Correspondent(workplace);
    workplace.model.script("worker", fail(500, "the boiler is out"));
    const letter = erin.send(session, "ask", "is it warm?");
    const answer = await erin.answerTo(letter);
    expect(answer).toMatchObject({ status: "failed" });
    expect(answer.body).toContain("the boiler is out");
    await untilIdle(session);
    await expectEachOnce(workplace, session, "worker", [letter]);
  });
});

describe("S6.4 an ask on whose run the user stops", () => {
  test("is answered `stopped` at once, with the partial text, and never again", async () => {
    const erin = new Correspondent(workplace);
    const mark = session.mark();
    const step = stall("it may be");
    workplace.model.script("worker", step);
    const letter = erin.send(session, "ask", "what is it?");
    await stopInText(mark, step);
    const answer = await erin.answerTo(letter);
    expect(answer.status).toBe("stopped");
    expect(answer.body).toMatch(/stopped[^]*it may be$/);
    await expectEachOnce(workplace, session, "worker", [letter]);
    expect(erin.received()).toEqual([answer]);
  });

  test("in a tool call is answered `stopped` with the text before it", async () => {
    const erin = new Correspondent(workplace);
    const mark = session.mark();
    workplace.model.script(
      "worker",
      call("wait_for_file", { path: newGate(workplace).path }, "let me look"),
    );
    const letter = erin.send(session, "ask", "what is it?");
    await inTool(session, mark);
    await session.escape();
    await session.settled(mark);
    const answer = await erin.answerTo(letter);
    expect(answer.status).toBe("stopped");
    expect(answer.body).toMatch(/stopped[^]*let me look$/);
    await expectEachOnce(workplace, session, "worker", [letter]);
    expect(erin.received()).toEqual([answer]);
  });
});

describe("S6.5 a request on whose run the user stops", () => {
  test("is held through stopped and failed runs, and answered once, when one completes", async () => {
    const erin = new Correspondent(workplace);
    let mark = session.mark();
    let step = stall("half of it");
    workplace.model.script("worker", step);
    const letter = erin.send(session, "request", "do all of it");
    await stopInText(mark, step);

    workplace.model.script("worker", fail(500, "the boiler is out"));
    await session.ask("go on");

    mark = session.mark();
    step = stall("half of it again");
    workplace.model.script("worker", step);
    await session.prompt("try again");
    await stopInText(mark, step);
    await untilIdle(session);
    expect(erin.received()).toEqual([]);

    workplace.model.script("worker", say("all of it"));
    await session.ask("and again");
    const answer = await erin.answerTo(letter);
    expect(answer).toMatchObject({ status: "done", in_reply_to: [letter.id] });
    expect(answer.body).toBe(`${HELD}\n\nall of it`);
    await expectEachOnce(workplace, session, "worker", [letter]);
    expect(erin.received()).toEqual([answer]);
  });

  test("is held when it is stopped in a tool call, too", async () => {
    const erin = new Correspondent(workplace);
    const mark = session.mark();
    workplace.model.script("worker", call("wait_for_file", { path: newGate(workplace).path }));
    const letter = erin.send(session, "request", "do it");
    await inTool(session, mark);
    await session.abort();
    await session.settled(mark);
    await untilIdle(session);
    expect(erin.received()).toEqual([]);
    workplace.model.script("worker", say("done"));
    await session.ask("go on");
    expect((await erin.answerTo(letter)).body).toBe(`${HELD}\n\ndone`);
    await expectEachOnce(workplace, session, "worker", [letter]);
  });

  test("is answered by a run on another's request, which gets the same text plain", async () => {
    const [erin, frank] = [new Correspondent(workplace), new Correspondent(workplace)];
    const mark = session.mark();
    const step = stall("half");
    workplace.model.script("worker", step);
    const held = erin.send(session, "request", "first");
    await stopInText(mark, step);
    workplace.model.script("worker", say("for both"));
    const fresh = frank.send(session, "request", "second");
    expect((await frank.answerTo(fresh)).body).toBe("for both");
    expect((await erin.answerTo(held)).body).toBe(`${HELD}\n\nfor both`);
    await untilIdle(session);
    await expectEachOnce(workplace, session, "worker", [held, fresh]);
    expect([...erin.received(), ...frank.received()]).toHaveLength(2);
  });
});

describe("S6.8 what is never answered", () => {
  test("messages and replies, whether the run completes, fails or is stopped", async () => {
    const erin = new Correspondent(workplace);
    const letters = [];
    for (const ending of [say("done"), fail(500, "out"), stall("half")]) {
      const mark = session.mark();
      workplace.model.script("worker", ending);
      session.pause();
      letters.push(
        erin.sendQuietly(session, "an answer"),
        erin.sendQuietly(session, "no answer", { status: "failed" }),
        erin.send(session, "message", "news"),
      );
      session.resume();
      if (ending.kind === "stall") await stopInText(mark, ending);
      else await session.settled(mark);
    }
    await expectEachOnce(workplace, session, "worker", letters);
    expect(erin.received()).toEqual([]);
  });

  test("an answer to a request of the user, which is only shown", async () => {
    const erin = new Correspondent(workplace);
    await session.command(`/mailbox ${erin.address} what time is it?`);
    const [request] = erin.received();
    const reply = erin.send(session, "reply", "noon", { in_reply_to: [request?.id ?? ""] });
    await entryOf(session, reply);
    await expectEachOnce(workplace, session, "worker", [reply]);
    expect(erin.received()).toEqual([request]);
  });
});

describe("S6.1 between two sessions", () => {
  test("a request goes there, its answer comes back quietly, and that is the end of it", async () => {
    const [alice, bob] = await Promise.all([
      openSession(workplace, "alice"),
      openSession(workplace, "bob"),
    ]);
    workplace.model.script("bob", say("all 12 tests pass"));
    const said = await alice.command("/mailbox bob please run the tests");
    const id = /^Sent (\S+) to (\S+)$/.exec(said[0]?.message ?? "");
    expect(id?.[2]).toBe(bob.id);
    const entry = await alice.waitForEntry(
      ({ customType }) => customType === "mailbox",
      "of the answer",
    );
    expect(workplace.model.requests("alice")).toHaveLength(0);
    expect(workplace.model.requests("bob")).toHaveLength(1);
    const request = { id: id?.[1] ?? "", body: "please run the tests" };
    const answer = { id: String(entry.details?.["id"]), body: "all 12 tests pass" };
    await expectEachOnce(workplace, alice, "alice", [answer]);
    await expectEachOnce(workplace, bob, "bob", [request]);
    const [frame] = framesIn(workplace.model.requests("alice")[0]?.text ?? "");
    expect(frame).toMatchObject({ from: "bob", address: bob.id, cwd: workplace.cwd });
    await Promise.all([alice.quit(), bob.quit()]);
  });
});
