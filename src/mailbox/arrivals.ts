import { basename, join } from "node:path";
import { isAddress } from "../mail/address.ts";
import { isThere, UnreadableFile } from "../mail/disk.ts";
import { errorText } from "../mail/errors.ts";
import { type Envelope, EnvelopeError, envelopeName } from "../mail/envelope.ts";
import { type Awaiting, loadLedger, rebuildLedger } from "../mail/ledger.ts";
import { boxesOf } from "../mail/root.ts";
import { claim, findMail, isDelivered, type Mail, namesIn, readEnvelope } from "../mail/store.ts";
import { cleanValue } from "../text.ts";
import { withMail } from "../turn/hops.ts";
import { isOwed } from "../turn/intake.ts";
import type { Answered } from "../turn/label.ts";
import {
  mark,
  type MailboxState,
  owe,
  save,
  tell,
  trySave,
  type Unread,
  type Wait,
} from "./state.ts";

/** The event on which listeners are shown every mail before it enters (S9.2). */
export const INBOUND = "message:inbound";

/** What a listener of {@link INBOUND} is given; it sets `handled` to show the mail itself. */
export interface Inbound {
  readonly envelope: Envelope;
  /** In `cur/`. */
  readonly path: string;
  /** The copies of our own mails that a reply answers. */
  readonly requests: readonly Mail[];
  handled: boolean;
}

/**
 * Claims all that waits, gives answers to the asks that wait for them (S7.5) and shows the rest
 * to listeners. What they leave is unread and enters at the next boundary.
 *
 * @returns how many files were claimed or set aside, and what kept others from it.
 */
export function claimArrivals(state: MailboxState): { count: number; fault: string | undefined } {
  const before = state.unread;
  let looked = false;
  const known = (id: string): boolean => {
    if (!looked) state.marks.refresh();
    looked = true;
    return state.marks.isRead(id) || before.has(id);
  };
  const claimed = claim(state.host.address, known, (mails) => {
    const { awaiting } = state.ledger;
    state.unread = new Map(before);
    for (const mail of mails) state.unread.set(mail.envelope.id, unreadOf(state, mail));
    state.ledger.awaiting = withoutAnswered(awaiting, mails);
    try {
      save(state);
    } catch (error) {
      state.unread = before;
      state.ledger.awaiting = awaiting;
      throw error;
    }
  });
  if (claimed.fault !== undefined) {
    forgetUnclaimed(state, before, claimed.mails);
    const text = `mailbox: mail cannot be claimed, and is tried again: ${claimed.fault}`;
    tell(state, text, "claim");
  } else state.told.delete("claim");
  for (const { path, reason } of claimed.setAside) {
    state.host.warn(`mailbox: ${cleanValue(path)} was set aside: ${reason}.`);
  }
  offerAll(state);
  return { count: claimed.mails.length + claimed.setAside.length, fault: claimed.fault };
}

/** Mail that was written down but could not be moved still waits, and is claimed again. */
function forgetUnclaimed(
  state: MailboxState,
  before: ReadonlyMap<string, Unread>,
  claimed: readonly Mail[],
): void {
  const there = new Set(claimed.map(({ envelope }) => envelope.id));
  for (const id of state.unread.keys()) {
    if (!before.has(id) && !there.has(id)) state.unread.delete(id);
  }
  trySave(state);
}

function withoutAnswered<T extends { id: string; to: string }>(
  awaiting: readonly T[],
  mails: readonly Mail[],
): T[] {
  const answered = new Set<string>();
  for (const { envelope } of mails) {
    if (envelope.kind !== "reply") continue;
    for (const id of envelope.in_reply_to) answered.add(`${envelope.from} ${id}`);
  }
  return awaiting.filter(({ id, to }) => !answered.has(`${to} ${id}`));
}

function unreadOf(state: MailboxState, { envelope, path }: Mail): Unread {
  const answered = envelope.kind === "reply" ? answeredBy(state, envelope) : [];
  return {
    envelope,
    path,
    answered,
    late: answered.some(({ id, copy }) => {
      const awaited = state.ledger.awaiting.find((other) => other.id === id);
      const kind = awaited?.to === envelope.from ? awaited.kind : copy?.envelope.kind;
      return kind === "ask";
    }),
    offered: "no",
    handed: undefined,
    entered: false,
  };
}

/** What a reply answers. Only mail that went to its sender can be answered by it. */
function answeredBy(state: MailboxState, reply: Envelope): Answered[] {
  const { sent } = boxesOf(state.host.address);
  let names: string[] | undefined;
  const list = (): string[] => (names ??= namesIn(sent));
  return [...new Set(reply.in_reply_to)].map((id) => {
    const awaited = state.ledger.awaiting.find((other) => other.id === id);
    const name = awaited && envelopeName({ ...reply, id, ts: awaited.ts });
    const copy = findMail(sent, id, name, list);
    return { id, copy: copy?.envelope.to === reply.from ? copy : undefined };
  });
}

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
      tell(state, `mailbox: unread mail in cur/${cleanValue(name)} ${fate}: ${errorText(error)}`);
    }
  }
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

/** Shows listeners, and the asks that wait, the mail that they have not seen yet. */
export function offerAll(state: MailboxState): void {
  for (const mail of [...state.unread.values()]) {
    if (mail.offered !== "no" || mail.handed || mail.entered) continue;
    const wait = waitFor(state, mail);
    if (wait) {
      mail.handed = { by: "tool", at: state.clock.elapsed() };
      wait.answer(mail.envelope, mail.path);
    } else {
      offer(state, mail);
    }
  }
}

function waitFor(state: MailboxState, { envelope }: Unread): Wait | undefined {
  if (envelope.kind !== "reply") return undefined;
  return envelope.in_reply_to
    .map((id) => state.waits.get(id))
    .find((wait) => wait?.target === envelope.from);
}

function offer(state: MailboxState, mail: Unread): void {
  const requests = mail.answered.flatMap(({ copy }) => (copy ? [copy] : []));
  const inbound: Inbound = {
    envelope: mail.envelope,
    path: mail.path,
    requests,
    handled: false,
  };
  mail.offered = "now";
  state.offering += 1;
  try {
    state.host.emit(INBOUND, inbound);
  } finally {
    state.offering -= 1;
    mail.offered = "yes";
  }
  if (inbound.handled) takenOver(state, mail);
}

/** A listener shows the mail itself: it counts as read, and is answered like any other (S5.12). */
function takenOver(state: MailboxState, { envelope }: Unread): void {
  state.unread.delete(envelope.id);
  state.hops = withMail(state.hops, envelope.hops);
  state.ledger.read += 1;
  if (isOwed(envelope)) owe(state, envelope);
  trySave(state);
  mark(state, envelope.id, false);
}
