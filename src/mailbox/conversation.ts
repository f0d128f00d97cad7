import type { Cancel } from "../clock.ts";
import { NO_HOPS, withUser } from "../turn/hops.ts";
import { type Ending, NO_ENDING, outcomeOf, withMessage } from "../turn/run.ts";
import { claimArrivals } from "./arrivals.ts";
import { confirmRead, deliverGap, deliverWithPrompt } from "./delivery.ts";
import type { Injection } from "./host.ts";
import type { Presence } from "./presence.ts";
import { settleRun } from "./settlement.ts";
import type { MailboxState } from "./state.ts";

/** How long a prompt that the user typed during a compaction has to go first. */
const AFTER_COMPACTION = 100;

/** How long a prompt may take from its input to its run; mail that wakes would get in its way. */
const PROMPT_STARTS = 2000;

/** Mail that enters at a `turn_end`, and whether a request must follow on it. */
export interface GapMail {
  readonly mails: readonly Injection[];
  readonly wake: boolean;
}

/** What the events of a conversation need of the mailbox around them. */
export interface Surroundings {
  readonly state: MailboxState;
  readonly presence: Presence;
  /** Runs what must not crash Pi. */
  readonly guarded: (run: () => void) => void;
  /** Does all that is due. */
  readonly look: () => void;
}

/** What each moment of a session's conversation means for its mail. No method throws. */
export class Conversation {
  readonly #in: Surroundings;
  #aborted = false;
  #cancelLook: Cancel = () => undefined;
  #cancelStop: Cancel | undefined;

  constructor(surroundings: Surroundings) {
    this.#in = surroundings;
  }

  /** Whether a run is on. */
  get isRunning(): boolean {
    return this.#in.state.running;
  }

  /** The user has typed something that starts or steers a run (S10.1). */
  userSpoke(): void {
    const { state, guarded, look } = this.#in;
    this.settleStopped();
    state.hops = withUser(state.hops);
    if (state.host.canWake) {
      if (state.running) return;
      state.promptUntil = state.clock.elapsed() + PROMPT_STARTS;
      this.#lookLater(state.clock.after(PROMPT_STARTS, look));
      return;
    }
    guarded(() => {
      claimArrivals(state);
      deliverWithPrompt(state);
    });
  }

  runStarted(): void {
    const { state } = this.#in;
    this.settleStopped();
    if (state.running) return;
    state.running = true;
    state.promptUntil = 0;
    this.#in.guarded(() => {
      this.#in.presence.show({ state: "busy" });
    });
  }

  /** The model's message is whole, in part or in error. */
  messageEnded(message: Ending): void {
    const { state } = this.#in;
    state.ending = withMessage(state.ending, message);
  }

  /** A model request is about to be made: what entered at the gap before it is in the session. */
  turnStarted(): void {
    this.#in.guarded(() => {
      confirmRead(this.#in.state);
    });
  }

  /**
   * A turn has ended.
   *
   * @param isGap whether tool results stand there, so that a request follows and mail may enter.
   * @returns the mail to enter behind them.
   */
  turnEnded(isGap: boolean): GapMail {
    const { state, guarded } = this.#in;
    let gap: GapMail = { mails: [], wake: false };
    guarded(() => {
      if (isGap) claimArrivals(state);
    });
    guarded(() => {
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
    const { state } = this.#in;
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
    const { state, presence, guarded, look } = this.#in;
    state.running = false;
    // Without a message of the model there is no answer: what is owed stays owed.
    if (stopped || state.ending.stopReason !== "") {
      guarded(() => {
        settleRun(state, stopped);
      });
    }
    // Also for a run that was not this mailbox's to answer, or could not be seen to.
    state.hops = NO_HOPS;
    state.ending = NO_ENDING;
    state.settledAt = state.clock.elapsed();
    guarded(() => {
      presence.show({ state: "idle" });
    });
    // Not from inside Pi's handlers: a waking message sent there would be put into a queue.
    this.#lookLater(state.clock.soon(look));
  }

  /** A compaction has ended, well or not; without a run there was no other boundary. */
  compacted(): void {
    const { state, look } = this.#in;
    this.#lookLater(state.clock.after(AFTER_COMPACTION, look));
  }

  renamed(): void {
    this.#in.guarded(() => {
      this.#in.presence.show();
    });
  }

  /** Nothing more happens by itself. */
  close(): void {
    this.#cancelLook();
    this.#cancelStop?.();
    this.#cancelStop = undefined;
  }

  #lookLater(cancel: Cancel): void {
    this.#cancelLook();
    this.#cancelLook = cancel;
  }
}
