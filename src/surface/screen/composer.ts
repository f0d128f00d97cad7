import { getSelectListTheme } from "@earendil-works/pi-coding-agent";
import { CURSOR_MARKER, Editor, type TUI } from "@earendil-works/pi-tui";
import { firstLine } from "../lists.ts";
import { fit, type Paint } from "./paint.ts";
import type { Letter } from "./state.ts";

/** Pi's editor does not come to an end with a character that is wider than all of it. */
const LEAST_WIDTH = 10;

/** What may be in a pasted text, and would be at work in the terminal; it is sent all the same. */
const HIDDEN = /[\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** Where a mail is written, in Pi's own kind of editor. */
export class Composer {
  readonly #editor: Editor;
  readonly #paint: Paint;

  /** @param submit is given the text, without blanks around it. */
  constructor(tui: TUI, paint: Paint, submit: (text: string) => void) {
    this.#paint = paint;
    this.#editor = new Editor(tui, {
      borderColor: (text) => paint.fg("borderAccent", text),
      selectList: getSelectListTheme(),
    });
    this.#editor.onSubmit = submit;
  }

  /** The whole text, pasted parts and all. */
  get text(): string {
    return this.#editor.getExpandedText();
  }

  set text(text: string) {
    this.#editor.setText(text);
  }

  set focused(focused: boolean) {
    this.#editor.focused = focused;
  }

  handleInput(data: string): void {
    this.#editor.handleInput(data);
  }

  invalidate(): void {
    this.#editor.invalidate();
  }

  /**
   * The first line of what is answered, and the editor below it; where not all of that
   * fits, the part with the cursor.
   */
  lines(letter: Letter, width: number, height: number): string[] {
    const asked = askedLine(this.#paint, letter);
    const lines = [...asked, ...this.#editor.render(Math.max(LEAST_WIDTH, width))].map((line) =>
      fit(line.replace(HIDDEN, ""), width),
    );
    const cursor = lines.findIndex((line) => line.includes(CURSOR_MARKER));
    const from = Math.min(lines.length - height, cursor - height + 1);
    return lines.slice(Math.max(0, from)).slice(0, height);
  }
}

/** The beginning of the mail that is answered. */
function askedLine(paint: Paint, { answers }: Letter): string[] {
  return answers ? [paint.fg("muted", ` > ${firstLine(answers.envelope.body)}`)] : [];
}
