import { readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { Type, type Static } from "typebox";
import { Value } from "typebox/value";
import { appendToFile, readRegularFile, replaceFile, UnreadableFile } from "./disk.ts";
import { errorCode, whenThere } from "./errors.ts";
import { EnvelopeSchema } from "./envelope.ts";
import { boxesOf } from "./root.ts";
import { type Mail, readMail } from "./store.ts";

const MAX_LEDGER_BYTES = 64 * 1024 * 1024;

const Open = {
  id: EnvelopeSchema.properties.id,
  ts: Type.String(),
  kind: Type.Union([Type.Literal("request"), Type.Literal("ask")]),
};

/** A request or ask that was read and not answered. */
const OwedSchema = Type.Object({
  ...Open,
  from: Type.String(),
  /** The user stopped a run on it; only a run that completes answers it (S6.5). */
  held: Type.Boolean(),
  /** The session was closed since it was read (S6.7). */
  closed: Type.Boolean(),
});

/** A request or ask of ours without an answer yet. */
const AwaitingSchema = Type.Object({ ...Open, to: Type.String() });

const LedgerSchema = Type.Object({
  /** Names in `cur/` of mail that is claimed and not yet read. */
  unread: Type.Array(Type.String()),
  owed: Type.Array(OwedSchema),
  /** Answers that are decided and may not be delivered yet; they are part of what is owed. */
  outbox: Type.Array(EnvelopeSchema),
  awaiting: Type.Array(AwaitingSchema),
  /** How much mail has entered the conversation since the last settle. */
  entered: Type.Integer({ minimum: 0 }),
  /** How much was read before that, ever. */
  read: Type.Integer({ minimum: 0 }),
});

export type Owed = Static<typeof OwedSchema>;
export type Awaiting = Static<typeof AwaitingSchema>;

/**
 * What is open in one mailbox: small, however much mail is kept. It is written before a mail
 * moves and after it was read or answered, so that a crash at any point leaves enough to go on
 * from (S5.5, S6.7), and it holds the counts that the footer shows (S8.3).
 */
export type Ledger = Static<typeof LedgerSchema>;

/** A ledger of a mailbox in which nothing has happened. */
export function emptyLedger(): Ledger {
  return { unread: [], owed: [], outbox: [], awaiting: [], entered: 0, read: 0 };
}

/**
 * The ledger of an address; `missing` or `damaged` when it has to be rebuilt from the boxes.
 *
 * @throws the system's error when it is there and cannot be read for now.
 */
export function loadLedger(address: string): Ledger | "missing" | "damaged" {
  try {
    const text = readRegularFile(boxesOf(address).ledger, MAX_LEDGER_BYTES);
    const ledger: unknown = JSON.parse(lastLine(text));
    return Value.Check(LedgerSchema, ledger) ? ledger : "damaged";
  } catch (error) {
    if (errorCode(error) === "ENOENT") return "missing";
    if (error instanceof SyntaxError || error instanceof UnreadableFile) return "damaged";
    throw error;
  }
}

/** The last line that was written to its end; the whole text where no line was. */
function lastLine(text: string): string {
  const end = text.lastIndexOf("\n");
  return end < 0 ? text : text.slice(text.lastIndexOf("\n", end - 1) + 1, end);
}

/** A ledger's file grows to this, and is then begun anew with the one line that counts. */
const MAX_LINES_BYTES = 64 * 1024;

/**
 * Writes the ledger of an address as one more line of its file, of which the last whole one counts:
 * that takes one flush where replacing the file takes two. With `durable` it survives a power cut.
 *
 * @param goOn whether the file is known to end with a whole line, as after a save that succeeded;
 * otherwise it is replaced.
 * @throws the system's error; the ledger on disk is then still the one before.
 */
export function saveLedger(address: string, ledger: Ledger, durable: boolean, goOn = false): void {
  const path = boxesOf(address).ledger;
  const line = `${JSON.stringify(ledger)}\n`;
  if (goOn && appendToFile(path, line, { durable, maxBytes: MAX_LINES_BYTES })) return;
  replaceFile(path, line, durable);
}

/** What the session file tells about mail: which ids it holds, and which of them were answered. */
export interface ReadMarks {
  isRead(id: string): boolean;
  /** Whether a run ended after the mail entered, so that its answer went out. */
  isAnswered(id: string): boolean;
}

/**
 * Makes a ledger from the boxes and the session. It reads every kept mail, so it is for a ledger
 * that is missing or damaged and never for an ordinary start.
 */
export function rebuildLedger(address: string, marks: ReadMarks): Ledger {
  const boxes = boxesOf(address);
  const ledger = emptyLedger();
  const answered = new Set<string>();
  for (const { envelope, path } of mailIn(boxes.cur)) {
    const { id, ts, kind, from } = envelope;
    for (const request of kind === "reply" ? envelope.in_reply_to : [])
      answered.add(`${from} ${request}`);
    if (!marks.isRead(id)) ledger.unread.push(basename(path));
    else {
      ledger.read += 1;
      if ((kind === "request" || kind === "ask") && !marks.isAnswered(id)) {
        ledger.owed.push({ id, ts, kind, from, held: false, closed: true });
      }
    }
  }
  for (const { envelope } of mailIn(boxes.sent)) {
    const { id, ts, kind, to } = envelope;
    if ((kind === "request" || kind === "ask") && !answered.has(`${to} ${id}`)) {
      ledger.awaiting.push({ id, ts, kind, to });
    }
  }
  return ledger;
}

/** Every mail in a box once, whatever its file is called, in name order. */
function* mailIn(box: string): Generator<Mail> {
  const seen = new Set<string>();
  for (const name of whenThere(() => readdirSync(box), []).sort()) {
    const mail = name.endsWith(".json") ? readMail(join(box, name)) : undefined;
    if (!mail || seen.has(mail.envelope.id)) continue;
    seen.add(mail.envelope.id);
    yield mail;
  }
}
