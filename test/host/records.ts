/** What Pi says in RPC mode, as far as the tests look at it. */

/** A record Pi wrote that is not the response to a request. See Pi's json.md and rpc-extension-ui.md. */
export interface PiEvent {
  type: string;
  [field: string]: unknown;
}

/** A message of the conversation. */
export interface PiMessage {
  role: string;
  content?: unknown;
  /** On an assistant message: "stop", "toolUse", "aborted", "error" and the like. */
  stopReason?: string;
  errorMessage?: string;
  /** On a tool result. */
  toolName?: string;
  isError?: boolean;
  /** On a custom message. */
  customType?: string;
  details?: Record<string, unknown>;
  display?: boolean;
  [field: string]: unknown;
}

/** An entry of the session file. */
export interface SessionEntry {
  type: string;
  id: string;
  parentId: string | null;
  /** On an entry of type "message". */
  message?: PiMessage;
  /** On an entry of type "custom_message" or "custom". */
  customType?: string;
  content?: unknown;
  details?: Record<string, unknown>;
  [field: string]: unknown;
}

/** What Pi's `get_state` tells. */
export interface SessionState {
  sessionId: string;
  sessionFile?: string;
  sessionName?: string;
  isStreaming: boolean;
  isCompacting: boolean;
  messageCount: number;
  pendingMessageCount: number;
  [field: string]: unknown;
}

/** Something an extension told the user. */
export interface Notification {
  message: string;
  level: string;
}

/** How a run ended. */
export interface Settled {
  /** Whether the run was stopped. Told by Pi since 1.1.0, else by the last message. */
  aborted: boolean;
  /** Of the last assistant message. */
  stopReason: string;
  /** Of the last assistant message, "" when it did not fail. */
  error: string;
  /** The text of the last assistant message, "" when the run made none. */
  text: string;
}

/** How a process ended. */
export interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** The text of a message's content, which is a string or a list of blocks. */
export function textOf(message: PiMessage | SessionEntry | undefined): string {
  const content = message?.content;
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content
    .filter((block: unknown): block is { text: string } => {
      return (
        typeof block === "object" &&
        block !== null &&
        "text" in block &&
        typeof block.text === "string"
      );
    })
    .map((block) => block.text)
    .join("\n");
}

/** The message of a `message_end`, `turn_end` or similar event. */
export function messageOf(event: PiEvent): PiMessage | undefined {
  return event["message"] as PiMessage | undefined;
}

/** A field of a record as text, "" when it is none. */
export function field(data: unknown, name: string): string {
  if (typeof data !== "object" || data === null) return "";
  const value = (data as Record<string, unknown>)[name];
  return typeof value === "string" ? value : "";
}
