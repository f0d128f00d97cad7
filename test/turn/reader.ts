/**
 * How a reader, a model or a person at a terminal, sees a text: written by hand and apart from
 * src/text.ts, so that the two can be held against each other.
 */

/** Ranges of characters that take no room, or show nothing, or sit on the one before. */
const UNSEEN: readonly (readonly [first: number, last: number])[] = [
  [0x0000, 0x0020],
  [0x007f, 0x00a0],
  [0x00ad, 0x00ad],
  [0x0300, 0x036f],
  [0x0483, 0x0489],
  [0x061c, 0x061c],
  [0x115f, 0x1160],
  [0x1680, 0x1680],
  [0x17b4, 0x17b5],
  [0x180b, 0x180f],
  [0x1ab0, 0x1aff],
  [0x1dc0, 0x1dff],
  [0x2000, 0x200f],
  [0x2028, 0x202f],
  [0x205f, 0x206f],
  [0x20d0, 0x20ff],
  [0x2800, 0x2800],
  [0x3000, 0x3000],
  [0x3164, 0x3164],
  [0xfe00, 0xfe0f],
  [0xfe20, 0xfe2f],
  [0xfeff, 0xfeff],
  [0xffa0, 0xffa0],
  [0xfff0, 0xfffb],
  [0x1d159, 0x1d159],
  [0x1d173, 0x1d17a],
  [0xe0000, 0xe0fff],
];

const FRAME = "[mailbox]";

function isUnseen(character: string): boolean {
  const code = character.codePointAt(0) ?? 0;
  return UNSEEN.some(([first, last]) => first <= code && code <= last);
}

/** Whether a reader takes a line for one of the frame: the first thing seen in it is `[mailbox]`. */
export function looksLikeFrame(line: string): boolean {
  let seen = "";
  for (const character of line) {
    if (isUnseen(character)) continue;
    const before = seen;
    for (const part of character.normalize("NFKD")) {
      if (!isUnseen(part)) seen += part.toLowerCase();
    }
    if (seen.startsWith(FRAME)) return true;
    if (seen === before || !FRAME.startsWith(seen)) return false;
  }
  return false;
}

/** The lines of a text, by everything that any reader ends a line at. */
export function linesOf(text: string): string[] {
  // eslint-disable-next-line no-control-regex -- control characters are what this is about
  return text.split(/\r\n|[\n\r\u000b\u000c\u001c-\u001e\u0085\u2028\u2029]/);
}

/** What must reach neither a terminal nor a label: `\n` and `\t` are the only control characters. */
// eslint-disable-next-line no-control-regex -- control characters are what this is about
export const ESCAPES = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029]/;

/** Characters of the Unicode property Bidi_Control. */
export const BIDIRECTIONAL = /\p{Bidi_Control}/u;
