import { type Envelope, envelopeName } from "../mail/envelope.ts";
import { boxesOf } from "../mail/root.ts";
import { claim, findMail, type Mail, namesIn } from "../mail/store.ts";
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

/** How many files that were no mail are remembered. */
const MAX_SET_ASIDE = 20;

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
  state.setAside = [...state.setAside, ...claimed.setAside].slice(-MAX_SET_ASIDE);
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

/** A mail that is claimed, with what it answers. */
export function unreadOf(state: MailboxState, { envelope, path }: Mail): Unread {
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
