/** One Pi session in its interactive mode, as the person in front of it has it: keys and a screen. */
import { setTimeout as delay } from "node:timers/promises";
import { eventually } from "../host/eventually.ts";
import type { Tmux } from "./tmux.ts";

/** How long a text may take to be shown, in ms. A limit, not a measure: no test asserts a time. */
const PATIENCE = 30_000;

/** How often the screen is looked at, in ms: each look is a process. */
const LOOK_EVERY = 40;

/** How long Pi waits for what would make an Escape the start of another key, and more, in ms. */
const AFTER_ESCAPE = 120;

/** A terminal with a Pi session in it. `Terminal.session` makes it. */
export class Pane {
  /** The session's id, which is its address. */
  readonly id: string;
  /** The process id of Pi. */
  readonly pid: number;
  readonly #tmux: Tmux;
  readonly #target: string;

  constructor(tmux: Tmux, target: string, id: string, pid: number) {
    this.#tmux = tmux;
    this.#target = target;
    this.id = id;
    this.pid = pid;
  }

  /** Types a text of one line, as it is. */
  async type(text: string): Promise<void> {
    await this.#tmux.command("send-keys", "-t", this.#target, "-l", "--", text);
  }

  /** Presses keys, by tmux's names for them: `Enter`, `Tab`, `Escape`, `Up`, `C-o`, `M-x`… */
  async press(...keys: string[]): Promise<void> {
    for (const key of keys) {
      await this.#tmux.command("send-keys", "-t", this.#target, key);
      // A key that follows at once would be taken for Alt and that key.
      if (key === "Escape") await delay(AFTER_ESCAPE);
    }
  }

  /** Types a text and presses Enter. */
  async enter(text: string): Promise<void> {
    await this.type(text);
    await this.press("Enter");
  }

  /** What is on the screen: its lines, without the blanks at their ends. */
  async screen(): Promise<string[]> {
    const text = await this.#tmux.command("capture-pane", "-p", "-t", this.#target);
    return text
      .replace(/\n$/, "")
      .split("\n")
      .map((line) => line.trimEnd());
  }

  /** What is on the screen with its colours, as escape sequences; each line ends with a newline. */
  async coloured(): Promise<string> {
    return this.#tmux.command("capture-pane", "-p", "-e", "-N", "-t", this.#target);
  }

  /** The screen as one line, each stretch of blanks a single one: a text is found however it is wrapped. */
  async text(): Promise<string> {
    return flat(await this.screen());
  }

  /**
   * Waits until the screen, taken as `text` gives it, holds a text or matches; resolves with it.
   *
   * @throws with what the screen shows instead, after 30 s or as soon as Pi has ended
   */
  async shows(what: string | RegExp, timeoutMs = PATIENCE): Promise<string> {
    return this.#waitFor((text) => holds(text, what), `to show ${String(what)}`, timeoutMs);
  }

  /** Waits until the screen no longer holds a text; otherwise as `shows`. */
  async hides(what: string | RegExp, timeoutMs = PATIENCE): Promise<string> {
    return this.#waitFor((text) => !holds(text, what), `to hide ${String(what)}`, timeoutMs);
  }

  /** Leaves Pi as a person does, whatever is in the editor, and waits until its process has ended. */
  async quit(): Promise<void> {
    await this.press("C-c", "C-d");
    await eventually(() => this.#ended(), `Pi (pid ${this.pid}) to have ended`, PATIENCE);
  }

  async #waitFor(
    predicate: (text: string) => boolean,
    what: string,
    timeoutMs: number,
  ): Promise<string> {
    const end = performance.now() + timeoutMs;
    for (;;) {
      const lines = await this.screen();
      const text = flat(lines);
      if (predicate(text)) return text;
      const late = performance.now() > end;
      if (late || (await this.#ended())) {
        const why = late ? `waited ${timeoutMs} ms for` : "Pi has ended; waited for";
        throw new Error(`${why} ${this.#target} ${what}. It shows:\n${lines.join("\n").trimEnd()}`);
      }
      await delay(LOOK_EVERY);
    }
  }

  async #ended(): Promise<boolean> {
    const dead = await this.#tmux.command(
      "display-message",
      "-p",
      "-t",
      this.#target,
      "#{pane_dead}",
    );
    return dead.trim() === "1";
  }
}

function flat(lines: string[]): string {
  return lines.join(" ").replace(/\s+/g, " ").trim();
}

function holds(text: string, what: string | RegExp): boolean {
  return typeof what === "string" ? text.includes(what) : what.test(text);
}
