import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import type { Clock } from "../clock.ts";
import { errorText } from "../mail/errors.ts";
import type { completerFor } from "./completer.ts";
import type { Completion } from "./completion.ts";
import { tellUser } from "./pi.ts";
import type { Session } from "./session.ts";

/**
 * Registers `/mailbox` (S8.1, S18). What it does is loaded when it is wanted: Pi's start would pay
 * for it.
 */
export function registerCommand(pi: ExtensionAPI, session: Session, clock: Clock): void {
  pi.registerCommand("mailbox", {
    description: "Look at this session's mail, or mail another Pi session: /mailbox <to> <text>",
    getArgumentCompletions: completeLater(session),
    handler: async (args, context) => {
      try {
        const { carryOut } = await import("./carry-out.ts");
        await carryOut(args, { session, name: pi.getSessionName(), context, clock });
      } catch (error) {
        tellUser(context, errorText(error), "error");
      }
    },
  });
}

/** Never rejects, which would end Pi: the files of this package may be replaced while it runs. */
function completeLater(session: Session): (typed: string) => Promise<Completion[] | null> {
  let complete: ReturnType<typeof completerFor> | undefined;
  return async (typed) => {
    try {
      complete ??= (await import("./completer.ts")).completerFor(session);
      return complete(typed);
    } catch {
      return null;
    }
  };
}
