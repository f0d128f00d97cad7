/**
 * Every way to stop or leave a session, at every moment of its life, with mail that is owed and
 * mail that is unread. Part one is a matrix of stops; part two is what is no stop: quit, /new,
 * /resume, /fork, /clone and /reload.
 */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { CLOSED } from "../../src/turn/settle.ts";
import { call, fail, say, type ScriptStep, stall } from "../host/model.ts";
import { piIsAtLeast } from "../host/pi.ts";
import type { PiSession } from "../host/session.ts";
import type { Workplace } from "../host/workplace.ts";
import {
  claimed,
  Correspondent,
  entryOf,
  expectEachOnce,
  extensionsIn,
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

/** More tokens than a model's window leaves room for, so that Pi compacts. */
const FULL = { tokens: 190_000 };

let workplace: Workplace;
let session: PiSession;
let name: string;

beforeAll(async () => {
  workplace = await openWorkplace({
    settings: {
      // Longer than any test: a back-off ends when it is stopped.
      retry: { enabled: true, maxRetries: 2, baseDelayMs: 600_000 },
      // Enough that a compaction takes no mail away that no model has seen.
      compaction: { keepRecentTokens: 2_000 },
    },
  });
  workplace.write("holds.ts", holds(workplace.folder));
});
afterEach(() => {
  for (const event of HELD_EVENTS) letGo(event);
  workplace.model.releaseSummaries();
});
afterAll(() => workplace.close());

const HELD_EVENTS = [
  "input",
  "before_agent_start",
  "agent_before_settle",
  "session_before_compact",
  "session_shutdown",
] as const;

type Held = (typeof HELD_EVENTS)[number];

/** An extension whose handlers wait for as long as the file `hold-<event>` is there. */
function holds(folder: string): string {
  return `
import { existsSync } from "node:fs";
export default function (pi) {
  const hold = async (event, ctx) => {
    const path = ${JSON.stringify(folder)} + "/hold-" + event;
    if (!existsSync(path)) return undefined;
    ctx.ui.notify("held in " + event);
    while (existsSync(path)) await new Promise((resolve) => setTimeout(resolve, 5));
    return event === "session_before_compact" ? { cancel: true } : undefined;
  };
  for (const event of ${JSON.stringify(HELD_EVENTS)}) pi.on(event, (_event, ctx) => hold(event, ctx));
  pi.registerCommand("try-reload", {
    description: "What /reload does, where Pi lets it",
    handler: async (_args, ctx) => {
      await ctx.reload().catch((error) => ctx.ui.notify("refused: " + error.message));
    },
  });
}
`;
}

function hold(event: Held): void {
  workplace.write(`hold-${event}`, "");
}

function letGo(event: Held): void {
  rmSync(join(workplace.folder, `hold-${event}`), { force: true });
}

async function untilHeld(event: Held, since: number): Promise<void> {
  await session.waitForNotification(`held in ${event}`, { since });
}

async function open(modelName: string): Promise<void> {
  name = modelName;
  await reopen({});
  await session.ask("hello");
}

async function reopen(options: Parameters<typeof openSession>[2]): Promise<void> {
  session = await openSession(workplace, name, {
    extensions: [...extensionsIn(workplace), join(workplace.folder, "holds.ts")],
    ...options,
  });
}

/** A letter, and its sender, who writes no other: what comes back is the answer to it. */
class Mail {
  readonly letter: Letter;
  readonly #sender = new Correspondent(workplace);

  constructor(kind: Letter["kind"], text: string) {
    this.letter =
      kind === "reply"
        ? this.#sender.sendQuietly(session.id, text)
        : this.#sender.send(session.id, kind, text);
  }

  /** The one answer, when it is there. */
  answer(): Promise<Letter> {
    return this.#sender.answerTo(this.letter);
  }

  /** All that ever came back. */
  get answers(): Letter[] {
    return this.#sender.received();
  }
}

interface Owed {
  readonly request: Mail;
  readonly ask: Mail;
}

interface Unread extends Owed {
  readonly message: Mail;
  readonly reply: Mail;
}

function sendOwed(): Owed {
  return { request: new Mail("request", "owed"), ask: new Mail("ask", "owed") };
}

function sendUnread(): Unread {
  return {
    request: new Mail("request", "unread"),
    ask: new Mail("ask", "unread"),
    message: new Mail("message", "unread"),
    reply: new Mail("reply", "unread"),
  };
}

/** Sends it, and waits until the session has it in its hands. */
async function unreadThere(): Promise<Unread> {
  const unread = sendUnread();
  await claimed(workplace, session.id);
  return unread;
}

function lettersOf(...batches: readonly object[]): Letter[] {
  return batches.flatMap((batch) => (Object.values(batch) as Mail[]).map(({ letter }) => letter));
}

const count = (): number => turnsOf(workplace.model, name).length;

/** Starts a run that reads a request and an ask in its first gap, and goes on with `steps`. */
async function reading(...steps: ScriptStep[]): Promise<Owed> {
  const gate = newGate(workplace);
  const mark = session.mark();
  workplace.model.script(name, call("wait_for_file", { path: gate.path }), ...steps);
  await session.prompt("use the tool");
  await inTool(session, mark);
  const owed = sendOwed();
  await claimed(workplace, session.id);
  gate.open();
  return owed;
}

async function inText(step = stall("half an answer")): Promise<Owed> {
  const mark = session.mark();
  const owed = await reading(step);
  await step.started;
  await session.waitForText(step.partialText, { since: mark });
  return owed;
}

async function inSecondTool(): Promise<Owed> {
  const mark = session.mark();
  const owed = await reading(call("wait_for_file", { path: newGate(workplace).path }));
  await inTool(session, mark, 2);
  return owed;
}

async function inBackOff(): Promise<Owed> {
  const mark = session.mark();
  const owed = await reading(fail(503, "overloaded"));
  await session.waitFor(({ type }) => type === "auto_retry_start", "a retry", { since: mark });
  return owed;
}

async function inCompaction(step: ScriptStep): Promise<Owed> {
  // What Pi keeps reaches back to here; all before it is old enough to be summarised.
  await session.ask("word ".repeat(2_000));
  const before = workplace.model.requests(name).filter(({ summary }) => summary).length;
  workplace.model.holdSummaries();
  const owed = await reading(step);
  await workplace.model.waitForSummaries(name, before + 1);
  return owed;
}

/** Idle, and owing a request and an ask: only a session that was closed owes an ask without a run. */
async function owingIdle(): Promise<Owed> {
  const owed = await inText();
  const { sessionFile } = await session.state();
  await session.newSession();
  await session.switchSession(sessionFile ?? "");
  return owed;
}

/** A tool call that is over at once. */
function quickCall(): ScriptStep {
  const gate = newGate(workplace);
  gate.open();
  return call("wait_for_file", { path: gate.path }, "", FULL);
}

/** What a stop comes to at a moment. */
type Outcome =
  /** The run is stopped: S6.4, S6.5 and S6.6. */
  | "stopped"
  /** The same, in a session that was closed before: what it owed since then it still owes (S6.7). */
  | "stopped, closed before"
  /** The run had its answer, and Pi was still at work behind it. */
  | "completed"
  /** To Pi, and so to us, the run has failed. */
  | "failed"
  /** There is nothing to stop. */
  | "goes on";

interface Moment {
  readonly where: string;
  readonly outcome: Outcome;
  /** Brings the session there, with a request and an ask that it has read, or is about to. */
  readonly reach: () => Promise<Owed>;
  /** What the test holds there, and lets go once the stop has been asked for. */
  readonly held?: Held;
}

// Before 1.1.0 nothing tells a stop in the back-off from a run that failed.
const tellsStop = piIsAtLeast("1.1.0");
// Before some version after 0.87 no run is on until `before_agent_start` is over.
const startsFirst = piIsAtLeast("1.3.0");

const moments: Moment[] = [
  { where: "in a text", outcome: "stopped", reach: () => inText() },
  { where: "in a tool call", outcome: "stopped", reach: inSecondTool },
  {
    where: "in a compaction between two turns",
    outcome: "stopped",
    reach: () => inCompaction(quickCall()),
  },
  {
    where: "in the compaction behind the last text",
    outcome: "completed",
    reach: () => inCompaction(say("its own", FULL)),
  },
  {
    where: "in `agent_before_settle`",
    outcome: "completed",
    held: "agent_before_settle",
    reach: async () => {
      const mark = session.mark();
      hold("agent_before_settle");
      const owed = await reading(say("its own"));
      await untilHeld("agent_before_settle", mark);
      return owed;
    },
  },
  ...(startsFirst
    ? [
        {
          where: "in the `before_agent_start` of a run that mail starts",
          outcome: "stopped",
          held: "before_agent_start",
          reach: async () => {
            const mark = session.mark();
            hold("before_agent_start");
            // Both at once, or the request would start the run alone.
            session.pause();
            const owed = sendOwed();
            session.resume();
            await untilHeld("before_agent_start", mark);
            return owed;
          },
        } satisfies Moment,
      ]
    : []),
  {
    where: "in the `before_agent_start` of a prompt",
    outcome: startsFirst ? "stopped, closed before" : "goes on",
    held: "before_agent_start",
    reach: async () => {
      const owed = await owingIdle();
      const mark = session.mark();
      hold("before_agent_start");
      prompting = session.prompt("a prompt", "followUp");
      await untilHeld("before_agent_start", mark);
      return owed;
    },
  },
  {
    where: "between the input of a prompt and its run",
    outcome: "goes on",
    held: "input",
    reach: async () => {
      const owed = await owingIdle();
      const mark = session.mark();
      hold("input");
      prompting = session.prompt("a prompt", "followUp");
      await untilHeld("input", mark);
      return owed;
    },
  },
  // Last: behind a try that failed Pi guesses how full a session is, and does not compact this one.
  { where: "in the back-off", outcome: tellsStop ? "stopped" : "failed", reach: inBackOff },
];

/** A prompt that Pi has yet to accept; a follow-up, in case that mail is quicker to start a run. */
let prompting: Promise<unknown> | undefined;

/** Checks what a stop has come to, has one run complete, and checks that nothing is lost or doubled. */
async function expectOutcome(outcome: Outcome, owed: Owed, unread: Unread): Promise<void> {
  const before = count();
  const answered = [owed.request, owed.ask, unread.request, unread.ask];
  if (outcome.startsWith("stopped")) {
    const closedBefore = outcome !== "stopped";
    for (const refused of [unread.request, unread.ask]) {
      const answer = await refused.answer();
      expect(answer.status).toBe("failed");
      expect(answer.body).toMatch(/nothing was done/i);
    }
    if (!closedBefore) expect((await owed.ask.answer()).status).toBe("stopped");
    await entryOf(session, unread.message.letter);
    await entryOf(session, unread.reply.letter);
    await untilIdle(session);
    expect(count()).toBe(before);
    expect(owed.request.answers).toEqual([]);
    const kept = [unread.message.letter, unread.reply.letter];
    await expectEachOnce(workplace, session, name, [...lettersOf(owed), ...kept]);
    const opening = closedBefore ? `${HELD}\n\n${CLOSED}` : HELD;
    const late = closedBefore ? [owed.request, owed.ask] : [owed.request];
    for (const mail of late) {
      expect(await mail.answer()).toMatchObject({ status: "done", body: `${opening}\n\nok` });
    }
    const ids = mailIds(await session.entries());
    expect(ids).not.toContain(unread.request.letter.id);
    expect(ids).not.toContain(unread.ask.letter.id);
  } else {
    for (const mail of [owed.request, owed.ask]) {
      const answer = await mail.answer();
      if (outcome === "failed") {
        expect(answer.status).toBe("failed");
        expect(answer.body).toContain("overloaded");
      } else {
        const body = outcome === "completed" ? "its own" : `${CLOSED}\n\nok`;
        expect(answer).toMatchObject({ status: "done", body });
      }
    }
    for (const mail of [unread.request, unread.ask]) {
      expect(await mail.answer()).toMatchObject({ status: "done", body: "ok" });
    }
    for (const { letter } of [unread.message, unread.reply]) await entryOf(session, letter);
    await untilIdle(session);
    await expectEachOnce(workplace, session, name, lettersOf(owed, unread));
  }
  for (const mail of answered) expect(mail.answers).toHaveLength(1);
  for (const mail of [unread.message, unread.reply]) expect(mail.answers).toEqual([]);
}

describe.each(["escape", "abort"] as const)("S5.5 S6.4 S6.5 S6.6 stopped by %s", (stop) => {
  beforeAll(() => open(`stop-${stop}`));
  afterAll(() => session.quit());

  test.each(moments)("$where: the run $outcome", async ({ outcome, reach, held }) => {
    const owed = await reach();
    const unread = await unreadThere();
    const before = count();
    const stopping = session[stop]();
    // What is asked later is answered later: the stop has reached Pi.
    await session.state();
    if (held !== undefined) letGo(held);
    await stopping;
    await prompting;
    prompting = undefined;
    workplace.model.releaseSummaries();
    if (outcome.startsWith("stopped")) expect(count()).toBe(before);
    await expectOutcome(outcome, owed, unread);
  });

  test("while idle: nothing happens, and what is owed is owed to the next run", async () => {
    const owed = await owingIdle();
    const before = count();
    await session[stop]();
    await untilIdle(session);
    expect(count()).toBe(before);
    expect([...owed.request.answers, ...owed.ask.answers]).toEqual([]);
    await expectOutcome("goes on", owed, await unreadThere());
  });
});

describe("S5.5 S6.1 Esc in the terminal where it ends less than the run", () => {
  beforeAll(() => open("stop-less"));
  afterAll(() => session.quit());

  // There Esc calls no more than `abortCompaction()`, which does what an extension's cancel does.
  test.each([
    { where: "between two turns", step: quickCall },
    { where: "behind the last text", step: undefined },
  ])("a compaction $where: the run goes on, and its answers are its own", async ({ step }) => {
    await session.ask("word ".repeat(2_000));
    const mark = session.mark();
    hold("session_before_compact");
    const owed = await reading(...(step ? [step(), say("its own")] : [say("its own", FULL)]));
    await untilHeld("session_before_compact", mark);
    const unread = await unreadThere();
    letGo("session_before_compact");
    await expectOutcome("completed", owed, unread);
  });

  // There Esc calls no more than `abortRetry()`, and nothing tells that from tries that are used up.
  test("the back-off: the run has failed, and unread mail starts the next", async () => {
    const owed = await inBackOff();
    const unread = await unreadThere();
    await session.request("abort_retry");
    await expectOutcome("failed", owed, unread);
  });
});

/** A way to leave a session and to come back to it, neither of which stops anything (S6.7). */
interface Way {
  /** Gets ready to leave, and gives what leaves. */
  readonly leaving: () => Promise<() => Promise<unknown>>;
  readonly comeBack: () => Promise<unknown>;
  /** Whether the process goes on in another session. */
  readonly other: boolean;
}

let file = "";

const restart: Pick<Way, "comeBack" | "other"> = {
  comeBack: () => reopen({ id: session.id, resume: true }),
  other: false,
};

const switchBack: Pick<Way, "comeBack" | "other"> = {
  comeBack: () => session.switchSession(file),
  other: true,
};

/** The file of another session, with a conversation of its own. */
async function otherSession(): Promise<string> {
  await session.newSession();
  await session.ask("hello");
  const { sessionFile } = await session.state();
  await session.switchSession(file);
  return sessionFile ?? "";
}

const ways: Record<string, Way> = {
  "end of input": { ...restart, leaving: () => Promise.resolve(() => session.quit()) },
  SIGTERM: { ...restart, leaving: () => Promise.resolve(() => session.kill("SIGTERM")) },
  "/new": { ...switchBack, leaving: () => Promise.resolve(() => session.newSession()) },
  "/resume": {
    ...switchBack,
    leaving: () => Promise.resolve(() => session.switchSession(otherFile)),
  },
  "/fork": {
    ...switchBack,
    leaving: async () => {
      const entries = await session.entries();
      const user = entries.findLast(({ message }) => message?.role === "user");
      return () => session.fork(user?.id ?? "");
    },
  },
  "/clone": { ...switchBack, leaving: () => Promise.resolve(() => session.clone()) },
};

let otherFile = "";

describe.each(Object.entries(ways))("S5.5 S6.7 left by %s", (called, way) => {
  beforeAll(async () => {
    await open(`left-${called.replaceAll(/\W/g, "")}`);
    file = (await session.state()).sessionFile ?? "";
    if (called === "/resume") otherFile = await otherSession();
  });
  afterAll(() => session.quit());

  /** The session that was opened instead owes nothing: a run that completes there answers nobody. */
  async function expectNothingAnswered(...batches: readonly object[]): Promise<void> {
    if (way.other) await session.ask("whose turn is it?");
    const mails = batches.flatMap((batch) => Object.values(batch) as Mail[]);
    expect(mails.flatMap(({ answers }) => answers)).toEqual([]);
  }

  test("in a text, then in a tool call: all is read once, and answered `done` once", async () => {
    const owed = await inText();
    const first = await unreadThere();
    await (
      await way.leaving()
    )();
    await expectNothingAnswered(owed, first);

    // What was unread starts a run that sits in a tool call.
    workplace.model.script(name, call("wait_for_file", { path: newGate(workplace).path }));
    const mark = way.other ? session.mark() : 0;
    await way.comeBack();
    await inTool(session, mark);
    const second = await unreadThere();
    await (
      await way.leaving()
    )();
    await expectNothingAnswered(owed, first, second);

    workplace.model.script(name, say("done at last"));
    await way.comeBack();
    for (const mail of [owed.request, owed.ask, first.request, first.ask]) {
      const body = `${CLOSED}\n\ndone at last`;
      expect(await mail.answer()).toMatchObject({ status: "done", body });
    }
    for (const mail of [second.request, second.ask]) {
      expect(await mail.answer()).toMatchObject({ status: "done", body: "done at last" });
    }
    await untilIdle(session);
    await expectEachOnce(workplace, session, name, lettersOf(owed, first, second));
    for (const { request, ask } of [owed, first, second]) {
      expect([request.answers.length, ask.answers.length]).toEqual([1, 1]);
    }
    for (const { message, reply } of [first, second]) {
      expect([...message.answers, ...reply.answers]).toEqual([]);
    }
  });

  test("while idle, as mail comes in: the same", async () => {
    const owed = await inSecondTool();
    await (
      await way.leaving()
    )();
    await way.comeBack();
    await untilIdle(session);
    // Which comes first when it wakes is open: it may leave at once, or out of a run just begun.
    const leave = await way.leaving();
    session.pause();
    const left = leave();
    const unread = sendUnread();
    session.resume();
    await left;
    await expectNothingAnswered(owed, unread);

    await way.comeBack();
    await session.prompt("go on", "followUp");
    for (const mail of [owed.request, owed.ask]) {
      expect(await mail.answer()).toMatchObject({ status: "done", body: `${CLOSED}\n\nok` });
    }
    for (const mail of [unread.request, unread.ask]) {
      const { status, body } = await mail.answer();
      expect(status).toBe("done");
      expect([`${CLOSED}\n\nok`, "ok"]).toContain(body);
    }
    await untilIdle(session);
    await expectEachOnce(workplace, session, name, lettersOf(owed, unread));
    for (const { request, ask } of [owed, unread]) {
      expect([request.answers.length, ask.answers.length]).toEqual([1, 1]);
    }
  });
});

describe("S5.5 S6.7 /reload", () => {
  beforeAll(() => open("reloaded"));
  afterAll(() => session.quit());

  test("while idle, as mail comes in: what is owed is owed, and what is unread is read", async () => {
    const owed = await owingIdle();
    const mark = session.mark();
    hold("session_shutdown");
    const reloaded = session.command("/try-reload");
    await untilHeld("session_shutdown", mark);
    const unread = sendUnread();
    letGo("session_shutdown");
    await reloaded;
    await expectOutcome("goes on", owed, unread);
  });

  // Pi 1.6.0 refuses it; 0.87.1 and 1.3.0 load extensions anew under the run, which goes on.
  test.each([
    { where: "in a text", reach: () => inText() },
    { where: "in a tool call", reach: inSecondTool },
  ])("$where: changes nothing, and the run can still be stopped", async ({ reach }) => {
    const owed = await reach();
    const unread = await unreadThere();
    const mark = session.mark();
    await session.command("/try-reload");
    if (piIsAtLeast("1.6.0")) await session.waitForNotification("refused: ", { since: mark });
    await session.escape();
    await expectOutcome("stopped", owed, unread);
  });

  test("in a text: the run that goes on answers what it had read", async () => {
    const step = stall("its ");
    const owed = await inText(step);
    const unread = await unreadThere();
    await session.command("/try-reload");
    step.release("own");
    await expectOutcome("completed", owed, unread);
  });

  test("S6.1 as mail starts a run: that run answers it", async () => {
    await session.quit();
    // Another extension that takes its time to shut down, before ours is told.
    const extensions = [join(workplace.folder, "holds.ts"), ...extensionsIn(workplace)];
    await reopen({ id: session.id, resume: true, extensions });
    const mark = session.mark();
    hold("session_shutdown");
    const step = stall("its ");
    workplace.model.script(name, step);
    const reloaded = session.command("/try-reload");
    await untilHeld("session_shutdown", mark);
    session.pause();
    const owed = sendOwed();
    session.resume();
    await step.started;
    const unread = await unreadThere();
    letGo("session_shutdown");
    await reloaded;
    step.release("own");
    await expectOutcome("completed", owed, unread);
  });
});
