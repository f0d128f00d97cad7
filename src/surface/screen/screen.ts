import type {
  Component,
  Focusable,
  KeybindingsManager,
  TUI,
  TuiMouseEvent,
  TuiMouseEventResult,
} from "@earendil-works/pi-tui";
import type { Cancel, Clock } from "../../clock.ts";
import { errorText } from "../../mail/errors.ts";
import { cleanText } from "../../text.ts";
import { Composer } from "./composer.ts";
import type { Content, ScreenSource } from "./content.ts";
import { type Brushes, draw } from "./frame.ts";
import { keyOf, leavesComposer } from "./keys.ts";
import { fit, type Paint } from "./paint.ts";
import { Reader } from "./reader.ts";
import { draftOf, putAway, sent, whatCanBeSent } from "./letters.ts";
import { failed, OPENED, refreshed, type State, viewOf } from "./state.ts";
import { type Extent, pressed, wheeled } from "./update.ts";

/** How often the lists are read anew, in ms. */
const REFRESH = 2000;

/** At most a fiftieth of the time goes into that: where much mail is kept, it is done less often. */
const REST = 50;

/** What a screen is opened with. */
export interface ScreenOptions {
  readonly tui: TUI;
  readonly paint: Paint;
  readonly keybindings: KeybindingsManager;
  readonly source: ScreenSource;
  readonly clock: Clock;
  /** Called once, when the user closes it. */
  readonly close: () => void;
}

/** The screen of a mailbox (S18.2), as tall as the terminal. No method throws. */
export class MailScreen implements Component, Focusable {
  readonly #options: ScreenOptions;
  readonly #brushes: Brushes;
  readonly #composer: Composer;
  readonly #reader: Reader;
  #state: State = OPENED;
  #extent: Extent = { page: 1, lines: 0 };
  /** As it was last drawn. */
  #width = 80;
  #focused = false;
  #cancelRefresh: Cancel | undefined;
  #closed = false;
  /** Not before this the lists are read anew by themselves, by {@link Clock.elapsed}. */
  #refreshAt = 0;

  constructor(options: ScreenOptions) {
    const { tui, paint, keybindings, source, clock } = options;
    this.#options = options;
    this.#reader = new Reader(paint);
    this.#composer = new Composer(tui, paint, (text) => {
      this.#submit(text);
    });
    const [reader, composer] = [this.#reader, this.#composer];
    const { name, address } = source;
    this.#brushes = { paint, keybindings, reader, composer, name, address };
    this.#refresh();
    this.#cancelRefresh = clock.every(REFRESH, () => {
      if (!source.isOpen()) this.#end();
      else if (clock.elapsed() >= this.#refreshAt) this.#refresh();
      else return;
      tui.requestRender();
    });
  }

  get focused(): boolean {
    return this.#focused;
  }

  /** Set by Pi; without the focus the screen makes way for the dialog that has it. */
  set focused(focused: boolean) {
    this.#focused = focused;
    this.#composer.focused = focused;
  }

  render(width: number): string[] {
    const { tui, paint, clock } = this.#options;
    if (!this.#focused)
      return [fit(paint.fg("muted", " The mailbox waits for the dialog below."), width)];
    this.#width = width;
    try {
      const height = Math.max(1, tui.terminal.rows);
      const { lines, extent } = draw(this.#brushes, this.#state, width, height, clock.now());
      this.#extent = extent;
      return lines;
    } catch (error) {
      const text = cleanText(errorText(error)).replace(/\s+/g, " ");
      return [fit(paint.fg("error", ` The mailbox cannot be drawn: ${text}`), width)];
    }
  }

  handleInput(data: string): void {
    try {
      if (viewOf(this.#state).at === "composer") this.#compose(data);
      else this.#press(data);
    } catch (error) {
      this.#state = failed(this.#state, errorText(error));
    }
    this.#options.tui.requestRender();
  }

  /** The wheel scrolls; Pi asks for it in fullscreen mode. */
  handleMouse({ type, wheelDelta = 0 }: TuiMouseEvent): TuiMouseEventResult | undefined {
    if (type !== "wheel" || wheelDelta === 0) return undefined;
    this.#state = wheeled(this.#state, wheelDelta, this.#extent);
    return { handled: true };
  }

  invalidate(): void {
    this.#reader.invalidate();
    this.#composer.invalidate();
  }

  /** Nothing runs after this. Pi calls it, too, when it takes the screen away: then nobody waits for it. */
  dispose(): void {
    this.#cancelRefresh?.();
    this.#cancelRefresh = undefined;
    if (!this.#closed) this.#options.close();
    this.#closed = true;
  }

  /** The session is another one now, which Pi does not say while a screen is open. */
  #end(): void {
    this.#cancelRefresh?.();
    this.#state = failed(this.#state, "The session of this mailbox is closed; close the screen.");
  }

  #press(data: string): void {
    const key = keyOf(data, this.#options.keybindings);
    if (key === undefined) return;
    // Several keys may come before Pi draws what the first has opened.
    this.render(this.#width);
    const next = pressed(this.#state, key, this.#extent);
    if (next === "close") {
      this.dispose();
      return;
    }
    this.#state = next;
    const view = viewOf(next);
    if (view.at === "composer") this.#composer.text = draftOf(next, view.letter);
  }

  #compose(data: string): void {
    this.#state = { ...this.#state, status: undefined };
    if (leavesComposer(data, this.#options.keybindings)) {
      this.#state = putAway(this.#state, this.#composer.text);
    } else this.#composer.handleInput(data);
  }

  #submit(text: string): void {
    const view = viewOf(this.#state);
    if (view.at !== "composer") return;
    const { source } = this.#options;
    const { to, answers } = view.letter;
    try {
      if (text === "") throw new Error("Nothing was sent: the message is empty. Write one.");
      this.#state = sent(
        this.#state,
        answers ? source.answer(answers, text) : source.send(to, text),
      );
    } catch (error) {
      // The editor has let go of it.
      this.#composer.text = text;
      this.#state = failed(this.#state, errorText(error));
    }
    this.#refresh();
    this.#state = whatCanBeSent(this.#state);
  }

  /** Reads the lists anew; one that cannot be read stays as it was, and the reason is shown. */
  #refresh(): void {
    const { source, clock } = this.#options;
    const { content } = this.#state;
    const started = clock.elapsed();
    let fault: string | undefined;
    const read = <T>(look: () => T, otherwise: T): T => {
      try {
        return look();
      } catch (error) {
        fault ??= errorText(error);
        return otherwise;
      }
    };
    const now: Content = {
      sessions: read(() => source.sessions(), content.sessions),
      inbox: read(() => source.inbox(), content.inbox),
      sent: read(() => source.sent(), content.sent),
    };
    this.#refreshAt = clock.elapsed() + REST * (clock.elapsed() - started);
    try {
      this.#state = refreshed(this.#state, now, fault);
    } catch (error) {
      this.#state = failed(this.#state, errorText(error));
    }
  }
}
