import { isNear } from "../sessions/addressing.ts";

/** What a lone word behind `/mailbox` may be, and what it does (S8.1). */
export const SUBCOMMANDS = {
  inbox: "the newest mail that this session received",
  sent: "the newest mail that this session sent, and what became of it",
  doctor: "what there is to know when mail does not come",
  prune: "remove the mailboxes of closed sessions",
} as const;

type Subcommand = keyof typeof SUBCOMMANDS;

/** Whether a word is a subcommand. */
export function isSubcommand(word: string): word is Subcommand {
  return Object.hasOwn(SUBCOMMANDS, word);
}

/** The subcommand that someone who typed this may have meant, or `undefined`. */
export function nearestSubcommand(word: string): string | undefined {
  return Object.keys(SUBCOMMANDS).find((name) => isNear(word, name));
}
