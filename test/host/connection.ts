/**
 * One Pi process in RPC mode: JSON lines on its stdin and stdout, its signals and its
 * end. Everything it says is kept in `events`, so a test can look back as well as wait.
 */
import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { StringDecoder } from "node:string_decoder";
import { newSessionId, piUnderTest, sessionFlags, type PiSessionOptions } from "./pi.ts";
import type { Exit, PiEvent } from "./records.ts";

const defaultTimeoutMs = 30_000;

interface PendingRequest {
  resolve: (data: unknown) => void;
  reject: (error: Error) => void;
}

interface Waiter {
  /** Looks at the events so far; true when it is done. */
  look: () => boolean;
  fail: (error: Error) => void;
}

/** A Pi process and what it said. */
export class PiConnection {
  /** The id it was started with. `state()` has the present one, which `/new` and `/fork` change. */
  readonly id: string;

  /** The name it was started with, or "pi". */
  readonly label: string;

  /** Everything Pi said so far that is no response, oldest first. */
  readonly events: PiEvent[] = [];

  /** Resolves when the process has ended. */
  readonly exited: Promise<Exit>;

  readonly #child: ChildProcessWithoutNullStreams;
  readonly #dialog: ((request: PiEvent) => Record<string, unknown>) | undefined;
  readonly #pending = new Map<string, PendingRequest>();
  readonly #waiters = new Set<Waiter>();
  #requestCount = 0;
  #stderr = "";
  #exit: Exit | undefined;

  /** Starts Pi, without waiting for it. */
  constructor(options: PiSessionOptions) {
    this.id = options.id ?? newSessionId();
    this.label = options.name ?? "pi";
    const child = spawn(
      process.execPath,
      [piUnderTest().entry, "--mode", "rpc", ...sessionFlags(options, this.id)],
      { cwd: options.cwd, env: options.env, stdio: ["pipe", "pipe", "pipe"] },
    );
    this.#child = child;
    this.#dialog = options.dialog;
    this.#readLines();
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.#stderr += text;
    });
    // A write to a process that has just ended fails here; its exit tells the story.
    child.stdin.on("error", () => undefined);
    this.exited = new Promise((resolve) => {
      const ended = (exit: Exit): void => {
        if (this.#exit !== undefined) return;
        this.#exit = exit;
        const failure = this.failure(
          `has ended (code ${String(exit.code)}, signal ${String(exit.signal)})`,
        );
        for (const pending of this.#pending.values()) pending.reject(failure);
        this.#pending.clear();
        for (const waiter of [...this.#waiters]) waiter.fail(failure);
        resolve(exit);
      };
      child.once("error", (error) => {
        this.#stderr += error.message;
        ended({ code: null, signal: null });
      });
      child.once("close", (code, signal) => ended({ code, signal }));
      // A program Pi started may hold its pipes open after it.
      child.once("exit", (code, signal) => {
        setTimeout(() => ended({ code, signal }), 500).unref();
      });
    });
  }

  /** The process id. 0 when the process could not be started. */
  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Whether the process is still there. */
  get running(): boolean {
    return this.#exit === undefined;
  }

  /** What Pi wrote to stderr. */
  get stderr(): string {
    return this.#stderr;
  }

  /** The place in `events` where the next event will be. */
  mark(): number {
    return this.events.length;
  }

  /**
   * Waits for an event, and resolves with it. Events since `since` (default 0: all of
   * them) count as well, so take a mark before what causes the event.
   * @throws after `timeoutMs` (default 30 s) or when Pi ends, telling what it last said
   */
  waitFor(
    predicate: (event: PiEvent) => boolean,
    what: string,
    options: { since?: number; timeoutMs?: number } = {},
  ): Promise<PiEvent> {
    return this.waitForIndex(predicate, what, options).then((index) => this.eventAt(index));
  }

  /**
   * Sends any RPC command and resolves with the `data` of its response.
   * @throws the error of the response, or after `timeoutMs` (default 30 s), or when Pi ends
   */
  request(
    type: string,
    fields: Record<string, unknown> = {},
    timeoutMs = defaultTimeoutMs,
  ): Promise<unknown> {
    if (this.#exit !== undefined)
      return Promise.reject(this.failure(`has ended and cannot take ${type}`));
    this.#requestCount += 1;
    const id = `request-${this.#requestCount}`;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#pending.delete(id);
        reject(this.failure(`did not answer ${type} within ${timeoutMs} ms`));
      }, timeoutMs);
      this.#pending.set(id, {
        resolve: (data) => {
          clearTimeout(timer);
          resolve(data);
        },
        reject: (error) => {
          clearTimeout(timer);
          reject(error);
        },
      });
      this.#write({ id, type, ...fields });
    });
  }

  /** Ends Pi the orderly way, by closing its stdin, and waits for it. Safe when it has ended. */
  async quit(timeoutMs = defaultTimeoutMs): Promise<Exit> {
    this.#child.stdin.end();
    return this.#ended("stdin was closed", timeoutMs);
  }

  /** Sends a signal to the process and waits until it is gone (default SIGKILL). Safe when it has ended. */
  async kill(signal: NodeJS.Signals = "SIGKILL", timeoutMs = defaultTimeoutMs): Promise<Exit> {
    if (this.running) this.#child.kill(signal);
    return this.#ended(signal, timeoutMs);
  }

  /** Stops the process where it is (SIGSTOP). */
  pause(): void {
    this.#child.kill("SIGSTOP");
  }

  /** Lets a paused process go on (SIGCONT). */
  resume(): void {
    this.#child.kill("SIGCONT");
  }

  #ended(cause: string, timeoutMs: number): Promise<Exit> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        reject(this.failure(`did not end within ${timeoutMs} ms after ${cause}`));
      }, timeoutMs);
      void this.exited.then((exit) => {
        clearTimeout(timer);
        resolve(exit);
      });
    });
  }

  protected eventAt(index: number): PiEvent {
    return this.events[index] ?? { type: "none" };
  }

  protected waitForIndex(
    predicate: (event: PiEvent) => boolean,
    what: string,
    options: { since?: number; timeoutMs?: number },
  ): Promise<number> {
    const timeoutMs = options.timeoutMs ?? defaultTimeoutMs;
    let next = options.since ?? 0;
    return new Promise((resolve, reject) => {
      const look = (): boolean => {
        while (next < this.events.length) {
          if (predicate(this.eventAt(next))) {
            clearTimeout(timer);
            this.#waiters.delete(waiter);
            resolve(next);
            return true;
          }
          next += 1;
        }
        return false;
      };
      const fail = (error: Error): void => {
        clearTimeout(timer);
        this.#waiters.delete(waiter);
        reject(error);
      };
      const timer = setTimeout(() => {
        fail(this.failure(`showed no ${what} within ${timeoutMs} ms`));
      }, timeoutMs);
      const waiter: Waiter = { look, fail };
      this.#waiters.add(waiter);
      if (!look() && !this.running) fail(this.failure(`has ended without ${what}`));
    });
  }

  #readLines(): void {
    const decoder = new StringDecoder("utf8");
    let rest = "";
    this.#child.stdout.on("data", (bytes: Buffer) => {
      const lines = (rest + decoder.write(bytes)).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) if (line.trim() !== "") this.#take(line);
    });
  }

  #take(line: string): void {
    let record: PiEvent;
    try {
      record = JSON.parse(line) as PiEvent;
    } catch {
      record = { type: "unparsable", line };
    }
    if (record.type === "response" && typeof record["id"] === "string") {
      const pending = this.#pending.get(record["id"]);
      this.#pending.delete(record["id"]);
      if (record["success"] === true) pending?.resolve(record["data"]);
      else
        pending?.reject(
          new Error(`${String(record["command"])} was refused: ${String(record["error"])}`),
        );
      return;
    }
    this.events.push(record);
    this.#answerDialog(record);
    for (const waiter of [...this.#waiters]) waiter.look();
  }

  #answerDialog(record: PiEvent): void {
    if (record.type !== "extension_ui_request") return;
    if (!["select", "confirm", "input", "editor"].includes(String(record["method"]))) return;
    const answer = this.#dialog?.(record) ?? { cancelled: true };
    this.#write({ type: "extension_ui_response", id: record["id"], ...answer });
  }

  #write(record: Record<string, unknown>): void {
    this.#child.stdin.write(`${JSON.stringify(record)}\n`);
  }

  /** An error that tells what Pi last said. */
  protected failure(what: string): Error {
    const last = this.events.slice(-15).map((event) => `  ${JSON.stringify(event).slice(0, 400)}`);
    return new Error(
      `Pi session ${this.label} (${this.id}, pid ${this.pid}) ${what}\n` +
        `last events:\n${last.join("\n")}\nstderr:\n${this.#stderr.slice(-3000)}`,
    );
  }
}
