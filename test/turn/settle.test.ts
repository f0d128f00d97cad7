import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Envelope } from "../../src/mail/envelope.ts";
import {
  type Answer,
  type Debt,
  type Outcome,
  refuseUnread,
  settle,
} from "../../src/turn/settle.ts";

const HELD =
  "(The user stopped an earlier run partway and took over; the answer that follows is from the run that completed after that.)";

const done = (text = "the answer"): Outcome => ({ status: "done", text });
const stopped = (text = "half"): Outcome => ({ status: "stopped", text });
const failed = (text = "half", error = "overloaded"): Outcome => ({
  status: "failed",
  text,
  error,
});

const debt = (id: string, more: Partial<Debt> = {}): Debt => ({
  id,
  from: "alice",
  kind: "request",
  held: false,
  closed: false,
  ...more,
});
const ask = (id: string, more: Partial<Debt> = {}): Debt => debt(id, { kind: "ask", ...more });
const many = (count: number, more: Partial<Debt> = {}): Debt[] =>
  Array.from({ length: count }, (_, place) => debt(`r${String(place)}`, more));

/** The body of the one answer there is. */
function onlyBody(answers: readonly Answer[]): string {
  expect(answers).toHaveLength(1);
  return answers[0]?.body ?? "";
}

describe("S6.1 who is answered when a run settles", () => {
  test("nobody, when nothing is owed", () => {
    expect(settle([], done())).toEqual({ answers: [], owed: [] });
    expect(settle([], stopped())).toEqual({ answers: [], owed: [] });
    expect(settle([], failed())).toEqual({ answers: [], owed: [] });
  });

  test("S6.2 one reply, done, with the text of the run and nothing else", () => {
    expect(settle([debt("r1")], done("All 12 tests pass."))).toEqual({
      answers: [{ to: "alice", in_reply_to: ["r1"], status: "done", body: "All 12 tests pass." }],
      owed: [],
    });
  });

  test("one reply per sender that lists its requests, and one of its own for the sender's asks", () => {
    const owed = [
      debt("a1"),
      debt("b1", { from: "bob" }),
      ask("a2"),
      debt("a3"),
      ask("b2", { from: "bob" }),
      ask("a4"),
    ];
    const { answers } = settle(owed, done());
    expect(answers.map(({ to, in_reply_to }) => [to, in_reply_to])).toEqual([
      ["alice", ["a1", "a3"]],
      ["bob", ["b1"]],
      ["alice", ["a2", "a4"]],
      ["bob", ["b2"]],
    ]);
  });

  test.each([
    [1, [1]],
    [49, [49]],
    [50, [50]],
    [51, [50, 1]],
    [100, [50, 50]],
    [101, [50, 50, 1]],
  ])("a reply names at most 50 ids: %d are answered in parts of %j", (count, sizes) => {
    const owed = many(count);
    const { answers } = settle(owed, done());
    expect(answers.map(({ in_reply_to }) => in_reply_to.length)).toEqual(sizes);
    expect(answers.flatMap(({ in_reply_to }) => in_reply_to)).toEqual(owed.map(({ id }) => id));
    expect(new Set(answers.map(({ body }) => body))).toEqual(new Set(["the answer"]));
  });

  test("requests and asks have 50 each", () => {
    const { answers } = settle([...many(50), ...many(50, { kind: "ask" })], done());
    expect(answers.map(({ in_reply_to }) => in_reply_to.length)).toEqual([50, 50]);
  });
});

describe("S6.2 a run that completed without a text", () => {
  test.each(["", " \n "])("is answered with a placeholder: %j", (text) => {
    expect(onlyBody(settle([debt("r1")], done(text)).answers)).toMatch(/without a text/);
  });
});

describe("S6.3 a run that ended on an error", () => {
  test("is answered with the error, then the partial text", () => {
    const { answers, owed } = settle([debt("r1"), ask("a1")], failed("Half of it.", "overloaded"));
    expect(owed).toEqual([]);
    expect(answers.map(({ status }) => status)).toEqual(["failed", "failed"]);
    for (const { body } of answers) {
      expect(body.indexOf("overloaded")).toBeGreaterThan(-1);
      expect(body.indexOf("Half of it.")).toBeGreaterThan(body.indexOf("overloaded"));
    }
  });

  test("is answered with the error alone where there is no text", () => {
    const body = onlyBody(settle([debt("r1")], failed("  ", "overloaded")).answers);
    expect(body).toMatch(/overloaded\)?$/);
  });
});

describe("S6.4 an ask that the user stopped a run on", () => {
  test("is answered stopped at once: it says so, then the partial text", () => {
    const { answers, owed } = settle([ask("a1")], stopped("Half of it."));
    expect(owed).toEqual([]);
    expect(answers).toMatchObject([{ to: "alice", in_reply_to: ["a1"], status: "stopped" }]);
    expect(onlyBody(answers)).toMatch(/stopped[\s\S]*Half of it\.$/);
  });

  test("says only that where there is no text", () => {
    expect(onlyBody(settle([ask("a1")], stopped(" ")).answers)).toMatch(/^\(.*stopped.*\)$/);
  });
});

describe("S6.5 a held request", () => {
  test("is not answered by a stopped run, and is owed from then on", () => {
    expect(settle([debt("r1")], stopped())).toEqual({
      answers: [],
      owed: [debt("r1", { held: true })],
    });
  });

  test("is owed through further stopped and failed runs", () => {
    const held = [debt("r1", { held: true })];
    expect(settle(held, stopped())).toEqual({ answers: [], owed: held });
    expect(settle(held, failed())).toEqual({ answers: [], owed: held });
  });

  test("is answered done by the run that completes, opening with the fixed line", () => {
    const { answers, owed } = settle([debt("r1", { held: true })], done("Now it is done."));
    expect(owed).toEqual([]);
    expect(answers).toMatchObject([{ to: "alice", in_reply_to: ["r1"], status: "done" }]);
    expect(onlyBody(answers)).toBe(`${HELD}\n\nNow it is done.`);
  });

  test("opens with the fixed line also where the run has no text", () => {
    const body = onlyBody(settle([debt("r1", { held: true })], done("")).answers);
    expect(body.startsWith(`${HELD}\n\n(`)).toBe(true);
  });

  test("opens the reply that lists it among others, and no other reply", () => {
    const { answers } = settle(
      [debt("r1"), debt("r2", { held: true }), debt("b1", { from: "bob" }), ask("a1")],
      done(),
    );
    expect(answers.map(({ body }) => body)).toEqual([
      `${HELD}\n\nthe answer`,
      "the answer",
      "the answer",
    ]);
  });

  test("opens only the part of a long reply that names it", () => {
    const { answers } = settle([...many(50), debt("held", { held: true })], done());
    expect(answers.map(({ body }) => body.startsWith(HELD))).toEqual([false, true]);
  });

  test("does not keep a newer request of the sender from being answered failed", () => {
    const { answers, owed } = settle([debt("r1", { held: true }), debt("r2")], failed());
    expect(answers.map(({ in_reply_to }) => in_reply_to)).toEqual([["r2"]]);
    expect(owed).toEqual([debt("r1", { held: true })]);
  });
});

describe("S6.7 what was read before the session was closed", () => {
  const kinds = ["request", "ask"] as const;

  test.each(kinds)("a %s is still owed after a failed run", (kind) => {
    const owed = [debt("r1", { kind, closed: true })];
    expect(settle(owed, failed())).toEqual({ answers: [], owed });
  });

  test.each(kinds)("a %s is still owed after a stopped run", (kind) => {
    const { answers, owed } = settle([debt("r1", { kind, closed: true })], stopped());
    expect(answers).toEqual([]);
    expect(owed).toMatchObject([{ id: "r1", kind, closed: true }]);
  });

  test.each(kinds)("a %s is answered done, opening with a line that says so", (kind) => {
    const { answers, owed } = settle([debt("r1", { kind, closed: true })], done());
    expect(owed).toEqual([]);
    expect(answers).toMatchObject([{ in_reply_to: ["r1"], status: "done" }]);
    expect(onlyBody(answers)).toMatch(/^\(.*session was closed.*\)\n\nthe answer$/);
  });

  test("a held request is still answered with the fixed line first", () => {
    const body = onlyBody(settle([debt("r1", { held: true, closed: true })], done()).answers);
    expect(body.startsWith(`${HELD}\n`)).toBe(true);
    expect(body).toMatch(/session was closed/);
    expect(body).toMatch(/\n\nthe answer$/);
  });
});

describe("S6.6 what a stopped session never read", () => {
  const unread = (id: string, from: string, kind: "request" | "ask"): Envelope => ({
    id,
    from,
    to: "me",
    kind,
    hops: 0,
    in_reply_to: [],
    status: "",
    ts: "2026-01-02T03:04:05.000Z",
    body: "do it",
  });

  test("is answered failed, saying that nothing was done", () => {
    const answers = refuseUnread([
      unread("r1", "alice", "request"),
      unread("a1", "alice", "ask"),
      unread("r2", "bob", "request"),
    ]);
    const answered = answers.flatMap(({ to, in_reply_to }) => in_reply_to.map((id) => [to, id]));
    expect(answered).toEqual([
      ["alice", "r1"],
      ["alice", "a1"],
      ["bob", "r2"],
    ]);
    for (const { status, body } of answers) {
      expect(status).toBe("failed");
      expect(body).toMatch(/nothing was done/i);
    }
  });

  test("is no answer where there is none", () => {
    expect(refuseUnread([])).toEqual([]);
  });
});

describe("the promise of section 6, over everything that can happen to a session", () => {
  type Event =
    | {
        readonly what: "read";
        readonly from: string;
        readonly kind: Debt["kind"];
        readonly count: number;
      }
    | { readonly what: "settle"; readonly outcome: Outcome }
    | { readonly what: "close" };

  const text = fc.constantFrom("", "  ", "some text");
  const event: fc.Arbitrary<Event> = fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({
        what: fc.constant("read" as const),
        from: fc.constantFrom("alice", "bob", "carol"),
        kind: fc.constantFrom("request" as const, "ask" as const),
        count: fc.oneof(
          { weight: 5, arbitrary: fc.constant(1) },
          fc.integer({ min: 45, max: 105 }),
        ),
      }),
    },
    {
      weight: 4,
      arbitrary: fc
        .oneof(
          text.map(done),
          text.map(stopped),
          text.map((partial) => failed(partial)),
        )
        .map((outcome) => ({ what: "settle" as const, outcome })),
    },
    { weight: 1, arbitrary: fc.constant({ what: "close" as const }) },
  );

  /** What a session should still be waiting to do for one mail, by the letter of section 6. */
  interface Promised {
    readonly from: string;
    readonly kind: Debt["kind"];
    held: boolean;
    closed: boolean;
    answers: number;
  }

  /** Whether a run that ended so answers it. */
  function isDue({ kind, held, closed }: Promised, status: Outcome["status"]): boolean {
    if (status === "done") return true;
    if (held || closed) return false;
    return status === "failed" || kind === "ask";
  }

  test("every request and ask is answered exactly once or still owed, as its clause says", () => {
    fc.assert(
      fc.property(fc.array(event, { maxLength: 25 }), (events) => {
        const promised = new Map<string, Promised>();
        let owed: readonly Debt[] = [];
        let read = 0;

        const settleWith = (outcome: Outcome): void => {
          const before = owed.map(({ id }) => id);
          const frozen = JSON.stringify(owed);
          const settlement = settle(owed, outcome);
          expect(JSON.stringify(owed)).toBe(frozen);

          const due = before.filter((id) => {
            const mail = promised.get(id);
            return mail && isDue(mail, outcome.status);
          });
          const named = settlement.answers.flatMap(({ in_reply_to }) => in_reply_to);
          expect([...named].sort()).toEqual([...due].sort());
          expect(settlement.owed.map(({ id }) => id)).toEqual(
            before.filter((id) => !due.includes(id)),
          );

          const perGroup = new Map<string, { mails: number; replies: number }>();
          for (const { to, in_reply_to, status, body } of settlement.answers) {
            expect(in_reply_to.length).toBeGreaterThan(0);
            expect(in_reply_to.length).toBeLessThanOrEqual(50);
            expect(status).toBe(outcome.status);
            expect(body.trim()).not.toBe("");
            const mails = in_reply_to.map((id) => promised.get(id));
            expect(new Set(mails.map((mail) => mail?.from))).toEqual(new Set([to]));
            expect(new Set(mails.map((mail) => mail?.kind)).size).toBe(1);
            const kind = mails[0]?.kind ?? "";
            if (status === "stopped") expect(kind).toBe("ask");
            expect(body.startsWith(`${HELD}\n\n`)).toBe(mails.some((mail) => mail?.held));
            expect(body.includes("session was closed")).toBe(mails.some((mail) => mail?.closed));
            const group = perGroup.get(`${kind} ${to}`) ?? { mails: 0, replies: 0 };
            group.mails += in_reply_to.length;
            group.replies += 1;
            perGroup.set(`${kind} ${to}`, group);
          }
          for (const { mails, replies } of perGroup.values()) {
            expect(replies).toBe(Math.ceil(mails / 50));
          }

          for (const id of named) {
            const mail = promised.get(id);
            if (mail) mail.answers += 1;
          }
          for (const { id } of settlement.owed) {
            const mail = promised.get(id);
            if (mail && outcome.status === "stopped") mail.held = true;
          }
          owed = settlement.owed;
        };

        for (const now of events) {
          switch (now.what) {
            case "read":
              for (let count = 0; count < now.count; count++) {
                const id = `m${String(read++)}`;
                const { from, kind } = now;
                promised.set(id, { from, kind, held: false, closed: false, answers: 0 });
                owed = [...owed, debt(id, { from, kind })];
              }
              break;
            case "close":
              owed = owed.map((one) => ({ ...one, closed: true }));
              for (const { id } of owed) {
                const mail = promised.get(id);
                if (mail) mail.closed = true;
              }
              break;
            case "settle":
              settleWith(now.outcome);
          }
          const open = new Set(owed.map(({ id }) => id));
          for (const [id, { answers }] of promised) expect(answers).toBe(open.has(id) ? 0 : 1);
        }
        settleWith(done());
        expect(owed).toEqual([]);
        for (const { answers } of promised.values()) expect(answers).toBe(1);
      }),
      { numRuns: 300 },
    );
  });

  test("whatever else the ledger keeps beside a debt stays with it", () => {
    const owed = [
      { ...debt("r1"), ts: "then" },
      { ...debt("r2", { closed: true }), ts: "later" },
    ];
    expect(settle(owed, stopped()).owed).toMatchObject([{ ts: "then" }, { ts: "later" }]);
    expect(settle(owed, failed()).owed).toMatchObject([{ ts: "later" }]);
  });
});
