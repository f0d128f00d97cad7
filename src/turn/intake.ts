import type { Envelope } from "../mail/envelope.ts";

/** Mail that was claimed and has not entered the conversation, as far as entering it goes. */
export interface Incoming {
  readonly envelope: Envelope;
  /** A reply that answers an ask which had stopped waiting. */
  readonly late: boolean;
}

/**
 * The moments at which mail may enter:
 * `idle`, no run; `starting`, no run, and one is about to start by itself (print mode);
 * `gap`, between a turn's tool results and the next model request; `text`, a run's last text is
 * there; `stopped`, the user has stopped the run.
 */
export type Boundary = "idle" | "starting" | "gap" | "text" | "stopped";

/** What enters, in order, and whether a model request must follow on it. */
export interface Intake<T extends Incoming> {
  readonly enter: readonly T[];
  readonly wake: boolean;
}

/** Whether mail is the cause of a model request: all but a reply nobody waited for (S5.3). */
export function wakes(mail: Incoming): boolean {
  return mail.envelope.kind !== "reply" || mail.late;
}

/** Whether mail asks for an answer that its session then owes (S6.1). */
export function isOwed(envelope: Envelope): envelope is Envelope & { kind: "request" | "ask" } {
  return envelope.kind === "request" || envelope.kind === "ask";
}

/**
 * Which of the unread mail enters the conversation at a boundary.
 *
 * All of it enters together, in order of sending, at the cost of one request (S5.6). None enters
 * behind a run's last text, whose place as the answer it would take (S6.9). After a stop nothing
 * starts (S6.6), and what asks for an answer does not enter: it is answered `failed`.
 */
export function intake<T extends Incoming>(unread: readonly T[], boundary: Boundary): Intake<T> {
  switch (boundary) {
    case "text":
      return { enter: [], wake: false };
    case "stopped":
      return { enter: unread.filter(({ envelope }) => !isOwed(envelope)), wake: false };
    case "starting":
      return { enter: unread, wake: false };
    case "idle":
    case "gap":
      return { enter: unread, wake: unread.some(wakes) };
  }
}
