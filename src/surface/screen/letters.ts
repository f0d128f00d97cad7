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
  return back({ ...state, drafts: withDraft(state.drafts, view.letter.to, text) });
}

/** Back from the composer after its text went out. */
export function sent(state: State, said: string): State {
  return { ...putAway(state, ""), status: { level: "success", text: said } };
}

function withDraft(drafts: State["drafts"], to: string, text: string): ReadonlyMap<string, string> {
  const next = new Map(drafts);
  if (text.trim() === "") next.delete(to);
  else next.set(to, text);
  return next;
}

/** Who the unfinished texts are to, for a question before they are given up. */
export function unfinished({ drafts, content }: State): string {
  const labels = [...drafts.keys()].map((to) => {
    const row = content.sessions.find(({ address }) => address === to);
    return cleanValue(row?.label ?? to.slice(0, 8));
  });
  return labels.join(", ");
}
