import { randomUUID } from "node:crypto";
import { readdirSync, renameSync, unlinkSync } from "node:fs";
import { basename, join } from "node:path";
import {
  flushFolder,
  isThere,
  linkFile,
  readRegularFile,
  removeQuietly,
  UnreadableFile,
  writeNewFile,
} from "./disk.ts";
import { errorCode, errorText, whenThere } from "./errors.ts";
import {
  type Envelope,
  EnvelopeError,
  envelopeName,
  MAX_ENVELOPE_BYTES,
  parseEnvelope,
} from "./envelope.ts";
import { boxesOf, makeBoxes } from "./root.ts";

/*
 * What is flushed to disk with `durable` (S1.6) is all whose loss would lose mail or an answer: a
 * mail before it is renamed into `new/`, and that folder after; a line of the ledger before what it
 * allows is done; folders that had to be made; and the session's file before the ledger strikes the
 * mail in it. Not flushed are the names in `sent/`, which are for quoting; the move of a mail from
 * `new/` to `cur/`, since it is in one of the two, and the ledger or the session knows it; and the
 * running records, since after a power cut no session runs.
 */

/** An envelope and the file it lies in. */
export interface Mail {
  readonly envelope: Envelope;
  readonly path: string;
}

/** A file that was no mail: where it lies now, and why it was not delivered (S2.6). */
export interface SetAside {
  readonly path: string;
  readonly reason: string;
}

/** What one look into `new/` brought. */
export interface Claim {
  /** Claimed, in order of sending; each lies in `cur/`. */
  readonly mails: readonly Mail[];
  readonly setAside: readonly SetAside[];
  /** Why the rest still waits, when something stood in the way; the next claim tries again. */
  readonly fault: string | undefined;
}

/** Thrown by a send that delivered nothing (S2.5); the message says why. */
export class SendError extends Error {
  override name = "SendError";
}

/**
 * Puts a mail into its recipient's `new/`, making the mailbox where there is none yet, and keeps
 * a copy in the sender's `sent/` unless it is a reply. One process reads a mailbox, any number
 * deliver into it. When this returns the mail is delivered, and with `durable` survives a power
 * cut (S1.6).
 *
 * @throws SendError when any step fails: nothing was delivered and nothing is left (S2.5).
 */
export function send(envelope: Envelope, durable: boolean): void {
  const text = `${JSON.stringify(envelope)}\n`;
  const name = envelopeName(envelope);
  const size = Buffer.byteLength(text);
  if (size > MAX_ENVELOPE_BYTES) {
    throw new SendError(
      `Nothing was sent: the mail has ${size} bytes and at most ${MAX_ENVELOPE_BYTES} are read; ` +
        "put the text into a file and send its path.",
    );
  }
  let copy: string | undefined;
  try {
    if (envelope.kind !== "reply") {
      const boxes = makeBoxes(envelope.from, durable, ["tmp", "sent"]);
      copy = write(boxes.tmp, join(boxes.sent, name), { text, durable });
    }
    deliver(envelope.to, name, { text, durable, copy });
  } catch (error) {
    if (copy) removeQuietly(copy);
    throw new SendError(`Nothing was sent: ${errorText(error)}`, { cause: error });
  }
}

/** What a file is to hold. */
interface Content {
  readonly text: string;
  readonly durable: boolean;
  /** A file that holds it already, flushed if need be. */
  readonly copy?: string | undefined;
}

function deliver(address: string, name: string, content: Content): void {
  try {
    place(address, name, content);
  } catch (error) {
    // A folder that was pruned between the two steps is made again, once (S11.2).
    if (errorCode(error) !== "ENOENT") throw error;
    place(address, name, content);
  }
}

function place(address: string, name: string, content: Content): void {
  const boxes = makeBoxes(address, content.durable, ["tmp", "new"]);
  const delivered = write(boxes.tmp, join(boxes.new, name), content);
  if (!content.durable) return;
  try {
    flushFolder(boxes.new);
  } catch (error) {
    takeBack(delivered, error);
  }
}

/** Makes a file whole, by way of a `tmp/` folder, and returns its path; on failure nothing is left. */
function write(tmp: string, path: string, { text, durable, copy }: Content): string {
  // Under a name of its own, so that what a crash left there is in nobody's way.
  const written = join(tmp, randomUUID());
  if (copy === undefined || !linkFile(copy, written)) writeNewFile(written, text, durable);
  try {
    renameSync(written, path);
  } catch (error) {
    removeQuietly(written);
    throw error;
  }
  return path;
}

/** Undoes a delivery that could not be made durable; one that cannot be undone has arrived. */
function takeBack(delivered: string, error: unknown): void {
  try {
    unlinkSync(delivered);
  } catch {
    // Claimed already, or there to be claimed.
    return;
  }
  throw error;
}

/** Whether a mail was delivered: it lies in its recipient's `new/` or `cur/`. */
export function isDelivered(envelope: Pick<Envelope, "id" | "to" | "ts">): boolean {
  const boxes = boxesOf(envelope.to);
  const name = envelopeName(envelope);
  return isThere(join(boxes.new, name)) || isThere(join(boxes.cur, name));
}

/** The names of what waits in `new/`, in order of sending; only regular files count (S2.7). */
export function waiting(address: string): string[] {
  return waitingIn(boxesOf(address).new);
}

function waitingIn(box: string): string[] {
  return whenThere(() => {
    const names = readdirSync(box, { withFileTypes: true })
      .filter((found) => found.isFile() && found.name.endsWith(".json"))
      .map((found) => found.name)
      .sort();
    // Names that are not UTF-8 may all read alike.
    return [...new Set(names)];
  }, []);
}

/**
 * Claims all that waits in `new/` by moving it into `cur/`, in name order (S5.1).
 *
 * `commit` is called once with what is about to be claimed, before any of it moves, so that a
 * caller who writes it down loses nothing to a crash in between; when it throws, nothing has
 * moved. A mail whose id is known to `isKnown`, or that lies in `cur/` already, is put aside in
 * silence (S2.8). Files that are no mail are put aside with a reason and hold up nothing (S2.6).
 *
 * @throws the system's error when `new/` cannot be read for now.
 */
export function claim(
  address: string,
  isKnown: (id: string) => boolean,
  commit: (mails: readonly Mail[]) => void,
): Claim {
  const boxes = boxesOf(address);
  const found = new Map<string, { from: string; mail: Mail }>();
  const again: string[] = [];
  const bad: { from: string; reason: string }[] = [];
  let fault: string | undefined;
  for (const name of waitingIn(boxes.new)) {
    const from = join(boxes.new, name);
    let envelope: Envelope | string | undefined;
    try {
      envelope = readWaiting(from);
    } catch (error) {
      fault = errorText(error);
    }
    if (envelope === undefined) continue;
    if (typeof envelope === "string") bad.push({ from, reason: envelope });
    else {
      const path = join(boxes.cur, envelopeName(envelope));
      const known = found.has(envelope.id) || isKnown(envelope.id) || isThere(path);
      if (known) again.push(from);
      else found.set(envelope.id, { from, mail: { envelope, path } });
    }
  }
  const claims = [...found.values()];
  if (claims.length + bad.length + again.length > 0) makeBoxes(address, false, ["new", "cur"]);
  if (claims.length > 0) commit(claims.map(({ mail }) => mail));

  const mails: Mail[] = [];
  const setAside: SetAside[] = [];
  try {
    for (const { from, mail } of claims) {
      renameSync(from, mail.path);
      mails.push(mail);
    }
    for (const { from, reason } of bad) setAside.push({ path: putAside(from, boxes.cur), reason });
    for (const from of again) putAside(from, boxes.cur);
  } catch (error) {
    fault = errorText(error);
  }
  return { mails, setAside, fault };
}

/**
 * The envelope in a file; `isListed` as for {@link readRegularFile}.
 *
 * @throws EnvelopeError or UnreadableFile when it is no mail, the system's error when it cannot be
 * read for now.
 */
export function readEnvelope(path: string, isListed = false): Envelope {
  return parseEnvelope(readRegularFile(path, MAX_ENVELOPE_BYTES, isListed));
}

/** The envelope, or why it is none, or `undefined` when it vanished or is not a regular file. */
function readWaiting(path: string): Envelope | string | undefined {
  try {
    return readEnvelope(path, true);
  } catch (error) {
    if (error instanceof EnvelopeError || error instanceof UnreadableFile) return error.message;
    const code = errorCode(error);
    if (code === "ENOENT" || code === "ELOOP") return undefined;
    if (code === "EACCES" || code === "EPERM") return `it cannot be read (${code})`;
    throw error;
  }
}

/** Moves a file into `cur/` without ever replacing one there. */
function putAside(from: string, cur: string): string {
  const plain = join(cur, basename(from));
  const path = isThere(plain) ? join(cur, `aside-${randomUUID()}`) : plain;
  renameSync(from, path);
  return path;
}

/** The mail in a file of ours, or `undefined` when there is none to be had. */
export function readMail(path: string): Mail | undefined {
  try {
    return { envelope: readEnvelope(path), path };
  } catch {
    return undefined;
  }
}

/** The names of all files in a box. */
export function namesIn(box: string): string[] {
  return whenThere(() => readdirSync(box), []);
}

/**
 * The mail with this id in a box, or `undefined`. `name`, where known, saves the search through
 * the box, whose cost grows with what is kept in it; `list` lets several searches share one.
 */
export function findMail(
  box: string,
  id: string,
  name?: string,
  list = () => namesIn(box),
): Mail | undefined {
  const hit = name === undefined ? undefined : readMail(join(box, name));
  if (hit?.envelope.id === id) return hit;
  const found = list().find((other) => other.endsWith(`-${id}.json`));
  return found === undefined ? undefined : readMail(join(box, found));
}
