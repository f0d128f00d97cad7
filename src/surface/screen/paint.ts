import type { Theme } from "@earendil-works/pi-coding-agent";
import { sliceByColumn, truncateToWidth, visibleWidth } from "@earendil-works/pi-tui";

/** The colours of a theme, as far as the screen needs them. */
export type Paint = Pick<Theme, "fg" | "bold">;

/** A line cut to a width, with `…` where something is left out. */
export function fit(line: string, width: number): string {
  return visibleWidth(line) <= width ? line : truncateToWidth(line, width, "…");
}

/** The end of a line that fits a width, with `…` where something is left out: for paths. */
export function fitEnd(line: string, width: number): string {
  const all = visibleWidth(line);
  if (all <= width) return line;
  return width < 2 ? fit(line, width) : `…${sliceByColumn(line, all - width + 1, width - 1, true)}`;
}

/** A cell of exactly a width. */
export function cell(text: string, width: number): string {
  const cut = fit(text, width);
  return cut + " ".repeat(Math.max(0, width - visibleWidth(cut)));
}

/** Exactly so many lines: cut, or with empty ones below. */
export function fill(lines: readonly string[], height: number): string[] {
  const shown = lines.slice(0, height);
  return [...shown, ...Array.from({ length: Math.max(0, height - shown.length) }, () => "")];
}

/** A line across, with a note at its right end. */
export function rule(paint: Paint, width: number, note = ""): string {
  const cut = note === "" ? "" : ` ${fit(note, Math.max(0, width - 4))} `;
  const tail = cut === "" ? "" : "─";
  const length = Math.max(0, width - visibleWidth(cut) - tail.length);
  const line = paint.fg("borderMuted", "─".repeat(length));
  return fit(line + paint.fg("muted", cut) + paint.fg("borderMuted", tail), width);
}

/** A key and what it does. */
export type Hint = readonly [key: string, does: string];

/** The keys in one line, as many as fit, those at the end left out first. */
export function help(paint: Paint, hints: readonly Hint[], width: number): string {
  let line = "";
  for (const [key, does] of hints) {
    const next = `${line}${line === "" ? " " : " · "}${key} ${does}`;
    if (visibleWidth(next) > width) break;
    line = next;
  }
  const shown = line.split(" · ").length;
  const parts = hints
    .slice(0, line === "" ? 0 : shown)
    .map(([key, does]) => `${paint.fg("dim", key)} ${paint.fg("muted", does)}`);
  return fit(` ${parts.join(paint.fg("dim", " · "))}`, width);
}
