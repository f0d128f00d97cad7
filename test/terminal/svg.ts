/** Draws terminals as SVG: text stays text, on a fixed grid, whatever font the reader has. */
import { BACKGROUND, FOREGROUND, type Row, type Run } from "./grid.ts";

/** One terminal of a picture. */
export interface Window {
  /** What its title bar says. */
  readonly title: string;
  readonly columns: number;
  readonly rows: readonly Row[];
}

/** The size of a cell, in pixels; a monospaced font is about 0.6 as wide as it is high. */
const CELL = 8.4;
const LINE = 19;
const FONT = 14;
/** How far above the end of its line a text stands. */
const BASELINE = 5;

const BAR = 30;
const MARGIN = 14;
const GAP = 18;
const BAR_COLOUR = "#2c2d37";
const FRAME_COLOUR = "#444653";
const TITLE_COLOUR = "#b3b6c0";
const BUTTONS = ["#e0707f", "#d9b44a", "#5fc08a"];

/**
 * A picture of terminals, one below the other.
 *
 * @param about what the picture shows, for who cannot see it
 */
export function drawTerminals(about: string, windows: readonly Window[]): string {
  const width = Math.max(...windows.map(widthOf)) + 2;
  let top = 1;
  const drawn = windows.map((window) => {
    const group = drawWindow(window, top);
    top += heightOf(window) + GAP;
    return group;
  });
  const height = top - GAP + 1;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${px(width)}" height="${px(height)}" viewBox="0 0 ${px(width)} ${px(height)}" role="img">
<title>${escaped(about)}</title>
<style>text{font:${FONT}px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono","Liberation Mono",monospace;fill:${FOREGROUND};white-space:pre}.b{font-weight:700}.d{fill-opacity:.6}.i{font-style:italic}.u{text-decoration:underline}.s{text-decoration:line-through}</style>
${drawn.join("\n")}
</svg>
`;
}

function widthOf({ columns }: Window): number {
  return columns * CELL + 2 * MARGIN;
}

function heightOf({ rows }: Window): number {
  return BAR + rows.length * LINE + 2 * MARGIN;
}

function drawWindow(window: Window, top: number): string {
  const [width, height] = [widthOf(window), heightOf(window)];
  const buttons = BUTTONS.map(
    (fill, index) => `<circle cx="${18 + index * 18}" cy="${BAR / 2}" r="5.5" fill="${fill}"/>`,
  ).join("");
  return [
    `<g transform="translate(1 ${px(top)})">`,
    rectangle(0, 0, width, height, BACKGROUND, ` rx="9" stroke="${FRAME_COLOUR}"`),
    `<path d="M.5 ${BAR}V9.5a9 9 0 0 1 9-9H${px(width - 9.5)}a9 9 0 0 1 9 9V${BAR}z" fill="${BAR_COLOUR}"/>`,
    buttons,
    `<text x="${px(width / 2)}" y="${BAR / 2 + 5}" text-anchor="middle" style="fill:${TITLE_COLOUR}">${escaped(window.title)}</text>`,
    `<g transform="translate(${MARGIN} ${BAR + MARGIN})" xml:space="preserve">`,
    ...drawBackgrounds(window.rows),
    ...window.rows.flatMap((row, index) => drawTexts(row, index)),
    `</g></g>`,
  ].join("\n");
}

/** Rectangles behind the text. One that goes on in the next row is drawn once, without a seam. */
function drawBackgrounds(rows: readonly Row[]): string[] {
  interface Area {
    readonly column: number;
    readonly width: number;
    readonly fill: string;
    readonly row: number;
    height: number;
  }
  const areas: Area[] = [];
  rows.forEach((row, index) => {
    for (const { column, width, fill } of backgroundsOf(row)) {
      const above = areas.find(
        (area) =>
          area.row + area.height === index &&
          area.column === column &&
          area.width === width &&
          area.fill === fill,
      );
      if (above === undefined) areas.push({ column, width, fill, row: index, height: 1 });
      else above.height += 1;
    }
  });
  return areas.map(({ column, width, fill, row, height }) =>
    rectangle(column * CELL, row * LINE, width * CELL, height * LINE, fill),
  );
}

/** The stretches of a row with one background, whatever else changes in them. */
function backgroundsOf(row: Row): { column: number; width: number; fill: string }[] {
  const found: { column: number; width: number; fill: string }[] = [];
  for (const { column, cells, cellWidth, background } of row) {
    const width = cells.length * cellWidth;
    const last = found.at(-1);
    if (background === undefined) continue;
    if (last?.fill === background && last.column + last.width === column) last.width += width;
    else found.push({ column, width, fill: background });
  }
  return found;
}

function drawTexts(row: Row, index: number): string[] {
  const y = (index + 1) * LINE - BASELINE;
  return row.flatMap(piecesOf).map((piece) => {
    const style = [
      piece.bold && "b",
      piece.dim && "d",
      piece.italic && "i",
      piece.underline && "u",
      piece.struck && "s",
    ].filter((name) => typeof name === "string");
    return [
      `<text x="${px(piece.column * CELL)}" y="${y}"`,
      ` textLength="${px(piece.cells.length * piece.cellWidth * CELL)}" lengthAdjust="spacingAndGlyphs"`,
      style.length > 0 ? ` class="${style.join(" ")}"` : "",
      piece.foreground === undefined ? "" : ` style="fill:${piece.foreground}"`,
      `>${escaped(piece.cells.join(""))}</text>`,
    ].join("");
  });
}

/** A character that most monospaced fonts have, so that it is as wide as the others. */
const PLAIN = /^[\u0020-\u024f\u2500-\u257f]$/;

/**
 * What of a run is drawn: its texts between wide gaps, and each unusual character (wide, or from
 * another font) by itself, so that each begins at its own column.
 */
function piecesOf(run: Run): Run[] {
  const pieces: Run[] = [];
  let from = 0;
  const cut = (to: number): void => {
    const column = run.column + from * run.cellWidth;
    if (to > from) pieces.push({ ...run, column, cells: run.cells.slice(from, to) });
    from = to;
  };
  run.cells.forEach((cell, index) => {
    const gap = cell === " " && run.cells[index - 1] === " ";
    const alone = !PLAIN.test(cell);
    if (gap || alone) cut(index);
    if (alone) cut(index + 1);
  });
  cut(run.cells.length);
  return pieces.map(trimmed).filter(({ cells }) => cells.length > 0);
}

/** Without the blanks around it, unless they have a line of their own. */
function trimmed(run: Run): Run {
  if (run.underline === true || run.struck === true) return run;
  const isText = (cell: string): boolean => cell !== " ";
  const first = run.cells.findIndex(isText);
  if (first < 0) return { ...run, cells: [] };
  const cells = run.cells.slice(first, run.cells.findLastIndex(isText) + 1);
  return { ...run, cells, column: run.column + first * run.cellWidth };
}

function rectangle(
  x: number,
  y: number,
  width: number,
  height: number,
  fill: string,
  more = "",
): string {
  return `<rect x="${px(x)}" y="${px(y)}" width="${px(width)}" height="${px(height)}" fill="${fill}"${more}/>`;
}

/** A length in the file: at most two places, which is finer than any screen. */
function px(length: number): string {
  return String(Math.round(length * 100) / 100);
}

/** Text as XML has it: what XML cannot hold is shown as a character that is missing. */
function escaped(text: string): string {
  return text
    .toWellFormed()
    .replace(/[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu, "\ufffd")
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}
