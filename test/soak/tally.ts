/** The ledger of every mail of a soak: sent = read = answered, none twice. */
import type { Envelope } from "../../src/mail/envelope.ts";
import type { Evidence, Filed, Reading } from "./evidence.ts";
import { tokensIn } from "./plan.ts";

/** One mail, and all that is known of it. */
export interface Account {
  readonly envelope: Envelope;
  readonly confirmed: boolean;
  /** Where it lies, in its recipient's boxes. */
  readonly delivered: readonly Filed[];
  readonly copies: readonly Filed[];
  readonly readings: readonly Reading[];
  /** The replies that name it. */
  readonly replies: readonly Envelope[];
}

/** How the answer begins that S6.6 gives to what was not read. */
const NOT_READ = "(Nothing was done: ";

/** Every mail that left any trace, by id. */
export function accountsOf({ filed, readings, confirmed }: Evidence): Map<string, Account> {
  const filedBy = Map.groupBy(filed, ({ envelope }) => envelope.id);
  const readingsBy = Map.groupBy(readings, ({ id }) => id);
  const replies = new Map<string, Envelope[]>();
  for (const [, [first]] of filedBy) {
    for (const id of first?.envelope.in_reply_to ?? [])
      replies.set(id, [...(replies.get(id) ?? []), first!.envelope]);
  }
  return new Map(
    [...filedBy].map(([id, files]) => [
      id,
      {
        envelope: files[0]!.envelope,
        confirmed: confirmed.has(id),
        delivered: files.filter(({ box }) => box !== "sent"),
        copies: files.filter(({ box }) => box === "sent"),
        readings: readingsBy.get(id) ?? [],
        replies: replies.get(id) ?? [],
      },
    ]),
  );
}

/** Whether a mail was refused because its reader was stopped first (S6.6). */
export function wasRefused({ replies }: Account): boolean {
  return replies.some(({ status, body }) => status === "failed" && body.startsWith(NOT_READ));
}

/** How often a mail entered a conversation. */
export function timesRead({ readings }: Account): number {
  return readings.filter(({ as }) => as !== "answered").length;
}

/** What is wrong with one mail; empty when its story is one that the specification allows. */
export function faultsOf(
  account: Account,
  accounts: ReadonlyMap<string, Account>,
  evidence: Evidence,
): string[] {
  const { envelope, delivered, readings } = account;
  if (delivered.length === 0) return account.confirmed ? ["confirmed and not delivered"] : [];
  const faults: string[] = [];
  const expect = (holds: boolean, fault: string): void => {
    if (!holds) faults.push(fault);
  };
  const reader = evidence.witnesses.find(({ participant }) => participant.address === envelope.to);
  expect(delivered.length === 1, "delivered more than once");
  expect(
    delivered.every(({ box }) => box === "cur"),
    "never claimed",
  );
  expect(reader !== undefined, "sent to nobody");
  expect(
    readings.every(({ session }) => session === envelope.to),
    "read by another session",
  );
  if (wasRefused(account)) {
    expect(timesRead(account) === 0, "refused as not read, and read");
    // Killed between the answer and the mark, a session has the answer alone.
    const marked = readings.length === 1 || reader?.participant.wasKilled === true;
    expect(marked, "refused, and not marked once");
  } else expect(timesRead(account) === 1, `read ${timesRead(account)} times`);
  switch (envelope.kind) {
    case "request":
    case "ask":
      faults.push(...faultsOfReplies(account, evidence));
      break;
    case "message":
      expect(account.replies.length === 0, "a message with an answer");
      break;
    case "reply":
      faults.push(...faultsOfAnswered(account, accounts));
  }
  return faults;
}

function faultsOfReplies({ envelope, replies }: Account, evidence: Evidence): string[] {
  const [reply] = replies;
  if (replies.length !== 1 || reply === undefined) return [`answered ${replies.length} times`];
  const faults: string[] = [];
  if (reply.from !== envelope.to || reply.to !== envelope.from) faults.push("answered by another");
  if (envelope.kind === "request" && reply.status === "stopped")
    faults.push("a request answered `stopped`");
  const reader = evidence.witnesses.find(({ participant }) => participant.address === envelope.to);
  const [token = ""] = tokensIn(envelope.body);
  if (reply.status === "done" && reader?.mind.hadSeen(token, reply.body) === false)
    faults.push("answered with a text from before it was read");
  return faults;
}

function faultsOfAnswered({ envelope }: Account, accounts: ReadonlyMap<string, Account>): string[] {
  if (envelope.in_reply_to.length === 0) return ["a reply to nothing"];
  return envelope.in_reply_to.flatMap((id) => {
    const asked = accounts.get(id);
    const isThere = asked !== undefined && asked.delivered.length > 0;
    return isThere ? [] : [`a reply to ${id}, which was never delivered`];
  });
}
