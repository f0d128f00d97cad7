import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Envelope, Kind, ReplyStatus } from "../../src/mail/envelope.ts";
import {
  type Answered,
  duration,
  type Labelled,
  labelMail,
  notAnAnswer,
  shownText,
  type Span,
} from "../../src/turn/label.ts";
import { timesAsLong } from "../fixtures/time.ts";
import { hostile } from "./hostile.ts";
import { BIDIRECTIONAL, ESCAPES, linesOf, looksLikeFrame } from "./reader.ts";

const ALICE = "01998c2a-0000-7000-8000-00000000000a";
const NOW = Date.parse("2026-01-02T03:04:05.678Z");
const MINUTE = 60_000;

const envelope = (more: Partial<Envelope> = {}): Envelope => ({
  id: "m1",
  from: ALICE,
  to: "me",
  kind: "request",
  hops: 0,
  in_reply_to: [],
  status: "",
  ts: "2026-01-02T03:04:05.678Z",
  body: "Please run the tests.",
  ...more,
});

const labelled = (more: Partial<Labelled> = {}): Labelled => ({
  envelope: envelope(),
  path: "/root/me/cur/m1.json",
  sender: { address: ALICE, label: "alice", cwd: "/src/app" },
  answered: [],
  late: false,
  sentAt: NOW,
  now: NOW,
  ...more,
});

const sent = (id: string, kind: Kind, body = `the text of ${id}`): Answered => ({
  id,
  copy: { envelope: envelope({ id, kind, body }), path: `/root/me/sent/${id}.json` },
});

const textOf = (mail: Labelled): string => labelMail(mail).text;

const reply = (answered: readonly Answered[], status: ReplyStatus = "done", late = false): string =>
  textOf(
    labelled({
      envelope: envelope({
        kind: "reply",
        status,
        in_reply_to: answered.map(({ id }) => id),
        body: "The answer.",
      }),
      answered,
      late,
    }),
  );

const firstLine = (text: string): string => text.split("\n")[0] ?? "";

describe("S5.9 the text of injected mail", () => {
  test("opens with who it is from and closes with where it ends, to the letter", () => {
    const lines = textOf(labelled()).split("\n");
    expect(lines[0]).toMatch(
      /^\[mailbox\] From alice \(01998c2a-0000-7000-8000-00000000000a, working in \/src\/app\), another Pi session on this machine\. \S/,
    );
    expect(lines.slice(1)).toEqual([
      "",
      "Please run the tests.",
      "",
      "[mailbox] End of the mail from alice. Text after this line is not part of it.",
    ]);
  });

  test("leaves out where the sender works when it does not run", () => {
    const sender = { address: ALICE, label: "01998c2a", cwd: undefined };
    const lines = textOf(labelled({ sender })).split("\n");
    expect(lines[0]).toMatch(
      /^\[mailbox\] From 01998c2a \(01998c2a-0000-7000-8000-00000000000a\), another Pi session on this machine\. \S/,
    );
    expect(lines.at(-1)).toBe(
      "[mailbox] End of the mail from 01998c2a. Text after this line is not part of it.",
    );
  });

  test("has its quotes between the first line and the body, each with blank lines around it", () => {
    const lines = reply([sent("r1", "request", "one\ntwo"), sent("r2", "request")]).split("\n");
    expect(lines.slice(1, -1)).toEqual([
      "",
      expect.stringContaining("r1"),
      "> one",
      "> two",
      "",
      expect.stringContaining("r2"),
      "> the text of r2",
      "",
      "The answer.",
      "",
    ]);
  });

  test("keeps the lines of the body, an empty body included", () => {
    const body = "one\n\n\ttwo\n";
    expect(
      textOf(labelled({ envelope: envelope({ body }) }))
        .split("\n")
        .slice(1, -1),
    ).toEqual(["", "one", "", "\ttwo", "", ""]);
    expect(
      textOf(labelled({ envelope: envelope({ body: "" }) }))
        .split("\n")
        .slice(1, -1),
    ).toEqual(["", "", ""]);
  });
});

describe("the parts of the text of a mail", () => {
  const part = (text: string, [start, end]: Span): string => text.slice(start, end);

  test("are the body and each mail that it answers with the line that names it", () => {
    const { text, body, quotes } = labelMail(
      labelled({
        envelope: envelope({ kind: "reply", status: "done", body: "😀 The answer.\n" }),
        answered: [
          sent("r1", "request", "one\ntwo"),
          { id: "r2", copy: undefined },
          sent("r3", "ask", "漢"),
        ],
      }),
    );
    expect(part(text, body)).toBe("😀 The answer.\n");
    expect(quotes.map((quote) => part(text, quote))).toEqual([
      "What r1 said:\n> one\n> two",
      "It answers r2, of which no copy is kept.",
      "What r3 said:\n> 漢",
    ]);
  });

  test("of a body that is cut include the note that says so", () => {
    const long = envelope({ body: "a".repeat(32 * 1024 + 1) });
    const { text, body } = labelMail(labelled({ envelope: long }));
    expect(part(text, body)).toMatch(/^a+\n\(Cut here at 32 KiB; .*\)$/);
  });

  test("of an empty mail are empty", () => {
    const { text, body, quotes } = labelMail(labelled({ envelope: envelope({ body: "" }) }));
    expect(part(text, body)).toBe("");
    expect(quotes).toEqual([]);
  });
});

describe("S5.10 what the first line says after its first sentence", () => {
  const of = (kind: Kind): string => firstLine(textOf(labelled({ envelope: envelope({ kind }) })));

  test("a request: the final answer of this turn goes back automatically", () => {
    expect(of("request")).toMatch(/\. .*final answer of this turn goes back .*automatically\.$/);
  });

  test("an ask: its sender is waiting, its id and the tool to answer, and what is sent otherwise", () => {
    const line = of("ask");
    expect(line).toMatch(/waiting/);
    expect(line).toMatch(/session_mail_reply\b.*\bm1\b/);
    expect(line).toMatch(/otherwise.*last message of this run/i);
  });

  test("a message: it expects no answer, and session_mail_send to the full id sends one", () => {
    const line = of("message");
    expect(line).toMatch(/expects no answer/);
    expect(line).toContain(`session_mail_send to ${ALICE} `);
  });

  test("a reply names all that it answers", () => {
    const line = firstLine(reply([sent("r1", "request"), { id: "r2", copy: undefined }]));
    expect(line).toMatch(/answers r1, r2\b/);
    expect(line.match(/answers/g)).toHaveLength(1);
  });

  test("a reply to a request says that the user made it, with /mailbox or through an extension", () => {
    const made = /user of this session.*\/mailbox or through an extension/;
    expect(firstLine(reply([sent("r1", "request")]))).toMatch(made);
    expect(firstLine(reply([{ id: "r2", copy: undefined }, sent("r1", "request")]))).toMatch(made);
    expect(firstLine(reply([sent("a1", "ask")], "done", true))).not.toMatch(made);
    expect(firstLine(reply([{ id: "r2", copy: undefined }]))).not.toMatch(made);
  });

  test("a late answer says that the ask had stopped waiting", () => {
    const stopped = /ask.*stopped waiting.*\ba1\b/;
    const line = firstLine(reply([sent("a1", "ask")], "done", true));
    expect(line).toMatch(stopped);
    expect(line.match(/answers/g)).toHaveLength(1);
    expect(line.match(/\ba1\b/g)).toHaveLength(1);
    expect(firstLine(reply([sent("a1", "ask")]))).not.toMatch(/stopped waiting/);
    expect(firstLine(reply([sent("r1", "request")]))).not.toMatch(/stopped waiting/);
  });

  test("S5.10 a late answer to an ask of which no copy is kept says so, too", () => {
    const line = firstLine(reply([{ id: "a1", copy: undefined }], "done", true));
    expect(line).toMatch(/ask.*stopped waiting.*\ba1\b/);
  });

  test("S5.10 a late reply that answers a request as well says that the user made that", () => {
    const line = firstLine(reply([sent("a1", "ask"), sent("r1", "request")], "done", true));
    expect(line).toMatch(/stopped waiting/);
    expect(line).toMatch(/user of this session.*\/mailbox or through an extension/);
    expect(line.match(/\b(a1|r1)\b/g)).toEqual(["a1", "r1"]);
  });

  test.each<ReplyStatus>(["stopped", "failed"])(
    "a reply that is %s says that it is not an answer, late or not",
    (status) => {
      expect(firstLine(reply([sent("r1", "request")], status))).toMatch(/not an answer/);
      expect(firstLine(reply([sent("a1", "ask")], status, true))).toMatch(/not an answer/);
    },
  );

  test("a reply that is done says nothing of the kind", () => {
    expect(firstLine(reply([sent("r1", "request")]))).not.toMatch(/not an answer/);
    expect(notAnAnswer("done")).toBeUndefined();
    expect(notAnAnswer("stopped")).toMatch(/not an answer.*stopped/);
    expect(notAnAnswer("failed")).toMatch(/not an answer.*failed/);
  });

  test("a reply of no status or no ids, as another program may write it, has a label too", () => {
    const odd = envelope({ kind: "reply", status: "" });
    const line = firstLine(textOf(labelled({ envelope: odd })));
    expect(line).toMatch(
      /^\[mailbox\] From alice .*another Pi session on this machine\. It answers \S.*\.$/,
    );
    expect(line).not.toMatch(/not an answer/);
  });

  test("there is no word of distrust", () => {
    const all = [
      of("request"),
      of("ask"),
      of("message"),
      reply([sent("r1", "request")]),
      reply([sent("a1", "ask")], "failed", true),
    ];
    for (const text of all) {
      expect(text).not.toMatch(
        /trust|caution|careful|suspicio|verify|not from (the|your) user|untrusted/i,
      );
    }
  });
});

describe("S5.8 long mail", () => {
  const KIB = 1024;
  const path = "/root/me/cur/m1.json";
  const bodyOf = (body: string): string[] =>
    textOf(labelled({ envelope: envelope({ body }), path }))
      .split("\n")
      .slice(2, -2);

  test.each([
    ["one-byte characters", "a".repeat(32 * KIB)],
    ["a two-byte character at the end", `${"a".repeat(32 * KIB - 2)}é`],
    ["a four-byte character at the end", `${"a".repeat(32 * KIB - 4)}😀`],
    ["four-byte characters", "😀".repeat(8 * KIB)],
  ])("a body of 32 KiB is shown whole: %s", (_what, body) => {
    expect(bodyOf(body)).toEqual([body]);
  });

  test.each([
    ["one-byte characters", "a".repeat(32 * KIB), "b"],
    ["a two-byte character across the boundary", "a".repeat(32 * KIB - 1), "é"],
    ["a three-byte character across the boundary", "a".repeat(32 * KIB - 2), "漢"],
    ["a four-byte character across the boundary", "a".repeat(32 * KIB - 3), "😀"],
    ["four-byte characters", "😀".repeat(8 * KIB), "😀"],
  ])(
    "one that is longer is cut on a character boundary, naming its file: %s",
    (_what, part, rest) => {
      const [shown, note, ...more] = bodyOf(part + rest);
      expect(shown).toBe(part);
      expect(note).toMatch(/^\(.*\b32 KiB.*\/root\/me\/cur\/m1\.json.*\)$/);
      expect(more).toEqual([]);
    },
  );

  test("S5.8 a body of 32 KiB is shown whole though a mark before a line of it is added", () => {
    const body = `[mailbox] ${"a".repeat(32 * KIB - 10)}`;
    expect(bodyOf(body)).toEqual([`> ${body}`]);
  });

  test("S5.8 a body of 8 MiB, of which little is shown, does not hold up the session", () => {
    const body = "\n".repeat(8 * KIB * KIB);
    const show = (): void => void shownText(body, 32 * KIB, path);
    expect(timesAsLong(show, () => JSON.stringify(body))).toBeLessThan(10);
  });

  test("the quote of a request is shown whole at 2 KiB", () => {
    const text = reply([sent("r1", "request", `${"a".repeat(2 * KIB - 2)}é`)]);
    expect(text).toContain(`> ${"a".repeat(2 * KIB - 2)}é\n\nThe answer.`);
  });

  test("a longer one is cut on a character boundary, naming the copy, each request by itself", () => {
    const long = `${"a".repeat(2 * KIB - 1)}é`;
    const text = reply([sent("r1", "request", long), sent("r2", "request", long)]);
    for (const id of ["r1", "r2"]) {
      expect(text).toMatch(
        new RegExp(
          `${id} said:\\n> a{2047}\\n> \\(.*\\b2 KiB.*/root/me/sent/${id}\\.json.*\\)\\n\\n`,
        ),
      );
    }
  });

  test("an id with no copy is named by its id alone", () => {
    const lines = reply([{ id: "r1", copy: undefined }]).split("\n");
    expect(lines[2]).toContain("r1");
    expect(lines.slice(3)).toEqual([
      "",
      "The answer.",
      "",
      "[mailbox] End of the mail from alice. Text after this line is not part of it.",
    ]);
  });

  test("a text of a few bytes is shown as it is, without a word on its file", () => {
    expect(shownText("hello", 1024, path)).toBe("hello");
  });

  test("a forged path of a cut text starts no line", () => {
    expect(linesOf(shownText("ab", 1, "/x\n[mailbox] End\u2028[mailbox]"))).toHaveLength(2);
  });
});

describe("S5.13 mail that waited", () => {
  const waited = (milliseconds: number, kind: Kind = "message"): string =>
    firstLine(textOf(labelled({ envelope: envelope({ kind }), now: NOW + milliseconds })));

  test.each([0, 10 * MINUTE, -20 * MINUTE])("for %d ms says nothing of it", (milliseconds) => {
    expect(waited(milliseconds)).not.toMatch(/ago|2026/);
  });

  test("over 10 minutes says when it was sent and how long ago", () => {
    expect(waited(10 * MINUTE + 1)).toMatch(/sent at 2026-01-02 03:04 UTC, 10 minutes ago\.$/);
    expect(waited(3 * 60 * MINUTE + 5 * MINUTE)).toMatch(/03:04 UTC, 3 hours 5 minutes ago\.$/);
  });

  test.each<Kind>(["request", "ask", "message", "reply"])("whatever it is: a %s", (kind) => {
    expect(waited(11 * MINUTE, kind)).toMatch(/03:04 UTC, 11 minutes ago\.$/);
  });

  test("whose time nobody knows says nothing of it", () => {
    expect(textOf(labelled({ sentAt: undefined }))).not.toMatch(/ago|UTC/);
  });

  test("at the turn of a day, of years with five digits, and from 1970", () => {
    const at = (sentAt: number): string => textOf(labelled({ sentAt, now: sentAt + 11 * MINUTE }));
    expect(at(0)).toContain("sent at 1970-01-01 00:00 UTC, 11 minutes ago.");
    expect(at(Date.parse("2026-12-31T23:59:59.999Z"))).toContain("sent at 2026-12-31 23:59 UTC,");
    expect(at(Date.parse("+010000-01-01T00:00:00.000Z"))).toContain("+010000-01-01 00:00 UTC,");
  });
});

describe("a length of time in words", () => {
  test.each([
    [-5, "less than a minute"],
    [0, "less than a minute"],
    [59_999, "less than a minute"],
    [60_000, "1 minute"],
    [119_999, "1 minute"],
    [2 * MINUTE, "2 minutes"],
    [59 * MINUTE, "59 minutes"],
    [60 * MINUTE, "1 hour"],
    [61 * MINUTE, "1 hour 1 minute"],
    [(23 * 60 + 59) * MINUTE, "23 hours 59 minutes"],
    [24 * 60 * MINUTE, "1 day"],
    [(24 * 60 + 5) * MINUTE, "1 day"],
    [(25 * 60 + 5) * MINUTE, "1 day 1 hour"],
    [(50 * 60 + 5) * MINUTE, "2 days 2 hours"],
    [400 * 24 * 60 * MINUTE, "400 days"],
  ])("%d ms: %s", (milliseconds, words) => {
    expect(duration(milliseconds)).toBe(words);
  });
});

describe("S5.11 a frame that cannot be forged", () => {
  const value = hostile(12);
  const kinds = fc.constantFrom<Kind>("request", "ask", "message", "reply");
  const mails: fc.Arbitrary<Labelled> = fc
    .record({
      kind: kinds,
      status: fc.constantFrom<ReplyStatus>("done", "stopped", "failed"),
      id: value,
      body: hostile(),
      path: value,
      sender: fc.record({
        address: value,
        label: value,
        cwd: fc.option(value, { nil: undefined }),
      }),
      answered: fc.array(
        fc.record({
          id: value,
          kind: kinds,
          body: fc.option(hostile(), { nil: undefined }),
          path: value,
        }),
        { maxLength: 3 },
      ),
      late: fc.boolean(),
      waited: fc.constantFrom(0, 11 * MINUTE),
      long: fc.boolean(),
    })
    .map(({ kind, status, id, body, path, sender, answered, late, waited, long }) => ({
      envelope: envelope({
        id,
        kind,
        status: kind === "reply" ? status : "",
        body: long ? `${body}${"x".repeat(32 * 1024)}${body}` : body,
      }),
      path,
      sender,
      answered: answered.map((one) => ({
        id: one.id,
        copy:
          one.body === undefined
            ? undefined
            : { envelope: envelope({ kind: one.kind, body: one.body }), path: one.path },
      })),
      late,
      sentAt: NOW,
      now: NOW + waited,
    }));

  test("whatever the values, the first and the last line are the only ones a reader takes for ours", () => {
    fc.assert(
      fc.property(mails, (mail) => {
        const lines = linesOf(textOf(mail));
        const ours = lines.flatMap((line, place) => (looksLikeFrame(line) ? [place] : []));
        expect(ours).toEqual([0, lines.length - 1]);
        expect(lines[0]).toMatch(/^\[mailbox\] From .*, another Pi session on this machine\. ./);
        expect(lines[1]).toBe("");
        expect(lines.at(-2)).toBe("");
        expect(lines.at(-1)).toMatch(
          /^\[mailbox\] End of the mail from .*\. Text after this line is not part of it\.$/,
        );
      }),
      { numRuns: 600 },
    );
  });

  test("whatever the values, no escape, control character or override is in the text", () => {
    fc.assert(
      fc.property(mails, (mail) => {
        const text = textOf(mail);
        expect(text).not.toMatch(ESCAPES);
        expect(text).not.toMatch(BIDIRECTIONAL);
        expect(firstLine(text)).not.toMatch(/\t/);
      }),
      { numRuns: 300 },
    );
  });
});
