import { errorText } from "../mail/errors.ts";
import { sentAt } from "../mail/envelope.ts";
import { labelOf } from "../sessions/addressing.ts";
import { type RunningSession, runningRecord } from "../sessions/record.ts";
import { withMail } from "../turn/hops.ts";
import { type Boundary, intake, isOwed, wakes } from "../turn/intake.ts";
import { labelMail, type Sender } from "../turn/label.ts";
import { cleanValue } from "../text.ts";
import type { Injection } from "./host.ts";
import { type Handed, type MailboxState, owe, tell, trySave, type Unread } from "./state.ts";

/** How long an idle session waits for the entry of a mail before that is unread again, in ms. */
const LOST_AFTER = 2000;

/**
 * Moves mail whose entry is in the session from unread to read (S5.5), and to owed when it asks
 * for an answer. Until the session is on disk it stays in the ledger as well, since a crash or a
 * power cut would take the entry along.
 */
export function confirmRead(state: MailboxState): void {
  if (state.unread.size === 0) return;
  state.marks.refresh();
  let changed = false;
  for (const [id, mail] of state.unread) {
    if (mail.entered || !state.marks.isRead(id)) continue;
    mail.entered = true;
    mail.handed = undefined;
    if (isOwed(mail.envelope)) owe(state, mail.envelope);
    changed = true;
  }
  const entered = [...state.unread.values()].filter((mail) => mail.entered);
  if (entered.length > 0 && isKept(state)) {
    for (const { envelope } of entered) state.unread.delete(envelope.id);
    state.ledger.entered += entered.length;
    changed = true;
  }
  if (changed) trySave(state);
}

/** Whether the session's entries are on disk for good, as far as the settings ask for it (S1.6). */
function isKept(state: MailboxState): boolean {
  if (!state.host.isOnDisk()) return false;
  try {
    if (state.lastSettings().durable) state.host.flush();
    state.told.delete(FLUSH);
    return true;
  } catch (error) {
    const text = `mailbox: the session cannot be flushed to disk: ${errorText(error)}`;
    tell(state, text, FLUSH);
    return false;
  }
}

const FLUSH = "flush";

/**
 * Puts the unread mail into an idle session: the last of it, if any of it wakes, as the message
 * that starts a run, so that all of it costs one request (S5.6). Does nothing while a run,
 * retry or compaction is on, or while one that was asked for has yet to begin.
 */
export function deliverIdle(state: MailboxState): void {
  confirmRead(state);
  // Until a run's settling is seen to, what enters would be taken for a part of it (S6.9).
  if (state.running || state.offering > 0 || !state.host.isIdle()) return;
  if (state.clock.elapsed() < state.promptUntil) return;
  takeBackLost(state);
  if (isStarting(state)) return;
  if (state.host.canWake) putIn(state, "idle");
}

/**
 * Puts the unread mail before a prompt that is about to start a run, whose request it shares. In
 * print mode, where Pi ends with the user's prompts, there is no other way in without tool calls.
 */
export function deliverWithPrompt(state: MailboxState): void {
  if (!state.running && state.host.isIdle()) putIn(state, "starting");
}

/** Puts quiet mail into a session whose run the user has just stopped, starting nothing (S6.6). */
export function deliverStopped(state: MailboxState): void {
  if (state.host.isIdle()) putIn(state, "stopped");
}

/**
 * The unread mail to return from a `turn_end`: behind tool results it enters with them and is
 * seen by the request that follows (S5.3); behind a run's last text none does (S6.9).
 */
export function deliverGap(
  state: MailboxState,
  boundary: "gap" | "text",
): { mails: Injection[]; wake: boolean } {
  const { enter, wake } = intake(readyMail(state), boundary);
  const senders = sendersOf(enter);
  const mails = enter.map((mail) => injection(state, mail, senders));
  for (const mail of enter) {
    handOver(state, mail, "gap");
    countHops(state, mail);
  }
  return { mails, wake };
}

/**
 * Mail that a settled run did not take in after all is unread again. A message that is to start
 * a run may still do so, unless that was the run the user has stopped.
 */
export function takeBackUntaken(state: MailboxState, stopped: boolean): void {
  for (const mail of state.unread.values()) {
    if (stopped || mail.handed?.by !== "message") mail.handed = undefined;
  }
}

/** Unread mail that may enter now, in order of sending. */
export function readyMail(state: MailboxState): Unread[] {
  return [...state.unread.values()]
    .filter(({ offered, handed, entered }) => offered === "yes" && !handed && !entered)
    .sort((one, other) => (sentAt(one.envelope) ?? 0) - (sentAt(other.envelope) ?? 0));
}

function putIn(state: MailboxState, boundary: Boundary): void {
  const { enter, wake } = intake(readyMail(state), boundary);
  if (enter.length === 0) return;
  // The run that starts is the mail's; a user who starts or steers it says so by an input event.
  if (wake) state.hops = { ...state.hops, user: false };
  const senders = sendersOf(enter);
  const last = enter.length - 1;
  for (const [position, mail] of enter.entries()) {
    const entering = injection(state, mail, senders);
    handOver(state, mail, "message");
    if (boundary !== "stopped") countHops(state, mail);
    if (wake && position === last) state.host.wake(entering);
    else state.host.append(entering);
  }
}

function handOver(state: MailboxState, mail: Unread, by: Handed["by"]): void {
  mail.handed = { by, at: state.clock.elapsed() };
}

/** The mail starts or steers a run (S10.1). */
function countHops(state: MailboxState, mail: Unread): void {
  if (wakes(mail)) state.hops = withMail(state.hops, mail.envelope.hops);
}

/** A message was handed to Pi, and the run that it starts is not there yet. */
function isStarting(state: MailboxState): boolean {
  for (const { handed } of state.unread.values()) if (handed?.by === "message") return true;
  return false;
}

/** Pi took a message and, idle for long enough since, has no entry of it: it is unread again. */
function takeBackLost(state: MailboxState): void {
  const now = state.clock.elapsed();
  for (const mail of state.unread.values()) {
    if (mail.handed?.by !== "message") continue;
    if (now - Math.max(mail.handed.at, state.settledAt) >= LOST_AFTER) mail.handed = undefined;
  }
}

function injection(
  state: MailboxState,
  mail: Unread,
  senders: ReadonlyMap<string, Sender>,
): Injection {
  const { envelope, path, answered, late } = mail;
  const sender = senders.get(envelope.from) ?? senderOf(envelope.from);
  const { text, body, quotes } = labelMail({
    envelope,
    path,
    sender,
    answered,
    late,
    sentAt: sentAt(envelope),
    now: state.clock.now(),
  });
  return {
    content: text,
    details: {
      id: envelope.id,
      from: envelope.from,
      label: cleanValue(sender.label),
      kind: envelope.kind,
      status: envelope.status,
      ts: envelope.ts,
      body,
      quotes,
    },
  };
}

/** The senders of these mails, each looked up once. */
function sendersOf(mails: readonly Unread[]): ReadonlyMap<string, Sender> {
  const addresses = new Set(mails.map(({ envelope }) => envelope.from));
  return new Map([...addresses].map((address) => [address, senderOf(address)]));
}

/** Who a mail is from, as its reader is told. */
export function senderOf(address: string): Sender {
  let record: RunningSession | undefined;
  try {
    record = runningRecord(address);
  } catch {
    // Who cannot be looked up for now is called by its id; its mail waits for nothing.
  }
  return { address, label: labelOf(record ?? { address }), cwd: record?.cwd };
}
