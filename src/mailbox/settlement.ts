import type { Envelope } from "../mail/envelope.ts";
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
  tellOfStop(state, held, refused);
}

type From = Pick<Envelope, "from">;

/** What a stop has done beyond this session, of which nothing else on the screen tells. */
function tellOfStop({ host }: MailboxState, held: readonly From[], refused: readonly From[]): void {
  if (held.length > 0) {
    host.warn(
      `mailbox: the next run that completes answers ${sendersOf(held)}, whatever you ask it; ` +
        "r in /mailbox answers by hand.",
    );
  }
  if (refused.length > 0) {
    host.warn(
      `mailbox: ${sendersOf(refused)} got unread mail back: you stopped the session before it was read.`,
    );
  }
}

function sendersOf(mails: readonly From[]): string {
  const senders = [...new Set(mails.map(({ from }) => from))];
  const shown = senders.slice(0, MOST_NAMED).map((address) => senderOf(address).label);
  const more = senders.length - shown.length;
  return [...shown.map(cleanValue), ...(more > 0 ? [`${String(more)} more`] : [])].join(", ");
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
