import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import type { Clock } from "../clock.ts";
import { errorText } from "../mail/errors.ts";
import type { Completion } from "./completion.ts";
import { tellUser } from "./pi.ts";
import type { Session } from "./session.ts";

/**
 * Registers `/mailbox` (S8.1, S18). What it does is loaded when it is wanted: Pi's start would pay
 * for it.
 */
export function registerCommand(pi: ExtensionAPI, session: Session, clock: Clock): void {
  const load = once(() => import("./carry-out.ts"));
  const completer = once(async () => (await load()).completerFor(session));
  pi.registerCommand("mailbox", {
    description: "Look at this session's mail, or mail another Pi session: /mailbox <to> <text>",
    getArgumentCompletions: async (typed): Promise<Completion[] | null> => {
      try {
        return (await completer())(typed);
      } catch {
        // Pi would end: nobody catches it there.
        return null;
      }
    },
    handler: async (args, context) => {
      try {
        const { carryOut } = await load();
        await carryOut(args, { session, name: pi.getSessionName(), context, clock });
      } catch (error) {
        tellUser(context, errorText(error), "error");
      }
    },
  });
}

/**
 * Loads something the first time that it is called for, until that has succeeded. Pi's loader gives
 * out a module half made when it is asked for while it is being loaded, so it is asked once.
 *
 * @throws an error that says what to do: the package's files may be replaced while Pi runs.
 */
function once<T>(load: () => Promise<T>): () => Promise<T> {
  let loading: Promise<T> | undefined;
  return async () => {
    try {
      return await (loading ??= load());
    } catch (error) {
      loading = undefined;
      const why = errorText(error);
      throw new Error(`/mailbox cannot be loaded (${why}); /reload loads the package anew.`, {
        cause: error,
      });
    }
  };
}
