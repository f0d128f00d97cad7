import { basename, join } from "node:path";
import { isAddress } from "../mail/address.ts";
import { isThere } from "../mail/disk.ts";
import { type Envelope, envelopeName, type ReplyStatus } from "../mail/envelope.ts";
import { type Ledger, loadLedger } from "../mail/ledger.ts";
import { boxesOf } from "../mail/root.ts";
import { type Mail, namesIn, readMail } from "../mail/store.ts";
import { labelsOf } from "../sessions/addressing.ts";
import { runningRecords } from "../sessions/record.ts";
import { isOwed } from "../turn/intake.ts";
import type { Mailbox } from "./mailbox.ts";

/**
 * What has become of a mail (S18.1).
 *
 * Received: `waiting` to be claimed, `unread`, `read`; of a request or ask `to answer`, `held` (the
 * user stopped the run on it, S6.5) or `answered`. Sent: `waiting`, `unread` or `read` by its
 * recipient, `answered` with the status of the answer, or without where that is not found, and
 * `gone` when its recipient's folder, or the mail in it, is no more.
 */
export type MailState =
  | "waiting"
  | "unread"
  | "read"
  | "to answer"
  | "held"
  | "answered"
  | `answered ${ReplyStatus}`
  | "gone";

/** A mail as a list shows it (S18.1). */
export interface ListedMail {
  readonly envelope: Envelope;
  readonly path: string;
  /** Whether this session sent it. */
  readonly isSent: boolean;
  /** Name of the other session when it runs, else its short id; it is clean, and may be long. */
  readonly other: string;
  readonly state: MailState;
  /** What a request or ask of ours was answered with, where that is found. */
  readonly answer?: Reply;
}

/** How much mail a list shows. */
const LISTED = 20;

/** How many files are read for it at most, where some turn out to be no mail. */
const MAX_READ = 100;

/** How much text is read for it: what is long takes long, and Pi stands still meanwhile. */
const MAX_TEXT = 16 * 1024 * 1024;

/** How many of the newest received mails are looked through for the answers to those we sent. */
const MAX_ANSWERS_READ = 300;

/** What a session has open, as lists need it. */
interface Open extends Pick<Ledger, "owed" | "awaiting"> {
  /** Names in `cur/` of what it has not read. */
  readonly unread: ReadonlySet<string>;
}

function asOpen(ledger: Ledger): Open {
  return { ...ledger, unread: new Set(ledger.unread) };
}

/** What a mailbox has open: known to this process, or written down by the one that serves it. */
function openOf(mailbox: Lookable): Open | undefined {
  const ledger = mailbox.open();
  return ledger ? asOpen(ledger) : openOnDisk(mailbox.address);
}

/**
 * What the session of an address has open by its ledger, which is only looked at; `undefined`
 * where that cannot be told.
 */
function openOnDisk(address: string): Open | undefined {
  try {
    const ledger = loadLedger(address);
    return typeof ledger === "string" ? undefined : asOpen(ledger);
  } catch {
    return undefined;
  }
}

/** A mailbox as far as its lists need it. */
type Lookable = Pick<Mailbox, "address" | "open">;

/**
 * The newest 20 mails that a session received, newest first, read anew (S18.1): fewer where they are
 * very long. Also while another process serves the address. What is no mail, and what vanishes meanwhile, is left out.
 *
 * @throws the system's error when a folder cannot be read.
 */
export function inboxOf(mailbox: Lookable): ListedMail[] {
  const { address } = mailbox;
  const open = openOf(mailbox);
  const boxes = boxesOf(address);
  // In this order, a mail that is claimed meanwhile is in the second at the latest.
  const waiting = mailNames(boxes.new).map((name) => join(boxes.new, name));
  const claimed = mailNames(boxes.cur).map((name) => join(boxes.cur, name));
  const mails = newest([...claimed, ...waiting]);
  const labels = labelsFor(mails.map(({ envelope }) => envelope.from));
  return mails.map(({ envelope, path }) => ({
    envelope,
    path,
    isSent: false,
    other: labels(envelope.from),
    state: path.startsWith(join(boxes.new, "/")) ? "waiting" : receivedState(envelope, open),
  }));
}

function receivedState(envelope: Envelope, open: Open | undefined): MailState {
  const debt = open?.owed.find(({ id }) => id === envelope.id);
  if (debt) return debt.held ? "held" : "to answer";
  if (open?.unread.has(envelopeName(envelope)) === true) return "unread";
  return open && isOwed(envelope) ? "answered" : "read";
}

/**
 * The newest 20 mails that a session sent, newest first, answers not included, read anew (S18.1);
 * also while another process serves the address. What is no mail, and what vanishes meanwhile, is
 * left out.
 *
 * @throws the system's error when a folder cannot be read.
 */
export function sentOf(mailbox: Lookable): ListedMail[] {
  const { address } = mailbox;
  const open = openOf(mailbox);
  const { sent } = boxesOf(address);
  const mails = newest(mailNames(sent).map((name) => join(sent, name)));
  const awaited = new Set(open?.awaiting.map(({ id }) => id));
  const settled = mails.filter(({ envelope }) => isOwed(envelope) && !awaited.has(envelope.id));
  const answers = findAnswers(
    address,
    settled.map(({ envelope }) => envelope),
  );
  const recipients = new Map<string, Open | undefined>();
  const openAt = (to: string): Open | undefined => {
    if (!recipients.has(to)) recipients.set(to, openOnDisk(to));
    return recipients.get(to);
  };
  const labels = labelsFor(mails.map(({ envelope }) => envelope.to));
  return mails.map(({ envelope, path }) => {
    const answer = answers.get(envelope.id);
    const there = deliveredState(envelope, openAt);
    const isAnswered =
      open !== undefined && there === "read" && isOwed(envelope) && !awaited.has(envelope.id);
    const listed = { envelope, path, isSent: true, other: labels(envelope.to) };
    if (answer) return { ...listed, answer, state: `answered ${answer.status}` as const };
    return { ...listed, state: isAnswered ? "answered" : there };
  });
}

/** Where a mail of ours is with its recipient. */
function deliveredState(
  envelope: Envelope,
  openAt: (address: string) => Open | undefined,
): "waiting" | "unread" | "read" | "gone" {
  if (!isAddress(envelope.to)) return "gone";
  const name = envelopeName(envelope);
  try {
    const boxes = boxesOf(envelope.to);
    // In this order, as above.
    if (isThere(join(boxes.new, name))) return "waiting";
    if (!isThere(join(boxes.cur, name))) return "gone";
  } catch {
    return "gone";
  }
  const open = openAt(envelope.to);
  if (open?.owed.some(({ id }) => id === envelope.id) === true) return "read";
  // That it was read must be known; where it is not, the recipient reads it again at its next start.
  return open === undefined || open.unread.has(name) ? "unread" : "read";
}

type Reply = Envelope & { readonly status: ReplyStatus };

/** By the id of the request or ask, its answer, where that is among the newest mail. */
function findAnswers(address: string, asked: readonly Envelope[]): Map<string, Reply> {
  const found = new Map<string, Reply>();
  const oldest = asked.at(-1);
  if (!oldest) return found;
  const sentTo = new Map(asked.map(({ id, to }) => [id, to]));
  const { cur } = boxesOf(address);
  const since = envelopeName(oldest).slice(0, STAMP);
  const names = mailNames(cur)
    .filter((name) => name.slice(0, STAMP) >= since)
    .sort()
    .reverse();
  let text = 0;
  for (const name of names.slice(0, MAX_ANSWERS_READ)) {
    if (found.size === asked.length || text > MAX_TEXT) break;
    const envelope = readMail(join(cur, name))?.envelope;
    text += envelope?.body.length ?? 0;
    if (envelope?.kind !== "reply" || envelope.status === "") continue;
    const reply = { ...envelope, status: envelope.status };
    for (const id of envelope.in_reply_to) {
      if (sentTo.get(id) === envelope.from) found.set(id, reply);
    }
  }
  return found;
}

/** How many digits of time a name begins with. */
const STAMP = 15;

function mailNames(box: string): string[] {
  return namesIn(box).filter((name) => name.endsWith(".json"));
}

/** The newest mails among these files, newest first, each once. */
function newest(paths: readonly string[]): Mail[] {
  const byName = paths.map((path) => ({ path, name: basename(path) }));
  byName.sort((one, other) => compare(other.name, one.name));
  const found = new Map<string, Mail>();
  let text = 0;
  for (const { path } of byName.slice(0, MAX_READ)) {
    if (found.size === LISTED || text > MAX_TEXT) break;
    const mail = readMail(path);
    text += mail?.envelope.body.length ?? 0;
    if (mail && !found.has(mail.envelope.id)) found.set(mail.envelope.id, mail);
  }
  // A file that waits may be called anything.
  return [...found.values()].sort((one, other) =>
    compare(envelopeName(other.envelope), envelopeName(one.envelope)),
  );
}

function compare(one: string, other: string): number {
  return one < other ? -1 : Number(one > other);
}

/** How to call each of these addresses, among those that run. */
function labelsFor(addresses: readonly string[]): (address: string) => string {
  const labels = labelsOf(runningRecords(), addresses);
  return (address) => labels.get(address) ?? address;
}
