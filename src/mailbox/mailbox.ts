import type { Cancel, Clock } from "../clock.ts";
import { readSettings, type Settings } from "../config.ts";
import type { Envelope } from "../mail/envelope.ts";
import type { Ledger, Owed } from "../mail/ledger.ts";
import type { RunningSession } from "../sessions/record.ts";
import { hopCount } from "../turn/hops.ts";
import { claimArrivals } from "./arrivals.ts";
import { Conversation } from "./conversation.ts";
import { confirmRead, deliverIdle } from "./delivery.ts";
import type { OwnFacts } from "./doctor.ts";
import type { Host } from "./host.ts";
import { answerNow, type Outgoing, sendMail } from "./outgoing.ts";
import { Service } from "./service.ts";
import {
  type Counts,
  countsOf,
  ledgerOf,
  type MailboxState,
  newState,
  tell,
  type Wait,
} from "./state.ts";

/** What a mailbox is opened with. */
export interface MailboxOptions {
  readonly clock: Clock;
  /** Whether the session was closed before this, and not just loaded anew. */
  readonly closed: boolean;
  /** Whether a run is on already. */
  readonly running: boolean;
  /** The text of the footer; `undefined` hides it. */
  readonly footer: (counts: Counts) => string | undefined;
}

/**
 * The open mailbox of one session: what can be done with it. What it does by itself is in
 * {@link Service}, what the moments of the conversation mean for it in {@link Conversation}.
 */
export class Mailbox {
  /** Told of every event of the session. */
  readonly conversation: Conversation;
  readonly #state: MailboxState;
  readonly #service: Service;
  readonly #footer: MailboxOptions["footer"];
  #shown: string | undefined;

  /**
   * Opens the mailbox of a session. While another process serves the address, this one waits to
   * take over (S3.4).
   *
   * @throws MailboxOff or the system's error when the session can have no mailbox; nothing of it
   * is left running (S1.5).
   */
  constructor(host: Host, { clock, closed, running, footer }: MailboxOptions) {
    this.#footer = footer;
    this.#state = newState(host, clock, () => this.settings());
    this.#state.running = running;
    this.#service = new Service(this.#state, {
      closed,
      onChange: () => {
        this.#showCounts();
      },
      beforeLook: () => {
        this.conversation.settleStopped();
      },
    });
    this.conversation = new Conversation(this.#state, this.#service);
  }

  get address(): string {
    return this.#state.host.address;
  }

  get clock(): Clock {
    return this.#state.clock;
  }

  /** This session as the others see it. */
  get record(): RunningSession {
    return { ...this.#service.presence.record(), stopped: false };
  }

  /** The address whose answer the session waits for, or empty. */
  get waitingOn(): string {
    return this.#service.presence.waitingOn;
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
    this.#service.makeReady();
    confirmRead(this.#state);
    return this.#state.ledger.owed.filter(({ kind }) => kind === "ask");
  }

  /**
   * What is open, as it stands now; `undefined` while another process serves the address (S18.1).
   *
   * @throws what keeps it from being known.
   */
  open(): Ledger | undefined {
    if (!this.#service.isOurs()) return undefined;
    this.#service.makeReady();
    confirmRead(this.#state);
    return ledgerOf(this.#state);
  }

  /**
   * Sends a mail and returns its envelope.
   *
   * @param settings where they were just read for it.
   * @throws AddressError, or SendError when nothing was delivered.
   */
  send(mail: Outgoing, settings?: Settings): Envelope {
    this.#service.makeReady();
    const envelope = sendMail(this.#state, mail, settings);
    this.#showCounts();
    return envelope;
  }

  /**
   * Answers one request or ask that is owed now, with status `done` (S7.7, S18.2); the run that is
   * on does not answer it again when it settles (S7.8).
   *
   * @throws an error when it is not owed or the answer cannot be sent; what is owed stays so.
   */
  answer(id: string, body: string): Envelope {
    this.#service.makeReady();
    confirmRead(this.#state);
    return answerNow(this.#state, id, body);
  }

  /** Shows other sessions whose answer this one waits for; empty when it stops (S3.1). */
  showWaiting(address: string): void {
    this.#service.guarded(() => {
      const state = this.#state.running ? "busy" : "idle";
      this.#service.presence.show({ waitingOn: address, state });
    });
  }

  /** Gives the answer to an ask to `wait` instead of the conversation, until cancelled (S7.5). */
  expectAnswer(ask: string, wait: Wait): Cancel {
    this.#state.waits.set(ask, wait);
    return () => {
      this.#state.waits.delete(ask);
    };
  }

  /** Does all that is due; returns how much mail it claimed. Never throws. */
  look(): number {
    return this.#service.look();
  }

  /**
   * Claims what waits now; when this returns, listeners have seen all of it (S9.3).
   *
   * @throws what keeps the mail from being claimed.
   */
  scan(): void {
    this.#service.makeReady();
    this.conversation.settleStopped();
    const { fault } = claimArrivals(this.#state);
    deliverIdle(this.#state);
    this.#showCounts();
    if (fault !== undefined) throw new Error(`Some mail cannot be claimed for now: ${fault}`);
  }

  /** What nothing on disk tells of it, for the doctor (S18.4). Changes nothing and never throws. */
  ownFacts(): OwnFacts {
    const { setAside, unsaved, deferred } = this.#state;
    return {
      watching: this.#service.watching,
      ledger: this.#service.isReady ? ledgerOf(this.#state) : undefined,
      setAside,
      isUnsaved: unsaved,
      deferred: [...deferred],
    };
  }

  /** Removes the folders of closed sessions whatever their age, and returns how many (S11.3). */
  prune(): number {
    return this.#service.housekeeping.prune();
  }

  /** Closes the mailbox: what is open stays in the ledger for when the session is resumed. */
  close(): void {
    this.conversation.close();
    this.#service.close();
    this.#showCounts();
  }

  #showCounts(): void {
    const text = this.#service.isServing ? this.#footer(countsOf(this.#state)) : undefined;
    if (text === this.#shown) return;
    this.#shown = text;
    this.#state.host.showStatus(text);
  }
}
