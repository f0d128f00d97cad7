import type { Outcome } from "./settle.ts";

/** What is kept of a model's message to tell how its run ended. */
export interface Ending {
  readonly text: string;
  readonly stopReason: string;
  readonly error: string | undefined;
}

/** The run that is on, or the one that starts next: nothing that was said in it yet. */
export const NO_ENDING: Ending = { text: "", stopReason: "", error: undefined };

/** After one more message of the model; a message without a text leaves the last text standing. */
export function withMessage(ending: Ending, message: Ending): Ending {
  return { ...message, text: message.text.trim() ? message.text : ending.text };
}

/**
 * How the run ended (S6.2 to S6.4).
 *
 * @param aborted whether the user stopped it, as far as Pi tells. A run whose last message is
 * complete has completed, even when the stop came while Pi was still at work behind it.
 */
export function outcomeOf(ending: Ending, aborted: boolean): Outcome {
  const { text, stopReason, error } = ending;
  if (stopReason === "aborted") return { status: "stopped", text };
  if (aborted && stopReason !== "stop") return { status: "stopped", text };
  if (stopReason === "error") return { status: "failed", text, error: error ?? "no reason given" };
  return { status: "done", text };
}
