import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { Type } from "typebox";
import { callRenderer, drawSent } from "../render/tools.ts";
import type { Session } from "../session.ts";
import { findRecipient, refuseEmpty, refuseHops } from "./checks.ts";

/** Registers the tool with which a model tells another session something. */
export function registerSend(pi: ExtensionAPI, session: Session): void {
  pi.registerTool({
    name: "session_mail_send",
    label: "Send mail",
    description:
      "Send a message to another Pi session on this machine and go on. The session is woken by it, and no answer is expected; " +
      "to get one, use session_mail_ask. Mail to a closed session, given by its full id, waits until that session is opened again.",
    promptSnippet: "Tell another Pi session something, expecting no answer",
    promptGuidelines: [
      "Use session_mail_send for news that another session needs; do not use it to answer a request from another session, " +
        "since your final answer goes back to the requester by itself when you end your turn.",
      "Do not use session_mail_send to say thanks or to confirm that mail arrived: every mail starts work in the other session.",
    ],
    parameters: Type.Object({
      to: Type.String({
        description: "Name, full id, or 8 or more characters of the id of a session",
      }),
      message: Type.String({
        description: "What to say; the reader knows nothing of your conversation",
      }),
    }),
    execute: (_call, { to, message }) => {
      const { mailbox } = session;
      refuseEmpty(message);
      const { address, label, record } = findRecipient(mailbox, to);
      const settings = refuseHops(mailbox);
      const { id } = mailbox.send(
        {
          to: address,
          kind: "message",
          hops: mailbox.hops,
          body: message,
        },
        settings,
      );
      const waits = record
        ? ""
        : " That session is not running: the message waits, and is read when it is opened again.";
      return Promise.resolve({
        content: [{ type: "text", text: `Sent ${id} to ${label} (${address}).${waits}` }],
        details: { id, to: address, label, running: record !== undefined },
      });
    },
    renderCall: callRenderer("Send mail"),
    renderResult: drawSent,
  });
}
