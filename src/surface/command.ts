import {
  type ExtensionAPI,
  type ExtensionCommandContext,
  type ExtensionContext,
  getAgentDir,
} from "@earendil-works/pi-coding-agent";
import { errorText } from "../mail/errors.ts";
import { examine } from "../mailbox/doctor.ts";
import type { Mailbox } from "../mailbox/mailbox.ts";
import { runningRecords } from "../sessions/record.ts";
import { cleanValue } from "../text.ts";
import { completerFor } from "./completer.ts";
import { doctorLines, versions } from "./doctor.ts";
import { tellUser } from "./pi.ts";
import { everything, inboxText, sentText } from "./report.ts";
import type { Session } from "./session.ts";
import { isSubcommand, nearestSubcommand, SUBCOMMANDS } from "./subcommands.ts";
import { findRecipient, type Recipient } from "./tools/checks.ts";

/** What was typed behind `/mailbox`. */
export type Command =
  | { readonly do: "show" }
  | { readonly do: "subcommand"; readonly name: string }
  | { readonly do: "send"; readonly to: string; readonly text: string };

/** A recipient, in quotes when it has blanks (S4.6), and the text behind it, line ends and all. */
const ADDRESSED = /^(?:"([^"]+)"|(\S+))(?:\s+(\S[\s\S]*))?$/;

/** Reads the arguments of `/mailbox`. A lone word is a subcommand, never a recipient (S8.1). */
export function parseCommand(args: string): Command {
  const match = ADDRESSED.exec(args.trim());
  const [, inQuotes, word, text] = match ?? [];
  const to = inQuotes ?? word;
  if (to === undefined) return { do: "show" };
  return text === undefined ? { do: "subcommand", name: to } : { do: "send", to, text };
}

const USAGE =
  'Use /mailbox <to> <text> to send a request, with "quotes" around a name with blanks; ' +
  `/mailbox alone for this session's address, sessions and mail; ${Object.entries(SUBCOMMANDS)
    .map(([name, does]) => `/mailbox ${name}: ${does}`)
    .join("; ")}.`;

/** Registers `/mailbox` (S8.1, S18). */
export function registerCommand(pi: ExtensionAPI, session: Session): void {
  pi.registerCommand("mailbox", {
    description: "Look at this session's mail, or mail another Pi session: /mailbox <to> <text>",
    getArgumentCompletions: completerFor(session),
    handler: async (args, context) => {
      try {
        const command = parseCommand(args);
        if (command.do === "show" && context.mode === "tui") await showScreen(context);
        else tellUser(context, answerTo(command, context), "info");
      } catch (error) {
        tellUser(context, errorText(error), "error");
      }
    },
  });

  async function showScreen(context: ExtensionCommandContext): Promise<void> {
    // Not before it is wanted: Pi's start would pay for it.
    const [{ openScreen }, { sourceOf }] = await Promise.all([
      import("./screen/open.ts"),
      import("./screen/source.ts"),
    ]);
    await openScreen(context, sourceOf(session, pi.getSessionName()));
  }

  function answerTo(command: Command, context: ExtensionContext): string {
    switch (command.do) {
      case "show":
        return everything(session.mailbox, pi.getSessionName());
      case "subcommand":
        return runSubcommand(command.name, session, context);
      case "send": {
        const { mailbox } = session;
        const { address } = recipientOf(mailbox, command.to);
        const { id } = mailbox.send({ to: address, kind: "request", hops: 0, body: command.text });
        return `Sent ${id} to ${address}`;
      }
    }
  }
}

function runSubcommand(word: string, session: Session, context: ExtensionContext): string {
  if (!isSubcommand(word)) throw new Error(`${whyNoSubcommand(session.mailbox, word)} ${USAGE}`);
  switch (word) {
    case "inbox":
      return inboxText(session.mailbox);
    case "sent":
      return sentText(session.mailbox);
    case "doctor":
      return diagnose(session, context);
    case "prune":
      return `Removed ${String(session.mailbox.prune())} mailbox folders of closed sessions`;
  }
}

/** What there is to know when mail does not come, with or without a mailbox (S18.4). */
function diagnose(session: Session, { sessionManager }: ExtensionContext): string {
  const { off } = session;
  const facts =
    off === undefined
      ? session.mailbox.examine()
      : examine({
          address: sessionManager.getSessionId(),
          agentFolder: getAgentDir(),
          now: Date.now(),
        });
  return doctorLines(facts, off, versions()).join("\n");
}

/** Why a lone word does nothing: it is a session, which wants a text, or nothing at all. */
function whyNoSubcommand(mailbox: Mailbox, word: string): string {
  const shown = cleanValue(word);
  if (isRecipient(mailbox, word)) return `/mailbox ${shown} needs a text for that session.`;
  const near = nearestSubcommand(word);
  const hint = near === undefined ? "" : ` Did you mean /mailbox ${near}?`;
  return `/mailbox has no subcommand ${JSON.stringify(shown)}.${hint}`;
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
