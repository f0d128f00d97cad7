import { AddressError } from "../sessions/addressing.ts";
import { errorText } from "../mail/errors.ts";
import type { Envelope } from "../mail/envelope.ts";
import { isDelivered, send, SendError } from "../mail/store.ts";
import { mark, type MailboxState, newEnvelope, save, tell, trySave } from "./state.ts";
import { hopCount } from "../turn/hops.ts";
import { cutToBytes } from "../text.ts";
import type { Answer } from "../turn/settle.ts";

/** A mail to send that is not an answer. */
export interface Outgoing {
  readonly to: string;
  readonly kind: "request" | "ask" | "message";
  readonly hops: number;
  readonly body: string;
}

/**
 * Sends a mail to an address and returns its envelope; a request or ask is awaited from then on.
 *
 * @throws AddressError for the session itself (S4.4), SendError when nothing was delivered (S2.5).
 */
export function sendMail(
  state: MailboxState,
  mail: Outgoing,
  { durable } = state.settings(),
): Envelope {
  if (mail.to === state.host.address) throw new AddressError("A session cannot mail itself.");
  const envelope = newEnvelope(state, { ...mail, in_reply_to: [], status: "" });
  if (mail.kind === "message") {
    send(envelope, durable);
    return envelope;
  }
  const { id, ts, to } = envelope;
  const { awaiting } = state.ledger;
  state.ledger.awaiting = [...awaiting, { id, ts, to, kind: mail.kind }];
  try {
    // Written down before it is sent: an answer may come before anything else can be done.
    save(state);
  } catch (error) {
    state.ledger.awaiting = awaiting;
    throw new SendError(`Nothing was sent: ${errorText(error)}`, { cause: error });
  }
  try {
    send(envelope, durable);
  } catch (error) {
    state.ledger.awaiting = awaiting;
    trySave(state);
    throw error;
  }
  return envelope;
}

/** The most of an answer that is sent, in bytes; escaped, it still fits an envelope. */
const MAX_ANSWER_BYTES = 1024 * 1024;

function within(body: string): string {
  const part = cutToBytes(body, MAX_ANSWER_BYTES);
  return part === body ? body : `${part}\n(Cut here at 1 MiB by the session that answers.)`;
}

function replyOf(state: MailboxState, answer: Answer): Envelope {
  const hops = hopCount(state.hops);
  return newEnvelope(state, { ...answer, kind: "reply", hops, body: within(answer.body) });
}

/** Puts answers into the outbox; they go out with {@link flushOutbox} once that is saved. */
export function putIntoOutbox(state: MailboxState, answers: readonly Answer[]): Envelope[] {
  const replies = answers.map((answer) => replyOf(state, answer));
  state.ledger.outbox.push(...replies);
  return replies;
}

/**
 * Delivers what is in the outbox. An answer that cannot be delivered for now stays and is tried
 * again; one that a crash left there after it was delivered is not delivered twice.
 */
export function flushOutbox(state: MailboxState): void {
  if (state.ledger.outbox.length === 0) return;
  const { durable } = state.settings();
  const left: Envelope[] = [];
  for (const reply of state.ledger.outbox) {
    try {
      if (!isDelivered(reply)) send(reply, durable);
    } catch (error) {
      left.push(reply);
      const text = `mailbox: an answer cannot be sent, and is tried again. ${errorText(error)}`;
      tell(state, text, "outbox");
    }
  }
  state.ledger.outbox = left;
  if (left.length === 0) state.told.delete("outbox");
  trySave(state);
}

/**
 * Answers one request or ask that is owed now (S7.7, S18.2). It is owed no longer, so that the run
 * that is on does not answer it again.
 *
 * @throws an error when it is not owed, or the one that kept the answer from being sent; it is then
 * still owed.
 */
export function answerNow(state: MailboxState, id: string, body: string): Envelope {
  const { ledger, unread } = state;
  const { owed, outbox } = ledger;
  const debt = owed.find((owing) => owing.id === id);
  if (!debt) {
    throw new Error(
      `Nothing was sent: no request or ask with the id ${id} waits for an answer; it may have got one.`,
    );
  }
  const reply = replyOf(state, { to: debt.from, in_reply_to: [id], status: "done", body });
  // Read for good, even if a crash takes the session along: it must not be answered again.
  state.unread = new Map([...unread].filter(([other]) => other !== id));
  state.ledger = {
    ...ledger,
    owed: owed.filter((other) => other !== debt),
    outbox: [...outbox, reply],
    entered: ledger.entered + (unread.has(id) ? 1 : 0),
  };
  try {
    save(state);
    send(reply, state.settings().durable);
  } catch (error) {
    state.unread = unread;
    state.ledger = ledger;
    trySave(state);
    throw error;
  }
  state.ledger.outbox = state.ledger.outbox.filter((other) => other !== reply);
  trySave(state);
  mark(state, id, true);
  return reply;
}
