import { mailboxesByActivity } from "../mail/activity.ts";
import { runningRecords } from "../sessions/record.ts";
import { type Choices, type Completion, completions } from "./completion.ts";
import type { Session } from "./session.ts";

/** How long what there is to choose from is not looked up again while somebody types, in ms. */
const FRESH = 1000;

/** Completes what is typed behind `/mailbox` (S18.3). Never throws; without a mailbox there is less. */
export function completerFor(session: Session): (typed: string) => Completion[] | null {
  let last: { readonly choices: Choices; readonly at: number } | undefined;
  const look = (): Choices => {
    const { address, clock } = session.mailbox;
    const at = clock.elapsed();
    if (last?.choices.self === address && at - last.at < FRESH) return last.choices;
    const running = runningRecords();
    const open = new Set([address, ...running.map((other) => other.address)]);
    const closed = mailboxesByActivity((other) => open.has(other));
    last = { choices: { self: address, running, closed, now: clock.now() }, at };
    return last.choices;
  };
  return (typed) => {
    const found = completions(typed, choicesOf(look));
    return found.length === 0 ? null : found;
  };
}

function choicesOf(look: () => Choices): Choices {
  try {
    return look();
  } catch {
    return { self: "", running: [], closed: [], now: 0 };
  }
}
