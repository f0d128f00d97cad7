import type { ExtensionAPI, MessageRenderOptions, Theme } from "@earendil-works/pi-coding-agent";
import { Box, type Component, visibleWidth } from "@earendil-works/pi-tui";
import { type Static, Type } from "typebox";
import type { Clock } from "../../clock.ts";
import { EnvelopeSchema, MAX_ANSWERED, sentAt } from "../../mail/envelope.ts";
import { ENTRY_TYPE } from "../../mailbox/host.ts";
import { checkOf } from "../../schema.ts";
import { cleanText, cleanValue } from "../../text.ts";
import { localTime } from "../time.ts";
import { Drawing, folded, oneLine, plainLines, type Style, textIn } from "./drawing.ts";
import { markdown } from "./markdown.ts";
import { partOf, SpanSchema } from "./span.ts";

/** What the entry of a mail says of it, as far as it is shown; a session file may say anything. */
const HeadSchema = Type.Object({
  id: Type.String(),
  from: Type.String(),
  label: Type.String(),
  kind: EnvelopeSchema.properties.kind,
  status: EnvelopeSchema.properties.status,
  ts: Type.String(),
});

type Head = Static<typeof HeadSchema>;

const isHead = checkOf(HeadSchema);

/** Absent from the entries of older versions. */
const arePlaces = checkOf(
  Type.Object({ body: SpanSchema, quotes: Type.Array(SpanSchema, { maxItems: MAX_ANSWERED }) }),
);

/** A mail as it is drawn: all of it cleaned. */
interface Mail {
  readonly head: Head | undefined;
  readonly body: string;
  readonly quotes: readonly string[];
}

/** How much of a name is shown however narrow it is. */
const LEAST_NAME = 8;

/** How many mails that a reply answers are named until it is expanded. */
const QUOTES = 3;

/** Draws the mail in the transcript, that of older sessions too. */
export function registerRenderers(pi: ExtensionAPI, clock: Clock): void {
  pi.registerMessageRenderer(ENTRY_TYPE, (message, options, theme) =>
    drawMail(message, options, theme, clock.now()),
  );
}

/**
 * A mail in the transcript: a line that says from whom it is, what it is and when it was sent, then
 * the first lines of its body as Markdown. Expanded it is whole, with what it answers and with ids.
 * The frame, which is for models, is not shown. Never throws.
 *
 * @param now in ms since 1970.
 */
export function drawMail(
  message: { readonly content: unknown; readonly details?: unknown },
  options: Pick<MessageRenderOptions, "expanded" | "outputPad"> & Style["keys"],
  theme: Theme,
  now: number,
): Component {
  const { expanded, outputPad } = options;
  const style: Style = { theme, expanded, keys: options };
  const mail = mailIn(textIn(message.content), message.details);
  const body = markdown(mail.body, (text) => theme.fg("customMessageText", text));
  const box = new Box(outputPad, 1, (text) => theme.bg("customMessageBg", text));
  box.addChild(
    new Drawing((width) => [
      headLine(mail.head, now, theme, width),
      ...(expanded ? idLines(mail.head, theme, width) : []),
      ...quoteLines(mail.quotes, style, width),
      "",
      ...folded(body(width), style, width),
    ]),
  );
  return new Drawing((width) => box.render(width));
}

function mailIn(content: string, details: unknown): Mail {
  const head = isHead(details) ? details : undefined;
  const places = arePlaces(details) ? details : undefined;
  const body = places && partOf(content, places.body);
  if (!places || body === undefined) return { head, body: shown(content), quotes: [] };
  const quotes = places.quotes.map((quote) => partOf(content, quote) ?? "");
  return { head, body: shown(body), quotes: quotes.map(cleanText) };
}

/** A text without the frame, where an entry does not say, or not rightly, what is within it. */
function shown(text: string): string {
  const lines = text.split("\n");
  if (isFrame(lines[0])) lines.shift();
  if (isFrame(lines.at(-1))) lines.pop();
  return cleanText(lines.join("\n").replace(/^\n|\n$/g, ""));
}

function isFrame(line: string | undefined): boolean {
  return line?.startsWith("[mailbox] ") === true;
}

function headLine(head: Head | undefined, now: number, theme: Theme, width: number): string {
  const from = (name: string): string => theme.fg("customMessageLabel", theme.bold(`← ${name}`));
  if (!head) return oneLine(from("mail"), width);
  const dot = theme.fg("dim", " · ");
  const status = head.status === "done" ? "" : theme.fg("warning", head.status);
  const kind = theme.fg("customMessageText", head.kind);
  const time = theme.fg("muted", timeOf(head.ts, now));
  const name = cleanValue(head.label);
  const tails = [
    [kind, status, time],
    [kind, status],
    [visibleWidth(status) > 0 ? status : kind],
  ].map((parts) => parts.map((part) => (visibleWidth(part) > 0 ? dot + part : "")).join(""));
  // A name leaves room for what the mail is, and what matters less goes first.
  const least = Math.min(visibleWidth(name), LEAST_NAME);
  const roomBeside = (tail: string): number => width - visibleWidth(tail) - 2;
  const tail = tails.find((one) => roomBeside(one) >= least) ?? tails.at(-1) ?? "";
  return oneLine(from(oneLine(name, Math.max(roomBeside(tail), 1))) + tail, width);
}

/** When a mail was sent by the clock on the wall, with the date if not today; empty if unknown. */
function timeOf(ts: string, now: number): string {
  const sent = sentAt({ ts });
  if (sent === undefined) return "";
  const [day, time] = localTime(sent);
  return day === localTime(now)[0] ? time : `${day} ${time}`;
}

function idLines(head: Head | undefined, theme: Theme, width: number): string[] {
  if (!head) return [];
  const ids = `${cleanValue(head.id)} from ${cleanValue(head.from)}`;
  return plainLines(ids, width, (line) => theme.fg("dim", line));
}

function quoteLines(
  quotes: readonly string[],
  { theme, expanded }: Style,
  width: number,
): readonly string[] {
  const faint = (line: string): string => theme.fg("muted", line);
  if (expanded) return quotes.flatMap((quote) => ["", ...plainLines(quote, width, faint)]);
  const firsts = quotes.map(firstQuoted).filter((line) => line !== undefined);
  const more = firsts.length - QUOTES;
  return [...firsts.slice(0, QUOTES), ...(more > 0 ? [`> … and ${String(more)} more`] : [])].map(
    (line) => oneLine(faint(line), width),
  );
}

/** The first line of a quote that says something; none where no copy was kept to quote. */
function firstQuoted(quote: string): string | undefined {
  return quote.split("\n").find((line) => /^> .*\S/.test(line));
}
