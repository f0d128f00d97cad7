/**
 * A session without Pi: a clock that stands still until it is told, a host whose messages can be
 * late or lost, and a life of a session from its opening to its end or its crash.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterEach } from "vitest";
import type { Cancel, Clock } from "../../src/clock.ts";
import type { Envelope } from "../../src/mail/envelope.ts";
import { type Ledger, loadLedger } from "../../src/mail/ledger.ts";
import { boxesOf, mailRoot } from "../../src/mail/root.ts";
import { readMail } from "../../src/mail/store.ts";
import { type Inbound, INBOUND } from "../../src/mailbox/arrivals.ts";
import type { GapMail } from "../../src/mailbox/conversation.ts";
import { ENTRY_TYPE, type Host, type HostEntry, type Injection } from "../../src/mailbox/host.ts";
import { Mailbox } from "../../src/mailbox/mailbox.ts";
import { footerText } from "../../src/surface/footer.ts";
import { namesIn } from "../fixtures/folder.ts";

interface Timer {
  at: number;
  readonly every: number | undefined;
  readonly run: () => void;
}

/** Time that passes when a test says so. */
export class FakeClock implements Clock {
  #now: number;
  #set = 0;
  readonly #timers = new Set<Timer>();
  readonly #soon = new Set<() => void>();

  constructor(now: number = Date.now()) {
    this.#now = now;
  }

  now(): number {
    return this.#now + this.#set;
  }

  elapsed(): number {
    return this.#now;
  }

  /** Somebody sets the clock of the machine: no time passes. */
  jump(milliseconds: number): void {
    this.#set += milliseconds;
  }

  after(milliseconds: number, run: () => void): Cancel {
    return this.#add({ at: this.#now + milliseconds, every: undefined, run });
  }

  every(milliseconds: number, run: () => void): Cancel {
    return this.#add({ at: this.#now + milliseconds, every: milliseconds, run });
  }

  soon(run: () => void): Cancel {
    // Each is one of its own, though the same function may come twice.
    const once = (): void => {
      run();
    };
    this.#soon.add(once);
    return () => {
      this.#soon.delete(once);
    };
  }

  /** How many timers are set and turns are waited for. */
  get pending(): number {
    return this.#timers.size + this.#soon.size;
  }

  /** How long until each timer fires, the soonest first. */
  get waits(): number[] {
    return [...this.#timers].map(({ at }) => at - this.#now).sort((one, other) => one - other);
  }

  /** The event loop turns once. */
  turn(): void {
    const due = [...this.#soon];
    for (const run of due) {
      if (!this.#soon.delete(run)) continue;
      run();
    }
  }

  /** Time passes, with all that happens in it. */
  advance(milliseconds: number): void {
    const end = this.#now + milliseconds;
    this.turn();
    for (;;) {
      const next = [...this.#timers].sort((one, other) => one.at - other.at)[0];
      if (next === undefined || next.at > end) break;
      this.#now = next.at;
      if (next.every === undefined) this.#timers.delete(next);
      else next.at += next.every;
      next.run();
      this.turn();
    }
    this.#now = end;
  }

  #add(timer: Timer): Cancel {
    this.#timers.add(timer);
    return () => {
      this.#timers.delete(timer);
    };
  }
}

/** A mail that was given to the session, and how. */
export interface Put {
  readonly by: "append" | "wake";
  readonly mail: Injection;
}

/** Pi, as far as a mailbox sees it. */
export class FakeHost implements Host {
  readonly address: string;
  readonly cwd = "/work";
  readonly #agentFolder: string;
  canWake = true;
  sessionName: string | undefined;
  idle = true;
  onDisk = true;
  /**
   * Whether a message becomes an entry at once, when it is released, or never; or, while other
   * extensions handle `agent_settled`, at once when it starts nothing and when it is released
   * when it starts a run.
   */
  messages: "enter" | "late" | "lost" | "settling" = "enter";
  readonly session: HostEntry[];
  /** How many entries a power cut would leave. */
  flushed = 0;
  readonly puts: Put[] = [];
  readonly late: Put[] = [];
  readonly warnings: string[] = [];
  readonly marked: string[] = [];
  status: string | undefined;
  /** Called for each mail that is shown to listeners. */
  listener: (inbound: Inbound) => void = () => undefined;

  constructor(address: string, entries: readonly HostEntry[] = []) {
    this.address = address;
    this.session = [...entries];
    this.#agentFolder = join(mailRoot(), "..", "agent");
    mkdirSync(this.#agentFolder, { recursive: true });
  }

  get agentFolder(): string {
    return this.#agentFolder;
  }

  name(): string | undefined {
    return this.sessionName;
  }

  isIdle(): boolean {
    return this.idle;
  }

  isOnDisk(): boolean {
    return this.onDisk;
  }

  flush(): void {
    this.flushed = this.session.length;
  }

  entries(): readonly HostEntry[] {
    return this.session;
  }

  append(mail: Injection): void {
    this.#take({ by: "append", mail });
  }

  wake(mail: Injection): void {
    this.#take({ by: "wake", mail });
    if (this.messages === "enter" || this.messages === "late") this.idle = false;
  }

  mark(id: string): void {
    this.marked.push(id);
    this.session.push({ type: "custom", customType: ENTRY_TYPE, data: { id } });
  }

  emit(channel: string, payload: object): void {
    if (channel === INBOUND) this.listener(payload as Inbound);
  }

  warn(text: string): void {
    this.warnings.push(text);
  }

  showStatus(text: string | undefined): void {
    this.status = text;
  }

  /** What was late becomes entries of the session. */
  release(): void {
    for (const { mail } of this.late.splice(0)) this.enter(mail);
  }

  /** A mail becomes an entry. */
  enter({ content, details }: Injection): void {
    this.session.push({ type: "custom_message", customType: ENTRY_TYPE, details, ...{ content } });
  }

  #take(put: Put): void {
    this.puts.push(put);
    if (this.messages === "lost") return;
    const enters = this.messages === "settling" ? put.by === "append" : this.messages === "enter";
    if (enters) this.enter(put.mail);
    else this.late.push(put);
  }
}

/** How a run ends. */
export interface RunEnd {
  readonly text?: string;
  readonly stopReason?: "stop" | "error" | "aborted" | "toolUse";
  readonly error?: string;
}

/** One process of a session, from its opening to its end. */
export class Life {
  readonly host: FakeHost;
  readonly clock: FakeClock;
  readonly mailbox: Mailbox;

  constructor(host: FakeHost, clock: FakeClock, closed = true, running = false) {
    this.host = host;
    this.clock = clock;
    this.mailbox = new Mailbox(host, { clock, closed, running, footer: footerText });
    lives.add(this);
  }

  /** Opens a session and lets it claim what waits. */
  static open(host: FakeHost, clock: FakeClock = new FakeClock(), closed = true): Life {
    const life = new Life(host, clock, closed);
    clock.turn();
    return life;
  }

  /** The session is opened again: by a new process that has the entries that were on disk. */
  next(closed = true, entries: readonly HostEntry[] = this.host.session): Life {
    const host = new FakeHost(this.host.address, entries);
    return Life.open(host, new FakeClock(this.clock.now()), closed);
  }

  /** The process is killed: nothing more happens, and nothing is tidied up. */
  crash(): void {
    lives.delete(this);
    // What is left of it must not act in the test's own process.
    crashed.add(this);
  }

  close(): void {
    lives.delete(this);
    this.mailbox.close();
  }

  /** A run begins: the user's, unless it is the one that mail has woken. */
  start(): void {
    this.host.idle = false;
    this.mailbox.conversation.runStarted();
    this.mailbox.conversation.turnStarted();
  }

  /** The user types, and a run begins. */
  prompt(): void {
    this.mailbox.conversation.userSpoke();
    this.host.session.push({ type: "message", message: { role: "user" } });
    this.start();
  }

  /** A turn with tool calls ends, and mail enters behind its results. */
  gap(drop: (id: string) => boolean = () => false): GapMail {
    this.#said({ text: "", stopReason: "toolUse" });
    const gap = this.mailbox.conversation.turnEnded(true);
    for (const mail of gap.mails) if (!drop(mail.details.id)) this.host.enter(mail);
    this.mailbox.conversation.turnStarted();
    return gap;
  }

  /** The run ends with its last turn. */
  end({ text = "", stopReason = "stop", error }: RunEnd = {}): void {
    this.#said({ text, stopReason, ...(error === undefined ? {} : { error }) });
    this.mailbox.conversation.turnEnded(false);
    this.mailbox.conversation.runEnded(stopReason === "aborted");
    this.host.idle = true;
    this.mailbox.conversation.settled(stopReason === "aborted");
    // A stop is the user's when nothing closes the session right after it.
    if (stopReason === "aborted") this.clock.turn();
  }

  /** A whole run, and what follows on it. */
  run(ending: RunEnd): void {
    this.start();
    this.end(ending);
    this.clock.turn();
  }

  /** Ids of the mail in the session, in order, as the model sees it. */
  get read(): string[] {
    return this.host.session.flatMap(({ type, details }) =>
      type === "custom_message" ? [idOf(details)] : [],
    );
  }

  /** What the ledger on disk says. */
  get ledger(): Ledger {
    const ledger = loadLedger(this.host.address);
    if (typeof ledger === "string") throw new Error(`the ledger is ${ledger}`);
    return ledger;
  }

  /** The names that wait in `new/`. */
  get waiting(): string[] {
    return namesIn(boxesOf(this.host.address).new);
  }

  #said({ text = "", stopReason = "stop", error }: RunEnd): void {
    this.mailbox.conversation.messageEnded({ text, stopReason, error });
    const message = { role: "assistant", stopReason };
    this.host.session.push({ type: "message", message });
  }
}

/** The mails in a box of an address, in name order, as another session finds them. */
export function mailsIn(address: string, box: "new" | "cur" | "sent" = "new"): Envelope[] {
  const folder = boxesOf(address)[box];
  return namesIn(folder).flatMap((name) => readMail(join(folder, name))?.envelope ?? []);
}

function idOf(details: unknown): string {
  const found =
    typeof details === "object" && details !== null && "id" in details ? details.id : undefined;
  return typeof found === "string" ? found : "";
}

const lives = new Set<Life>();
const crashed = new Set<Life>();

/**
 * Closes after each test what it left open. To be called behind `useStateFolder`: hooks that run
 * after a test run in reverse, and the folder must still be there.
 */
export function useLives(): void {
  afterEach(() => {
    for (const life of [...lives, ...crashed]) life.mailbox.close();
    lives.clear();
    crashed.clear();
  });
}
