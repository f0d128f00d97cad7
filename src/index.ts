import type { ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent";
import { type Clock, systemClock } from "./clock.ts";
import { errorText } from "./mail/errors.ts";
import { Mailbox } from "./mailbox/mailbox.ts";
import { registerCommand } from "./surface/command.ts";
import { footerText } from "./surface/footer.ts";
import { registerHooks } from "./surface/hooks.ts";
import {
  asBoundary,
  endingOf,
  hostOf,
  LEAST_PI,
  piIsTooOld,
  signalOf,
  warnAtStart,
} from "./surface/pi.ts";
import { registerRenderers } from "./surface/render/mail.ts";
import { Session } from "./surface/session.ts";
import { registerAsk } from "./surface/tools/ask.ts";
import { registerList } from "./surface/tools/list.ts";
import { registerReply } from "./surface/tools/reply.ts";
import { registerSend } from "./surface/tools/send.ts";

/**
 * Gives a Pi session an address and a mailbox of plain files: mail from other sessions enters its
 * conversation, its answers go back by themselves, its model has four tools and its user
 * `/mailbox`.
 *
 * @param clock for tests that cannot wait.
 */
export default function sessionMail(pi: ExtensionAPI, clock: Clock = systemClock): void {
  if (piIsTooOld()) {
    pi.on("session_start", (_event, context) => {
      warnAtStart(context, `mailbox: mailbox is off: it needs Pi ${LEAST_PI} or later`);
    });
    return;
  }

  const session = new Session();
  const stopHooks = registerHooks(pi, session);
  registerList(pi, session);
  registerSend(pi, session);
  registerAsk(pi, session);
  registerReply(pi, session);
  registerCommand(pi, session, clock);
  registerRenderers(pi, clock);

  pi.on("session_start", ({ reason }, context) => {
    open(context, reason !== "reload");
  });
  pi.on("session_shutdown", () => {
    session.close("the session is closed");
    stopHooks();
  });
  pi.on("session_info_changed", () => session.conversation?.renamed());

  pi.on("input", () => {
    session.conversation?.userSpoke();
  });
  pi.on("agent_start", () => session.conversation?.runStarted());
  pi.on("turn_start", () => session.conversation?.turnStarted());
  pi.on("message_end", ({ message }) => {
    const ending = endingOf(message);
    if (ending) session.conversation?.messageEnded(ending);
  });
  pi.on("turn_end", (event, context) => {
    // Behind a stop, and behind a run's last text, nothing may enter.
    const isGap = event.toolResults.length > 0 && signalOf(context)?.aborted !== true;
    return asBoundary(event.entries, session.conversation?.turnEnded(isGap));
  });
  pi.on("agent_end", (_event, context) => {
    session.conversation?.runEnded(signalOf(context)?.aborted === true);
  });
  pi.on("agent_settled", ({ aborted }, context) => {
    // Pi also tells of a prompt that failed to start beside the run that is on, which goes on.
    if (signalOf(context) === undefined) session.conversation?.settled(aborted);
  });
  pi.on("session_compact", () => session.conversation?.compacted());
  pi.on("session_compact_failed", () => session.conversation?.compacted());

  function open(context: ExtensionContext, closed: boolean): void {
    session.close("it is being opened");
    try {
      // Some Pis load extensions anew under a run, which then goes on.
      const running = signalOf(context) !== undefined;
      const options = { clock, closed, running, footer: footerText };
      session.open(new Mailbox(hostOf(pi, context), options));
    } catch (error) {
      session.close(errorText(error));
      warnAtStart(context, `mailbox: mailbox is off: ${errorText(error)}`);
    }
  }
}
