/** `pi -p`: a prompt, its answer, and the end. */
import { readdirSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { call, fail, say, stall } from "../host/model.ts";
import { newSessionId } from "../host/session.ts";
import type { PrintResult, Workplace } from "../host/workplace.ts";
import {
  bodiesIn,
  claimed,
  Correspondent,
  entryOf,
  expectEachOnce,
  extensionsIn,
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

const print = (prompt: string, name: string, id: string, args?: string[]): Promise<PrintResult> =>
  workplace.print(prompt, {
    name,
    model: name,
    id,
    extensions: extensionsIn(workplace),
    ...(args === undefined ? {} : { args }),
  });

describe("S5.2 S5.6 mail that waits when `pi -p` starts", () => {
  test("goes along with the prompt's own request, and the output is the prompt's answer", async () => {
    const id = newSessionId();
    const erin = new Correspondent(workplace);
    const letters = [
      erin.send(id, "message", "one"),
      erin.send(id, "request", "two"),
      erin.sendQuietly(id, "three"),
    ];
    workplace.model.script("print", say("the answer"));
    const result = await print("the question", "print", id);
    expect(result).toMatchObject({ stdout: "the answer\n", code: 0 });
    const requests = turnsOf(workplace.model, "print");
    expect(requests).toHaveLength(1);
    expect(bodiesIn(requests[0])).toEqual(letters.map(({ body }) => body));
    expect(requests[0]?.last).toBe("the question");
    expect(await erin.answerTo(letters[1])).toMatchObject({ status: "done", body: "the answer" });

    const session = await openSession(workplace, "print", { id, resume: true });
    await expectEachOnce(workplace, session, "print", letters);
    expect(erin.received()).toHaveLength(1);
    await session.quit();
  });

  test("is owed when the run fails, and answered when the session is opened", async () => {
    const id = newSessionId();
    const erin = new Correspondent(workplace);
    const letter = erin.send(id, "message", "read by a run that fails");
    workplace.model.script("print-fails", fail(500, "out of order"));
    const result = await print("the question", "print-fails", id);
    expect(result).toMatchObject({ stdout: "", code: 1 });
    expect(result.stderr).toContain("out of order");
    const session = await openSession(workplace, "print-fails", { id, resume: true });
    await expectEachOnce(workplace, session, "print-fails", [letter]);
    await session.quit();
  });
});

describe("S6.9 mail that comes while `pi -p` runs", () => {
  test("stays unread in its last text, and is read when the session is opened", async () => {
    const id = newSessionId();
    const erin = new Correspondent(workplace);
    const step = stall("the ");
    workplace.model.script("print-late", step);
    const printed = print("the question", "print-late", id);
    await step.started;
    const letters = [
      erin.send(id, "request", "too late"),
      erin.send(id, "message", "also too late"),
      erin.sendQuietly(id, "and this"),
    ];
    await claimed(workplace, id);
    step.release("answer");
    expect(await printed).toMatchObject({ stdout: "the answer\n", code: 0 });
    expect(turnsOf(workplace.model, "print-late")).toHaveLength(1);
    expect(erin.received()).toEqual([]);

    workplace.model.script("print-late", say("read at last"));
    const session = await openSession(workplace, "print-late", { id, resume: true });
    await entryOf(session, letters[2]);
    expect(await erin.answerTo(letters[0])).toMatchObject({
      status: "done",
      body: "read at last",
    });
    await untilIdle(session);
    expect(turnsOf(workplace.model, "print-late")).toHaveLength(2);
    await expectEachOnce(workplace, session, "print-late", letters);
    await session.quit();
  });

  test("is read at the gap behind a tool call, and answered with the output", async () => {
    const id = newSessionId();
    const erin = new Correspondent(workplace);
    const gate = newGate(workplace);
    workplace.model.script(
      "print-gap",
      call("wait_for_file", { path: gate.path }),
      say("the answer to both"),
    );
    const printed = print("the question", "print-gap", id);
    await workplace.model.waitForRequests("print-gap", 1);
    const letter = erin.send(id, "request", "in time");
    await claimed(workplace, id);
    gate.open();
    expect(await printed).toMatchObject({ stdout: "the answer to both\n", code: 0 });
    expect(turnsOf(workplace.model, "print-gap")).toHaveLength(2);
    expect(await erin.answerTo(letter)).toMatchObject({ body: "the answer to both" });
    const session = await openSession(workplace, "print-gap", { id, resume: true });
    expect(mailIds(await session.entries())).toEqual([letter.id]);
    await expectEachOnce(workplace, session, "print-gap", [letter]);
    await session.quit();
  });
});

describe("S7.4 an ask in `pi -p`", () => {
  test("waits for its answer, though nothing else keeps the process alive", async () => {
    const bob = await openSession(workplace, "print-bob", { name: "print-bob" });
    const thinking = stall("it is ");
    workplace.model.script("print-bob", thinking);
    workplace.model.script(
      "print-asks",
      call("session_mail_ask", { to: "print-bob", message: "which port?" }),
      say("thanks"),
    );
    const printed = print("find the port", "print-asks", newSessionId());
    await thinking.started;
    // Long enough for a process that has nothing to do to end.
    await Promise.race([printed, delay(1000)]);
    thinking.release("8080");
    expect(await printed).toMatchObject({ stdout: "thanks\n", code: 0 });
    expect(turnsOf(workplace.model, "print-asks")[1]?.last).toContain("it is 8080");
    await bob.quit();
  });
});

describe("`pi -p` without a stored session", () => {
  test("prints its answer and leaves nothing to be read", async () => {
    const running = (): string[] => readdirSync(`${workplace.root}/running`);
    const before = running();
    workplace.model.script("print-none", say("the answer"));
    const result = await workplace.print("the question", {
      model: "print-none",
      session: false,
      extensions: extensionsIn(workplace),
    });
    expect(result).toMatchObject({ stdout: "the answer\n", stderr: "", code: 0 });
    expect(running()).toEqual(before);
  });
});

describe("S6.7 `pi -p` on a session that owes an answer", () => {
  test("gives it, when its run completes", async () => {
    const first = await openSession(workplace, "print-owed");
    await first.ask("hello");
    const erin = new Correspondent(workplace);
    const step = stall("half");
    workplace.model.script("print-owed", step);
    const request = erin.send(first, "request", "work");
    await step.started;
    await first.kill();
    workplace.model.script("print-owed", say("printed and sent"));
    const result = await print("go on", "print-owed", first.id);
    expect(result).toMatchObject({ stdout: "printed and sent\n", code: 0 });
    const answer = await erin.answerTo(request);
    expect(answer.status).toBe("done");
    expect(answer.body).toMatch(/closed[^]*\n\nprinted and sent$/);
  });
});
