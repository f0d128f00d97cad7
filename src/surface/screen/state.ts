import type { Content, ListedMail, SessionRow } from "./content.ts";

/** The lists, in the order of their tabs. */
export const LISTS = ["sessions", "inbox", "sent"] as const;

export type ListName = (typeof LISTS)[number];

/** The lists, and the one from which a recipient is picked. */
export type Choice = ListName | "recipients";

/** A key as the screen understands it. */
export type Key =
  | "up"
  | "down"
  | "pageUp"
  | "pageDown"
  | "first"
  | "last"
  | "left"
  | "right"
  | "confirm"
  | "cancel"
  | "answer"
  | "new";

/** What is being written, and to whom. */
export interface Letter {
  readonly to: string;
  readonly label: string;
  /** The mail that it answers; a new request without one. */
  readonly answers: ListedMail | undefined;
}

/** A letter that was left before it was sent. */
export interface Draft {
  readonly letter: Letter;
  readonly text: string;
}

/** One level of the screen. */
export type View =
  | { readonly at: "lists" }
  | { readonly at: "reader"; readonly mail: ListedMail }
  | { readonly at: "recipients" }
  | { readonly at: "composer"; readonly letter: Letter };

/** What the line above the help says. */
export interface Status {
  readonly level: "success" | "warning" | "error";
  readonly text: string;
}

/** The selected row, and where it was when it was last seen. */
export interface Selection {
  readonly id: string | undefined;
  readonly index: number;
}

/** All that the screen remembers; it is never changed, but replaced. */
export interface State {
  readonly content: Content;
  readonly list: ListName;
  readonly selected: Readonly<Record<Choice, Selection>>;
  /** What is open above the lists; the last is shown, and Esc goes back to the one before it. */
  readonly opened: readonly View[];
  /** The first line that the reader shows. */
  readonly top: number;
  /** Unfinished texts, one for each letter. */
  readonly drafts: ReadonlyMap<string, Draft>;
  readonly status: Status | undefined;
  /** What kept the lists from being read anew. */
  readonly fault: string | undefined;
  /** The next Esc closes the screen, whatever is unfinished. */
  readonly closing: boolean;
}

const TOP: Selection = { id: undefined, index: 0 };

/** The screen as it opens, before anything was read. */
export const OPENED: State = {
  content: { sessions: [], inbox: [], sent: [] },
  list: "sessions",
  selected: { sessions: TOP, inbox: TOP, sent: TOP, recipients: TOP },
  opened: [],
  top: 0,
  drafts: new Map(),
  status: undefined,
  fault: undefined,
  closing: false,
};

/** The level that is shown. */
export function viewOf({ opened }: State): View {
  return opened.at(-1) ?? { at: "lists" };
}

/** The sessions that a mail can go to. */
export function recipientsOf({ content }: State): readonly SessionRow[] {
  return content.sessions.filter(({ isSelf }) => !isSelf);
}

/** The ids of the rows of a list, from top to bottom. */
function idsOf(state: State, choice: Choice): readonly string[] {
  if (choice === "recipients") return recipientsOf(state).map(({ address }) => address);
  if (choice === "sessions") return state.content.sessions.map(({ address }) => address);
  return state.content[choice].map(({ envelope }) => envelope.id);
}

/** The mail that is read, or selected in a list. */
export function mailAt(state: State): ListedMail | undefined {
  const view = viewOf(state);
  if (view.at === "reader") return view.mail;
  if (state.list === "sessions") return undefined;
  return state.content[state.list][state.selected[state.list].index];
}

/** The same with what the lists hold now; each selection stays on its row, or where that was. */
export function refreshed(state: State, content: Content, fault?: string): State {
  const next = { ...state, content, fault };
  return {
    ...next,
    selected: {
      sessions: keep(next, "sessions"),
      inbox: keep(next, "inbox"),
      sent: keep(next, "sent"),
      recipients: keep(next, "recipients"),
    },
    opened: state.opened.map((view) => anew(view, content)),
  };
}

function keep(state: State, choice: Choice): Selection {
  const ids = idsOf(state, choice);
  const { id, index } = state.selected[choice];
  const found = id === undefined ? -1 : ids.indexOf(id);
  return selectionAt(ids, found >= 0 ? found : index);
}

function selectionAt(ids: readonly string[], wanted: number): Selection {
  const index = Math.max(0, Math.min(wanted, ids.length - 1));
  return { id: ids[index], index };
}

/** A mail that is open shows how it stands now; one that has left the list stays as it was. */
function anew(view: View, content: Content): View {
  if (view.at !== "reader") return view;
  const list = content[view.mail.isSent ? "sent" : "inbox"];
  const now = list.find(({ envelope }) => envelope.id === view.mail.envelope.id);
  return now ? { ...view, mail: now } : view;
}

/** The same with the row selected that is `by` further down, around the ends when `around`. */
export function moved(state: State, choice: Choice, by: number, around: boolean): State {
  const ids = idsOf(state, choice);
  const wanted = state.selected[choice].index + by;
  const index = around && ids.length > 0 ? (wanted + ids.length) % ids.length : wanted;
  return { ...state, selected: { ...state.selected, [choice]: selectionAt(ids, index) } };
}

/** One level further in. */
export function into(state: State, view: View): State {
  return { ...state, opened: [...state.opened, view], top: view.at === "reader" ? 0 : state.top };
}

/** One level back; the lists stay. */
export function back(state: State): State {
  return { ...state, opened: state.opened.slice(0, -1) };
}

/** The same with a line that says why a key did nothing. */
export function warned(state: State, text: string): State {
  return { ...state, status: { level: "warning", text } };
}

/** The same with a line that says what went wrong. */
export function failed(state: State, text: string): State {
  return { ...state, status: { level: "error", text } };
}
