import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { errorText } from "../mail/errors.ts";
import { tellUser } from "./pi.ts";
import type { Session } from "./session.ts";

/**
 * Registers `/mailbox` (S8.1, S18). What it does is loaded when it is wanted: Pi's start would pay
 * for it.
 */
export function registerCommand(pi: ExtensionAPI, session: Session): void {
  let completer: ReturnType<typeof loadCompleter> | undefined;
  pi.registerCommand("mailbox", {
    description: "Look at this session's mail, or mail another Pi session: /mailbox <to> <text>",
    getArgumentCompletions: async (typed) => {
      completer ??= loadCompleter(session);
      return (await completer)(typed);
    },
    handler: async (args, context) => {
      try {
        const { carryOut } = await import("./carry-out.ts");
        await carryOut(args, { session, name: pi.getSessionName(), context });
      } catch (error) {
        tellUser(context, errorText(error), "error");
      }
    },
  });
}

async function loadCompleter(session: Session) {
  const { completerFor } = await import("./completer.ts");
  return completerFor(session);
}
