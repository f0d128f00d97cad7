import type { Envelope, ReplyStatus } from "../mail/envelope.ts";
import {
  cleanText,
  cleanValue,
  cutToBytes,
  MAX_BODY_BYTES,
  MAX_QUOTE_BYTES,
  quoted,
} from "../text.ts";

/** Who a mail is from, as its reader is told. */
export interface Sender {
  readonly address: string;
  /** Its name or short id (S4.5). */
  readonly label: string;
  /** Where it works, when it runs. */
  readonly cwd: string | undefined;
}

/** One of our own mails that a reply answers. */
export interface Answered {
  readonly id: string;
  /** Its copy in `sent/`, when there is one. */
  readonly copy: { readonly envelope: Envelope; readonly path: string } | undefined;
}

/** All that the text of an injected mail is made of. */
export interface Labelled {
  readonly envelope: Envelope;
  /** Its file, for what is cut off. */
  readonly path: string;
  readonly sender: Sender;
  readonly answered: readonly Answered[];
  /** A reply to an ask that had stopped waiting. */
  readonly late: boolean;
  /** When it was sent, in ms since 1970, if it says. */
  readonly sentAt: number | undefined;
  /** In ms since 1970. */
  readonly now: number;
}

/** Mail that waited longer than this says when it was sent (S5.13). */
const STALE_AFTER = 10 * 60_000;

/** Where a part of a text begins and ends, in UTF-16 units. */
export type Span = readonly [start: number, end: number];

/** The text of an injected mail, and where to find in it what a person wants to see. */
export interface Label {
  readonly text: string;
  readonly body: Span;
  /** Each mail that it answers, with the line that names it. */
  readonly quotes: readonly Span[];
}

/** The whole text of a mail as a model reads it (S5.9). */
export function labelMail(mail: Labelled): Label {
  const { envelope, path, sender } = mail;
  const label = cleanValue(sender.label);
  const place = sender.cwd === undefined ? "" : `, working in ${cleanValue(sender.cwd)}`;
  const from = `From ${label} (${cleanValue(sender.address)}${place})`;
  const sentences = [
    `[mailbox] ${from}, another Pi session on this machine.`,
    ...purpose(mail),
    ...age(mail.sentAt, mail.now),
  ];
  let text = sentences.join(" ");
  const add = (part: string): Span => {
    const start = text.length + 2;
    text += `\n\n${part}`;
    return [start, text.length];
  };
  const quotes = mail.answered.map((answered) => add(quoteOf(answered)));
  const body = add(shownText(envelope.body, MAX_BODY_BYTES, path));
  add(`[mailbox] End of the mail from ${label}. Text after this line is not part of it.`);
  return { text, body, quotes };
}

/** A text as it may be shown, cut to `maxBytes` and naming the file that holds the rest (S5.8). */
export function shownText(text: string, maxBytes: number, path: string): string {
  const part = cutToBytes(text, maxBytes);
  if (part === text) return cleanText(text);
  return `${cleanText(part)}\n(Cut here at ${String(maxBytes / 1024)} KiB; the whole is in ${cleanValue(path)}.)`;
}

/** Why a reply with this status is no answer, or `undefined` when it is one. */
export function notAnAnswer(status: ReplyStatus): string | undefined {
  switch (status) {
    case "done":
      return undefined;
    case "stopped":
      return "This is not an answer: the run on it was stopped by the user there.";
    case "failed":
      return "This is not an answer: the other session failed, or stopped, before it had one.";
  }
}

function purpose({ envelope, sender, answered, late }: Labelled): string[] {
  const id = cleanValue(envelope.id);
  switch (envelope.kind) {
    case "request":
      return [
        "It is a request: your final answer of this turn goes back to that session automatically.",
      ];
    case "ask":
      return [
        `It is an ask, and its sender is waiting: answer it with session_mail_reply, ask id ${id}.`,
        "Otherwise the last message of this run is sent as the answer.",
      ];
    case "message":
      return [
        "It is a message and expects no answer;",
        `session_mail_send to ${cleanValue(sender.address)} sends one.`,
      ];
    case "reply":
      return [...whatItAnswers(answered, late), ...caveat(envelope)];
  }
}

function whatItAnswers(answered: readonly Answered[], late: boolean): string[] {
  // A late answer to an ask of which no copy is kept is one to an ask all the same.
  const asks = late ? answered.filter(({ copy }) => copy?.envelope.kind !== "request") : [];
  const others = answered.filter((one) => !asks.includes(one));
  return [
    ...(asks.length > 0
      ? [`It answers an ask of this session that had stopped waiting: ${ids(asks)}.`]
      : []),
    ...(others.length > 0 ? [`It answers ${ids(others)}${byUser(others)}.`] : []),
    ...(answered.length > 0 ? [] : ["It answers nothing that it names."]),
  ];
}

/** Told that a peer answers a request it never made, a model wonders; so it is told who did. */
function byUser(answered: readonly Answered[]): string {
  return answered.some(({ copy }) => copy?.envelope.kind === "request")
    ? ", which the user of this session requested with /mailbox or through an extension"
    : "";
}

function caveat({ status }: Envelope): string[] {
  const words = status === "" ? undefined : notAnAnswer(status);
  return words === undefined ? [] : [words];
}

function ids(answered: readonly Answered[]): string {
  return answered.map(({ id }) => cleanValue(id)).join(", ");
}

function quoteOf({ id, copy }: Answered): string {
  if (!copy) return `It answers ${cleanValue(id)}, of which no copy is kept.`;
  const text = shownText(copy.envelope.body, MAX_QUOTE_BYTES, copy.path);
  return `What ${cleanValue(id)} said:\n${quoted(text)}`;
}

function age(sentAt: number | undefined, now: number): string[] {
  if (sentAt === undefined || now - sentAt <= STALE_AFTER) return [];
  const when = new Date(sentAt)
    .toISOString()
    .replace(/:\d\d\.\d+Z$/, " UTC")
    .replace("T", " ");
  return [`It was sent at ${when}, ${duration(now - sentAt)} ago.`];
}

/** A length of time in words, in its two largest units at most: `3 hours 5 minutes`. */
export function duration(milliseconds: number): string {
  const minutes = Math.floor(milliseconds / 60_000);
  const units: [number, string][] = [
    [Math.floor(minutes / 1440), "day"],
    [Math.floor(minutes / 60) % 24, "hour"],
    [minutes % 60, "minute"],
  ];
  const first = units.findIndex(([count]) => count > 0);
  if (first < 0) return "less than a minute";
  return units
    .slice(first, first + 2)
    .filter(([count]) => count > 0)
    .map(([count, unit]) => `${String(count)} ${unit}${count === 1 ? "" : "s"}`)
    .join(" ");
}
