import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { claimsFrame, cleanText, cleanValue, cutToBytes, quoted } from "../src/text.ts";
import { hostile } from "./turn/hostile.ts";
import { BIDIRECTIONAL, ESCAPES, linesOf, looksLikeFrame } from "./turn/reader.ts";

/** Every code unit from `first` to `last`. */
const range = (first: number, last: number): string[] =>
  Array.from({ length: last - first + 1 }, (_, place) => String.fromCharCode(first + place));

const C0 = range(0x00, 0x1f);
const DEL_AND_C1 = range(0x7f, 0x9f);
const LINE_ENDS = ["\r\n", "\r", "\v", "\f", "\u0085", "\u2028", "\u2029"];
const DIRECTIONS = [
  "\u061c",
  ...range(0x200e, 0x200f),
  ...range(0x202a, 0x202e),
  ...range(0x2066, 0x2069),
];

describe("S5.11 a value in a label", () => {
  test.each([...C0, ...DEL_AND_C1, "\u2028", "\u2029"].map((control) => [control]))(
    "%j becomes a space",
    (control) => {
      expect(cleanValue(`a${control}b${control}c`)).toBe("a b c");
    },
  );

  test.each(DIRECTIONS.map((direction) => [direction]))("%j is left out", (direction) => {
    expect(cleanValue(`a${direction}b${direction}c`)).toBe("abc");
  });

  test("other text stays as it is, without the blanks around it", () => {
    expect(cleanValue(" ~ é 漢字 😀 \u00a0x\u200dy [mailbox] ")).toBe(
      "~ é 漢字 😀 \u00a0x\u200dy [mailbox]",
    );
  });

  test("whatever the value, it is one line without escapes and overrides", () => {
    fc.assert(
      fc.property(hostile(), (value) => {
        const clean = cleanValue(value);
        expect(linesOf(clean)).toHaveLength(1);
        expect(clean).not.toMatch(ESCAPES);
        expect(clean).not.toMatch(/\t/);
        expect(clean).not.toMatch(BIDIRECTIONAL);
        expect(cleanValue(clean)).toBe(clean);
      }),
    );
  });
});

describe("S5.11 a text of several lines", () => {
  test.each(LINE_ENDS.map((end) => [end]))("the line end %j becomes a line feed", (end) => {
    expect(cleanText(`a${end}${end}b`)).toBe("a\n\nb");
  });

  test("line feeds and tabs stay", () => {
    expect(cleanText("a\n\n\tb\n")).toBe("a\n\n\tb\n");
  });

  test.each(
    [...C0, ...DEL_AND_C1]
      .filter((control) => !["\t", "\n", ...LINE_ENDS].includes(control))
      .map((control) => [control]),
  )("the control character %j becomes a space", (control) => {
    expect(cleanText(`a${control}b${control}c`)).toBe("a b c");
  });

  test.each(DIRECTIONS.map((direction) => [direction]))(
    "the change of direction %j is left out",
    (direction) => {
      expect(cleanText(`a${direction}b${direction}c`)).toBe("abc");
    },
  );

  test("a line that begins with our mark is quoted, and no other", () => {
    expect(cleanText("a\n[mailbox] b\nc [mailbox]\n [mailbox\n[mailbox]")).toBe(
      "a\n> [mailbox] b\nc [mailbox]\n [mailbox\n> [mailbox]",
    );
  });

  test("a change of direction does not hide a mark", () => {
    expect(cleanText("\u202e[mail\u2066box] x")).toBe("> [mailbox] x");
  });

  test("whatever the text, no line of it is taken for ours and nothing in it moves the cursor", () => {
    fc.assert(
      fc.property(hostile(), (text) => {
        const clean = cleanText(text);
        expect(linesOf(clean).filter(looksLikeFrame)).toEqual([]);
        expect(clean).not.toMatch(ESCAPES);
        expect(clean).not.toMatch(BIDIRECTIONAL);
      }),
      { numRuns: 1000 },
    );
  });

  test("a text of plain lines is shown as it was written", () => {
    const plain = fc.string({
      unit: fc.constantFrom(
        "a",
        "é",
        "漢",
        "😀",
        " ",
        "\t",
        "\n",
        "[",
        "]",
        "mail",
        "box",
        "(",
        "> ",
      ),
    });
    fc.assert(
      fc.property(plain, (text) => {
        fc.pre(!linesOf(text).some(looksLikeFrame));
        expect(cleanText(text)).toBe(text);
      }),
    );
  });
});

describe("S5.11 a line that a reader takes for one of ours", () => {
  test.each([
    ["as it is", "[mailbox] End"],
    ["alone", "[mailbox]"],
    ["in capitals", "[MAILBOX] End"],
    ["in mixed case", "[mAiLbOx] End"],
    ["in full width", "［ｍａｉｌｂｏｘ］ End"],
    ["in mathematical letters", "[𝐦𝐚𝐢𝐥𝐛𝐨𝐱] End"],
    ["in circled letters", "[ⓜⓐⓘⓛⓑⓞⓧ] End"],
    ["with a dotted capital i", "[maİlbox] End"],
    ["behind blanks", " \t \u00a0\u3000\u2003[mailbox] End"],
    ["behind a zero-width space", "\u200b[mailbox] End"],
    ["behind a byte order mark", "\ufeff[mailbox] End"],
    ["behind a Braille blank", "\u2800[mailbox] End"],
    ["behind a Hangul filler", "\u3164\uffa0\u115f[mailbox] End"],
    ["with a soft hyphen in it", "[mail\u00adbox] End"],
    ["with a blank in it", "[ mailbox ] End"],
    ["with marks on its letters", "[m\u0301a\u0308ilbox] End"],
    ["with letters that carry their marks", "[mäïlbóx] End"],
    ["with an enclosing circle", "[m\u20ddailbox] End"],
    ["with variation selectors", "[\ufe0fmailbox\u{e0100}] End"],
    ["with tag characters", "\u{e0041}[mailbox] End"],
    ["behind two hundred invisible characters", `${"\u200b".repeat(200)}[mailbox] End`],
    ["with two hundred marks on one letter", `[m${"\u0301".repeat(200)}ailbox] End`],
  ])("%s", (_how, line) => {
    expect(looksLikeFrame(line)).toBe(true);
    expect(claimsFrame(line)).toBe(true);
    expect(cleanText(line).startsWith("> ")).toBe(true);
  });

  // The list that is usually given of characters that show nothing.
  const unseen = [
    ...Array.from(
      "\t \u00a0\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u202f\u205f\u3000\u2800\u3164\ufeff\uffa0",
    ),
    ...range(0x2000, 0x200f),
    ...range(0x2060, 0x2064),
    ...range(0x206a, 0x206f),
    ...Array.from({ length: 8 }, (_, place) => String.fromCodePoint(0x1d173 + place)),
  ];
  test("behind every character that shows nothing", () => {
    expect(unseen.filter((character) => !claimsFrame(`${character}[mailbox] End`))).toEqual([]);
  });

  test("behind U+1D159, the null notehead, which shows nothing either", () => {
    expect(claimsFrame("\u{1d159}[mailbox] End")).toBe(true);
  });

  test.each([
    ["behind a letter", "a[mailbox] End"],
    ["behind a quotation mark", "> [mailbox] End"],
    ["without its end", "[mailbox End"],
    ["of another word", "[mailboxes] End"],
    ["in round brackets", "(mailbox) End"],
    ["without brackets", "mailbox End"],
    ["nothing", ""],
  ])("but not %s", (_how, line) => {
    expect(looksLikeFrame(line)).toBe(false);
    expect(claimsFrame(line)).toBe(false);
  });
});

describe("S5.8 a cut text", () => {
  const bytes = (text: string): number => Buffer.byteLength(text, "utf8");

  test.each([
    ["abcdef", 6, "abcdef"],
    ["abcdef", 5, "abcde"],
    ["aé", 3, "aé"],
    ["aé", 2, "a"],
    ["a漢", 4, "a漢"],
    ["a漢", 3, "a"],
    ["a漢", 2, "a"],
    ["a😀", 5, "a😀"],
    ["a😀", 4, "a"],
    ["a😀", 3, "a"],
    ["a😀", 2, "a"],
    ["a", 0, ""],
    ["", 0, ""],
    ["\ufeffabc", 4, "\ufeffa"],
    ["aaaa\ud83d", 7, "aaaa\ud83d"],
    ["aaaa\ud83d", 6, "aaaa"],
  ])("%j in %d bytes is %j", (text, maxBytes, part) => {
    expect(cutToBytes(text, maxBytes)).toBe(part);
  });

  test("is a beginning of the text, the longest that fits, and splits no character", () => {
    const text = fc.string({
      unit: fc.constantFrom("a", "é", "漢", "😀", "\ufeff", "\n", "\u0301"),
    });
    fc.assert(
      fc.property(text, fc.nat({ max: 40 }), (whole, maxBytes) => {
        const part = cutToBytes(whole, maxBytes);
        expect(bytes(part)).toBeLessThanOrEqual(maxBytes);
        expect(whole.startsWith(part)).toBe(true);
        expect(part.isWellFormed()).toBe(true);
        const [next] = whole.slice(part.length);
        if (next !== undefined) expect(bytes(part + next)).toBeGreaterThan(maxBytes);
      }),
      { numRuns: 1000 },
    );
  });

  test("never exceeds its bytes, be the text well formed or not", () => {
    fc.assert(
      fc.property(hostile(), fc.nat({ max: 200 }), (whole, maxBytes) => {
        const part = cutToBytes(whole, maxBytes);
        expect(bytes(part)).toBeLessThanOrEqual(maxBytes);
        if (bytes(whole) <= maxBytes) expect(part).toBe(whole);
        if (whole.isWellFormed()) expect(whole.startsWith(part)).toBe(true);
      }),
    );
  });
});

describe("a quoted text", () => {
  test("has a mark before each line", () => {
    expect(quoted("a\n\nb")).toBe("> a\n> \n> b");
    expect(quoted("")).toBe("> ");
  });
});
