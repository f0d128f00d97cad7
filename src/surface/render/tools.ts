import type { Theme } from "@earendil-works/pi-coding-agent";
import { type Component, visibleWidth } from "@earendil-works/pi-tui";
import { type Static, type TSchema, Type } from "typebox";
import { EnvelopeSchema } from "../../mail/envelope.ts";
import { checkOf } from "../../schema.ts";
import { cleanText, cleanValue } from "../../text.ts";
import { cleanPath } from "../path.ts";
import {
  Drawing,
  folded,
  hint,
  moreLine,
  oneLine,
  plainLines,
  stringIn,
  type Style,
  textIn,
} from "./drawing.ts";
import { markdown } from "./markdown.ts";
import { partOf, SpanSchema } from "./span.ts";

/** What Pi says of a call that is drawn. */
type Context = { readonly expanded: boolean; readonly isError: boolean } & Style["keys"];

/** A result as a session file may have it. */
interface Result {
  readonly content: unknown;
  readonly details?: unknown;
}

/** Makes the lines of a result; `undefined` where its details do not say what is needed. */
type Draw = (result: Result, style: Style) => ((width: number) => readonly string[]) | undefined;

/** The most sessions that the details of a list name; the text has all of them. */
export const MOST_LISTED = 8;

/** How much of a name a table shows. */
const WIDEST_NAME = 24;

/** What the details of a list say. */
const ListDetails = Type.Object({
  count: Type.Integer({ minimum: 0 }),
  asks: Type.Integer({ minimum: 0 }),
  sessions: Type.Array(
    Type.Object({
      label: Type.String(),
      cwd: Type.String(),
      state: Type.String(),
      self: Type.Boolean(),
      waitingOn: Type.String(),
    }),
    { maxItems: MOST_LISTED },
  ),
});

export type ListDetails = Static<typeof ListDetails>;

const SendDetails = Type.Object({
  id: Type.String(),
  to: Type.String(),
  label: Type.String(),
  running: Type.Boolean(),
});

const ReplyDetails = Type.Object({ id: Type.String(), ask: Type.String() });

/** What the details of an ask whose wait is over say. */
const AskDetails = Type.Object({
  ask: Type.String(),
  label: Type.String(),
  ended: Type.Union([Type.Literal("answer"), Type.Literal("patience"), Type.Literal("gone")]),
  status: Type.Optional(EnvelopeSchema.properties.status),
  body: Type.Optional(SpanSchema),
});

/**
 * How a call is drawn: what it does, for whom, and how its message begins; the whole message when
 * expanded. Arguments may be incomplete while the model writes them. Never throws.
 *
 * @param title the tool's name for people.
 */
export function callRenderer(title: string) {
  return (args: unknown, theme: Theme, { expanded }: Pick<Context, "expanded">): Component =>
    new Drawing((width) => {
      const to = oneLine(cleanValue(stringIn(args, "to")), Math.ceil(width / 2));
      const heading =
        theme.fg("toolTitle", theme.bold(title)) +
        (to === "" ? "" : theme.fg("accent", ` → ${to}`));
      const message = cleanText(stringIn(args, "message"));
      if (expanded) {
        const ask = stringIn(args, "ask");
        return [
          oneLine(heading, width),
          ...(ask === "" ? [] : ids(ask, theme, width)),
          ...(message === ""
            ? []
            : plainLines(message, width, (line) => theme.fg("toolOutput", line))),
        ];
      }
      const first = message.split("\n").find((line) => line.trim() !== "") ?? "";
      const beginning = first === "" ? "" : `  ${theme.fg("toolOutput", cleanValue(first))}`;
      return [oneLine(heading + beginning, width)];
    });
}

/** Draws what `session_mail_list` found: a few lines of a table, or the whole text when expanded. */
export const drawList = resultRenderer(
  detailed(ListDetails, ({ count, asks, sessions }, _text, style) => {
    if (style.expanded) return undefined;
    const { theme } = style;
    const names = sessions.map(({ label }) => oneLine(cleanValue(label), WIDEST_NAME));
    const column = Math.max(0, ...names.map(visibleWidth));
    const counts = [
      `${String(count)} ${count === 1 ? "session" : "sessions"}`,
      ...(asks > 0 ? [`${String(asks)} unanswered ${asks === 1 ? "ask" : "asks"}`] : []),
    ];
    return (room) => [
      oneLine(theme.fg("toolOutput", counts.join(" · ")), room),
      ...sessions.map((session, place) => {
        const name = names[place] ?? "";
        const padded = name + " ".repeat(column - visibleWidth(name));
        return oneLine(`${theme.fg("accent", padded)}  ${sessionText(session, theme)}`, room);
      }),
      ...(count > sessions.length
        ? moreLine(`… ${String(count - sessions.length)} more`, style, room)
        : []),
    ];
  }),
);

/** Draws to whom `session_mail_send` wrote, and whether that session is there to read it. */
export const drawSent = resultRenderer(
  detailed(SendDetails, ({ id, to, label, running }, _text, { theme, expanded }) => (width) => [
    ...plainLines(`sent to ${cleanValue(label)}`, width, (line) => theme.fg("toolOutput", line)),
    ...(running
      ? []
      : plainLines("closed: it waits until that session is opened again", width, (line) =>
          theme.fg("warning", line),
        )),
    ...(expanded ? ids(`${id} to ${to}`, theme, width) : []),
  ]),
);

/** Draws that `session_mail_reply` answered. */
export const drawAnswered = resultRenderer(
  detailed(ReplyDetails, ({ id, ask }, _text, { theme, expanded }) => (width) => [
    oneLine(theme.fg("toolOutput", "answered"), width),
    ...(expanded ? ids(`${id} answers ${ask}`, theme, width) : []),
  ]),
);

/** Draws how the wait of `session_mail_ask` ended, and the answer. */
export const drawAsked = resultRenderer(
  detailed(AskDetails, (details, text, style) => {
    const { theme, expanded } = style;
    const answer = details.body === undefined ? "" : (partOf(text, details.body) ?? "");
    const body = markdown(cleanText(answer), (part) => theme.fg("toolOutput", part));
    const [outcome, isAnswer] = outcomeOf(details);
    return (width) => [
      ...plainLines(outcome, width, (line) => theme.fg(isAnswer ? "toolOutput" : "warning", line)),
      ...(expanded ? ids(details.ask, theme, width) : []),
      ...(answer === "" ? [] : ["", ...folded(body(width), style, width)]),
    ];
  }),
);

/**
 * A renderer of results that never throws: a refusal in the colour of errors, progress with the way
 * out of the wait, and where `draw` has nothing to say the text that the model got.
 */
function resultRenderer(draw: Draw) {
  return (
    result: Result,
    { expanded, isPartial }: { readonly expanded: boolean; readonly isPartial: boolean },
    theme: Theme,
    context: Context,
  ): Component => {
    const style: Style = { theme, expanded, keys: context };
    const text = cleanText(textIn(result.content));
    if (isPartial) return new Drawing((width) => plainLines(progress(text, style), width));
    const color = context.isError ? "error" : "toolOutput";
    const asItIs = (width: number): readonly string[] =>
      folded(
        plainLines(text, width, (line) => theme.fg(color, line)),
        style,
        width,
      );
    return new Drawing((context.isError ? undefined : draw(result, style)) ?? asItIs);
  };
}

function progress(text: string, style: Style): string {
  const way = hint("app.interrupt", "to stop", style);
  const { theme } = style;
  return theme.fg("toolOutput", text) + (way === "" ? "" : theme.fg("dim", " · ") + way);
}

function detailed<T extends TSchema>(
  schema: T,
  draw: (
    details: Static<T>,
    text: string,
    style: Style,
  ) => ((width: number) => readonly string[]) | undefined,
): Draw {
  const isDetails = checkOf(schema);
  return ({ content, details }, style) =>
    isDetails(details) ? draw(details, textIn(content), style) : undefined;
}

function outcomeOf({ label, ended, status }: Static<typeof AskDetails>): [string, boolean] {
  const name = cleanValue(label);
  if (ended === "patience") {
    return [`no answer from ${name} within 10 minutes; a later one arrives as mail`, false];
  }
  if (ended === "gone") {
    return [`${name} was closed before it answered; a later answer arrives as mail`, false];
  }
  if (status === "stopped") return [`no answer from ${name}: stopped by the user there`, false];
  if (status === "failed") {
    return [`no answer from ${name}: it failed, or stopped, before it had one`, false];
  }
  return [`${name} answered`, true];
}

function sessionText(
  { cwd, state, self, waitingOn }: ListDetails["sessions"][number],
  theme: Theme,
): string {
  const waits = waitingOn === "" ? "" : `, waiting on ${cleanValue(waitingOn)}`;
  const doing = `${cleanValue(state)}${waits}${self ? ", this session" : ""}`;
  return `${theme.fg("toolOutput", doing)}  ${theme.fg("dim", cleanPath(cwd))}`;
}

function ids(text: string, theme: Theme, width: number): string[] {
  return plainLines(cleanValue(text), width, (line) => theme.fg("dim", line));
}
