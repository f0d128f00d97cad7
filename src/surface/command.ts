import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { errorText } from "../mail/errors.ts";
import type { Mailbox } from "../mailbox/mailbox.ts";
import { cleanValue } from "../text.ts";
import { tellUser } from "./pi.ts";
import type { Session } from "./session.ts";
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
  "/mailbox alone for this session's address; /mailbox prune to remove the mailboxes of closed sessions.";

/** Registers `/mailbox` (S8.1). */
export function registerCommand(pi: ExtensionAPI, session: Session): void {
  pi.registerCommand("mailbox", {
    description: "Mail another Pi session: /mailbox <to> <text>",
    handler: (args, context) => {
      try {
        tellUser(context, answerTo(parseCommand(args), session), "info");
      } catch (error) {
        tellUser(context, errorText(error), "error");
      }
      return Promise.resolve();
    },
  });

  function answerTo(command: Command, { mailbox }: Session): string {
    switch (command.do) {
      case "show": {
        const name = pi.getSessionName();
        const called = name === undefined ? "has no name" : `is called ${cleanValue(name)}`;
        return `This session ${called}; its address is ${mailbox.address}`;
      }
      case "subcommand":
        if (command.name !== "prune") {
          throw new Error(`/mailbox ${cleanValue(command.name)} needs a text. ${USAGE}`);
        }
        return `Removed ${String(mailbox.prune())} mailbox folders of closed sessions`;
      case "send": {
        const { address } = recipientOf(mailbox, command.to);
        const { id } = mailbox.send({ to: address, kind: "request", hops: 0, body: command.text });
        return `Sent ${id} to ${address}`;
      }
    }
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
