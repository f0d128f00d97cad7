/** Mail and a run that ends badly: nothing is lost, nothing is doubled. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { call, fail, say, stall } from "../host/model.ts";
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
  turnsOf,
  untilIdle,
} from "./life-support.ts";

let workplace: Workplace;
let session: PiSession;

beforeAll(async () => {
  workplace = await openWorkplace();
  session = await openSession(workplace, "stopped");
});
afterAll(() => workplace.close());

const count = (): number => turnsOf(workplace.model, "stopped").length;

/** Starts a run and waits until it is in the middle of a text or of a tool call. */
async function midway(where: "a text" | "a tool call"): Promise<number> {
  const mark = session.mark();
  if (where === "a tool call") {
    workplace.model.script("stopped", call("wait_for_file", { path: newGate(workplace).path }));
    await session.prompt("use the tool");
    await inTool(session, mark);
  } else {
    const step = stall("half an answer");
    workplace.model.script("stopped", step);
    await session.prompt("write");
    await step.started;
    await session.waitForText("half an answer", { since: mark });
  }
  return mark;
}

describe.each(["a text", "a tool call"] as const)("S5.5 S6.6 stopped in %s", (where) => {
  describe.each(["escape", "abort"] as const)("by %s", (stop) => {
    test("answers unread requests and asks `failed`, and takes in the rest quietly", async () => {
      const [erin, frank] = [new Correspondent(workplace), new Correspondent(workplace)];
      const before = count();
      const mark = await midway(where);
      const message = erin.send(session, "message", "news");
      const request = erin.send(session, "request", "work");
      const ask = frank.send(session, "ask", "a question");
      const reply = frank.sendQuietly(session, "an answer");
      await claimed(workplace, session.id);
      await session[stop]();
      await session.settled(mark);

      for (const [sender, letter] of [
        [erin, request],
        [frank, ask],
      ] as const) {
        const answer = await sender.answerTo(letter);
        expect(answer.status).toBe("failed");
        expect(answer.body).toMatch(/nothing was done/i);
        expect(answer.body).not.toContain("half an answer");
      }
      await entryOf(session, reply);
      await untilIdle(session);
      expect(count()).toBe(before + 1);
      await expectEachOnce(workplace, session, "stopped", [message, reply]);
      // What was refused never enters, and is not answered again by the run that completed.
      const ids = mailIds(await session.entries());
      expect(ids).not.toContain(request.id);
      expect(ids).not.toContain(ask.id);
      expect(workplace.model.requests("stopped").at(-1)?.text).not.toContain(request.body);
      expect(erin.received()).toHaveLength(1);
      expect(frank.received()).toHaveLength(1);
    });

    test("reads what comes after the stop as ever", async () => {
      const erin = new Correspondent(workplace);
      let mark = await midway(where);
      const early = erin.send(session, "message", "before the stop");
      await claimed(workplace, session.id);
      await session[stop]();
      await session.settled(mark);
      mark = session.mark();
      const late = erin.send(session, "request", "after the stop");
      await session.settled(mark);
      expect(await erin.answerTo(late)).toMatchObject({ status: "done", body: "ok" });
      expect(bodiesIn(workplace.model.requests("stopped").at(-1))).toContain(early.body);
      await expectEachOnce(workplace, session, "stopped", [early, late]);
    });

    test("does not read again what the run had read", async () => {
      const erin = new Correspondent(workplace);
      const gate = newGate(workplace);
      gate.open();
      const mark = session.mark();
      workplace.model.script("stopped", call("wait_for_file", { path: gate.path }));
      const letter = erin.send(session, "message", "read by a run that is stopped");
      await entryOf(session, letter);
      await session.settled(mark);
      const secondMark = await midway(where);
      await session[stop]();
      await session.settled(secondMark);
      await expectEachOnce(workplace, session, "stopped", [letter]);
    });
  });
});

describe("S5.4 the queue of Pi holds no mail", () => {
  test("also when it is emptied and the run goes on", async () => {
    const erin = new Correspondent(workplace);
    const gate = newGate(workplace);
    const mark = session.mark();
    workplace.model.script("stopped", call("wait_for_file", { path: gate.path }), say("both"));
    await session.prompt("use the tool");
    await inTool(session, mark);
    const letters = [
      erin.send(session, "message", "not in the queue"),
      erin.send(session, "request", "nor this"),
    ];
    await claimed(workplace, session.id);
    expect(await session.request("clear_queue")).toMatchObject({ steering: [], followUp: [] });
    gate.open();
    await session.settled(mark);
    expect((await erin.answerTo(letters[1])).body).toBe("both");
    await expectEachOnce(workplace, session, "stopped", letters);
  });
});

describe("S5.5 a run that ends on an error of the model", () => {
  test("has read the mail that started it, and does not read it again", async () => {
    const erin = new Correspondent(workplace);
    const before = count();
    const mark = session.mark();
    workplace.model.script("stopped", fail(500, "out of order"));
    const letter = erin.send(session, "message", "bad luck");
    expect(await session.settled(mark)).toMatchObject({ stopReason: "error" });
    await untilIdle(session);
    expect(count()).toBe(before + 1);
    await expectEachOnce(workplace, session, "stopped", [letter]);
  });

  test("has read the mail of its gap, and does not read it again", async () => {
    const erin = new Correspondent(workplace);
    const gate = newGate(workplace);
    const before = count();
    const mark = session.mark();
    workplace.model.script(
      "stopped",
      call("wait_for_file", { path: gate.path }),
      fail(500, "out of order"),
    );
    await session.prompt("use the tool");
    await inTool(session, mark);
    const letter = erin.send(session, "message", "in the gap before the error");
    await claimed(workplace, session.id);
    gate.open();
    expect(await session.settled(mark)).toMatchObject({ stopReason: "error" });
    await untilIdle(session);
    expect(count()).toBe(before + 2);
    await expectEachOnce(workplace, session, "stopped", [letter]);
  });

  test("leaves the mail that came meanwhile to the next run, which it starts", async () => {
    const erin = new Correspondent(workplace);
    const before = count();
    const mark = session.mark();
    const held = Promise.withResolvers<undefined>();
    workplace.model.script(
      "stopped",
      async () => {
        await held.promise;
        return fail(500, "out of order");
      },
      say("second try"),
    );
    await session.prompt("think");
    await workplace.model.waitForRequests("stopped", workplace.model.requests("stopped").length);
    await session.waitFor((event) => event.type === "turn_start", "a turn", { since: mark });
    const letter = erin.send(session, "request", "in the meantime");
    await claimed(workplace, session.id);
    held.resolve(undefined);
    expect(await erin.answerTo(letter)).toMatchObject({ status: "done", body: "second try" });
    await untilIdle(session);
    expect(count()).toBe(before + 2);
    await expectEachOnce(workplace, session, "stopped", [letter]);
  });
});

describe("S5.5 a model without a key", () => {
  test("cannot be asked; the mail is not lost, and the session with a key reads it once", async () => {
    const keyless = await openSession(workplace, "keyless-model", { keyless: true });
    const erin = new Correspondent(workplace);
    const message = erin.send(keyless, "message", "are you there?");
    const request = erin.send(keyless, "request", "do it");
    const answer = await erin.answerTo(request);
    expect(answer.status).toBe("failed");
    await entryOf(keyless, message);
    await untilIdle(keyless);
    expect(keyless.extensionErrors).toEqual([]);
    expect(mailIds(await keyless.entries())).toEqual([message.id, request.id]);
    await keyless.quit();
    expect(workplace.model.requests("keyless-model")).toEqual([]);

    const keyed = await openSession(workplace, "keyless-model", { id: keyless.id, resume: true });
    await expectEachOnce(workplace, keyed, "keyless-model", [message, request]);
    expect(erin.received()).toHaveLength(1);
    await keyed.quit();
  });
});
