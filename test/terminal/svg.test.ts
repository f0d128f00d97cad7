/** Pictures of terminals: what escape sequences become, and what of it stands where in the SVG. */
import { describe, expect, test } from "vitest";
import { BACKGROUND, FOREGROUND, readGrid, type Row } from "./grid.ts";
import { drawTerminals } from "./svg.ts";

async function rowOf(capture: string): Promise<Row> {
  const [row] = await readGrid(capture, 20, 1);
  return row!;
}

async function drawn(capture: string, columns = 20, rows = 2): Promise<string> {
  return drawTerminals("a test", [
    { title: "bob", columns, rows: await readGrid(capture, columns, rows) },
  ]);
}

/** The texts of a picture behind its titles: what each says, where, and how wide it is. */
function textsOf(svg: string): { text: string; x: number; y: number; width: number }[] {
  return [...svg.matchAll(/<text x="([\d.]+)" y="(\d+)" textLength="([\d.]+)"[^>]*>([^<]*)/g)].map(
    ([, x, y, width, text = ""]) => ({ text, x: Number(x), y: Number(y), width: Number(width) }),
  );
}

describe("the grid", () => {
  test("has every row, each covered from its first column to its last", async () => {
    const rows = await readGrid("ab\n\n\u001b[1mc\u001b[0m日\n", 10, 5);
    expect(rows).toHaveLength(5);
    for (const row of rows) {
      let column = 0;
      for (const run of row) {
        expect(run.column).toBe(column);
        column += run.cells.length * run.cellWidth;
      }
      expect(column).toBe(10);
    }
  });

  test("has the styles", async () => {
    expect(await rowOf("\u001b[1;2;3;4;9ma\u001b[0mb")).toEqual([
      {
        ...{ cells: ["a"], column: 0, cellWidth: 1 },
        ...{ bold: true, dim: true, italic: true, underline: true, struck: true },
      },
      { cells: ["b", ...Array<string>(18).fill(" ")], column: 1, cellWidth: 1 },
    ]);
  });

  test.each([
    ["true colour", "38;2;255;128;1", "#ff8001"],
    ["the cube of 256", "38;5;208", "#ff8700"],
    ["the greys of 256", "38;5;244", "#808080"],
    ["the first of 16", "38;5;9", "#ff93a4"],
    ["a bright one of 16", "91", "#ff93a4"],
  ])("has %s", async (_, code, foreground) => {
    expect((await rowOf(`\u001b[${code}mx\u001b[0m`))[0]).toMatchObject({ foreground });
  });

  test("turns inverse cells, which may have no colours of their own", async () => {
    const [first, second] = await rowOf("\u001b[7m \u001b[0m\u001b[7;31;48;2;0;0;1mx\u001b[0m");
    expect(first).toMatchObject({ foreground: BACKGROUND, background: FOREGROUND });
    expect(second).toMatchObject({ foreground: "#000001", background: "#f0758a" });
  });

  test("gives a wide character two columns, and a full row no second line", async () => {
    const rows = await readGrid("日本🎉ab\nnext\n", 8, 2);
    expect(rows[0]!.map(({ cells, column }) => [cells.join(""), column])).toEqual([
      ["日本🎉", 0],
      ["ab", 6],
    ]);
    expect(rows[1]![0]!.cells.join("").trim()).toBe("next");
  });
});

describe("the picture", () => {
  test("puts each text at its column and row, as wide as its cells", async () => {
    const texts = textsOf(await drawn("ab  cd ef\n 日x✉ y"));
    expect(texts).toEqual([
      { text: "ab", x: 0, y: 14, width: 16.8 },
      { text: "cd ef", x: 33.6, y: 14, width: 42 },
      { text: "日", x: 8.4, y: 33, width: 16.8 },
      { text: "x", x: 25.2, y: 33, width: 8.4 },
      { text: "✉", x: 33.6, y: 33, width: 8.4 },
      { text: "y", x: 50.4, y: 33, width: 8.4 },
    ]);
  });

  test("keeps underlined blanks, and leaves out others", async () => {
    expect(textsOf(await drawn(" \u001b[4m a \u001b[0m ")).map(({ text }) => text)).toEqual([
      " a ",
    ]);
    expect(textsOf(await drawn("   "))).toEqual([]);
  });

  test("draws a background that spans styles and rows once", async () => {
    const line = "\u001b[48;2;1;2;3mab\u001b[1mc \u001b[0m";
    const svg = await drawn(`${line}\n${line}`);
    expect(svg.match(/<rect [^>]*fill="#010203"/g)).toEqual([
      '<rect x="0" y="0" width="33.6" height="38" fill="#010203"',
    ]);
  });

  test("draws terminals one below the other, each with its title", () => {
    const svg = drawTerminals("two", [
      { title: "alice", columns: 10, rows: [[]] },
      { title: "bob", columns: 20, rows: [[], []] },
    ]);
    expect(svg).toMatch(/translate\(1 1\)[^]*>alice<[^]*translate\(1 96\)[^]*>bob</);
    expect(svg).toMatch(/^<svg [^>]*width="198" height="193"/);
  });

  test("is XML whatever the texts are", async () => {
    const hostile = `<script>&"'\u0001\ud800`;
    const svg = drawTerminals(hostile, [
      {
        title: hostile,
        columns: 20,
        rows: [[{ cells: [hostile], column: 0, cellWidth: 1 }]],
      },
    ]);
    expect(svg).not.toContain("<script>");
    expect(svg).not.toMatch(/&(?!amp;|lt;|gt;|quot;)/);
    expect(svg.isWellFormed()).toBe(true);
    // eslint-disable-next-line no-control-regex -- these are what XML forbids
    expect(svg).not.toMatch(/[\u0000-\u0008\u000b\u000c\u000e-\u001f]/);
    expect(await drawn("a\u001b]0;title\u0007b")).not.toContain("title</text>");
  });
});
