import type { ListedMail } from "../../mailbox/overview.ts";

export type { ListedMail, MailState } from "../../mailbox/overview.ts";

/** A running session in the list. */
export interface SessionRow {
  readonly address: string;
  readonly label: string;
  readonly cwd: string;
  /** `idle`, `busy` or `not responding`. */
  readonly state: string;
  /** Whose answer it waits for, as it is called; empty for nobody's. */
  readonly waitingOn: string;
  readonly isSelf: boolean;
}

/** What the screen shows and does. Any method may throw an error, whose message is shown. */
export interface ScreenSource {
  readonly name: string | undefined;
  readonly address: string;
  /** Whether the session is still this one; when not, the screen looks no more. */
  isOpen(): boolean;
  /** The running sessions, this one among them. */
  sessions(): readonly SessionRow[];
  /** Newest first. */
  inbox(): readonly ListedMail[];
  /** Newest first. */
  sent(): readonly ListedMail[];
  /** Sends a request to an address and returns what to say of it. */
  send(to: string, text: string): string;
  /** Answers a request or ask that is owed and returns what to say of it. */
  answer(mail: ListedMail, text: string): string;
}

/** What the lists hold. */
export interface Content {
  readonly sessions: readonly SessionRow[];
  readonly inbox: readonly ListedMail[];
  readonly sent: readonly ListedMail[];
}

/** Whether a mail waits for an answer of this session. */
export function isToAnswer({ state }: ListedMail): boolean {
  return state === "to answer" || state === "held";
}
