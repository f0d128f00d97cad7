import type { Cancel } from "../clock.ts";
import { NO_HOPS, withUser } from "../turn/hops.ts";
import { type Ending, NO_ENDING, outcomeOf, withMessage } from "../turn/run.ts";
import { claimArrivals } from "./arrivals.ts";
import { confirmRead, deliverGap, deliverWithPrompt } from "./delivery.ts";
import type { Injection } from "./host.ts";
import type { Service } from "./service.ts";
import { settleRun } from "./settlement.ts";
import type { MailboxState } from "./state.ts";

/** How long a prompt that the user typed during a compaction has to go first, in ms. */
const AFTER_COMPACTION = 100;

/** How long a prompt may take from its input to its run, in ms; mail that wakes would be in its way. */
const PROMPT_STARTS = 2000;

/** Mail that enters at a `turn_end`, and whether a request must follow on it. */
export interface GapMail {
  readonly mails: readonly Injection[];
  readonly wake: boolean;
}

/** What each moment of a session's conversation means for its mail. No method throws. */
export class Conversation {
  readonly #state: MailboxState;
  readonly #service: Service;
  #aborted = false;
  #cancelLook: Cancel = () => undefined;
  #cancelStop: Cancel | undefined;

  constructor(state: MailboxState, service: Service) {
    this.#state = state;
    this.#service = service;
  }

  /** Whether a run is on. */
  get isRunning(): boolean {
    return this.#state.running;
  }

  /** The user has typed something that starts or steers a run (S10.1). */
  userSpoke(): void {
    const state = this.#state;
    this.settleStopped();
    state.hops = withUser(state.hops);
    if (state.host.canWake) {
      if (state.running) return;
      state.promptUntil = state.clock.elapsed() + PROMPT_STARTS;
      this.#lookAfter(PROMPT_STARTS);
      return;
    }
    this.#service.guarded(() => {
      claimArrivals(state);
      deliverWithPrompt(state);
    });
  }

  runStarted(): void {
    const state = this.#state;
    this.settleStopped();
    if (state.running) return;
    state.running = true;
    state.promptUntil = 0;
    this.#service.writeDownSoon();
  }

  /** The model's message is whole, in part or in error. */
  messageEnded(message: Ending): void {
    const state = this.#state;
    state.ending = withMessage(state.ending, message);
  }

  /** A model request is about to be made: what entered at the gap before it is in the session. */
  turnStarted(): void {
    this.#service.writeDownSoon();
  }

  /**
   * A turn has ended.
   *
   * @param isGap whether tool results stand there, so that a request follows and mail may enter.
   * @returns the mail to enter behind them.
   */
  turnEnded(isGap: boolean): GapMail {
    const state = this.#state;
    let gap: GapMail = { mails: [], wake: false };
    this.#service.guarded(() => {
      if (isGap) claimArrivals(state);
    });
    this.#service.guarded(() => {
      confirmRead(state);
      gap = deliverGap(state, isGap ? "gap" : "text");
    });
    return gap;
  }

  /** One part of a run has ended; `aborted` when its signal says that the user stopped it. */
  runEnded(aborted: boolean): void {
    this.#aborted ||= aborted;
  }

  /** The run has settled: answers go out, and mail that waited for it starts the next (S6.9). */
  settled(aborted: boolean): void {
    const state = this.#state;
    const stopped = aborted || this.#aborted;
    this.#aborted = false;
    // A run that never began has nothing to answer.
    if (!state.running) return;
    if (outcomeOf(state.ending, stopped).status !== "stopped") this.#settle(stopped);
    else {
      // Pi stops a run before it closes a session, too, and closes it in the same turn of the
      // event loop. That is not the user's stop: what is owed and unread then stays so (S6.7).
      this.#cancelStop = state.clock.soon(() => {
        this.settleStopped();
      });
    }
  }

  /**
   * Settles the run that was stopped, if that is still to be done: before mail that has come
   * since is claimed, which would otherwise be taken for unread at the stop (S6.6).
   */
  settleStopped(): void {
    if (!this.#cancelStop) return;
    this.#cancelStop();
    this.#cancelStop = undefined;
    this.#settle(true);
  }

  #settle(stopped: boolean): void {
    const state = this.#state;
    state.running = false;
    // Without a message of the model there is no answer: what is owed stays owed.
    if (stopped || state.ending.stopReason !== "") {
      this.#service.guarded(() => {
        settleRun(state, stopped);
      });
    }
    // Also for a run that was not this mailbox's to answer, or could not be seen to.
    state.hops = NO_HOPS;
    state.ending = NO_ENDING;
    state.settledAt = state.clock.elapsed();
    this.#service.guarded(() => {
      this.#service.presence.showState("idle");
    });
    // Not from inside Pi's handlers: a waking message sent there would be put into a queue.
    this.#lookLater(
      state.clock.soon(() => {
        this.#service.look();
      }),
    );
  }

  /** A compaction has ended, well or not; without a run there was no other boundary. */
  compacted(): void {
    this.#lookAfter(AFTER_COMPACTION);
  }

  renamed(): void {
    this.#service.guarded(() => {
      this.#service.presence.show();
    });
  }

  /** Nothing more happens by itself. */
  close(): void {
    this.#cancelLook();
    this.#cancelStop?.();
    this.#cancelStop = undefined;
  }

  #lookAfter(milliseconds: number): void {
    this.#lookLater(
      this.#state.clock.after(milliseconds, () => {
        this.#service.look();
      }),
    );
  }

  #lookLater(cancel: Cancel): void {
    this.#cancelLook();
    this.#cancelLook = cancel;
  }
}
