import { wrapTextWithAnsi } from "@earendil-works/pi-tui";
import { sentAt } from "../../mail/envelope.ts";
import { cleanText, cleanValue, cutToBytes, MAX_BODY_BYTES } from "../../text.ts";
import { markdown } from "../render/markdown.ts";
import { localTime } from "../time.ts";
import type { ListedMail } from "./content.ts";
import { fit, type Paint, rule } from "./paint.ts";
import { colourOf } from "./rows.ts";

/** The most of a body that is shown, in bytes of UTF-8. */
const MAX_SHOWN_BYTES = 256 * 1024;

/** A mail as lines of at most a width, whole (S18.2); made anew when the mail, its state or the width changes. */
export class Reader {
  readonly #paint: Paint;
  #made:
    { readonly mail: ListedMail; readonly width: number; readonly lines: string[] } | undefined;

  constructor(paint: Paint) {
    this.#paint = paint;
  }

  lines(mail: ListedMail, width: number): readonly string[] {
    const made = this.#made;
    if (made?.width === width && isSame(made.mail, mail)) return made.lines;
    const lines = [
      ...headLines(this.#paint, mail, width),
      "",
      ...bodyLines(this.#paint, mail, width),
      ...answerLines(this.#paint, mail, width),
    ];
    this.#made = { mail, width, lines };
    return lines;
  }

  /** The colours have changed. */
  invalidate(): void {
    this.#made = undefined;
  }
}

function isSame(one: ListedMail, other: ListedMail): boolean {
  const keys = ["state", "path", "other", "isSent"] as const;
  return one.envelope.id === other.envelope.id && keys.every((key) => one[key] === other[key]);
}

/** How far the values stand in. */
const INDENT = 9;

function headLines(paint: Paint, mail: ListedMail, width: number): string[] {
  const { envelope, path, other, state, isSent } = mail;
  const session = `${cleanValue(other)} (${cleanValue(isSent ? envelope.to : envelope.from)})`;
  const time = sentAt(envelope);
  const fields: readonly (readonly [string, string])[] = [
    [isSent ? "To" : "From", session],
    ["Kind", envelope.kind + (envelope.status === "" ? "" : `, ${envelope.status}`)],
    ["Sent", time === undefined ? "at an unknown time" : localTime(time).join(" ")],
    ["State", paint.fg(colourOf(state), state)],
    ["Id", cleanValue(envelope.id)],
    ...(envelope.in_reply_to.length > 0
      ? [["Answers", cleanValue(envelope.in_reply_to.join(", "))] as const]
      : []),
    ["File", cleanValue(path)],
  ];
  return fields.flatMap(([name, value]) => {
    const label = paint.fg("muted", ` ${name.padEnd(8)}`);
    if (width < 2 * INDENT) return wrapped(`${label}${value}`, width);
    const lines = wrapped(value, width - INDENT);
    return lines.map((line, at) => (at === 0 ? label : " ".repeat(INDENT)) + line);
  });
}

function bodyLines(
  paint: Paint,
  { envelope, path }: Pick<ListedMail, "envelope" | "path">,
  width: number,
): string[] {
  const part = cutToBytes(envelope.body, MAX_SHOWN_BYTES);
  const text = cleanText(part);
  const lines = text.trim() === "" ? [paint.fg("dim", " (empty)")] : asMarkdown(text, width);
  if (part === envelope.body) return lines;
  const note = `(Cut here; the whole mail is in ${cleanValue(path)})`;
  return [...lines, "", ...wrapped(paint.fg("warning", note), width)];
}

/** What a mail of ours was answered with. */
function answerLines(paint: Paint, { answer, other, path }: ListedMail, width: number): string[] {
  if (!answer) return [];
  const time = sentAt(answer);
  const when = time === undefined ? "" : ` · ${localTime(time).join(" ")}`;
  const head = ` ← ${cleanValue(other)} · ${answer.status}${when}`;
  return [
    "",
    rule(paint, width),
    fit(paint.fg("accent", head), width),
    "",
    ...bodyLines(paint, { envelope: answer, path }, width),
  ];
}

/** As in the transcript; what is longer than mail is shown there is left as it is. */
function asMarkdown(text: string, width: number): string[] {
  if (text.length > MAX_BODY_BYTES) return wrapped(text.replaceAll("\t", "   "), width);
  const margin = width > 20 ? " " : "";
  const lines = markdown(text, (part) => part)(width - 2 * margin.length);
  return lines.map((line) => fit(margin + line, width));
}

function wrapped(text: string, width: number): string[] {
  return wrapTextWithAnsi(text, Math.max(1, width)).map((line) => fit(line, width));
}
