/** What a terminal shows as plain data: runs of text in one style, with the columns they stand in. */
import unicode11 from "@xterm/addon-unicode11";
import xterm from "@xterm/headless";

/** How a run of text looks; what is absent is the terminal's default. Inverse is already turned. */
export interface Style {
  /** `#rrggbb`. */
  readonly foreground?: string;
  readonly background?: string;
  readonly bold?: true;
  readonly dim?: true;
  readonly italic?: true;
  readonly underline?: true;
  readonly struck?: true;
}

/** Cells in one style in one row. */
export interface Run extends Style {
  /** The character of each cell. */
  readonly cells: readonly string[];
  /** The first column, from 0. */
  readonly column: number;
  /** How many columns each cell takes: 2 where the characters are wide. */
  readonly cellWidth: number;
}

/** The runs of a row, from left to right; they cover it without a gap. */
export type Row = readonly Run[];

/** The terminal's own colours: what Pi's dark theme stands on. */
export const FOREGROUND = "#dfe1e5";
export const BACKGROUND = "#1e1f26";

const PALETTE = [
  ...["#2b2c35", "#f0758a", "#5fc08a", "#d9b44a", "#6fa8e8", "#b08ee6", "#4fb8c4", "#c9ccd3"],
  ...["#7d818c", "#ff93a4", "#83d9a8", "#f0cf70", "#92c2f7", "#c9adf5", "#78d3de", "#f4f5f7"],
];

/**
 * Reads what a terminal shows, given as text with escape sequences, one line per row: what
 * `Pane.coloured` gives. The result has `rows` rows of `columns` columns.
 */
export async function readGrid(capture: string, columns: number, rows: number): Promise<Row[]> {
  const terminal = new xterm.Terminal({
    cols: columns,
    rows,
    convertEol: true,
    allowProposedApi: true,
  });
  try {
    // By itself it takes an emoji for one column, where terminals and Pi take two.
    terminal.loadAddon(new unicode11.Unicode11Addon());
    terminal.unicode.activeVersion = "11";
    await new Promise<void>((resolve) => terminal.write(capture, resolve));
    return Array.from({ length: rows }, (_, row) => readRow(terminal, row, columns));
  } finally {
    terminal.dispose();
  }
}

function readRow(terminal: xterm.Terminal, row: number, columns: number): Row {
  const runs: Run[] = [];
  const line = terminal.buffer.active.getLine(row);
  for (let column = 0; column < columns; column++) {
    const cell = line?.getCell(column);
    const width = cell?.getWidth() ?? 1;
    // The second half of a wide character.
    if (width === 0) continue;
    const characters = cell?.getChars() ?? "";
    const style = cell === undefined ? {} : styleOf(cell);
    const cells = [characters === "" ? " " : characters];
    const last = runs.at(-1);
    if (last?.cellWidth === width && sameStyle(last, style))
      runs[runs.length - 1] = { ...last, cells: [...last.cells, ...cells] };
    else runs.push({ ...style, cells, column, cellWidth: width });
  }
  return runs;
}

function styleOf(cell: xterm.IBufferCell): Style {
  const colours = {
    foreground: colourOf(cell.getFgColor(), cell.isFgRGB(), cell.isFgPalette()),
    background: colourOf(cell.getBgColor(), cell.isBgRGB(), cell.isBgPalette()),
  };
  const inverse = cell.isInverse() !== 0;
  const foreground = inverse ? (colours.background ?? BACKGROUND) : colours.foreground;
  const background = inverse ? (colours.foreground ?? FOREGROUND) : colours.background;
  return {
    ...(foreground === undefined ? {} : { foreground }),
    ...(background === undefined ? {} : { background }),
    ...(cell.isBold() === 0 ? {} : { bold: true }),
    ...(cell.isDim() === 0 ? {} : { dim: true }),
    ...(cell.isItalic() === 0 ? {} : { italic: true }),
    ...(cell.isUnderline() === 0 ? {} : { underline: true }),
    ...(cell.isStrikethrough() === 0 ? {} : { struck: true }),
  };
}

function colourOf(value: number, isRgb: boolean, isPalette: boolean): string | undefined {
  if (isRgb) return hex(value);
  if (!isPalette) return undefined;
  if (value < 16) return PALETTE[value];
  // The rest of the 256: a cube of 6 levels of each colour, then a ramp of greys.
  if (value >= 232) return hex((8 + (value - 232) * 10) * 0x010101);
  const level = (step: number): number => (step === 0 ? 0 : 55 + step * 40);
  const index = value - 16;
  const [red, green, blue] = [Math.floor(index / 36), Math.floor(index / 6) % 6, index % 6];
  return hex(level(red) * 0x10000 + level(green) * 0x100 + level(blue));
}

function hex(value: number): string {
  return `#${value.toString(16).padStart(6, "0")}`;
}

function sameStyle(one: Style, other: Style): boolean {
  return (
    one.foreground === other.foreground &&
    one.background === other.background &&
    one.bold === other.bold &&
    one.dim === other.dim &&
    one.italic === other.italic &&
    one.underline === other.underline &&
    one.struck === other.struck
  );
}
