import { cleanValue } from "../../text.ts";
import { isToAnswer, type ListedMail } from "./content.ts";
import { back, into, type Letter, type State, viewOf, warned } from "./state.ts";

/** The composer, for the other session of a mail: its answer where it is owed, else a new request. */
export function answering(state: State, mail: ListedMail): State {
  const { from, to } = mail.envelope;
  const answers = isToAnswer(mail) ? mail : undefined;
  return composing(state, { to: mail.isSent ? to : from, label: mail.other, answers });
}

/** The composer, in place of the list of recipients where it comes from there. */
export function composing(state: State, letter: Letter): State {
  const self = state.content.sessions.find(({ isSelf }) => isSelf)?.address;
  if (letter.to === self) return warned(state, "This is your own session; choose another one.");
  const from = viewOf(state).at === "recipients" ? back(state) : state;
  return into(from, { at: "composer", letter });
}

/** Back from the composer, keeping an unfinished text for when it is opened again. */
export function putAway(state: State, text: string): State {
  const view = viewOf(state);
  if (view.at !== "composer") return state;
  return back({ ...state, drafts: withDraft(state.drafts, view.letter, text) });
}

/** Back from the composer after its text went out. */
export function sent(state: State, said: string): State {
  return { ...putAway(state, ""), status: { level: "success", text: said } };
}

/** The composer's letter as a new request, where what it answers got another answer meanwhile. */
export function whatCanBeSent(state: State): State {
  const view = viewOf(state);
  if (view.at !== "composer" || !view.letter.answers) return state;
  const { id } = view.letter.answers.envelope;
  const now = state.content.inbox.find(({ envelope }) => envelope.id === id);
  if (!now || isToAnswer(now)) return state;
  return into(back(state), { at: "composer", letter: { ...view.letter, answers: undefined } });
}

/** The unfinished text of a letter; an answer is another letter than a request to the same session. */
export function draftOf({ drafts }: State, letter: Letter): string {
  return drafts.get(keyOf(letter))?.text ?? "";
}

function keyOf({ to, answers }: Letter): string {
  return answers ? `${to} ${answers.envelope.id}` : to;
}

function withDraft(drafts: State["drafts"], letter: Letter, text: string): State["drafts"] {
  const next = new Map(drafts);
  if (text.trim() === "") next.delete(keyOf(letter));
  else next.set(keyOf(letter), { letter, text });
  return next;
}

/** Who the unfinished texts are to, for a question before they are given up. */
export function unfinished({ drafts }: State): string {
  return [...new Set([...drafts.values()].map(({ letter }) => cleanValue(letter.label)))].join(
    ", ",
  );
}
