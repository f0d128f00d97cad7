/** What a sender was told of its mail: the ids that were confirmed. */
import { field, type PiEvent } from "../host/records.ts";

/** The ids of the mails that these events of a session tell the sender were sent. */
export function receiptsIn(events: readonly PiEvent[]): string[] {
  return events.map(receiptOf).filter((id) => id !== "");
}

function receiptOf(event: PiEvent): string {
  switch (event.type) {
    case "extension_ui_request":
      return event["method"] === "notify" ? notifiedId(field(event, "message")) : "";
    case "tool_execution_update":
      return idFrom(field(event, "toolName"), event["partialResult"]);
    case "tool_execution_end":
      return idFrom(field(event, "toolName"), event["result"]);
    default:
      return "";
  }
}

/** `/mailbox` says it in words, the extension for the hook with the envelope. */
function notifiedId(message: string): string {
  if (!message.startsWith("{")) return /^Sent (\S+) to /.exec(message)?.[1] ?? "";
  return field((JSON.parse(message) as { envelope?: unknown }).envelope, "id");
}

function idFrom(tool: string, result: unknown): string {
  const details = (result as { details?: unknown } | undefined)?.details;
  switch (tool) {
    case "session_mail_ask":
      return field(details, "ask");
    case "session_mail_send":
    case "session_mail_reply":
      return field(details, "id");
    default:
      return "";
  }
}
