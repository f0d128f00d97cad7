import type { Cancel } from "../clock.ts";
import { boxesOf, isOpenToOthers, makeBoxes, openRoot } from "../mail/root.ts";
import { type Watch, type WatchReport, watchFolder } from "../mail/watcher.ts";
import { claimArrivals } from "./arrivals.ts";
import { confirmRead, deliverIdle } from "./delivery.ts";
import { Housekeeping } from "./housekeeping.ts";
import { flushOutbox } from "./outgoing.ts";
import { Presence } from "./presence.ts";
import { resume, retryDeferred } from "./resumption.ts";
import { type MailboxState, trySave } from "./state.ts";
import { Troubles } from "./troubles.ts";

/** How often a second process of a session looks whether the first is gone, in ms. */
const STANDBY_LOOK = 1000;

/** How often what could not be done is tried again, in ms. */
const RETRY = 1000;

/** How long the address counts as ours without a new look at the record, in ms. */
const STILL_OURS = 100;

/** How long after a start the mail root is tidied, in ms: nobody waits for it, but `pi -p` soon ends. */
const TIDY_AFTER = 1500;

/** How long what a run does not wait for is put off, in ms: until its model request is on its way. */
const BEHIND_REQUEST = 25;

/** What an address is served with. */
export interface ServiceOptions {
  /** Whether the session was closed before this, and not just loaded anew. */
  readonly closed: boolean;
  /** Called when what the footer counts may have changed. */
  readonly onChange: () => void;
  /** Called before anything is claimed. */
  readonly beforeLook: () => void;
}

const NOT_OURS = "Another process has this session open and gets its mail; close it first.";

/**
 * Serves an address for as long as no other process does (S3.4): holds its running record, watches
 * its mailbox, and runs what must not crash Pi.
 */
export class Service {
  readonly presence: Presence;
  readonly housekeeping: Housekeeping;
  readonly #state: MailboxState;
  readonly #options: ServiceOptions;
  readonly #cancels: Cancel[] = [];
  readonly #troubles: Troubles;
  #phase: "standby" | "opened" | "ready" | "closed" = "opened";
  #closed: boolean;
  /** When the record was last seen to be ours, by {@link Clock.elapsed}. */
  #oursAt = Number.NEGATIVE_INFINITY;
  #watch: Watch | undefined;
  #cancelRetry: Cancel | undefined;
  #cancelWriting: Cancel | undefined;

  /**
   * Opens the mailbox of a session: its folders, its running record and its watcher are there
   * when this returns. What waits is claimed on a later turn of the event loop (S5.2).
   *
   * @throws MailboxOff or the system's error when the session can have no mailbox; nothing of it
   * is left running (S1.5).
   */
  constructor(state: MailboxState, options: ServiceOptions) {
    const { host } = state;
    this.#state = state;
    this.#troubles = new Troubles(state);
    this.#options = options;
    this.#closed = options.closed;
    this.presence = new Presence(host, state.clock);
    this.housekeeping = new Housekeeping(state);
    // An address that is none is refused before anything is made (S1.2).
    const { folder } = boxesOf(host.address);
    const { durable } = state.settings();
    openRoot(durable);
    makeBoxes(host.address, durable);
    if (isOpenToOthers(folder)) {
      host.warn(`mailbox: other users can read the mail in ${folder}; run chmod 700 ${folder}`);
    }
    if (!this.#serve()) this.#standBy(this.presence.otherProcess());
  }

  /** Whether the mailbox is open, and not left to another process. */
  get isServing(): boolean {
    return this.#phase === "opened" || this.#phase === "ready";
  }

  /** How well `new/` is watched; `undefined` while another process serves the address (S18.4). */
  get watching(): WatchReport | undefined {
    return this.isServing ? this.#watch?.report() : undefined;
  }

  /** Whether what is open from earlier is known. */
  get isReady(): boolean {
    return this.#phase === "ready";
  }

  /**
   * Makes sure that the address is this process's, and that what is open from earlier is known.
   *
   * @throws an error when another process serves the address, or the mailbox is closed.
   */
  makeReady(): void {
    if (this.#phase === "closed") throw new Error("The mailbox of this session is closed.");
    if (!this.isOurs()) throw new Error(NOT_OURS);
    if (this.#phase === "ready") return;
    resume(this.#state, this.#closed);
    this.#phase = "ready";
  }

  /**
   * Runs what must not crash Pi; a failure is told, once. Nothing runs while the address is another
   * process's, or the mailbox is closed.
   */
  guarded(run: () => void): void {
    if (this.#phase === "closed") return;
    try {
      if (!this.isOurs()) return;
      this.makeReady();
      run();
    } catch (error) {
      this.#troubles.tell(error);
    }
    this.#options.onChange();
  }

  /**
   * Does all that is due: claims, tries again what failed, delivers; what cannot be done for now is
   * soon tried again. Returns how much it claimed.
   */
  look(): number {
    const came = { claimed: 0, done: false };
    this.#options.beforeLook();
    this.guarded(() => {
      this.presence.beat();
      if (this.#state.deferred.size > 0) retryDeferred(this.#state, this.#closed);
      const { count, fault } = claimArrivals(this.#state);
      came.claimed = count;
      if (!this.#state.unsaved || trySave(this.#state)) flushOutbox(this.#state);
      deliverIdle(this.#state);
      const { unsaved, ledger } = this.#state;
      came.done = fault === undefined && !unsaved && ledger.outbox.length === 0;
    });
    if (this.#state.unread.size > 0) this.writeDownSoon();
    if (came.done) this.#troubles.forget();
    this.#retry(!came.done);
    return came.claimed;
  }

  /**
   * Writes down, when the model request that is about to be made is on its way, what has entered
   * and what the session does. Until then a crash leaves what a resumed session sets right.
   */
  writeDownSoon(): void {
    this.#cancelWriting ??= this.#state.clock.after(BEHIND_REQUEST, () => {
      this.#cancelWriting = undefined;
      this.guarded(() => {
        confirmRead(this.#state);
        this.presence.showState(this.#state.running ? "busy" : "idle");
      });
    });
  }

  /** Stops serving the address: what is open stays in the ledger for when the session is resumed. */
  close(): void {
    this.#cancelAll();
    this.#abandonWaits();
    this.guarded(() => {
      confirmRead(this.#state);
      if (this.#state.unsaved) trySave(this.#state);
    });
    try {
      this.presence.hide();
    } catch (error) {
      this.#troubles.tell(error);
    }
    this.#phase = "closed";
  }

  /** Whether the address is this process's; where it has become another's, leaves it to that. */
  isOurs(): boolean {
    if (this.#phase === "standby" || this.#phase === "closed") return false;
    const now = this.#state.clock.elapsed();
    if (now - this.#oursAt < STILL_OURS) return true;
    const other = this.#otherProcess();
    if (other === undefined) {
      this.#oursAt = now;
      return true;
    }
    this.#standBy(other);
    this.#options.onChange();
    return false;
  }

  /** Begins to serve the address, unless another process does; whether it did. */
  #serve(): boolean {
    const { clock, running, host } = this.#state;
    const { new: box } = makeBoxes(host.address);
    if (!this.presence.take(running ? "busy" : "idle")) return false;
    this.#phase = "opened";
    this.#oursAt = clock.elapsed();
    this.#cancelAll();
    this.#watch = watchFolder(box, {
      clock,
      isReliable: () => this.housekeeping.networkKind === undefined,
      look: () => this.look() > 0,
    });
    this.#cancels.push(
      this.#watch.cancel,
      clock.soon(() => {
        this.look();
      }),
      clock.after(host.canWake ? TIDY_AFTER : 0, () => {
        this.guarded(() => {
          this.housekeeping.tidyUp();
        });
      }),
    );
    return true;
  }

  #otherProcess(): number | undefined {
    try {
      return this.presence.otherProcess();
    } catch {
      // It cannot be told for now; what this process has to write down must not be lost over that.
      return undefined;
    }
  }

  /** Leaves the address to the process that serves it, until that is gone (S3.4). */
  #standBy(pid: number | undefined): void {
    const { clock, host } = this.#state;
    this.#phase = "standby";
    this.#cancelAll();
    this.#abandonWaits();
    this.presence.leave();
    // By then the other process has closed the session.
    this.#closed = true;
    const other = pid === undefined ? "another process" : `process ${String(pid)}`;
    host.warn(
      `mailbox: ${other} has this session open and gets its mail; this one takes over when that ` +
        "one is closed, and does not show what that one has read.",
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
      this.#troubles.tell(error);
    }
  }

  #retry(isDue: boolean): void {
    if (!isDue || this.#phase === "standby" || this.#phase === "closed") {
      this.#cancelRetry?.();
      this.#cancelRetry = undefined;
    } else {
      this.#cancelRetry ??= this.#state.clock.every(RETRY, () => {
        this.look();
      });
    }
  }

  #cancelAll(): void {
    for (const cancel of this.#cancels.splice(0)) cancel();
    this.#cancelWriting?.();
    this.#cancelWriting = undefined;
    this.#retry(false);
  }

  /** No answer comes to this process any more. */
  #abandonWaits(): void {
    for (const wait of this.#state.waits.values()) wait.abandon();
  }
}
