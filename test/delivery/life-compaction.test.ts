/** Compaction and retries: stretches of a session's life in which it is neither idle nor in a turn. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { call, fail, say } from "../host/model.ts";
import { piIsAtLeast } from "../host/pi.ts";
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
  session = await openSession(workplace, "compact");
  await session.ask("hello");
});
afterEach(() => {
  workplace.model.releaseSummaries();
});
afterAll(() => workplace.close());

const count = (): number => turnsOf(workplace.model, "compact").length;

/** Waits until the summary that was asked for next is being written; `release` lets it be ready. */
function nextSummary(): Promise<unknown> {
  const before = workplace.model.requests("compact").filter(({ summary }) => summary).length;
  return workplace.model.waitForSummaries("compact", before + 1);
}

describe("S5.5 a compaction by hand", () => {
  test("takes no mail in; what came is read after it, at the cost of one request", async () => {
    const erin = new Correspondent(workplace);
    const before = count();
    workplace.model.holdSummaries();
    const summary = nextSummary();
    const compacted = session.compact();
    await summary;
    const mark = session.mark();
    const letters = [
      erin.send(session, "message", "during the compaction"),
      erin.send(session, "request", "this too"),
    ];
    await claimed(workplace, session.id);
    expect(mailIds(await session.entries())).toEqual([]);
    expect(count()).toBe(before);
    workplace.model.releaseSummaries();
    await compacted;
    await session.settled(mark);
    expect(count()).toBe(before + 1);
    expect(bodiesIn(workplace.model.requests("compact").at(-1))).toEqual(
      letters.map(({ body }) => body),
    );
    expect((await erin.answerTo(letters[1])).body).toBe("ok");
    await expectEachOnce(workplace, session, "compact", letters);
  });

  test("that is given up lets the mail in, too", async () => {
    const erin = new Correspondent(workplace);
    await session.ask("something to compact");
    const before = count();
    workplace.model.holdSummaries();
    const summary = nextSummary();
    const compacted = session.compact().then(
      () => "compacted",
      () => "given up",
    );
    await summary;
    const mark = session.mark();
    const letter = erin.send(session, "request", "during a compaction that is given up");
    await claimed(workplace, session.id);
    await session.escape();
    expect(await compacted).toBe("given up");
    await session.settled(mark);
    expect(await erin.answerTo(letter)).toMatchObject({ status: "done", body: "ok" });
    expect(count()).toBe(before + 1);
    await expectEachOnce(workplace, session, "compact", [letter]);
  });

  test("shows what is quiet after it, and asks no model", async () => {
    const erin = new Correspondent(workplace);
    const before = count();
    workplace.model.holdSummaries();
    const summary = nextSummary();
    const compacted = session.compact();
    await summary;
    const letter = erin.sendQuietly(session, "an answer during the compaction");
    await claimed(workplace, session.id);
    workplace.model.releaseSummaries();
    await compacted;
    await entryOf(session, letter);
    expect(count()).toBe(before);
    await expectEachOnce(workplace, session, "compact", [letter]);
  });

  test("does not bring back what was read before it", async () => {
    const erin = new Correspondent(workplace);
    const letter = erin.send(session, "request", "before the compaction");
    await erin.answerTo(letter);
    await untilIdle(session);
    await session.ask("one thing");
    await session.ask("another thing");
    await session.compact();
    await expectEachOnce(workplace, session, "compact", [letter]);
    expect(bodiesIn(workplace.model.requests("compact").at(-1))).not.toContain(letter.body);
    expect(erin.received()).toHaveLength(1);
  });
});

describe("S6.1 a compaction at the end of a run", () => {
  test("holds its answer until the run settles, and the mail that came until after that", async () => {
    const erin = new Correspondent(workplace);
    const before = count();
    workplace.model.script("compact", say("it is full", { tokens: 190_000 }), say("next"));
    workplace.model.holdSummaries();
    const summary = nextSummary();
    const asked = erin.send(session, "request", "fill it up");
    await summary;
    const late = erin.send(session, "request", "while it compacts by itself");
    await claimed(workplace, session.id);
    await session.entries();
    expect(erin.received()).toEqual([]);
    expect(count()).toBe(before + 1);
    workplace.model.releaseSummaries();
    expect(await erin.answerTo(asked)).toMatchObject({ status: "done", body: "it is full" });
    expect(await erin.answerTo(late)).toMatchObject({ status: "done", body: "next" });
    await untilIdle(session);
    expect(count()).toBe(before + 2);
    await expectEachOnce(workplace, session, "compact", [asked, late]);
  });

  test("that is given up leaves the answer of the run what it is", async () => {
    const erin = new Correspondent(workplace);
    await session.ask("something to compact");
    workplace.model.script("compact", say("it is full again", { tokens: 190_000 }));
    workplace.model.holdSummaries();
    const summary = nextSummary();
    const asked = erin.send(session, "request", "fill it up again");
    await summary;
    await session.escape();
    expect(await erin.answerTo(asked)).toMatchObject({ status: "done", body: "it is full again" });
    await untilIdle(session);
    workplace.model.releaseSummaries();
    await expectEachOnce(workplace, session, "compact", [asked]);
  });
});

describe("S5.5 a compaction at the start of a run", () => {
  /** Leaves the session full, and not compacted. */
  async function full(): Promise<void> {
    workplace.model.script("compact", say("full", { tokens: 190_000 }));
    workplace.model.holdSummaries();
    const summary = nextSummary();
    await session.prompt("fill it up");
    await summary;
    await session.escape();
    await untilIdle(session);
    workplace.model.releaseSummaries();
  }

  test("of the user: the mail that comes meanwhile is read after it", async () => {
    const erin = new Correspondent(workplace);
    await full();
    workplace.model.holdSummaries();
    const before = count();
    const summary = nextSummary();
    const mark = session.mark();
    const prompted = session.prompt("after the compaction");
    await summary;
    const letter = erin.send(session, "request", "during the compaction before a prompt");
    await claimed(workplace, session.id);
    workplace.model.releaseSummaries();
    await prompted;
    await session.settled(mark);
    expect(await erin.answerTo(letter)).toMatchObject({ status: "done", body: "ok" });
    await untilIdle(session);
    expect(count()).toBe(before + 2);
    await expectEachOnce(workplace, session, "compact", [letter]);
  });

  // Since some version after 0.87; before, only a prompt of the user made Pi compact first.
  const mailCompacts = piIsAtLeast("1.3.0");

  test.runIf(mailCompacts)(
    "of mail: it is delivered once, and what comes meanwhile after it",
    async () => {
      const erin = new Correspondent(workplace);
      await full();
      workplace.model.holdSummaries();
      const before = count();
      const summary = nextSummary();
      const first = erin.send(session, "request", "that makes it compact");
      await summary;
      const second = erin.send(session, "request", "during the compaction that mail set off");
      await claimed(workplace, session.id);
      workplace.model.releaseSummaries();
      await erin.answerTo(first);
      await erin.answerTo(second);
      await untilIdle(session);
      expect(count()).toBe(before + 2);
      await expectEachOnce(workplace, session, "compact", [first, second]);
    },
  );

  test.runIf(mailCompacts)("of mail, given up: the mail is not lost", async () => {
    const erin = new Correspondent(workplace);
    await full();
    workplace.model.holdSummaries();
    const summary = nextSummary();
    const letters = [erin.send(session, "message", "that makes it compact in vain")];
    await summary;
    letters.push(erin.send(session, "message", "during a compaction in vain"));
    await claimed(workplace, session.id);
    await session.escape();
    workplace.model.releaseSummaries();
    for (const letter of letters) await entryOf(session, letter);
    await untilIdle(session);
    await session.ask("Anything else?");
    const ids = letters.map(({ id }) => id);
    const entered = mailIds(await session.entries()).filter((id) => ids.includes(String(id)));
    expect(entered).toEqual(ids);
    // The session is still full, so that the next run compacts them: whoever writes the summary,
    // or the model, was shown each.
    const shown = workplace.model.requests("compact").map(({ text }) => text);
    for (const { body } of letters) expect(shown.some((text) => text.includes(body))).toBe(true);
  });
});

describe("S5.5 a compaction inside a run", () => {
  test("neither loses nor doubles the mail of the gap before it, nor what comes during it", async () => {
    const erin = new Correspondent(workplace);
    const gate = newGate(workplace);
    const next = newGate(workplace);
    next.open();
    const mark = session.mark();
    workplace.model.script(
      "compact",
      call("wait_for_file", { path: gate.path }, "", { tokens: 190_000 }),
      call("wait_for_file", { path: next.path }),
      say("the run is over"),
    );
    await session.prompt("a long run");
    await inTool(session, mark);
    const first = erin.send(session, "request", "in the gap before the compaction");
    await claimed(workplace, session.id);
    workplace.model.holdSummaries();
    const summary = nextSummary();
    gate.open();
    await summary;
    const second = erin.send(session, "request", "during the compaction inside the run");
    await claimed(workplace, session.id);
    workplace.model.releaseSummaries();
    expect((await session.settled(mark)).text).toBe("the run is over");
    const answer = await erin.answerTo(first);
    expect(answer).toMatchObject({ status: "done", body: "the run is over" });
    expect(answer.in_reply_to).toEqual([first.id, second.id]);
    await expectEachOnce(workplace, session, "compact", [first, second]);
  });
});

describe("S5.5 S6.1 a run that Pi tries again", () => {
  let other: Workplace;
  beforeAll(async () => {
    other = await openWorkplace({
      settings: { retry: { enabled: true, maxRetries: 2, baseDelayMs: 200 } },
    });
  });
  afterAll(() => other.close());

  test("is one run: its answer is that of the last try, and mail of the back-off comes next", async () => {
    const retrying = await openSession(other, "retrying");
    const [erin, frank] = [new Correspondent(other), new Correspondent(other)];
    other.model.script("retrying", fail(503, "overloaded"), say("second try"), say("next"));
    const asked = erin.send(retrying, "request", "try hard");
    await retrying.waitFor((event) => event.type === "auto_retry_start", "a retry");
    const during = [
      frank.send(retrying, "request", "in the back-off"),
      frank.sendQuietly(retrying, "quietly in the back-off"),
    ];
    await claimed(other, retrying.id);
    expect(await erin.answerTo(asked)).toMatchObject({ status: "done", body: "second try" });
    expect(await frank.answerTo(during[0])).toMatchObject({ status: "done", body: "next" });
    await untilIdle(retrying);
    expect(turnsOf(other.model, "retrying")).toHaveLength(3);
    await expectEachOnce(other, retrying, "retrying", [asked, ...during]);
    await retrying.quit();
  });

  test("and that fails for good fails once; the mail of the back-off starts the next run", async () => {
    const retrying = await openSession(other, "failing");
    const [erin, frank] = [new Correspondent(other), new Correspondent(other)];
    other.model.script(
      "failing",
      ...["one", "two", "three"].map((text) => fail(503, `overloaded ${text}`)),
      say("next"),
    );
    const asked = erin.send(retrying, "request", "try in vain");
    await retrying.waitFor((event) => event.type === "auto_retry_start", "a retry");
    const during = frank.send(retrying, "request", "in the back-off");
    await claimed(other, retrying.id);
    const answer = await erin.answerTo(asked);
    expect(answer.status).toBe("failed");
    expect(answer.body).toContain("overloaded");
    expect(await frank.answerTo(during)).toMatchObject({ status: "done", body: "next" });
    await untilIdle(retrying);
    expect(turnsOf(other.model, "failing")).toHaveLength(4);
    await expectEachOnce(other, retrying, "failing", [asked, during]);
    expect(erin.received()).toHaveLength(1);
    await retrying.quit();
  });

  // Before 1.1.0 nothing tells a stop in the back-off from a run that failed.
  const tellsStop = piIsAtLeast("1.1.0");

  test.runIf(tellsStop)("and that the user stops in the back-off is stopped", async () => {
    const retrying = await openSession(other, "stopped-retry");
    const [erin, frank] = [new Correspondent(other), new Correspondent(other)];
    other.model.script("stopped-retry", fail(503, "overloaded"), say("done"));
    const asked = erin.send(retrying, "request", "try hard");
    await retrying.waitFor((event) => event.type === "auto_retry_start", "a retry");
    const during = [
      frank.send(retrying, "message", "in the back-off"),
      frank.send(retrying, "ask", "also in the back-off"),
    ];
    await claimed(other, retrying.id);
    await retrying.escape();
    expect(await frank.answerTo(during[1])).toMatchObject({ status: "failed" });
    await entryOf(retrying, during[0]);
    expect(turnsOf(other.model, "stopped-retry")).toHaveLength(1);
    expect(erin.received()).toEqual([]);
    await expectEachOnce(other, retrying, "stopped-retry", [asked, during[0]]);
    expect(await erin.answerTo(asked)).toMatchObject({ status: "done" });
    await retrying.quit();
  });
});
