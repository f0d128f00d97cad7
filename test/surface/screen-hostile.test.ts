import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ListedMail, SessionRow } from "../../src/surface/screen/content.ts";
import { ALICE } from "../fixtures/mail.ts";
import { hostile } from "../turn/hostile.ts";
import { FakeSource, KEYS, Opened, received, row, sentMail } from "./screen-support.ts";

/** Texts in which every letter is in somebody's way: wide, joined, written leftwards, or Markdown. */
const PIECES = [
  "漢字",
  "👩‍👩‍👧‍👦",
  "e\u0301\u0302",
  "שלום",
  "مرحبا",
  "ไทย",
  "# ",
  "**",
  "```\n",
  "| a | b |\n|-|-|\n",
  "> ",
  "- ",
  "[x](http://a.b)",
  "![",
  "<b>",
  "$x^2$",
  "&#27;[2J",
  "\u001b]8;;http://evil\u0007",
  "\u001b[31m",
  "\u009b2J",
  "\n",
  "\t",
  " ",
  "word",
];
const text = fc.oneof(
  hostile(),
  fc.string({ unit: fc.constantFrom(...PIECES), maxLength: 60 }),
  fc.constantFrom("", "x".repeat(500), "漢".repeat(300)),
);

const states: fc.Arbitrary<ListedMail["state"]> = fc.constantFrom(
  "waiting",
  "unread",
  "read",
  "to answer",
  "held",
  "answered",
  "answered done",
  "answered failed",
  "gone",
);

const listed = (make: typeof received): fc.Arbitrary<ListedMail> =>
  fc
    .record({
      body: text,
      from: text,
      to: text,
      ts: fc.oneof(text, fc.constant("2026-11-30T12:00:00.000Z")),
      kind: fc.constantFrom("request", "ask", "message", "reply"),
      other: text,
      path: text,
      state: states,
    })
    .map(({ other, path, state, ...envelope }) => make(envelope, { other, path, state }));

const sessions: fc.Arbitrary<SessionRow> = fc
  .record({ address: text, label: text, cwd: text, state: text, waitingOn: text })
  .map((record) => row(record));

const inputs = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom<string>(...Object.values(KEYS)).map((key) => [key]) },
  { weight: 2, arbitrary: fc.constantFrom("r", "n", "c").map((key) => [key]) },
  { weight: 2, arbitrary: text.map((typed) => Array.from(typed)) },
  { weight: 1, arbitrary: text.map((pasted) => [`\u001b[200~${pasted}\u001b[201~`]) },
);

/** What happens on a screen: a key, a size, time that passes, or a disk that fails or mends. */
const happening = fc.oneof(
  { weight: 12, arbitrary: inputs.map((keys) => ({ keys })) },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.constantFrom(1, 2, 7, 20, 40, 60, 200), fc.constantFrom(1, 2, 5, 12, 24, 60))
      .map(([width, height]) => ({ width, height })),
  },
  { weight: 1, arbitrary: text.map((broken) => ({ broken })) },
  { weight: 1, arbitrary: fc.constant({ mended: true }) },
  { weight: 1, arbitrary: fc.integer({ min: -30, max: 30 }).map((wheel) => ({ wheel })) },
  {
    weight: 1,
    arbitrary: fc
      .tuple(
        fc.array(sessions, { maxLength: 4 }),
        fc.array(listed(received), { maxLength: 25 }),
        fc.array(listed(sentMail), { maxLength: 4 }),
      )
      .map((lists) => ({ lists })),
  },
);

describe("S18.2 whatever is in mail and records, whatever is pressed, on a terminal of any size", () => {
  test("nothing throws, no line is too wide, and no escape reaches the terminal", () => {
    fc.assert(
      fc.property(fc.array(happening, { maxLength: 40 }), (happenings) => {
        const opened = new Opened();
        opened.source.received = [received({ body: "# one" }), received({ kind: "ask" })];
        for (const each of happenings) {
          if ("keys" in each) opened.press(...each.keys);
          else if ("wheel" in each) opened.wheel(each.wheel);
          else if ("width" in each) Object.assign(opened, each);
          else if ("broken" in each) {
            opened.source.broken = new Error(each.broken);
            opened.source.refusal = new Error(each.broken);
          } else if ("mended" in each) {
            opened.source.broken = undefined;
            opened.source.refusal = undefined;
          } else {
            [opened.source.rows, opened.source.received, opened.source.went] = each.lists;
          }
          if (!("keys" in each)) opened.clock.advance(2000);
          opened.raw();
          if (opened.closed > 0) break;
        }
        opened.screen.dispose();
        expect(opened.clock.pending).toBe(0);
      }),
      { numRuns: 300 },
    );
  });

  test("a mail is shown at every width", () => {
    fc.assert(
      fc.property(listed(received), fc.constantFrom(1, 3, 17, 18, 40, 60, 200), (mail, width) => {
        const opened = new Opened();
        opened.source.received = [mail];
        opened.width = width;
        opened.clock.advance(2000);
        opened.press(KEYS.right, KEYS.enter).raw();
        opened.press(KEYS.end).raw();
        opened.press("r").raw();
      }),
      { numRuns: 300 },
    );
  });

  test("whatever is thrown that is no error, too", () => {
    const source = new FakeSource();
    source.broken = "no error" as unknown as Error;
    expect(new Opened(source).text).toContain("no error");
  });

  test("what is not even a list, too", () => {
    const source = new FakeSource();
    source.rows = undefined as unknown as SessionRow[];
    const opened = new Opened(source);
    expect(opened.text).toContain("undefined");
    opened.press(KEYS.right, "r", KEYS.enter, "n").raw();
    opened.clock.advance(2000);
    expect(opened.press(KEYS.escape).closed).toBe(1);
  });

  test("a row that cannot be drawn is said, and Esc still closes", () => {
    const source = new FakeSource();
    source.rows = [row({ label: undefined as unknown as string })];
    const opened = new Opened(source);
    expect(opened.screen.render(40)).toHaveLength(1);
    expect(opened.screen.render(40)[0]).toContain("cannot be drawn");
    expect(opened.press(KEYS.escape).closed).toBe(1);
  });

  test("an address as hostile as a name stands in the heading alone", () => {
    const source = new FakeSource();
    Object.assign(source, { name: `${ALICE}\n\u001b[2J\u202eevil`, address: "\u001b[2J\n漢" });
    for (const width of [1, 10, 40, 200]) {
      const opened = new Opened(source);
      opened.width = width;
      opened.raw();
    }
  });
});
