import { basename, join } from "node:path";
import { isAddress } from "../mail/address.ts";
import { isThere, UnreadableFile } from "../mail/disk.ts";
import { EnvelopeError, envelopeName } from "../mail/envelope.ts";
import { errorText } from "../mail/errors.ts";
import { type Awaiting, loadLedger, rebuildLedger } from "../mail/ledger.ts";
import { boxesOf } from "../mail/root.ts";
import { isDelivered, readEnvelope } from "../mail/store.ts";
import { cleanValue } from "../text.ts";
import { isOwed } from "../turn/intake.ts";
import { unreadOf } from "./arrivals.ts";
import { type MailboxState, owe, tell, trySave } from "./state.ts";

/**
 * Takes up the ledger that an earlier process of this session left, setting right what a crash
 * may have left between two steps; it is rebuilt from the boxes where there is none (S5.5, S6.7).
 *
 * @param closed whether the session was closed in between, and not just loaded anew.
 */
export function resume(state: MailboxState, closed: boolean): void {
  const { address } = state.host;
  state.marks.refresh();
  const found = loadLedger(address);
  if (found === "damaged") {
    state.host.warn(
      `mailbox: ${boxesOf(address).ledger} was damaged and is made anew from the mail.`,
    );
  }
  const { unread, ...ledger } =
    typeof found === "string" ? rebuildLedger(address, state.marks) : found;
  state.ledger = {
    ...ledger,
    // Sent is what arrived: a crash in the middle of a send, or a mailbox that was removed since,
    // leaves nothing to wait for.
    awaiting: ledger.awaiting.filter(hasArrived),
    // What is no answer of ours could never be sent.
    outbox: ledger.outbox.filter(
      ({ kind, from, to }) => kind === "reply" && from === address && isAddress(to),
    ),
    owed: ledger.owed
      .filter(({ from }) => isAddress(from))
      .map((debt) => ({ ...debt, closed: debt.closed || closed })),
    read: ledger.read + ledger.entered,
    entered: 0,
  };
  state.unread = new Map();
  state.deferred.clear();
  // Its end may be that of a line which a crash cut off.
  state.saved = false;
  for (const name of unread) state.deferred.add(name);
  takeBackUnseen(state);
  retryDeferred(state, closed);
  const isNew = found === "missing" && ledger.read + unread.length + ledger.awaiting.length === 0;
  if (!isNew) trySave(state);
}

/**
 * What another process of the session has read and this one has not cannot be answered by it: it is
 * unread again.
 */
function takeBackUnseen(state: MailboxState): void {
  const { cur } = boxesOf(state.host.address);
  for (const debt of state.ledger.owed) {
    const name = envelopeName(debt);
    if (state.marks.isRead(debt.id) || state.deferred.has(name)) continue;
    if (!isThere(join(cur, name))) continue;
    state.deferred.add(name);
    state.ledger.read = Math.max(0, state.ledger.read - 1);
  }
}

function hasArrived(mail: Awaiting): boolean {
  if (!isAddress(mail.to)) return false;
  try {
    return isDelivered(mail);
  } catch {
    // It cannot be looked for: nothing says that it has not.
    return true;
  }
}

/** Takes up the unread mail that could not be read until now. */
export function retryDeferred(state: MailboxState, closed: boolean): void {
  for (const name of state.deferred) {
    try {
      resumeUnread(state, name, closed);
      state.deferred.delete(name);
    } catch (error) {
      const isLost = error instanceof EnvelopeError || error instanceof UnreadableFile;
      if (isLost) state.deferred.delete(name);
      const fate = isLost ? "is lost" : "cannot be read, and is tried again";
      const text = `mailbox: unread mail in cur/${cleanValue(name)} ${fate}: ${errorText(error)}`;
      // What is lost is told for each mail, and what may come yet but once.
      tell(state, text, isLost ? text : "deferred");
    }
  }
  if (state.deferred.size === 0) state.told.delete("deferred");
}

function resumeUnread(state: MailboxState, name: string, closed: boolean): void {
  const path = join(boxesOf(state.host.address).cur, basename(name));
  // One that is not there was written down and never moved: it still waits in `new/`.
  if (!isThere(path)) return;
  const mail = { envelope: readEnvelope(path), path };
  const { envelope } = mail;
  if (state.marks.isRead(envelope.id)) {
    state.ledger.read += 1;
    if (isOwed(envelope)) owe(state, envelope, closed);
    return;
  }
  // It had entered a session that a crash took back.
  state.ledger.owed = state.ledger.owed.filter(({ id }) => id !== envelope.id);
  state.unread.set(envelope.id, unreadOf(state, mail));
}
