import { type ExtensionAPI, truncateHead } from "@earendil-works/pi-coding-agent";
import { Type } from "typebox";
import type { Mailbox } from "../../mailbox/mailbox.ts";
import { sentAt } from "../../mail/envelope.ts";
import { labelsOf } from "../../sessions/addressing.ts";
import { type RunningSession, runningRecords, stateOf } from "../../sessions/record.ts";
import { duration } from "../../turn/label.ts";
import { cleanValue } from "../../text.ts";
import type { Session } from "../session.ts";

/** Registers the tool that shows a model who there is to write to, and what it still owes. */
export function registerList(pi: ExtensionAPI, session: Session): void {
  pi.registerTool({
    name: "session_mail_list",
    label: "Sessions",
    description:
      "List the other Pi sessions running on this machine: name, id, working directory, whether idle or busy, " +
      "and whose answer each waits for. Also lists the asks from other sessions that you have not answered yet.",
    promptSnippet: "List the running Pi sessions that mail can be sent to",
    parameters: Type.Object({}),
    execute: () => {
      const { content, truncated } = truncateHead(listText(session.mailbox));
      const text = truncated ? `${content}\n(There are more; the list is cut here.)` : content;
      return Promise.resolve({
        content: [{ type: "text", text }],
        details: {},
      });
    },
  });
}

function listText(mailbox: Mailbox): string {
  const running = runningRecords();
  const labels = labelsOf(running);
  const now = mailbox.clock.now();
  const sessions = running.map((record) => sessionLine(record, labels, mailbox.address, now));
  return [
    "Running sessions:",
    ...(sessions.length > 0 ? sessions : ["(none)"]),
    ...askLines(mailbox, labels, now),
  ].join("\n");
}

function sessionLine(
  record: RunningSession,
  labels: ReadonlyMap<string, string>,
  self: string,
  now: number,
): string {
  const { address, cwd, waitingOn } = record;
  const label = labels.get(address) ?? address;
  const parts = [
    `${label} (${address})${address === self ? ", this session" : ""}`,
    `in ${cleanValue(cwd)}`,
    stateOf(record, now),
    ...(waitingOn ? [`waiting on ${labels.get(waitingOn) ?? cleanValue(waitingOn)}`] : []),
  ];
  return `- ${parts.join(", ")}`;
}

function askLines(mailbox: Mailbox, labels: ReadonlyMap<string, string>, now: number): string[] {
  const asks = mailbox.openAsks();
  if (asks.length === 0) return [];
  return [
    "",
    "Asks that you have not answered yet (session_mail_reply answers one):",
    ...asks.map((ask) => {
      const age = duration(now - (sentAt(ask) ?? now));
      return `- ${ask.id} from ${labels.get(ask.from) ?? ask.from}, asked ${age} ago`;
    }),
  ];
}
