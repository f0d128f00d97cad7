import {
  keyHint,
  keyText,
  type MessageRenderOptions,
  type Theme,
} from "@earendil-works/pi-coding-agent";
import {
  type Component,
  truncateToWidth,
  visibleWidth,
  wrapTextWithAnsi,
} from "@earendil-works/pi-tui";

/** How a part of the transcript is to be drawn now. */
export interface Style {
  readonly theme: Theme;
  readonly expanded: boolean;
  /** What Pi knows of its keys; older Pis do not hand it over. */
  readonly keys: Partial<Pick<MessageRenderOptions, "keyHint" | "keyText">>;
}

/** Ends every style except the background. */
const PLAIN = "\u001b[22;23;24;29;39m";

/** How many lines of a long text are shown until it is expanded. */
const SHORT = 8;

/**
 * A part of the transcript whose lines a function makes, once for each width. It never throws, and no
 * line is wider than asked for: either would end Pi.
 */
export class Drawing implements Component {
  readonly #draw: (width: number) => readonly string[];
  #drawn: { readonly width: number; readonly lines: string[] } | undefined;

  constructor(draw: (width: number) => readonly string[]) {
    this.#draw = draw;
  }

  render(width: number): string[] {
    if (this.#drawn?.width !== width) this.#drawn = { width, lines: this.#fitted(width) };
    return this.#drawn.lines;
  }

  invalidate(): void {
    this.#drawn = undefined;
  }

  #fitted(width: number): string[] {
    if (!(width >= 1)) return [];
    try {
      return this.#draw(width).map((line) => fitted(line, width));
    } catch {
      return [truncateToWidth("(This cannot be shown.)", width)];
    }
  }
}

/** A line cut to a width; by default as one that is cut. The background behind it stays. */
export function oneLine(line: string, width: number, end = "…"): string {
  return truncateToWidth(line, width, end).replaceAll("\u001b[0m", PLAIN);
}

/** A cleaned text of several lines, wrapped, each line in the same style. */
export function plainLines(
  text: string,
  width: number,
  style: (line: string) => string = (line) => line,
): string[] {
  const lines = wrapTextWithAnsi(text.replaceAll("\t", "   "), width);
  return lines.map((line) => style(line));
}

/** The first lines of what is long, and how to see the rest; all of them when expanded. */
export function folded(lines: readonly string[], style: Style, width: number): readonly string[] {
  // To leave out one line for a line that says so saves nothing.
  if (style.expanded || lines.length <= SHORT + 1) return lines;
  const more = `… ${String(lines.length - SHORT)} more lines`;
  return [...lines.slice(0, SHORT), ...moreLine(more, style, width)];
}

/** A line that says what is left out and how to see it, wrapped where it is too long. */
export function moreLine(more: string, style: Style, width: number): string[] {
  const { theme } = style;
  const key = hint("app.tools.expand", "to expand", style);
  const how = key === "" ? "" : `${theme.fg("muted", " (")}${key}${theme.fg("muted", ")")}`;
  return wrapTextWithAnsi(`${theme.fg("muted", more)}${how}`, width);
}

/** A key as it is bound, and what it does; nothing where no key is bound. */
export function hint(
  key: "app.tools.expand" | "app.interrupt",
  what: string,
  { keys }: Style,
): string {
  if ((keys.keyText ?? keyText)(key) === "") return "";
  return (keys.keyHint ?? keyHint)(key, what);
}

/** The text of a message's or a result's content, whatever is there. */
export function textIn(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  const parts: unknown[] = content;
  return parts
    .map((part) => stringIn(part, "text"))
    .filter((text) => text !== "")
    .join("\n");
}

/** A text field of something unknown; empty where there is none. */
export function stringIn(value: unknown, key: string): string {
  if (typeof value !== "object" || value === null) return "";
  const field: unknown = Object.getOwnPropertyDescriptor(value, key)?.value;
  return typeof field === "string" ? field : "";
}

function fitted(line: string, width: number): string {
  return visibleWidth(line) > width ? oneLine(line, width, "") : line;
}
