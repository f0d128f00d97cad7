/** One real Pi session, driven over RPC: what a person at it could do, and what one would see. */
import { PiConnection } from "./connection.ts";
import { eventually } from "./eventually.ts";
import type { PiSessionOptions } from "./pi.ts";
import {
  field,
  messageOf,
  textOf,
  type Notification,
  type PiEvent,
  type PiMessage,
  type SessionEntry,
  type SessionState,
  type Settled,
} from "./records.ts";

export { newSessionId, type PiSessionOptions } from "./pi.ts";
export {
  messageOf,
  textOf,
  type Exit,
  type Notification,
  type PiEvent,
  type PiMessage,
  type SessionEntry,
  type SessionState,
  type Settled,
} from "./records.ts";

/** A running Pi session. */
export class PiSession extends PiConnection {
  /** Where `settled` looks on without a mark. */
  #settledFrom = 0;

  /** Starts Pi without waiting for it, so that a test can see a start that fails. Prefer `start`. */
  static launch(options: PiSessionOptions): PiSession {
    return new PiSession(options);
  }

  /** Starts Pi and waits until its extensions have started and it answers. */
  static async start(options: PiSessionOptions): Promise<PiSession> {
    const session = PiSession.launch(options);
    await session.state();
    return session;
  }

  /** What extensions told the user so far, oldest first. */
  get notifications(): Notification[] {
    return this.notificationsSince(0);
  }

  /** What extensions told the user after a mark. */
  notificationsSince(mark: number): Notification[] {
    return this.events
      .slice(mark)
      .filter((event) => event.type === "extension_ui_request" && event["method"] === "notify")
      .map(notificationOf);
  }

  /** The latest text of a status in the footer, or undefined when it is not set. */
  status(key: string): string | undefined {
    const event = this.events.findLast(
      (candidate) => candidate["method"] === "setStatus" && candidate["statusKey"] === key,
    );
    const text = event?.["statusText"];
    return typeof text === "string" ? text : undefined;
  }

  /** Errors that handlers of extensions threw. */
  get extensionErrors(): string[] {
    return this.events
      .filter((event) => event.type === "extension_error")
      .map((event) => `${String(event["event"])}: ${String(event["error"])}`);
  }

  /** The texts of the assistant messages that ended after a mark (default: all). */
  answers(mark = 0): string[] {
    return this.events
      .slice(mark)
      .filter((event) => event.type === "message_end" && messageOf(event)?.role === "assistant")
      .map((event) => textOf(messageOf(event)));
  }

  /** Waits for a notification whose message matches, made since `since` (default 0). */
  async waitForNotification(
    pattern: string | RegExp,
    options: { since?: number; timeoutMs?: number } = {},
  ): Promise<Notification> {
    const event = await this.waitFor(
      (candidate) => {
        if (candidate["method"] !== "notify") return false;
        const message = field(candidate, "message");
        return typeof pattern === "string" ? message.includes(pattern) : pattern.test(message);
      },
      `a notification ${String(pattern)}`,
      options,
    );
    return notificationOf(event);
  }

  /** Waits until Pi received streamed text that contains `text`, which is later than the model's sending it. */
  async waitForText(
    text: string,
    options: { since?: number; timeoutMs?: number } = {},
  ): Promise<void> {
    let received = "";
    await this.waitFor(
      (event) => {
        if (event.type === "message_start") received = "";
        if (event.type !== "message_update") return false;
        received += field(event["assistantMessageEvent"], "delta");
        return received.includes(text);
      },
      `the text ${JSON.stringify(text)}`,
      options,
    );
  }

  /** Waits until the session has an entry, on any branch, and resolves with it. Asks Pi every 10 ms. */
  async waitForEntry(
    predicate: (entry: SessionEntry) => boolean,
    what: string,
    timeoutMs?: number,
  ): Promise<SessionEntry> {
    let seen: SessionEntry[] = [];
    try {
      return await eventually(
        async () => {
          seen = await this.entries();
          return seen.find(predicate);
        },
        `the entry ${what}`,
        timeoutMs,
      );
    } catch (error) {
      const listed = seen.slice(-15).map((entry) => `  ${JSON.stringify(entry).slice(0, 400)}`);
      throw new Error(
        `${this.failure(`has no entry ${what}`).message}\nlast entries:\n${listed.join("\n")}`,
        {
          cause: error,
        },
      );
    }
  }

  /**
   * Waits for the end of a run. Without a mark: the first end after the later of the
   * last `prompt` and the last end that `settled` returned, so that one call per
   * expected run is right.
   */
  async settled(sinceMark?: number, timeoutMs?: number): Promise<Settled> {
    const since = sinceMark ?? this.#settledFrom;
    const index = await this.waitForIndex(
      (event) => event.type === "agent_settled",
      "agent_settled",
      {
        since,
        ...(timeoutMs === undefined ? {} : { timeoutMs }),
      },
    );
    this.#settledFrom = Math.max(this.#settledFrom, index + 1);
    const before = this.events.slice(0, index);
    const last = before
      .slice(before.findLastIndex((event) => event.type === "agent_settled") + 1)
      .findLast((event) => event.type === "message_end" && messageOf(event)?.role === "assistant");
    const message = last === undefined ? undefined : messageOf(last);
    return {
      aborted: this.eventAt(index)["aborted"] === true || message?.stopReason === "aborted",
      stopReason: message?.stopReason ?? "",
      error: message?.errorMessage ?? "",
      text: textOf(message),
    };
  }

  /**
   * Sends a prompt; resolves when Pi accepted it. `disposition` is "started", "queued"
   * or "handled" where the version tells (since 1.x), else "".
   * @throws when Pi refuses it, as it does during a run without `streamingBehavior`
   */
  async prompt(
    text: string,
    streamingBehavior?: "steer" | "followUp",
  ): Promise<{ disposition: string }> {
    if (streamingBehavior === undefined) this.#settledFrom = this.mark();
    const data = await this.request("prompt", {
      message: text,
      ...(streamingBehavior === undefined ? {} : { streamingBehavior }),
    });
    return { disposition: field(data, "disposition") };
  }

  /** Sends a prompt and waits for the end of its run. */
  async ask(text: string): Promise<Settled> {
    const mark = this.mark();
    await this.prompt(text);
    return this.settled(mark);
  }

  /** Runs a slash command of an extension; resolves when its handler returned, with what it told the user. */
  async command(text: string): Promise<Notification[]> {
    const mark = this.mark();
    await this.request("prompt", { message: text });
    return this.notificationsSince(mark);
  }

  /** Queues a message for the next gap between tool calls. */
  async steer(text: string): Promise<void> {
    await this.request("steer", { message: text });
  }

  /** Queues a message for when the run would end. */
  async followUp(text: string): Promise<void> {
    await this.request("follow_up", { message: text });
  }

  /** Stops the run; what is queued stays queued. Resolves when Pi is idle. */
  async abort(): Promise<void> {
    await this.request("abort");
  }

  /** What Esc does in the terminal: empties the queue, then stops the run. Resolves when Pi is idle. */
  async escape(): Promise<void> {
    await Promise.all([this.request("clear_queue"), this.request("abort")]);
  }

  /** Compacts the conversation; resolves when that is done. */
  async compact(timeoutMs?: number): Promise<void> {
    await this.request("compact", {}, timeoutMs);
  }

  /** `/new`: a fresh session in the same process. */
  async newSession(): Promise<void> {
    await this.request("new_session");
  }

  /** `/resume`: opens another session file in the same process. */
  async switchSession(path: string): Promise<void> {
    await this.request("switch_session", { sessionPath: path });
  }

  /** `/fork` before a user message, named by its entry id. */
  async fork(entryId: string): Promise<void> {
    await this.request("fork", { entryId });
  }

  /** `/clone`: the conversation so far in a session with a new id. */
  async clone(): Promise<void> {
    await this.request("clone");
  }

  /** Renames the session. */
  async setName(name: string): Promise<void> {
    await this.request("set_session_name", { name });
  }

  /** Pi's state: session id, file, name, whether it is busy. */
  async state(): Promise<SessionState> {
    return (await this.request("get_state")) as SessionState;
  }

  /** The messages of the conversation as the model sees it. */
  async messages(): Promise<PiMessage[]> {
    return ((await this.request("get_messages")) as { messages: PiMessage[] }).messages;
  }

  /** All entries of the session, on every branch. */
  async entries(): Promise<SessionEntry[]> {
    return ((await this.request("get_entries")) as { entries: SessionEntry[] }).entries;
  }
}

function notificationOf(event: PiEvent): Notification {
  return { message: field(event, "message"), level: field(event, "notifyType") || "info" };
}
