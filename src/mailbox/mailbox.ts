import type { Cancel, Clock } from "../clock.ts";
import { readSettings, type Settings } from "../config.ts";
import { errorText } from "../mail/disk.ts";
import type { Envelope } from "../mail/envelope.ts";
import type { Owed } from "../mail/ledger.ts";
import { networkFileSystem } from "../mail/filesystem.ts";
import { prune, removeLeftovers } from "../mail/prune.ts";
import { boxesOf, isOpenToOthers, mailRoot, makeBoxes, openRoot } from "../mail/root.ts";
import { watchFolder } from "../mail/watcher.ts";
import { runningRecord } from "../sessions/record.ts";
import { hopCount } from "../turn/hops.ts";
import { claimArrivals, resume, retryDeferred } from "./arrivals.ts";
import { Conversation } from "./conversation.ts";
import { confirmRead, deliverIdle } from "./delivery.ts";
import type { Host } from "./host.ts";
import { answerNow, flushOutbox, type Outgoing, sendMail } from "./outgoing.ts";
import { Presence } from "./presence.ts";
import {
  type Counts,
  countsOf,
  type MailboxState,
  newState,
  tell,
  trySave,
  type Wait,
} from "./state.ts";

const DAY = 24 * 60 * 60_000;

/** How often what could not be done is tried again. */
const RETRY = 1000;

/** How often a second process of a session looks whether the first is gone. */
const STANDBY_LOOK = 1000;

/** What a mailbox is opened with. */
export interface MailboxOptions {
  readonly clock: Clock;
  /** Whether the session was closed before this, and not just loaded anew. */
  readonly closed: boolean;
  /** Whether a run is on already. */
  readonly running?: boolean;
  /** The text of the footer; `undefined` hides it. */
  readonly footer: (counts: Counts) => string | undefined;
}

/**
 * The open mailbox of one session: what can be done with it, and what it does by itself. What the
 * moments of the conversation mean for it is in {@link Conversation}.
 */
export class Mailbox {
  /** Told of every event of the session. */
  readonly conversation: Conversation;
  readonly #state: MailboxState;
  readonly #options: MailboxOptions;
  readonly #presence: Presence;
  readonly #cancels: Cancel[] = [];
  #cancelRetry: Cancel | undefined;
  #fileSystem: { readonly networkKind: string | undefined } | undefined;
  #phase: "standby" | "opened" | "ready" | "closed" = "opened";
  #shown: string | undefined;

  /**
   * Opens the mailbox of a session: its folders, its running record and its watcher are there
   * when this returns. What waits is claimed on a later turn of the event loop (S5.2). While
   * another process serves the address, this one waits to take over (S3.4).
   *
   * @throws MailboxOff or the system's error when the session can have no mailbox; nothing of it
   * is left running (S1.5).
   */
  constructor(host: Host, options: MailboxOptions) {
    const { clock } = options;
    this.#options = options;
    this.#state = newState(host, clock, () => this.settings());
    this.#state.running = options.running ?? false;
    this.#presence = new Presence(host, clock);
    this.conversation = new Conversation({
      state: this.#state,
      presence: this.#presence,
      guarded: (run) => {
        this.#guarded(run);
      },
      look: () => {
        this.look();
      },
    });
    // An address that is none is refused before anything is made (S1.2).
    const { folder } = boxesOf(host.address);
    openRoot();
    makeBoxes(host.address, this.settings().durable);
    if (isOpenToOthers(folder)) {
      host.warn(`mailbox: other users can read the mail in ${folder}; run chmod 700 ${folder}`);
    }
    if (!this.#serve()) this.#standBy(this.#presence.otherProcess());
  }

  get address(): string {
    return this.#state.host.address;
  }

  get clock(): Clock {
    return this.#state.clock;
  }

  /** The address whose answer the session waits for, or empty. */
  get waitingOn(): string {
    return this.#presence.waitingOn;
  }

  /** The hop count of the run that is on; 0 without one (S10.1). */
  get hops(): number {
    return this.conversation.isRunning ? hopCount(this.#state.hops) : 0;
  }

  /** The settings, read anew; each problem in them is told once (S12.1). */
  settings(): Settings {
    const { settings, problems } = readSettings(this.#state.host.agentFolder);
    for (const problem of problems) tell(this.#state, `mailbox: ${problem}.`);
    return settings;
  }

  /** The asks that this session still owes, oldest first. */
  openAsks(): Owed[] {
    this.#makeReady();
    confirmRead(this.#state);
    return this.#state.ledger.owed.filter(({ kind }) => kind === "ask");
  }

  /**
   * Sends a mail and returns its envelope.
   *
   * @throws AddressError, or SendError when nothing was delivered.
   */
  send(mail: Outgoing): Envelope {
    this.#makeReady();
    const envelope = sendMail(this.#state, mail);
    this.#showCounts();
    return envelope;
  }

  /**
   * Answers one open ask now (S7.7).
   *
   * @throws an error when the ask is not open or the answer cannot be sent; it is then still owed.
   */
  answer(ask: string, body: string): Envelope {
    this.#makeReady();
    return answerNow(this.#state, ask, body);
  }

  /** Shows other sessions whose answer this one waits for; empty when it stops (S3.1). */
  showWaiting(address: string): void {
    this.#guarded(() => {
      this.#presence.show({ waitingOn: address });
    });
  }

  /** Gives the answer to an ask to `wait` instead of the conversation, until cancelled (S7.5). */
  expectAnswer(ask: string, wait: Wait): Cancel {
    this.#state.waits.set(ask, wait);
    return () => {
      this.#state.waits.delete(ask);
    };
  }

  /**
   * Claims what waits now; when this returns, listeners have seen all of it (S9.3).
   *
   * @throws what keeps the mail from being claimed.
   */
  scan(): void {
    this.#makeReady();
    this.conversation.settleStopped();
    const { fault } = claimArrivals(this.#state);
    deliverIdle(this.#state);
    this.#showCounts();
    if (fault !== undefined) throw new Error(`Some mail cannot be claimed for now: ${fault}`);
  }

  /** Removes the folders of closed sessions whatever their age, and returns how many (S11.3). */
  prune(): number {
    return this.#prune(Number.NEGATIVE_INFINITY);
  }

  /** Closes the mailbox: what is open stays in the ledger for when the session is resumed. */
  close(): void {
    for (const cancel of this.#cancels.splice(0)) cancel();
    this.#retry(false);
    this.conversation.close();
    for (const wait of this.#state.waits.values()) wait.abandon();
    this.#guarded(() => {
      confirmRead(this.#state);
      if (this.#state.unsaved) trySave(this.#state);
    });
    this.#guarded(() => {
      this.#presence.hide();
    });
    this.#phase = "closed";
    if (this.#shown !== undefined) this.#state.host.showStatus(undefined);
  }

  /** Begins to serve the address, unless another process does; whether it did. */
  #serve(): boolean {
    const { clock, running } = this.#state;
    if (!this.#presence.take(running ? "busy" : "idle")) return false;
    this.#phase = "opened";
    for (const cancel of this.#cancels.splice(0)) cancel();
    const { new: box } = makeBoxes(this.address);
    this.#cancels.push(
      watchFolder(box, {
        clock,
        isReliable: () => this.#networkKind() === undefined,
        look: () => this.look() > 0,
      }),
      clock.soon(() => {
        this.look();
        this.#guarded(() => {
          this.#tidyUp();
        });
      }),
    );
    return true;
  }

  /** The kind of the file system of the mail root when it is a network's (S1.7); looked up once. */
  #networkKind(): string | undefined {
    this.#fileSystem ??= { networkKind: networkFileSystem(mailRoot()) };
    return this.#fileSystem.networkKind;
  }

  /** What a start does that nobody waits for. */
  #tidyUp(): void {
    const kind = this.#networkKind();
    if (kind !== undefined) {
      const where = `mailbox: ${mailRoot()} is on a network file system (${kind})`;
      tell(
        this.#state,
        `${where}, where mail may come late or twice; set XDG_STATE_HOME to a folder on a local disk.`,
      );
    }
    removeLeftovers(this.address, this.clock.now());
    this.#prune(this.settings().pruneAfterDays * DAY);
  }

  /** Leaves the address to the process that serves it, until that is gone (S3.4). */
  #standBy(pid: number | undefined): void {
    const { clock, host } = this.#state;
    this.#phase = "standby";
    for (const cancel of this.#cancels.splice(0)) cancel();
    host.warn(
      `mailbox: process ${pid ?? "?"} has this session open and gets ` +
        "its mail; this one takes over when that one is closed.",
    );
    this.#cancels.push(
      clock.every(STANDBY_LOOK, () => {
        this.#takeOver();
      }),
    );
  }

  #takeOver(): void {
    if (this.#phase !== "standby") return;
    try {
      this.#serve();
    } catch (error) {
      this.#tell(error);
    }
  }

  /**
   * Does all that is due: claims, tries again what failed, delivers; what cannot be done for now is
   * soon tried again. Returns how much it claimed.
   */
  look(): number {
    let found = 0;
    let done = false;
    this.conversation.settleStopped();
    this.#guarded(() => {
      const other = this.#presence.otherProcess();
      if (other !== undefined) {
        this.#standBy(other);
        return;
      }
      this.#presence.beat();
      if (this.#state.deferred.size > 0) retryDeferred(this.#state, this.#options.closed);
      const { count, fault } = claimArrivals(this.#state);
      found = count;
      if (!this.#state.unsaved || trySave(this.#state)) flushOutbox(this.#state);
      deliverIdle(this.#state);
      const { unsaved, ledger } = this.#state;
      done = fault === undefined && !unsaved && ledger.outbox.length === 0;
    });
    this.#retry(!done);
    return found;
  }

  #retry(isDue: boolean): void {
    if (!isDue || this.#phase === "standby" || this.#phase === "closed") {
      this.#cancelRetry?.();
      this.#cancelRetry = undefined;
    } else {
      this.#cancelRetry ??= this.clock.every(RETRY, () => {
        this.look();
      });
    }
  }

  #makeReady(): void {
    if (this.#phase === "standby") {
      throw new Error("Another process has this session open and gets its mail; close it first.");
    }
    if (this.#phase === "closed") throw new Error("The mailbox of this session is closed.");
    if (this.#phase === "ready") return;
    resume(this.#state, this.#options.closed);
    this.#phase = "ready";
  }

  #prune(olderThan: number): number {
    return prune({
      isInUse: (address) => address === this.address || runningRecord(address) !== undefined,
      olderThan,
      now: this.clock.now(),
    });
  }

  /**
   * Runs what must not crash Pi; a failure is told, once. Nothing runs while the mailbox is
   * another process's, or is closed.
   */
  #guarded(run: () => void): void {
    if (this.#phase === "standby" || this.#phase === "closed") return;
    try {
      this.#makeReady();
      run();
    } catch (error) {
      this.#tell(error);
    }
    this.#showCounts();
  }

  #tell(error: unknown): void {
    // The system may name a temporary file, another each time.
    const text = errorText(error);
    tell(this.#state, `mailbox: ${text}`, text.replace(/'.*'/, ""));
  }

  #showCounts(): void {
    const text = this.#options.footer(countsOf(this.#state));
    if (text === this.#shown) return;
    this.#shown = text;
    this.#state.host.showStatus(text);
  }
}
