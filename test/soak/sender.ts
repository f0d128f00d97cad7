/** Sends one planned mail, again and again until its sender is told that it was sent. */
import { setTimeout as delay } from "node:timers/promises";
import { textOf, type PiEvent, type PiSession } from "../host/session.ts";
import { bodyOf, recipientOf } from "./mind.ts";
import type { Participant } from "./participant.ts";
import { asTried, tokenOf, type PlannedMail } from "./plan.ts";
import { receiptsIn } from "./receipts.ts";

/** What became of one try, as far as its sender can tell. */
type Fate = "sent" | "refused" | "lost";

/** Long enough for a second process to take over, or for a start on a slow machine. */
const PATIENCE = 60_000;

/** How long an idle session is given to begin with a prompt. */
const ABOUT_TO_BEGIN = 200;

/**
 * Sends a mail. A try that was refused or lost is followed by another with a token of its own, so that what became of each is known.
 *
 * @param tried is told of every try.
 */
export async function sendPlanned(
  participant: Participant,
  addresses: readonly string[],
  mail: PlannedMail,
  tried: () => void,
): Promise<void> {
  const end = performance.now() + PATIENCE;
  for (let attempt = 1; ; attempt++) {
    const how = asTried(mail, attempt);
    const token = tokenOf(mail, attempt);
    const fate = await participant.exclusively(async () => {
      const session = await participant.session;
      try {
        return await trySending(session, how, recipientOf(how, addresses), token);
      } catch (error) {
        if (session.running && performance.now() > end) throw error;
        return "lost";
      }
    });
    if (attempt === 1) tried();
    if (fate === "sent") return;
    if (performance.now() > end) throw new Error(`${participant.name} cannot send ${token}`);
    await delay(20);
  }
}

function trySending(
  session: PiSession,
  { way }: PlannedMail,
  to: string,
  token: string,
): Promise<Fate> {
  const body = bodyOf(token);
  switch (way) {
    case "command":
      return type(session, `/mailbox ${to} ${body}`);
    case "hook":
      return type(session, `/emit message:send ${JSON.stringify({ to, body })}`);
    case "send":
    case "ask":
      return tellModel(session, `Please ${way} this to ${to}: ${token}`, token);
  }
}

async function type(session: PiSession, command: string): Promise<Fate> {
  const mark = session.mark();
  await session.command(command);
  return receiptsIn(session.events.slice(mark)).length > 0 ? "sent" : "refused";
}

/** Prompts, or steers the run that is on, and waits until the model's mail is sent or cannot be any more. */
async function tellModel(session: PiSession, text: string, token: string): Promise<Fate> {
  const start = session.mark();
  await session.prompt(text, "steer");
  for (;;) {
    const seen = session.mark();
    const events = session.events.slice(start, seen);
    const fate = fateIn(events, token);
    if (fate !== undefined) return fate;
    const { isStreaming, pendingMessageCount } = await session.state();
    if (events.some(isSettled) && !isStreaming && pendingMessageCount === 0) {
      // A run has ended, and the one for this prompt may be about to begin.
      await delay(ABOUT_TO_BEGIN);
      if (session.mark() === seen) return "lost";
      continue;
    }
    await session.waitFor(
      (event) => isSettled(event) || isTold(event, token),
      `mail ${token} or an end`,
      { since: seen },
    );
  }
}

function isSettled({ type }: PiEvent): boolean {
  return type === "agent_settled";
}

/** Whether an event is of the tool call that sends the token. */
function isTold(event: PiEvent, token: string): boolean {
  return (
    event.type.startsWith("tool_execution_") && JSON.stringify(event["args"] ?? "").includes(token)
  );
}

function fateIn(events: readonly PiEvent[], token: string): Fate | undefined {
  const calls = new Set(
    events.filter((event) => isTold(event, token)).map((event) => event["toolCallId"]),
  );
  const ofCall = events.filter((event) => calls.has(event["toolCallId"]));
  if (receiptsIn(ofCall).length > 0) return "sent";
  const end = ofCall.find(({ type }) => type === "tool_execution_end");
  if (end === undefined) return undefined;
  return textOf(end["result"] as never).includes("Nothing was sent") ? "refused" : "lost";
}
