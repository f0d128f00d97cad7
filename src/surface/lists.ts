import { visibleWidth } from "@earendil-works/pi-tui";
import { sentAt } from "../mail/envelope.ts";
import type { ListedMail } from "../mailbox/overview.ts";
import { labelsOf } from "../sessions/addressing.ts";
import { type RunningSession, stateOf } from "../sessions/record.ts";
import { cleanValue } from "../text.ts";
import { cleanPath } from "./path.ts";
import { localTime } from "./time.ts";

/** The most characters of a name in a list. */
const MAX_NAME = 24;

/** The most characters of a mail's first line in a list. */
const MAX_LINE = 80;

/** How much of a body is looked at for its first line. */
const MAX_SEARCHED = 4096;

/**
 * One line for each mail: when it was sent, whether it came (`←`) or went (`→`), the other session,
 * its kind, its state and its first line, in columns (S18.1). Clean, whatever is in the mail.
 *
 * @param now in ms since 1970.
 */
export function mailLines(mails: readonly ListedMail[], now: number): string[] {
  return inColumns(
    mails.map(({ envelope, isSent, other, state }) => [
      timeOf(sentAt(envelope), now),
      isSent ? "→" : "←",
      cutAt(other, MAX_NAME),
      envelope.kind,
      state,
      firstLine(envelope.body),
    ]),
  );
}

/**
 * One line for each running session: how it is called, its short id, what it does, where it works
 * and whose answer it waits for, in columns (S18.1). Clean, whatever is in the records.
 *
 * @param self the address of this session, which is marked.
 * @param now in ms since 1970.
 */
export function sessionLines(
  running: readonly RunningSession[],
  self: string,
  now: number,
): string[] {
  const ids = labelsOf(running.map(({ address }) => ({ address })));
  const labels = labelsOf(running);
  return inColumns(
    running.map((session) => {
      const { address, name, cwd, waitingOn } = session;
      const waits = labels.get(waitingOn) ?? waitingOn;
      const notes = [
        ...(address === self ? ["this session"] : []),
        ...(waitingOn === "" ? [] : [`waiting on ${cutAt(waits, MAX_NAME)}`]),
      ];
      return [
        name === undefined ? "(no name)" : cutAt(name, MAX_NAME),
        ids.get(address) ?? address,
        stateOf(session, now),
        cleanPath(cwd),
        notes.join(", "),
      ];
    }),
  );
}

/** The first line of a text that is not blank, clean and cut to what a list has room for. */
export function firstLine(text: string): string {
  const line = text
    .slice(0, MAX_SEARCHED)
    .split(/[\r\n\u2028\u2029]/)
    .map(cleanValue)
    .find((clean) => clean !== "");
  return cutAt(line ?? "", MAX_LINE);
}

/** `14:05` for a time of today, `2026-11-30` for any other, both in local time. */
export function timeOf(time: number | undefined, now: number): string {
  if (time === undefined) return "?";
  const [day, clock] = localTime(time);
  return day === localTime(now)[0] ? clock : day;
}

/** A value in one line, of at most so many characters. */
function cutAt(value: string, length: number): string {
  const clean = cleanValue(value);
  // No character has more than two units, so the rest need not be looked at.
  const characters = Array.from(clean.slice(0, (length + 1) * 2));
  return characters.length > length ? `${characters.slice(0, length - 1).join("")}…` : clean;
}

/** Rows as lines whose cells stand below each other. */
function inColumns(rows: readonly (readonly string[])[]): string[] {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [at, cell] of row.entries()) {
      widths[at] = Math.max(widths[at] ?? 0, visibleWidth(cell));
    }
  }
  return rows.map((row) =>
    row
      .map((cell, at) => cell + " ".repeat((widths[at] ?? 0) - visibleWidth(cell)))
      .join("  ")
      .trimEnd(),
  );
}
