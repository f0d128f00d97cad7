import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { Type } from "typebox";
import { boxesOf } from "../../mail/root.ts";
import { findMail } from "../../mail/store.ts";
import type { Mailbox } from "../../mailbox/mailbox.ts";
import { callRenderer, drawAnswered } from "../render/tools.ts";
import type { Session } from "../session.ts";
import { refuseEmpty } from "./checks.ts";

/** Registers the tool with which a model answers an ask before its run ends. */
export function registerReply(pi: ExtensionAPI, session: Session): void {
  pi.registerTool({
    name: "session_mail_reply",
    label: "Answer an ask",
    description:
      "Answer one ask from another Pi session now, without ending your turn. The ask's id stands in the mail that brought it " +
      "and in session_mail_list. An ask that you do not answer gets the last message of this run as its answer.",
    promptSnippet: "Answer an ask from another Pi session while your run goes on",
    promptGuidelines: [
      "When an ask arrives in the middle of other work, answer it with session_mail_reply as soon as you can and go on with your work.",
    ],
    parameters: Type.Object({
      ask: Type.String({ description: "The id of the ask" }),
      message: Type.String({ description: "The answer, complete in itself" }),
    }),
    execute: (_call, { ask, message }) => {
      const { mailbox } = session;
      const id = ask.trim();
      refuseEmpty(message);
      if (!mailbox.openAsks().some((open) => open.id === id)) throw new Error(whyNot(mailbox, id));
      const reply = mailbox.answer(id, message);
      return Promise.resolve({
        content: [{ type: "text", text: `Answered the ask ${id} with ${reply.id}.` }],
        details: { id: reply.id, ask: id, to: reply.to },
      });
    },
    renderCall: callRenderer("Answer an ask"),
    renderResult: drawAnswered,
  });
}

/** Why this id is no ask that can be answered (S7.7). */
function whyNot(mailbox: Mailbox, id: string): string {
  const refused = `Nothing was sent: ${JSON.stringify(id)}`;
  const mail = findMail(boxesOf(mailbox.address).cur, id);
  if (!mail) {
    return `${refused} is not the id of a mail to this session; session_mail_list shows the open asks.`;
  }
  switch (mail.envelope.kind) {
    case "ask":
      return `${refused} is an ask that has been answered already.`;
    case "request":
      return `${refused} is a request, not an ask; end your turn, and your final answer goes back by itself.`;
    case "message":
      return `${refused} is a message, which expects no answer; session_mail_send to ${mail.envelope.from} sends one.`;
    case "reply":
      return `${refused} is itself an answer, and answers are not answered.`;
  }
}
