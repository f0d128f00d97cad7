import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { Type } from "typebox";
import type { Envelope } from "../../mail/envelope.ts";
import { loadLedger } from "../../mail/ledger.ts";
import type { Mailbox } from "../../mailbox/mailbox.ts";
import { ASK_TOOL } from "../../mailbox/marks.ts";
import { closesRing } from "../../sessions/addressing.ts";
import {
  runningRecord,
  runningRecords,
  type RunningSession,
  stateOf,
} from "../../sessions/record.ts";
import { notAnAnswer, shownText, type Span } from "../../turn/label.ts";
import { MAX_BODY_BYTES } from "../../text.ts";
import { callRenderer, drawAsked } from "../render/tools.ts";
import type { Session } from "../session.ts";
import { findRecipient, type Recipient, refuseEmpty, refuseHops } from "./checks.ts";

/** How long an ask waits for its answer, in ms (S7.4). */
const PATIENCE = 10 * 60_000;

/** How often progress is shown and the other session looked after, in ms. */
const BEAT = 1000;

/** How the wait for an answer ended. */
type Ended =
  | { readonly by: "answer"; readonly reply: Envelope; readonly path: string }
  | { readonly by: "patience" | "gone" | "user" };

/** Registers the tool with which a model asks another session and gets the answer as the result. */
export function registerAsk(pi: ExtensionAPI, session: Session): void {
  pi.registerTool({
    name: ASK_TOOL,
    label: "Ask a session",
    description:
      "Ask another running Pi session on this machine a question and wait up to 10 minutes for its answer, which is the result. " +
      "One ask at a time. A later answer arrives as mail.",
    promptSnippet: "Ask another running Pi session a question and wait for its answer",
    promptGuidelines: [
      "Use session_mail_ask only when you cannot go on without the answer; otherwise use session_mail_send. " +
        "Put everything that the other session needs to know into the question: it does not see your conversation.",
    ],
    parameters: Type.Object({
      to: Type.String({
        description: "Name, full id, or 8 or more characters of the id of a running session",
      }),
      message: Type.String({ description: "The question, complete in itself" }),
    }),
    execute: async (_call, { to, message }, signal, onUpdate) => {
      const { mailbox } = session;
      refuseEmpty(message);
      const recipient = chooseRecipient(mailbox, to);
      const settings = refuseHops(mailbox);
      try {
        // Shown before the rings are looked for, so that of two sessions that ask each other at
        // the same moment at least one sees the other.
        mailbox.showWaiting(recipient.address);
        refuseRing(mailbox, recipient);
        const ask = mailbox.send(
          {
            to: recipient.address,
            kind: "ask",
            hops: mailbox.hops,
            body: message,
          },
          settings,
        );
        const ended = await waitForAnswer(mailbox, ask, signal, (waited, target) => {
          const doing = target === "unknown" ? undefined : stateOf(target, mailbox.clock.now());
          const text = progress(ask.id, recipient, waited, doing);
          onUpdate?.({ content: [{ type: "text", text }], details: { ask: ask.id } });
        });
        const { text, body } = resultText(ended, recipient, ask);
        return {
          content: [{ type: "text", text }],
          details: {
            ask: ask.id,
            label: recipient.label,
            ended: ended.by,
            ...(ended.by === "answer"
              ? { answer: ended.reply.id, status: ended.reply.status, body }
              : {}),
          },
        };
      } finally {
        mailbox.showWaiting("");
      }
    },
    renderCall: callRenderer("Ask a session"),
    renderResult: drawAsked,
  });
}

function chooseRecipient(mailbox: Mailbox, to: string): Recipient {
  if (mailbox.waitingOn !== "") {
    throw new Error(
      "Nothing was sent: another ask of this session is waiting. Ask again when it has its answer.",
    );
  }
  const recipient = findRecipient(mailbox, to);
  if (!recipient.record) {
    throw new Error(
      "Nothing was sent: that session is not running, so it cannot answer now. " +
        "Use session_mail_send, and the message waits for it.",
    );
  }
  return recipient;
}

/** @throws when the other session waits, through any chain, on this one (S7.3). */
function refuseRing(mailbox: Mailbox, { address, label }: Recipient): void {
  const waitingOn = new Map(runningRecords().map((other) => [other.address, other.waitingOn]));
  if (!closesRing(mailbox.address, address, waitingOn)) return;
  const how = waitingOn.get(address) === mailbox.address ? "" : ", through other sessions,";
  throw new Error(
    `Nothing was sent: ${label} is waiting${how} for an answer from this session, so neither would get one. ` +
      "Answer its ask with session_mail_reply, or end your turn, and ask afterwards.",
  );
}

/** Waits for the answer to an ask; never rejects. `beat` is called now and every second. */
function waitForAnswer(
  mailbox: Mailbox,
  ask: Envelope,
  signal: AbortSignal | undefined,
  beat: (waited: number, target: RunningSession | "unknown") => void,
): Promise<Ended> {
  const { clock } = mailbox;
  const started = clock.elapsed();
  return new Promise((resolve) => {
    const end = (ended: Ended): void => {
      for (const cancel of cancels) cancel();
      signal?.removeEventListener("abort", stopped);
      resolve(ended);
    };
    const stopped = (): void => {
      end({ by: "user" });
    };
    const cancels = [
      mailbox.expectAnswer(ask.id, {
        target: ask.to,
        answer: (reply, path) => {
          end({ by: "answer", reply, path });
        },
        abandon: stopped,
      }),
      clock.after(PATIENCE, () => {
        end({ by: "patience" });
      }),
      clock.every(BEAT, () => {
        const target = lookAt<RunningSession | "unknown" | undefined>(
          () => runningRecord(ask.to),
          "unknown",
        );
        if (target !== undefined) beat(clock.elapsed() - started, target);
        else {
          // Its last act may have been the answer.
          mailbox.look();
          end({ by: "gone" });
        }
      }),
    ];
    signal?.addEventListener("abort", stopped);
    if (signal?.aborted) stopped();
    beat(0, "unknown");
  });
}

/** What is known of an ask that waits (S7.6). */
function progress(
  ask: string,
  { address, label }: Recipient,
  waited: number,
  doing: ReturnType<typeof stateOf> | undefined,
): string {
  return `waiting on ${label} · ${stopwatch(waited)} · ${whatItDoes(ask, address, doing)}`;
}

function whatItDoes(
  ask: string,
  address: string,
  doing: ReturnType<typeof stateOf> | undefined,
): string {
  if (doing === "not responding") return doing;
  if (!lookAt(() => hasRead(ask, address), false)) return "not read yet";
  return doing === "busy" ? "read, working" : "read, idle";
}

function hasRead(ask: string, address: string): boolean {
  const ledger = loadLedger(address);
  return typeof ledger !== "string" && ledger.owed.some(({ id }) => id === ask);
}

/** What there is to see of another session or, while the disk does not say, `otherwise`. */
function lookAt<T>(look: () => T, otherwise: T): T {
  try {
    return look();
  } catch {
    // The wait goes on.
    return otherwise;
  }
}

function stopwatch(milliseconds: number): string {
  const seconds = Math.floor(milliseconds / 1000);
  const minutes = Math.floor(seconds / 60);
  return minutes > 0 ? `${String(minutes)}m ${String(seconds % 60)}s` : `${String(seconds)}s`;
}

/**
 * What the model is told, and where in it the answer is.
 *
 * @throws when the user stopped the run: the call has no result then.
 */
function resultText(
  ended: Ended,
  { label }: Recipient,
  ask: Envelope,
): { readonly text: string; readonly body?: Span } {
  const later = `The ask ${ask.id} stays open, and a later answer arrives as mail.`;
  switch (ended.by) {
    case "answer": {
      const { status, body } = ended.reply;
      const caveat = status === "" ? undefined : notAnAnswer(status);
      const heading = caveat ? `${label} replied. ${caveat}` : `${label} answers:`;
      const text = `${heading}\n\n${shownText(body, MAX_BODY_BYTES, ended.path)}`;
      return { text, body: [heading.length + 2, text.length] };
    }
    case "patience":
      return { text: `No answer from ${label} within 10 minutes. ${later}` };
    case "gone":
      return { text: `${label} was closed before it answered. ${later}` };
    case "user":
      throw new Error(`The user stopped the wait for ${label}. ${later}`);
  }
}
