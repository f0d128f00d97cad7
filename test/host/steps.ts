/** What a scripted model answers: the steps of its script. */

/** One tool call the model makes. */
export interface ToolCall {
  name: string;
  args: Record<string, unknown>;
}

/** A message of a request, as Pi sent it. */
export interface ModelMessage {
  role: string;
  content?: unknown;
  tool_call_id?: string;
  tool_calls?: { id: string; function: { name: string; arguments: string } }[];
}

/** What one model request of Pi held. */
export interface ModelRequest {
  /** The model id, which is the name of the script. */
  model: string;
  messages: ModelMessage[];
  /** The text of all system messages. */
  system: string;
  /** The text of every other message, joined with newlines. */
  text: string;
  /** The text of the last message. */
  last: string;
  /** The names of the tools the model may call. */
  tools: string[];
  /** Whether Pi asks for a summary of the conversation (compaction), not for its next turn. */
  summary: boolean;
  /** When it arrived: `performance.now()` of the test process, in milliseconds. */
  at: number;
}

/** What a step may set beside its content. */
export interface StepOptions {
  /** Tokens the answer claims the conversation now holds; near the model's window (200000) Pi compacts. Default 110. */
  tokens?: number;
}

/** A whole answer: text, tool calls, or both. */
export interface AnswerStep {
  kind: "answer";
  text: string;
  calls: ToolCall[];
  tokens: number | undefined;
}

/** An HTTP error. */
export interface FailStep {
  kind: "fail";
  status: number;
  message: string;
}

/** One answer of the model. */
export type Step = AnswerStep | FailStep | Stall;

/** A step, or what makes one from the request it answers; it may take its time. */
export type ScriptStep = Step | ((request: ModelRequest) => Step | Promise<Step>);

/** The model answers with text and makes no call. */
export function say(text: string, options: StepOptions = {}): AnswerStep {
  return { kind: "answer", text, calls: [], tokens: options.tokens };
}

/** The model calls one tool, after `text` if any. */
export function call(
  name: string,
  args: Record<string, unknown> = {},
  text = "",
  options: StepOptions = {},
): AnswerStep {
  return { kind: "answer", text, calls: [{ name, args }], tokens: options.tokens };
}

/** The model calls several tools at once, after `text` if any. */
export function calls(toolCalls: ToolCall[], text = "", options: StepOptions = {}): AnswerStep {
  return { kind: "answer", text, calls: toolCalls, tokens: options.tokens };
}

/** The request fails with an HTTP status (400 is final for Pi; 429 and 5xx may be retried). */
export function fail(status: number, message: string): FailStep {
  return { kind: "fail", status, message };
}

/** The model streams `partialText` and then nothing, until the test releases it or Pi goes away. */
export function stall(partialText: string): Stall {
  return new Stall(partialText);
}

/** A stream the test holds open. One object serves one request. */
export class Stall {
  readonly kind = "stall";
  readonly partialText: string;
  /** Resolves when the partial text has been sent. */
  readonly started: Promise<void>;
  /** Resolves when Pi closed the stream before it was released, as it does when the run is stopped. */
  readonly abandoned: Promise<void>;
  /** Resolves with what follows the partial text. For the server. */
  readonly released: Promise<AnswerStep>;
  readonly #start = Promise.withResolvers<undefined>();
  readonly #abandon = Promise.withResolvers<undefined>();
  readonly #release = Promise.withResolvers<AnswerStep>();

  constructor(partialText: string) {
    this.partialText = partialText;
    this.started = this.#start.promise;
    this.abandoned = this.#abandon.promise;
    this.released = this.#release.promise;
  }

  /** Ends the stream with more text, or with a whole further answer such as `call(…)`. */
  release(rest: string | AnswerStep = ""): void {
    this.#release.resolve(typeof rest === "string" ? say(rest) : rest);
  }

  /** For the server: the partial text was sent. */
  markStarted(): void {
    this.#start.resolve(undefined);
  }

  /** For the server: Pi closed the stream. */
  markAbandoned(): void {
    this.#abandon.resolve(undefined);
  }
}
