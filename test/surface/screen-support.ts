/** A screen of a mailbox without Pi and without a disk: a terminal of any size, and keys. */
import { initTheme } from "@earendil-works/pi-coding-agent";
import { getKeybindings, type TUI, visibleWidth } from "@earendil-works/pi-tui";
import { randomUUID } from "node:crypto";
import { expect } from "vitest";
import type { Envelope } from "../../src/mail/envelope.ts";
import type { ListedMail, ScreenSource, SessionRow } from "../../src/surface/screen/content.ts";
import { MailScreen } from "../../src/surface/screen/screen.ts";
import { ALICE, BOB, CAROL, mail } from "../fixtures/mail.ts";
import { FakeClock } from "../mailbox/fake.ts";

initTheme("dark");

/** What terminals send for keys. */
export const KEYS = {
  up: "\u001b[A",
  down: "\u001b[B",
  right: "\u001b[C",
  left: "\u001b[D",
  home: "\u001b[H",
  end: "\u001b[F",
  pageUp: "\u001b[5~",
  pageDown: "\u001b[6~",
  tab: "\t",
  shiftTab: "\u001b[Z",
  enter: "\r",
  shiftEnter: "\u001b[13;2u",
  escape: "\u001b",
  ctrlC: "\u0003",
} as const;

/** A running session in the list. */
export function row(change: Partial<SessionRow> = {}): SessionRow {
  return {
    address: BOB,
    label: "bob",
    cwd: "/home/me/project",
    state: "idle",
    waitingOn: "",
    isSelf: false,
    ...change,
  };
}

export const SELF = row({ address: ALICE, label: "alice", isSelf: true });

/** A mail of Bob's to Alice in her inbox. */
export function received(
  change: Partial<Envelope> = {},
  listed: Partial<ListedMail> = {},
): ListedMail {
  const envelope = mail({ from: BOB, to: ALICE, kind: "message", ...change });
  const path = `/root/${ALICE}/cur/${envelope.id}.json`;
  return { envelope, path, isSent: false, other: "bob", state: "read", ...listed };
}

/** A mail of Alice's to Bob. */
export function sentMail(
  change: Partial<Envelope> = {},
  listed: Partial<ListedMail> = {},
): ListedMail {
  return received({ from: ALICE, to: BOB, ...change }, { isSent: true, ...listed });
}

/** What a screen asks of a mailbox, with lists that a test can change, and errors it can throw. */
export class FakeSource implements ScreenSource {
  readonly name: string | undefined = "alice";
  readonly address = ALICE;
  rows: readonly SessionRow[] = [row(), row({ address: CAROL, label: "carol" }), SELF];
  received: readonly ListedMail[] = [];
  went: readonly ListedMail[] = [];
  open = true;
  /** Thrown by what reads the lists. */
  broken: Error | undefined;
  /** Thrown by what sends. */
  refusal: Error | undefined;
  reads = 0;
  readonly sends: { readonly to: string; readonly text: string }[] = [];
  readonly answers: { readonly id: string; readonly text: string }[] = [];

  isOpen(): boolean {
    return this.open;
  }

  sessions(): readonly SessionRow[] {
    this.reads += 1;
    if (this.broken) throw this.broken;
    return this.rows;
  }

  inbox(): readonly ListedMail[] {
    if (this.broken) throw this.broken;
    return this.received;
  }

  sent(): readonly ListedMail[] {
    if (this.broken) throw this.broken;
    return this.went;
  }

  send(to: string, text: string): string {
    if (this.refusal) throw this.refusal;
    this.sends.push({ to, text });
    return `Sent ${randomUUID()} to bob`;
  }

  answer({ envelope }: ListedMail, text: string): string {
    if (this.refusal) throw this.refusal;
    this.answers.push({ id: envelope.id, text });
    return `Sent ${randomUUID()} to bob`;
  }
}

/** An open screen in a terminal of its own. */
export class Opened {
  readonly source: FakeSource;
  readonly clock = new FakeClock(Date.UTC(2026, 10, 30, 12));
  readonly screen: MailScreen;
  width = 80;
  height = 24;
  closed = 0;
  requests = 0;

  constructor(source = new FakeSource()) {
    this.source = source;
    const height = (): number => this.height;
    const tui = {
      terminal: {
        get rows() {
          return height();
        },
      },
      requestRender: () => {
        this.requests += 1;
      },
    };
    this.screen = new MailScreen({
      tui: tui as unknown as TUI,
      paint: { fg: (_colour, text) => `\u001b[36m${text}\u001b[39m`, bold: (text) => text },
      keybindings: getKeybindings(),
      source,
      clock: this.clock,
      close: () => {
        this.closed += 1;
      },
    });
    this.screen.focused = true;
  }

  /** Turns the mouse's wheel. */
  wheel(lines: number): this {
    const place = { x: 0, y: 0, screenX: 0, screenY: 0, width: this.width, height: this.height };
    const plain = { shift: false, alt: false, ctrl: false };
    this.screen.handleMouse({
      type: "wheel",
      button: "none",
      wheelDelta: lines,
      ...place,
      ...plain,
    });
    return this;
  }

  /** Presses keys, or types texts, one after the other. */
  press(...keys: string[]): this {
    for (const key of keys) this.screen.handleInput(key);
    return this;
  }

  type(text: string): this {
    return this.press(...Array.from(text));
  }

  /** The lines as they are shown, each checked to be no wider than the terminal, and their number. */
  raw(): string[] {
    const lines = this.screen.render(this.width);
    expect(lines).toHaveLength(this.height);
    for (const line of lines) {
      expect(visibleWidth(line), JSON.stringify(line)).toBeLessThanOrEqual(this.width);
      expect(withoutColours(line)).not.toMatch(UNSEEN);
    }
    return lines;
  }

  /** The same without colours and blanks at the ends. */
  lines(): string[] {
    return this.raw().map((line) => withoutColours(line).trimEnd());
  }

  get text(): string {
    return this.lines().join("\n");
  }
}

/** Control characters and changes of direction: nothing of these may reach a terminal. */
// eslint-disable-next-line no-control-regex -- control characters are what this is about
const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/;

/** A line without the colours, links and cursor marks that Pi's own components put into it. */
export function withoutColours(line: string): string {
  return (
    line
      // eslint-disable-next-line no-control-regex -- escapes are what this is about
      .replace(/\u001b\[[\d;]*m/g, "")
      // eslint-disable-next-line no-control-regex -- escapes are what this is about
      .replace(/\u001b\]8;[^\u0007\u001b]*(?:\u0007|\u001b\\)/g, "")
      // eslint-disable-next-line no-control-regex -- escapes are what this is about
      .replace(/\u001b_pi:[^\u0007]*\u0007/g, "")
  );
}
