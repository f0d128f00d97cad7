/** The rows of the benchmark, and the one table that shows them. */
import type { Pair } from "./paired.ts";

/** What a row must reach. */
export interface Bound {
  /** Whether the ratio is bound, or the value of ours. */
  readonly of: "ratio" | "value";
  readonly relation: "≤" | "=";
  readonly limit: number;
}

/** One line of the table. */
export interface Row {
  readonly what: string;
  readonly unit: "ms" | "MB" | "";
  readonly ours: number;
  /** What the other value is of, and that value. */
  readonly against?: string;
  readonly other?: number;
  readonly ratio?: number;
  readonly bound?: Bound;
  /** How many runs each value is the median of. */
  readonly rounds: number;
}

/** A row of two things that were measured by turns, in ms; without a limit it only informs. */
export function ratioRow(what: string, against: string, pair: Pair, limit?: number): Row {
  const bound = { of: "ratio", relation: "≤", limit } as const;
  return {
    what,
    unit: "ms",
    against,
    ...pair,
    ...(limit === undefined ? {} : { bound: { ...bound, limit } }),
  };
}

/** A row of a value that stands alone. */
export function valueRow(
  what: string,
  ours: number,
  unit: Row["unit"],
  relation: Bound["relation"],
  limit: number,
): Row {
  return { what, unit, ours, bound: { of: "value", relation, limit }, rounds: 1 };
}

/** Whether a row reaches its bound; `undefined` when it has none. */
export function isMet({ ours, ratio, bound }: Row): boolean | undefined {
  if (!bound) return undefined;
  const value = bound.of === "ratio" ? (ratio ?? Number.NaN) : ours;
  return bound.relation === "=" ? value === bound.limit : value <= bound.limit;
}

/** The table in Markdown, its columns aligned. */
export function tableOf(rows: readonly Row[]): string {
  const lines = [
    ["what", "ours", "floor or peer", "ratio", "bound", "met"],
    ...rows.map((row) => [
      row.what,
      shown(row.ours, row.unit),
      row.other === undefined ? "" : `${shown(row.other, row.unit)} ${row.against ?? ""}`,
      row.ratio?.toFixed(2) ?? "",
      row.bound ? `${row.bound.relation} ${shownBound(row)}` : "",
      { true: "yes", false: "no", undefined: "" }[String(isMet(row))] ?? "",
    ]),
  ];
  const widths = lines[0]!.map((_, column) =>
    Math.max(...lines.map((line) => line[column]!.length)),
  );
  const text = (line: readonly string[]): string =>
    `| ${line.map((cell, column) => cell.padEnd(widths[column]!)).join(" | ")} |`;
  const rule = `| ${widths.map((width) => "-".repeat(width)).join(" | ")} |`;
  return [text(lines[0]!), rule, ...lines.slice(1).map(text)].join("\n");
}

function shownBound({ bound, unit }: Row): string {
  if (!bound) return "";
  const isPlain = bound.of === "ratio" || unit === "";
  return isPlain ? String(bound.limit) : `${bound.limit} ${unit}`;
}

/** Three digits that count, and no more. */
function shown(value: number, unit: Row["unit"]): string {
  const text =
    unit === ""
      ? String(value)
      : value.toFixed(value < 1 ? 3 : value < 10 ? 2 : value < 100 ? 1 : 0);
  return `${text} ${unit}`.trim();
}
