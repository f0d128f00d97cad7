import { type ExtensionAPI, truncateHead } from "@earendil-works/pi-coding-agent";
import { Type } from "typebox";
import type { Mailbox } from "../../mailbox/mailbox.ts";
import { sentAt } from "../../mail/envelope.ts";
import { labelsOf } from "../../sessions/addressing.ts";
import { type RunningSession, runningRecords, stateOf } from "../../sessions/record.ts";
import { duration } from "../../turn/label.ts";
import { cleanValue } from "../../text.ts";
import { callRenderer, drawList, type ListDetails, MOST_LISTED } from "../render/tools.ts";
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
      const found = look(session.mailbox);
      const { content, truncated } = truncateHead(listText(found));
      const text = truncated ? `${content}\n(There are more; the list is cut here.)` : content;
      return Promise.resolve({
        content: [{ type: "text", text }],
        details: detailsOf(found),
      });
    },
    renderCall: callRenderer("Sessions"),
    renderResult: drawList,
  });
}

/** What there is to list. */
interface Found {
  readonly self: string;
  readonly running: readonly RunningSession[];
  readonly asks: ReturnType<Mailbox["openAsks"]>;
  /** How the sessions are called, by address. */
  readonly labels: ReadonlyMap<string, string>;
  /** In ms since 1970. */
  readonly now: number;
}

function look(mailbox: Mailbox): Found {
  const running = runningRecords();
  return {
    self: mailbox.address,
    running,
    asks: mailbox.openAsks(),
    labels: labelsOf(running),
    now: mailbox.clock.now(),
  };
}

/** The first few sessions, as a person is shown them. */
function detailsOf({ self, running, asks, labels, now }: Found): ListDetails {
  return {
    count: running.length,
    asks: asks.length,
    sessions: running.slice(0, MOST_LISTED).map((record) => ({
      label: labels.get(record.address) ?? record.address,
      cwd: record.cwd,
      state: stateOf(record, now),
      self: record.address === self,
      waitingOn: labels.get(record.waitingOn) ?? record.waitingOn,
    })),
  };
}

function listText(found: Found): string {
  const sessions = found.running.map((record) => sessionLine(record, found));
  return [
    "Running sessions:",
    ...(sessions.length > 0 ? sessions : ["(none)"]),
    ...askLines(found),
  ].join("\n");
}

function sessionLine(record: RunningSession, { self, labels, now }: Found): string {
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

function askLines({ asks, labels, now }: Found): string[] {
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
