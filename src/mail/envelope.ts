import { Type, type Static } from "typebox";
import { Value } from "typebox/value";
import { checkOf } from "../schema.ts";
import { isAddress } from "./address.ts";

/** The most requests and asks that one reply may name (S2.6). */
export const MAX_ANSWERED = 50;

/** A file larger than this is set aside unread (S2.6). */
export const MAX_ENVELOPE_BYTES = 8 * 1024 * 1024;

/** Ids become part of file names, so they are held to the same letters as an address. */
const Id = Type.String({ pattern: "^[A-Za-z0-9_-]{1,200}$" });

const Kind = Type.Union([
  Type.Literal("request"),
  Type.Literal("ask"),
  Type.Literal("message"),
  Type.Literal("reply"),
]);

const Status = Type.Union([
  Type.Literal("done"),
  Type.Literal("stopped"),
  Type.Literal("failed"),
  Type.Literal(""),
]);

/** One mail as it lies on disk (S2.1). The field names are a contract with other programs. */
export const EnvelopeSchema = Type.Object({
  id: Id,
  from: Type.String(),
  to: Type.String(),
  kind: Kind,
  hops: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
  in_reply_to: Type.Array(Id, { maxItems: MAX_ANSWERED }),
  status: Status,
  ts: Type.String(),
  body: Type.String(),
});

export type Envelope = Static<typeof EnvelopeSchema>;

/** What a mail is: work to do, a question someone waits on, news, or an answer (S2.2). */
export type Kind = Static<typeof Kind>;

/** How the run that a reply comes from ended (S2.4). */
export type ReplyStatus = Exclude<Static<typeof Status>, "">;

const isEnvelope = checkOf(EnvelopeSchema);

const isKind = checkOf(Kind);

/** Thrown for a file that is no mail; the message completes the sentence "it was set aside: …" (S2.6). */
export class EnvelopeError extends Error {
  override name = "EnvelopeError";
}

const REASONS: readonly (readonly [field: keyof Envelope, reason: string])[] = [
  ["id", "it has no usable id"],
  ["from", "its sender is not an address"],
  ["in_reply_to", `in_reply_to is not a list of at most ${String(MAX_ANSWERED)} ids`],
  ["body", "it has no body"],
  ["hops", "hops is not a whole number from 0"],
];

/**
 * Reads one envelope from the text of its file.
 *
 * Forgiving where the contract says so: an unknown kind is a message (S2.2), an envelope with
 * neither kind nor hops is one from before those fields (S2.3), fields it does not know are left
 * out. The result always satisfies {@link EnvelopeSchema}.
 *
 * @throws EnvelopeError when it is not a mail, saying why (S2.6).
 */
export function parseEnvelope(text: string): Envelope {
  if (holdsTooMuch(text)) throw new EnvelopeError("it holds far more than a mail does");
  let raw: unknown;
  try {
    raw = JSON.parse(text);
  } catch {
    throw new EnvelopeError("it is not JSON");
  }
  if (typeof raw !== "object" || raw === null || Array.isArray(raw)) {
    throw new EnvelopeError("it is not an object");
  }
  const fields: Partial<Record<keyof Envelope, unknown>> = raw;
  const answered = readAnswered(fields.in_reply_to);
  const kind = readKind(fields.kind, fields.hops, answered);
  const envelope = {
    id: fields.id,
    from: typeof fields.from === "string" && isAddress(fields.from) ? fields.from : undefined,
    to: typeof fields.to === "string" ? fields.to : "",
    kind,
    hops: fields.hops === undefined ? 0 : fields.hops,
    in_reply_to: answered,
    status: kind === "reply" ? readStatus(fields.status) : "",
    ts: typeof fields.ts === "string" && isTime(fields.ts) ? fields.ts : "",
    body: fields.body,
  };
  if (isEnvelope(envelope)) return envelope;
  const wrong = REASONS.find(
    ([field]) => !Value.Check(EnvelopeSchema.properties[field], envelope[field]),
  );
  throw new EnvelopeError(wrong?.[1] ?? "it is not an envelope");
}

/** Text that is not long is read in no time, whatever is in it. */
const SHORT_TEXT = 64 * 1024;

/** What no mail has: this many values, without counting what is in texts. */
const MANY_VALUES = 10_000;

/** Whether a text would take JSON.parse very long: it makes up to an object for each two bytes. */
function holdsTooMuch(text: string): boolean {
  if (text.length <= SHORT_TEXT) return false;
  let values = 0;
  let inText = false;
  for (let at = 0; at < text.length; at++) {
    const character = text.charCodeAt(at);
    if (character === 0x22) inText = !inText;
    else if (inText) at += character === 0x5c ? 1 : 0;
    else if (character === 0x2c || character === 0x5b || character === 0x7b) values += 1;
    if (values > MANY_VALUES) return true;
  }
  return false;
}

/** A list that is too long is not looked through: that alone would take long. */
function readAnswered(answered: unknown): unknown {
  if (answered === undefined) return [];
  return Array.isArray(answered) && answered.length > MAX_ANSWERED ? undefined : answered;
}

function readKind(kind: unknown, hops: unknown, answered: unknown): Kind {
  if (kind === undefined && hops === undefined) {
    return Array.isArray(answered) && answered.length > 0 ? "reply" : "request";
  }
  return isKind(kind) ? kind : "message";
}

/** ISO 8601 with a zone: without one it would be another time, and another file name, elsewhere. */
const ISO_TIME =
  /^(?:\d{4}|[+-]\d{6})-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d)$/;

function isTime(ts: string): boolean {
  return ISO_TIME.test(ts) && !Number.isNaN(Date.parse(ts));
}

/** A reply without a status is from before statuses; one with a status nobody knows is no answer. */
function readStatus(status: unknown): ReplyStatus {
  if (status === undefined || status === "") return "done";
  return status === "done" || status === "stopped" ? status : "failed";
}

/**
 * When the mail was sent, in ms since 1970, or `undefined` when it does not say or says a time
 * that no file name can carry.
 */
export function sentAt({ ts }: Pick<Envelope, "ts">): number | undefined {
  const time = Date.parse(ts);
  return time >= 0 && time < 1e15 ? time : undefined;
}

/**
 * The one file name of an envelope, in every box of every mailbox: `<15-digit ms>-<id>.json`.
 * Names sort in order of sending (S2.1). It depends on the envelope alone, so a mail that comes
 * again under any other name is recognised without a search (S2.8).
 */
export function envelopeName(envelope: Pick<Envelope, "id" | "ts">): string {
  return `${String(sentAt(envelope) ?? 0).padStart(15, "0")}-${envelope.id}.json`;
}
