import { type ExtensionCommandContext, getAgentDir } from "@earendil-works/pi-coding-agent";
import type { Clock } from "../clock.ts";
import { examine } from "../mailbox/doctor.ts";
import type { Mailbox } from "../mailbox/mailbox.ts";
import { runningRecords } from "../sessions/record.ts";
import { cleanValue } from "../text.ts";
import { doctorLines, versions } from "./doctor.ts";
import { type Command, parseCommand } from "./parse.ts";
import { tellUser } from "./pi.ts";
import { everything, inboxText, sentText } from "./report.ts";
import { openScreen } from "./screen/open.ts";
import { sourceOf } from "./screen/source.ts";
import type { Session } from "./session.ts";
import { isSubcommand, nearestSubcommand, SUBCOMMANDS } from "./subcommands.ts";
import { findRecipient, type Recipient } from "./tools/checks.ts";

const USAGE =
  'Use /mailbox <to> <text> to send a request, with "quotes" around a name with blanks; ' +
  `/mailbox alone for this session's address, sessions and mail; ${Object.entries(SUBCOMMANDS)
    .map(([name, does]) => `/mailbox ${name}: ${does}`)
    .join("; ")}.`;

export { completerFor } from "./completer.ts";

/** Where `/mailbox` was typed. */
export interface Invocation {
  readonly session: Session;
  /** Of the session. */
  readonly name: string | undefined;
  readonly context: ExtensionCommandContext;
  readonly clock: Clock;
}

/**
 * Does what was typed behind `/mailbox` and tells the user; returns when the screen is closed, where
 * one was opened.
 *
 * @throws what keeps it from being done.
 */
export async function carryOut(args: string, invocation: Invocation): Promise<void> {
  const { session, name, context, clock } = invocation;
  const command = parseCommand(args);
  if (command.do === "show" && context.mode === "tui") {
    await openScreen(context, sourceOf(session, name), clock);
  } else tellUser(context, answerTo(command, invocation), "info");
}

function answerTo(command: Command, invocation: Invocation): string {
  const { session, name } = invocation;
  switch (command.do) {
    case "show":
      return everything(session.mailbox, name);
    case "subcommand":
      return runSubcommand(command.name, invocation);
    case "send": {
      const { mailbox } = session;
      const { address } = recipientOf(mailbox, command.to);
      const { id } = mailbox.send({ to: address, kind: "request", hops: 0, body: command.text });
      return `Sent ${id} to ${address}`;
    }
  }
}

function runSubcommand(word: string, invocation: Invocation): string {
  const { session } = invocation;
  if (!isSubcommand(word)) throw new Error(whyNoSubcommand(session.mailbox, word));
  switch (word) {
    case "inbox":
      return inboxText(session.mailbox);
    case "sent":
      return sentText(session.mailbox);
    case "doctor":
      return diagnose(invocation);
    case "prune":
      return `Removed ${String(session.mailbox.prune())} mailbox folders of closed sessions`;
  }
}

/** What there is to know when mail does not come, with or without a mailbox (S18.4). */
function diagnose({ session, context, clock }: Invocation): string {
  const { off } = session;
  const facts = examine({
    address: context.sessionManager.getSessionId(),
    agentFolder: getAgentDir(),
    now: clock.now(),
    ...(off === undefined ? { own: session.mailbox.ownFacts() } : {}),
  });
  return doctorLines(facts, off, versions()).join("\n");
}

/** Why a lone word does nothing: it is a session, which wants a text, or nothing at all. */
function whyNoSubcommand(mailbox: Mailbox, word: string): string {
  const shown = cleanValue(word);
  if (isRecipient(mailbox, word)) {
    return `/mailbox ${/\s/.test(shown) ? `"${shown}"` : shown} needs a text for that session: /mailbox <to> <text>.`;
  }
  const near = nearestSubcommand(word);
  const hint = near === undefined ? "" : ` Did you mean /mailbox ${near}?`;
  return `/mailbox has no subcommand ${JSON.stringify(shown)}.${hint} ${USAGE}`;
}

function isRecipient(mailbox: Mailbox, word: string): boolean {
  try {
    const running = runningRecords();
    if (running.some(({ name }) => name === word)) return true;
    findRecipient(mailbox, word, running);
    return true;
  } catch {
    return false;
  }
}

/** @throws an error that names the open quote, where that is why there is no such session. */
function recipientOf(mailbox: Mailbox, to: string): Recipient {
  try {
    return findRecipient(mailbox, to);
  } catch (error) {
    if (!to.startsWith('"')) throw error;
    throw new Error(`Nothing was sent: the quote before the name is not closed. ${USAGE}`, {
      cause: error,
    });
  }
}
