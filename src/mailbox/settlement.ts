import type { Envelope } from "../mail/envelope.ts";
import type { Owed } from "../mail/ledger.ts";
import { cleanValue } from "../text.ts";
import { isOwed } from "../turn/intake.ts";
import { outcomeOf } from "../turn/run.ts";
import { refuseUnread, settle } from "../turn/settle.ts";
import { confirmRead, deliverStopped, readyMail, senderOf, takeBackUntaken } from "./delivery.ts";
import { offerAll } from "./arrivals.ts";
import { flushOutbox, putIntoOutbox } from "./outgoing.ts";
import { mark, type MailboxState, trySave } from "./state.ts";

/**
 * Ends a run: who is owed an answer gets it (S6), and what entered since the last settle counts
 * as read. What is decided is written down before an answer goes out, so that a crash in between
 * neither loses an answer nor gives it twice.
 *
 * @param aborted whether the user stopped the run.
 */
export function settleRun(state: MailboxState, aborted: boolean): void {
  confirmRead(state);
  const outcome = outcomeOf(state.ending, aborted);
  takeBackUntaken(state, outcome.status === "stopped");
  offerAll(state);
  const { answers, owed } = settle(state.ledger.owed, outcome);
  const before = new Set(state.ledger.owed.filter(({ held }) => held).map(({ id }) => id));
  const held = owed.filter((debt) => debt.held && !before.has(debt.id));
  putIntoOutbox(state, answers);
  state.ledger.owed = [...owed];
  const refused = outcome.status === "stopped" ? refuse(state) : [];

  state.ledger.read += state.ledger.entered;
  state.ledger.entered = 0;
  if (trySave(state)) {
    flushOutbox(state);
    for (const { id } of refused) mark(state, id, true);
  }
  if (outcome.status === "stopped") deliverStopped(state);
  tellOfHeld(state, held);
}

/** Tells the user whom a run answers that is about something else: nothing else on the screen does. */
function tellOfHeld({ host }: MailboxState, held: readonly Owed[]): void {
  if (held.length === 0) return;
  const senders = [...new Set(held.map(({ from }) => from))];
  const named = senders.slice(0, MOST_NAMED).map((address) => senderOf(address).label);
  const more = senders.length - named.length;
  const all = [...named.map(cleanValue), ...(more > 0 ? [`${String(more)} more`] : [])].join(", ");
  host.warn(
    `mailbox: the next run that completes answers ${all}, whatever you ask it; r in /mailbox answers by hand.`,
  );
}

/** How many senders a notice names. */
const MOST_NAMED = 3;

/** Answers the requests and asks that a stopped session had not read (S6.6). */
function refuse(state: MailboxState): Envelope[] {
  const unread = readyMail(state).map(({ envelope }) => envelope);
  const refused = unread.filter(isOwed);
  putIntoOutbox(state, refuseUnread(refused));
  for (const { id } of refused) state.unread.delete(id);
  return refused;
}
