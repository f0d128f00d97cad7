import {
  type ExtensionAPI,
  type ExtensionContext,
  getAgentDir,
  type MessageEndEvent,
  type TurnEndEvent,
  type TurnEndEventResult,
  VERSION,
} from "@earendil-works/pi-coding-agent";
import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { flushFile, flushFolder } from "../mail/disk.ts";
import { ENTRY_TYPE, type Host, type Injection } from "../mailbox/host.ts";
import type { GapMail } from "../mailbox/conversation.ts";
import { cleanText } from "../text.ts";
import type { Ending } from "../turn/run.ts";

/** The first Pi whose turn boundaries take entries in, without which mail can be lost. */
export const LEAST_PI = "0.87.0";

/** Whether the running Pi is older than {@link LEAST_PI}. */
export function piIsTooOld(version: string = VERSION): boolean {
  const least = LEAST_PI.split(".").map(Number);
  const running = version.split(/[.+-]/).slice(0, least.length).map(Number);
  const differs = least.findIndex((number, position) => running[position] !== number);
  return differs >= 0 && !((running[differs] ?? 0) > (least[differs] ?? 0));
}

/** What a mailbox needs of Pi, for the session of this context. */
export function hostOf(pi: ExtensionAPI, context: ExtensionContext): Host {
  const { sessionManager } = context;
  const opened = performance.now();
  let flushed: string | undefined;
  return {
    address: sessionManager.getSessionId(),
    cwd: context.cwd,
    canWake: context.mode !== "print" && context.mode !== "json",
    agentFolder: getAgentDir(),
    name: () => sessionManager.getSessionName(),
    isIdle: () => context.isIdle(),
    isOnDisk: () => {
      // Pi makes the file with the first message, of the model or the user by its version, and
      // appends to it from then on.
      const file = sessionManager.getSessionFile();
      return file === undefined || existsSync(file);
    },
    flush: () => {
      const file = sessionManager.getSessionFile();
      if (file === undefined) return;
      flushFile(file);
      // Its name is new only once.
      if (file !== flushed) flushFolder(dirname(file));
      flushed = file;
    },
    entries: () => sessionManager.getEntries(),
    append: (mail) => {
      // Not a follow-up, which would cost a request of its own if a run were on after all.
      pi.sendMessage(messageOf(mail), { triggerTurn: false });
    },
    wake: (mail) => {
      pi.sendMessage(messageOf(mail), { triggerTurn: true, deliverAs: "steer" });
    },
    mark: (id, answered) => {
      pi.appendEntry(ENTRY_TYPE, { id, answered });
    },
    emit: (channel, payload) => {
      pi.events.emit(channel, payload);
    },
    warn: (text) => {
      if (performance.now() - opened < STARTING) warnAtStart(context, text);
      else tellUser(context, text, "warning");
    },
    showStatus: (text) => {
      context.ui.setStatus(ENTRY_TYPE, text);
    },
  };
}

/**
 * The signal of the run that is on, or `undefined` without one. A handler may be called with a
 * context that a reload under that run has made stale, which then throws at every question.
 */
export function signalOf(context: Pick<ExtensionContext, "signal">): AbortSignal | undefined {
  try {
    return context.signal;
  } catch {
    return undefined;
  }
}

/** Tells the user something; where there is no interface, on standard error. */
export function tellUser(
  context: ExtensionContext,
  text: string,
  level: "info" | "warning" | "error",
): void {
  const shown = cleanText(text);
  if (context.hasUI) context.ui.notify(shown, level);
  else process.stderr.write(`${shown}\n`);
}

/** How long a start may take until the conversation is drawn, in ms. */
const STARTING = 300;

/**
 * Warns the user of something at the start of a session. In the terminal Pi then draws the whole
 * conversation below what was said before, where nobody sees it: so it is said a moment later.
 */
export function warnAtStart(context: ExtensionContext, text: string): void {
  if (context.mode !== "tui") {
    tellUser(context, text, "warning");
    return;
  }
  setTimeout(() => {
    try {
      tellUser(context, text, "warning");
    } catch {
      // The session is another one by now.
    }
  }, STARTING).unref();
}

/** What a `turn_end` returns so that mail enters behind its tool results. */
export function asBoundary(
  entries: TurnEndEvent["entries"],
  gap: GapMail | undefined,
): TurnEndEventResult | undefined {
  if (!gap || gap.mails.length === 0) return undefined;
  const mails = gap.mails.map((mail) => ({ type: "custom_message" as const, ...messageOf(mail) }));
  return {
    entries: [...entries, ...mails],
    ...(gap.wake ? { continue: true } : {}),
  };
}

function messageOf({ content, details }: Injection) {
  return { customType: ENTRY_TYPE, content, display: true, details };
}

/** What a message of the model says of its run's end; `undefined` for every other message. */
export function endingOf(message: MessageEndEvent["message"]): Ending | undefined {
  if (message.role !== "assistant") return undefined;
  const texts = message.content.flatMap((part) => (part.type === "text" ? [part.text] : []));
  return { text: texts.join("\n"), stopReason: message.stopReason, error: message.errorMessage };
}
