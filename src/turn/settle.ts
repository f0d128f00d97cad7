import { type Envelope, MAX_ANSWERED, type ReplyStatus } from "../mail/envelope.ts";

/** How a run ended, and the last text its model wrote, which may be empty. */
export type Outcome =
  | { readonly status: "done"; readonly text: string }
  | { readonly status: "stopped"; readonly text: string }
  | { readonly status: "failed"; readonly text: string; readonly error: string };

/** A request or ask that the conversation has read and nobody has answered. */
export interface Debt {
  readonly id: string;
  readonly from: string;
  readonly kind: "request" | "ask";
  /** The user stopped a run on it (S6.5). */
  readonly held: boolean;
  /** The session was closed since it was read (S6.7). */
  readonly closed: boolean;
}

/** An answer to send: what becomes of it is up to the sender of replies. */
export interface Answer {
  readonly to: string;
  readonly in_reply_to: readonly string[];
  readonly status: ReplyStatus;
  readonly body: string;
}

/** What a settled run comes to. */
export interface Settlement<T extends Debt> {
  readonly answers: readonly Answer[];
  /** What is still owed. */
  readonly owed: readonly T[];
}

/** Opens the answer to a held request (S6.5). Other programs recognise it by the letter. */
export const HELD =
  "(The user stopped an earlier run partway and took over; the answer that follows is from the run that completed after that.)";

/** Opens the answer to a request that was read before the session was closed (S6.7). */
export const CLOSED =
  "(This session was closed after it had read this and before it had answered; the answer that follows is from the run that completed after it was opened again.)";

const NO_TEXT = "(The run completed without a text.)";
const STOPPED = "(The user stopped the run before it had an answer.)";
const PARTIAL = "What it had written until then:";
const NOT_READ =
  "(Nothing was done: the user stopped the session before it had read this. Send it again if it still matters.)";

/**
 * Who is answered when a run settles, and with what.
 *
 * A run that completed answers all that is owed (S6.1, S6.2). A stopped one answers its asks at
 * once (S6.4) and holds its requests (S6.5). A failed one answers what it was the first run for
 * (S6.3). What is held, or was read before the session was closed, is owed until a run completes
 * (S6.5, S6.7). Each debt is answered once or still owed, never both and never neither.
 */
export function settle<T extends Debt>(owed: readonly T[], outcome: Outcome): Settlement<T> {
  const patient = (debt: T): boolean => debt.held || debt.closed;
  switch (outcome.status) {
    case "done":
      return { answers: answersTo(owed, outcome), owed: [] };
    case "failed":
      return {
        answers: answersTo(
          owed.filter((debt) => !patient(debt)),
          outcome,
        ),
        owed: owed.filter(patient),
      };
    case "stopped":
      return {
        answers: answersTo(
          owed.filter((debt) => debt.kind === "ask" && !patient(debt)),
          outcome,
        ),
        owed: owed
          .filter((debt) => debt.kind === "request" || patient(debt))
          .map((debt) => ({ ...debt, held: true })),
      };
  }
}

/** The answers to requests and asks that a stopped session never read (S6.6). */
export function refuseUnread(unread: readonly Envelope[]): Answer[] {
  return unread.map(({ id, from }) => ({
    to: from,
    in_reply_to: [id],
    status: "failed",
    body: NOT_READ,
  }));
}

/** One answer for each sender's requests and one for its asks, in as many parts as it takes (S6.1). */
function answersTo(debts: readonly Debt[], outcome: Outcome): Answer[] {
  const groups = new Map<string, [Debt, ...Debt[]]>();
  for (const debt of debts) {
    const key = `${debt.kind} ${debt.from}`;
    const group = groups.get(key);
    if (group) group.push(debt);
    else groups.set(key, [debt]);
  }
  return [...groups.values()].flatMap((group) =>
    parts(group, MAX_ANSWERED).map((part) => ({
      to: group[0].from,
      in_reply_to: part.map(({ id }) => id),
      status: outcome.status,
      body: bodyFor(part, outcome),
    })),
  );
}

function parts<T>(list: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(list.length / size) }, (_, part) =>
    list.slice(part * size, (part + 1) * size),
  );
}

function bodyFor(debts: readonly Debt[], outcome: Outcome): string {
  const text = outcome.text.trim();
  switch (outcome.status) {
    case "done": {
      const opening = [
        ...(debts.some(({ held }) => held) ? [HELD] : []),
        ...(debts.some(({ closed }) => closed) ? [CLOSED] : []),
      ];
      return [...opening, text || NO_TEXT].join("\n\n");
    }
    case "stopped":
      return text ? `${STOPPED}\n\n${PARTIAL}\n\n${text}` : STOPPED;
    case "failed": {
      const error = `(The run failed: ${outcome.error})`;
      return text ? `${error}\n\n${PARTIAL}\n\n${text}` : error;
    }
  }
}
