/** The most of a body that enters a conversation, in bytes of UTF-8 (S5.8). */
export const MAX_BODY_BYTES = 32 * 1024;

/** The most of each request that a reply quotes, in bytes of UTF-8 (S5.8). */
export const MAX_QUOTE_BYTES = 2 * 1024;

/** C0 with tab, DEL, C1 and the two Unicode line ends: nothing that could start a line (S5.11). */
// eslint-disable-next-line no-control-regex -- control characters are what this is about
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g;

/** The same without tab and line feed, for texts of several lines. */
// eslint-disable-next-line no-control-regex -- control characters are what this is about
const CONTROL_IN_TEXT = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029]/g;

/** Everything that a reader or a terminal may take for the end of a line. */
// eslint-disable-next-line no-control-regex -- control characters are what this is about
const LINE_ENDS = /\r\n|[\r\u000b\u000c\u0085\u2028\u2029]/g;

/** Characters that change the direction of what follows, and so what a reader sees (S5.11). */
const DIRECTION = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** Characters that take no room: a mark behind them still seems to begin its line. */
const INVISIBLE = /[\p{Default_Ignorable_Code_Point}\p{Cf}\p{Mn}\p{Me}\s\u2800\u3164\u{1d159}]/gu;

/** How a line begins that certainly does not begin with our mark. */
const PLAIN = /^[!-Z\\^-~]/;

/** A value in one line of a label: nothing in it starts a line or turns the text around (S5.11). */
export function cleanValue(value: string): string {
  return value.replace(CONTROL, " ").replace(DIRECTION, "").trim();
}

/**
 * A text of several lines as it may be shown: no terminal escape, no change of direction, line
 * feeds for all line ends, and no line that could be taken for one of ours: a line that begins
 * with `[mailbox]`, after whatever cannot be seen, is quoted with `> ` (S5.11).
 */
export function cleanText(text: string): string {
  return text
    .replace(LINE_ENDS, "\n")
    .replace(CONTROL_IN_TEXT, " ")
    .replace(DIRECTION, "")
    .split("\n")
    .map((line) => (claimsFrame(line) ? `> ${line}` : line))
    .join("\n");
}

/** Whether a line begins, for a reader, with the mark of our frame. */
export function claimsFrame(line: string): boolean {
  if (PLAIN.test(line)) return false;
  const start = line.replace(INVISIBLE, "").slice(0, 64);
  return start.normalize("NFKD").replace(INVISIBLE, "").toLowerCase().startsWith("[mailbox]");
}

/** A text with `> ` before each line. */
export function quoted(text: string): string {
  return text
    .split("\n")
    .map((line) => `> ${line}`)
    .join("\n");
}

/**
 * The beginning of a text that fits `maxBytes` of UTF-8, cut on a character boundary (S5.8);
 * the text itself when it fits.
 */
export function cutToBytes(text: string, maxBytes: number): string {
  // A character has at most three bytes for each of its UTF-16 units.
  if (text.length * 3 <= maxBytes) return text;
  // What is beyond that many units is cut off in any case.
  const bytes = new TextEncoder().encode(text.slice(0, maxBytes));
  if (text.length <= maxBytes && bytes.length <= maxBytes) return text;
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes.subarray(0, maxBytes), {
    stream: true,
  });
}
