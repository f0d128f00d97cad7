import { visibleWidth } from "@earendil-works/pi-tui";
import { sentAt } from "../../mail/envelope.ts";
import { cleanValue } from "../../text.ts";
import { cleanPath } from "../path.ts";
import { firstLine, timeOf } from "../lists.ts";
import type { ListedMail, MailState, SessionRow } from "./content.ts";
import { cell, fit, fitEnd, type Paint } from "./paint.ts";

type Colour = Parameters<Paint["fg"]>[0];

/** What a list shows of one row; cells stand below each other. */
interface Row {
  readonly cells: readonly (readonly [text: string, colour: Colour | undefined])[];
  /** Of the last cell the end is shown, rather than the beginning. */
  readonly showsEnd?: boolean;
}

/** A part of a list that fits, with the selected row in it. */
export interface Window {
  readonly selected: number;
  readonly height: number;
  readonly width: number;
}

/** The lines of a list of mail (S18.2). */
export function mailRows(
  paint: Paint,
  mails: readonly ListedMail[],
  window: Window,
  now: number,
): string[] {
  const roomy = window.width >= 56;
  const rows = shown(mails, window).map(({ envelope, other, state }): Row => ({
    cells: [
      [timeOf(sentAt(envelope), now), "dim"],
      [cleanValue(other), undefined],
      ...(roomy ? [[envelope.kind, "muted"] as const] : []),
      [state, colourOf(state)],
      [firstLine(envelope.body), "muted"],
    ],
  }));
  return lines(paint, rows, window, mails.length);
}

/** The lines of the list of sessions (S18.2). */
export function sessionRows(
  paint: Paint,
  sessions: readonly SessionRow[],
  window: Window,
): string[] {
  const rows = shown(sessions, window).map(({ label, state, cwd, waitingOn, isSelf }): Row => {
    const waits = waitingOn === "" ? "" : `, waiting on ${cleanValue(waitingOn)}`;
    const doing = isSelf ? "this session" : `${cleanValue(state)}${waits}`;
    return {
      cells: [
        [cleanValue(label), undefined],
        [doing, isSelf ? "dim" : colourOfSession(state)],
        [cleanPath(cwd), "muted"],
      ],
      showsEnd: true,
    };
  });
  return lines(paint, rows, window, sessions.length);
}

/** How a state is coloured: what asks for something, what is well, and what is not. */
export function colourOf(state: MailState): Colour {
  switch (state) {
    case "to answer":
    case "held":
    case "unread":
    case "waiting":
      return "warning";
    case "answered":
    case "answered done":
      return "success";
    case "answered stopped":
    case "answered failed":
    case "gone":
      return "error";
    case "read":
      return "muted";
  }
}

function colourOfSession(state: string): Colour {
  return state === "not responding" ? "error" : state === "busy" ? "warning" : "success";
}

/** Where the window begins. */
function start({ selected, height }: Window, count: number): number {
  return Math.max(0, Math.min(selected - Math.floor(height / 2), count - height));
}

function shown<T>(all: readonly T[], window: Window): readonly T[] {
  const from = start(window, all.length);
  return all.slice(from, from + window.height);
}

/** The most of a column, as a part of the width; the last takes what is left. */
const MAX_PART = 0.3;

/** Where the last is a path, of which the end is enough. */
const MAX_PART_BESIDE_PATH = 0.4;

function lines(paint: Paint, rows: readonly Row[], window: Window, count: number): string[] {
  const part = rows.some(({ showsEnd }) => showsEnd) ? MAX_PART_BESIDE_PATH : MAX_PART;
  const most = Math.max(4, Math.floor(window.width * part));
  const widths: number[] = [];
  for (const { cells } of rows) {
    for (const [at, [text]] of cells.entries()) {
      widths[at] = Math.max(widths[at] ?? 0, Math.min(most, visibleWidth(text)));
    }
  }
  const selected = window.selected - start(window, count);
  const room = window.width - widths.slice(0, -1).reduce((sum, width) => sum + width + 2, 2);
  return rows.map(({ cells, showsEnd = false }, at) => {
    const texts = cells.map(([text, colour], column) => {
      const isLast = column === cells.length - 1;
      const last = showsEnd ? fitEnd(text, Math.max(0, room)) : text;
      const cut = isLast ? last : cell(text, widths[column] ?? 0);
      if (at === selected) return cut;
      return colour === undefined ? cut : paint.fg(colour, cut);
    });
    const line = texts.join("  ");
    return at === selected
      ? paint.fg("accent", fit(`→ ${line}`, window.width))
      : fit(`  ${line}`, window.width);
  });
}
