import { getSelectListTheme } from "@earendil-works/pi-coding-agent";
import { type KeybindingsManager, SelectList, wrapTextWithAnsi } from "@earendil-works/pi-tui";
import { cleanText, cleanValue } from "../../text.ts";
import { cleanPath } from "../path.ts";
import type { Composer } from "./composer.ts";
import { hints } from "./hints.ts";
import { fill, fit, help, type Paint, rule } from "./paint.ts";
import type { Reader } from "./reader.ts";
import { mailRows, sessionRows } from "./rows.ts";
import { type Letter, LISTS, type ListName, recipientsOf, type State, viewOf } from "./state.ts";
import type { Extent } from "./update.ts";

/** What the screen is drawn with. */
export interface Brushes {
  readonly paint: Paint;
  readonly keybindings: KeybindingsManager;
  readonly reader: Reader;
  readonly composer: Composer;
  readonly name: string | undefined;
  readonly address: string;
}

/** The screen as it is shown. */
export interface Picture {
  /** As many as the height, none wider than the width. */
  readonly lines: string[];
  readonly extent: Extent;
}

/** The middle of the screen, and what stands at the right of the rule above it. */
interface Body {
  readonly lines: readonly string[];
  readonly note: string;
  /** How many lines there are to scroll through. */
  readonly count: number;
}

/**
 * The screen as it is now (S18.2), for a terminal of at least one cell; whatever is in mail and
 * records is cleaned.
 *
 * @param now in ms since 1970.
 */
export function draw(
  brushes: Brushes,
  state: State,
  width: number,
  height: number,
  now: number,
): Picture {
  const { paint } = brushes;
  const head = [...heading(brushes, width), title(paint, state, width)];
  const status = statusLines(paint, state, width, height < 20 ? 2 : 4);
  const foot = [...status, help(paint, hints(state, brushes.keybindings), width)];
  const page = Math.max(1, height - head.length - foot.length - 1);
  const body = bodyOf(brushes, state, width, page, now);
  const lines = [...head, rule(paint, width, body.note), ...fill(body.lines, page), ...foot];
  return {
    lines: fill(lines, height).map((line) => fit(line, width)),
    extent: { page, lines: body.count },
  };
}

/** This session's name and address (S18.2), in one line where that is wide enough. */
function heading({ paint, name, address }: Brushes, width: number): string[] {
  const called = name === undefined ? "" : cleanValue(name);
  const label = called === "" ? "this session" : called;
  const parts = [`Mailbox of ${label}`, cleanValue(address)] as const;
  const [left, right] = [paint.bold(paint.fg("accent", ` ${parts[0]}`)), paint.fg("dim", parts[1])];
  const fits = fit(` ${parts.join("  ")}`, width) === ` ${parts.join("  ")}`;
  return fits ? [`${left}  ${right}`] : [fit(left, width), fit(` ${right}`, width)];
}

function title(paint: Paint, state: State, width: number): string {
  const view = viewOf(state);
  switch (view.at) {
    case "lists":
      return fit(` ${LISTS.map((list) => tab(paint, state, list)).join("  ")}`, width);
    case "reader": {
      const { isSent, envelope, other } = view.mail;
      const whom = `${isSent ? "to" : "from"} ${cleanValue(other)}`;
      return fit(` ${paint.fg("accent", `${envelope.kind} ${whom}`)}`, width);
    }
    case "recipients":
      return fit(` ${paint.fg("accent", "New request: to whom?")}`, width);
    case "composer":
      return fit(` ${letterTitle(paint, view.letter)}`, width);
  }
}

/** What is written, which of the two it is, and to whom. */
function letterTitle(paint: Paint, { to, label, answers }: Letter): string {
  const what = answers ? `Your answer to the ${answers.envelope.kind} of` : "New request to";
  const name = paint.bold(cleanValue(label));
  return `${paint.fg("accent", what)} ${name} ${paint.fg("dim", `(${cleanValue(to)})`)}`;
}

const TITLES: Readonly<Record<ListName, string>> = {
  sessions: "Sessions",
  inbox: "Inbox",
  sent: "Sent",
};

function tab(paint: Paint, { content, list }: State, tabbed: ListName): string {
  const text = `${TITLES[tabbed]} ${String(content[tabbed].length)}`;
  return tabbed === list
    ? paint.bold(paint.fg("accent", `[${text}]`))
    : paint.fg("muted", ` ${text} `);
}

function bodyOf(brushes: Brushes, state: State, width: number, page: number, now: number): Body {
  const view = viewOf(state);
  switch (view.at) {
    case "lists":
      return { lines: listLines(brushes.paint, state, width, page, now), note: "", count: 0 };
    case "reader": {
      const lines = brushes.reader.lines(view.mail, width);
      const from = Math.max(0, Math.min(state.top, lines.length - page));
      const to = Math.min(lines.length, from + page);
      const note = lines.length <= page ? "" : `${from + 1}–${to} of ${lines.length}`;
      return { lines: lines.slice(from, to), note, count: lines.length };
    }
    case "recipients":
      return { lines: recipientLines(state, width, page), note: "", count: 0 };
    case "composer":
      return { lines: brushes.composer.lines(view.letter, width, page), note: "", count: 0 };
  }
}

function listLines(
  paint: Paint,
  { list, content, selected }: State,
  width: number,
  height: number,
  now: number,
): string[] {
  const window = { selected: selected[list].index, height, width };
  const rows =
    list === "sessions"
      ? sessionRows(paint, content.sessions, window)
      : mailRows(paint, content[list], window, now);
  const isEmpty = list === "sessions" ? content.sessions.length <= 1 : rows.length === 0;
  if (!isEmpty) return rows;
  const said = wrapTextWithAnsi(EMPTY[list], Math.max(1, width - 2));
  return [...rows, "", ...said.map((line) => `  ${paint.fg("muted", line)}`)];
}

const EMPTY: Readonly<Record<ListName, string>> = {
  sessions:
    "No other session is running. Start Pi in another terminal to have one to write to; " +
    "/mailbox <id> <text> writes to a closed one.",
  inbox: "No mail yet. What other sessions send to this one is listed here.",
  sent: "Nothing sent yet. Press n to write to another session.",
};

function recipientLines(state: State, width: number, height: number): string[] {
  const items = recipientsOf(state).map(({ address, label, state: doing, cwd }) => ({
    value: cleanValue(address),
    label: cleanValue(label),
    description: `${cleanValue(doing)} in ${cleanPath(cwd)}`,
  }));
  const list = new SelectList(items, Math.max(1, height - 1), getSelectListTheme());
  list.setSelectedIndex(state.selected.recipients.index);
  return list.render(Math.max(8, width)).map((line) => fit(line, width));
}

function statusLines(paint: Paint, state: State, width: number, most: number): string[] {
  const fault =
    state.fault === undefined ? undefined : ({ level: "error", text: state.fault } as const);
  const status = state.status ?? fault;
  if (!status) return [""];
  const text = cleanText(status.text).replace(/\s+/g, " ");
  const lines = wrapTextWithAnsi(text, Math.max(1, width - 1));
  const shown =
    lines.length > most ? [...lines.slice(0, most - 1), `${lines[most - 1] ?? ""}…`] : lines;
  return shown.map((line) => fit(` ${paint.fg(status.level, line)}`, width));
}
