import type { Envelope } from "../mail/envelope.ts";
import { isOwed } from "../turn/intake.ts";
import { outcomeOf } from "../turn/run.ts";
import { refuseUnread, settle } from "../turn/settle.ts";
import { confirmRead, deliverStopped, readyMail, takeBackUntaken } from "./delivery.ts";
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
}

/** Answers the requests and asks that a stopped session had not read (S6.6). */
function refuse(state: MailboxState): Envelope[] {
  const unread = readyMail(state).map(({ envelope }) => envelope);
  const refused = unread.filter(isOwed);
  putIntoOutbox(state, refuseUnread(refused));
  for (const { id } of refused) state.unread.delete(id);
  return refused;
}
