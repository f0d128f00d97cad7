import { answering, composing, unfinished } from "./letters.ts";
import {
  back,
  type Choice,
  into,
  type Key,
  LISTS,
  mailAt,
  moved,
  recipientsOf,
  type State,
  viewOf,
  warned,
} from "./state.ts";

/** How much of the screen is taken up, as it was last drawn. */
export interface Extent {
  /** How many lines of a list or a mail fit. */
  readonly page: number;
  /** How many lines the mail that is read has. */
  readonly lines: number;
}

/**
 * The screen after a key, or `"close"`. The composer's keys are its editor's, but for `cancel`,
 * which is seen to where its text is.
 */
export function pressed(before: State, key: Key, extent: Extent): State | "close" {
  const state: State = { ...before, status: undefined, closing: false };
  switch (viewOf(state).at) {
    case "lists":
      return key === "cancel" ? closed(before, state) : inLists(state, key, extent);
    case "reader":
      return inReader(state, key, extent);
    case "recipients":
      return inRecipients(state, key, extent);
    case "composer":
      return before;
  }
}

/** The screen after the mouse's wheel was turned by so many lines. */
export function wheeled(state: State, by: number, { page, lines }: Extent): State {
  switch (viewOf(state).at) {
    case "lists":
      return moved(state, state.list, by, false);
    case "recipients":
      return moved(state, "recipients", by, false);
    case "reader":
      return { ...state, top: Math.max(0, Math.min(state.top + by, lines - page)) };
    case "composer":
      return state;
  }
}

function closed(before: State, state: State): State | "close" {
  if (before.closing || state.drafts.size === 0) return "close";
  const text = `Your text to ${unfinished(state)} is unfinished; once more closes and drops it.`;
  return { ...warned(state, text), closing: true };
}

/** What a key does; the others do nothing. */
type Moves = Partial<Record<Key, () => State>>;

function inLists(state: State, key: Key, { page }: Extent): State {
  const moves: Moves = {
    left: () => beside(state, -1),
    right: () => beside(state, 1),
    confirm: () => opened(state),
    answer: () => answered(state),
    new: () => picking(state),
  };
  return moves[key]?.() ?? scrolled(state, state.list, key, page);
}

function inReader(state: State, key: Key, { page, lines }: Extent): State {
  const last = Math.max(0, lines - page);
  const to = (top: number): State => ({ ...state, top: Math.max(0, Math.min(top, last)) });
  const moves: Moves = {
    up: () => to(state.top - 1),
    down: () => to(state.top + 1),
    pageUp: () => to(state.top - page),
    pageDown: () => to(state.top + page),
    first: () => to(0),
    last: () => to(last),
    answer: () => answered(state),
    new: () => picking(state),
    cancel: () => back(state),
  };
  return moves[key]?.() ?? state;
}

function inRecipients(state: State, key: Key, { page }: Extent): State {
  if (key === "cancel") return back(state);
  if (key !== "confirm") return scrolled(state, "recipients", key, page);
  const row = recipientsOf(state)[state.selected.recipients.index];
  if (!row) return back(state);
  return composing(state, { to: row.address, label: row.label, answers: undefined });
}

function scrolled(state: State, choice: Choice, key: Key, page: number): State {
  const moves: Moves = {
    up: () => moved(state, choice, -1, true),
    down: () => moved(state, choice, 1, true),
    pageUp: () => moved(state, choice, -page, false),
    pageDown: () => moved(state, choice, page, false),
    first: () => moved(state, choice, Number.NEGATIVE_INFINITY, false),
    last: () => moved(state, choice, Number.POSITIVE_INFINITY, false),
  };
  return moves[key]?.() ?? state;
}

function beside(state: State, by: number): State {
  const at = LISTS.indexOf(state.list) + by + LISTS.length;
  return { ...state, list: LISTS[at % LISTS.length] ?? "sessions" };
}

function opened(state: State): State {
  const mail = mailAt(state);
  if (state.list === "sessions") return toSession(state);
  return mail ? into(state, { at: "reader", mail }) : state;
}

function answered(state: State): State {
  const mail = mailAt(state);
  if (mail) return answering(state, mail);
  return state.list === "sessions" ? toSession(state) : state;
}

function toSession(state: State): State {
  const row = state.content.sessions[state.selected.sessions.index];
  if (!row) return state;
  return composing(state, { to: row.address, label: row.label, answers: undefined });
}

function picking(state: State): State {
  if (recipientsOf(state).length > 0) return into(state, { at: "recipients" });
  return warned(state, "No other session is running; start Pi in another terminal.");
}
