import { getSelectListTheme } from "@earendil-works/pi-coding-agent";
import { Editor, type TUI, wrapTextWithAnsi } from "@earendil-works/pi-tui";
import { cleanText, cleanValue } from "../../text.ts";
import { fit, type Paint } from "./paint.ts";
import type { Letter } from "./state.ts";

/** How the editor draws its cursor: in reverse. */
const CURSOR = "\u001b[7m";

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
   * The lines that say what is written to whom, and the editor below them; where not all of that
   * fits, the part with the cursor.
   */
  lines(letter: Letter, width: number, height: number): string[] {
    const said = wrapTextWithAnsi(` ${headOf(this.#paint, letter)}`, Math.max(1, width));
    const lines = [...said, ...this.#editor.render(width)].map((line) => fit(line, width));
    const cursor = lines.findIndex((line) => line.includes(CURSOR));
    const from = Math.min(lines.length - height, cursor - height + 1);
    return lines.slice(Math.max(0, from)).slice(0, height);
  }
}

function headOf(paint: Paint, { to, label, answers }: Letter): string {
  const name = paint.bold(cleanValue(label));
  const address = paint.fg("dim", `(${cleanValue(to)})`);
  if (!answers) return `${paint.fg("accent", "New request")} to ${name} ${address}`;
  const { kind, body } = answers.envelope;
  const about = cleanValue(cleanText(body.slice(0, 200)))
    .replace(/\s+/g, " ")
    .slice(0, 60);
  return `${paint.fg("accent", "Your answer")} to the ${kind} of ${name} ${address}: ${paint.fg("muted", about)}`;
}
