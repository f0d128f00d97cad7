/**
 * A scripted language model: an OpenAI chat-completions server on loopback that
 * answers each Pi session with the steps a test wrote for it. The `model` field of
 * a request names the script, so every session uses a model id of its own.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import {
  say,
  type AnswerStep,
  type ModelMessage,
  type ModelRequest,
  type ScriptStep,
  type Step,
} from "./steps.ts";

export * from "./steps.ts";

const summaryMark = "You are a context summarization assistant.";
const defaultTokens = 110;

/** The text of a message's content, which is a string or a list of parts. */
function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content
    .map((part: unknown) =>
      typeof part === "object" && part !== null && "text" in part && typeof part.text === "string"
        ? part.text
        : "",
    )
    .join("\n");
}

/** Reads a request body of Pi. */
function parseRequest(body: string): ModelRequest {
  const parsed = JSON.parse(body) as {
    model: string;
    messages: ModelMessage[];
    tools?: { function?: { name: string } }[];
  };
  const isSystem = (message: ModelMessage): boolean =>
    message.role === "system" || message.role === "developer";
  const text = (messages: ModelMessage[]): string =>
    messages.map((message) => textOf(message.content)).join("\n");
  const system = text(parsed.messages.filter(isSystem));
  return {
    model: parsed.model,
    messages: parsed.messages,
    system,
    text: text(parsed.messages.filter((message) => !isSystem(message))),
    last: textOf(parsed.messages.at(-1)?.content),
    tools: (parsed.tools ?? []).flatMap((tool) =>
      tool.function === undefined ? [] : [tool.function.name],
    ),
    summary: system.includes(summaryMark),
    at: performance.now(),
  };
}

interface Waiter {
  check: () => boolean;
  resolve: () => void;
}

/** The model server. Start one per test file or test, and close it. */
export class ScriptedModel {
  /** The base URL for a provider of `api: "openai-completions"`. */
  readonly url: string;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #scripts = new Map<string, ScriptStep[]>();
  readonly #answers = new Map<string, (request: ModelRequest) => Step | Promise<Step>>();
  readonly #requests = new Map<string, ModelRequest[]>();
  readonly #waiters = new Set<Waiter>();
  #summaryGate: { promise: Promise<undefined>; resolve: (value: undefined) => void } | undefined;
  #callCount = 0;

  private constructor(server: Server, url: string) {
    this.#server = server;
    this.url = url;
  }

  /** Starts a server on a free loopback port. */
  static async start(): Promise<ScriptedModel> {
    const server = createServer();
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(0, "127.0.0.1", resolve);
    });
    const { port } = server.address() as AddressInfo;
    const model = new ScriptedModel(server, `http://127.0.0.1:${port}/v1`);
    server.on("connection", (socket) => {
      model.#sockets.add(socket);
      socket.once("close", () => model.#sockets.delete(socket));
    });
    server.on("request", (request, response) => {
      void model.#serve(request, response);
    });
    return model;
  }

  /** Appends steps to a model's script; each answers one request, summaries aside. */
  script(modelId: string, ...steps: ScriptStep[]): void {
    const script = this.#scripts.get(modelId) ?? [];
    script.push(...steps);
    this.#scripts.set(modelId, script);
  }

  /** How many steps of a model's script no request has used yet. */
  remaining(modelId: string): number {
    return this.#scripts.get(modelId)?.length ?? 0;
  }

  /** Answers the requests of a model whose script is used up. Without it they get the text "ok". */
  answer(modelId: string, answer: (request: ModelRequest) => Step | Promise<Step>): void {
    this.#answers.set(modelId, answer);
  }

  /** The requests made so far for a model, oldest first, those for summaries included (`summary`). */
  requests(modelId: string): ModelRequest[] {
    return [...(this.#requests.get(modelId) ?? [])];
  }

  /** Waits until a model had `count` requests, summaries included, and resolves with all of them. */
  async waitForRequests(
    modelId: string,
    count: number,
    timeoutMs = 30_000,
  ): Promise<ModelRequest[]> {
    await this.#waitUntil(
      () => this.requests(modelId).length >= count,
      () => `${count} requests for model ${modelId}, had ${this.#described(modelId)}`,
      timeoutMs,
    );
    return this.requests(modelId);
  }

  /** Waits until Pi asked for the `count`-th summary of a model's conversation. */
  async waitForSummaries(modelId: string, count = 1, timeoutMs = 30_000): Promise<ModelRequest[]> {
    const summaries = (): ModelRequest[] =>
      this.requests(modelId).filter((request) => request.summary);
    await this.#waitUntil(
      () => summaries().length >= count,
      () => `${count} summary requests for model ${modelId}, had ${this.#described(modelId)}`,
      timeoutMs,
    );
    return summaries();
  }

  /** From now on summaries wait, so that a test can act while Pi compacts. */
  holdSummaries(): void {
    this.#summaryGate ??= Promise.withResolvers<undefined>();
  }

  /** Answers the summaries that were held, and further ones at once. */
  releaseSummaries(): void {
    this.#summaryGate?.resolve(undefined);
    this.#summaryGate = undefined;
  }

  /** Closes the server and every open connection. Safe to call twice. */
  async close(): Promise<void> {
    this.releaseSummaries();
    const closed = new Promise<void>((resolve) => {
      this.#server.close(() => {
        resolve();
      });
    });
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  #described(modelId: string): string {
    const requests = this.requests(modelId);
    return `${requests.length}:\n${requests.map((request) => `- ${request.last.slice(0, 300)}`).join("\n")}`;
  }

  #waitUntil(check: () => boolean, what: () => string, timeoutMs: number): Promise<void> {
    if (check()) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiters.delete(waiter);
        reject(new Error(`waited ${timeoutMs} ms for ${what()}`));
      }, timeoutMs);
      const waiter: Waiter = {
        check,
        resolve: () => {
          clearTimeout(timer);
          resolve();
        },
      };
      this.#waiters.add(waiter);
    });
  }

  async #serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const chunks: Buffer[] = [];
      for await (const chunk of incoming) chunks.push(chunk as Buffer);
      const request = parseRequest(Buffer.concat(chunks).toString("utf8"));
      const step = this.#record(request);
      await this.#reply(await step, response);
    } catch (error) {
      if (response.destroyed) return;
      const message = error instanceof Error ? error.message : String(error);
      if (response.headersSent) response.destroy();
      else respondWithError(response, 400, `scripted model: ${message}`);
    }
  }

  /** Records a request and takes the step that answers it, both at once so that order is kept. */
  async #record(request: ModelRequest): Promise<Step> {
    const requests = this.#requests.get(request.model) ?? [];
    requests.push(request);
    this.#requests.set(request.model, requests);
    const step: ScriptStep = request.summary
      ? say("summary")
      : (this.#scripts.get(request.model)?.shift() ??
        this.#answers.get(request.model) ??
        say("ok"));
    for (const waiter of [...this.#waiters]) {
      if (!waiter.check()) continue;
      this.#waiters.delete(waiter);
      waiter.resolve();
    }
    if (request.summary) await this.#summaryGate?.promise;
    return typeof step === "function" ? step(request) : step;
  }

  async #reply(step: Step, response: ServerResponse): Promise<void> {
    if (step.kind === "fail") {
      respondWithError(response, step.status, step.message);
      return;
    }
    response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
    if (step.kind === "answer") {
      this.#finish(step, response);
      return;
    }
    response.once("close", () => {
      step.markAbandoned();
    });
    await new Promise<void>((resolve) => {
      response.write(chunk({ role: "assistant", content: step.partialText }), () => {
        resolve();
      });
    });
    step.markStarted();
    const rest = await step.released;
    if (!response.destroyed) this.#finish(rest, response);
  }

  #finish(step: AnswerStep, response: ServerResponse): void {
    const total = step.tokens ?? defaultTokens;
    const completion = Math.min(10, total);
    if (step.text !== "") response.write(chunk({ role: "assistant", content: step.text }));
    step.calls.forEach((toolCall, index) => {
      this.#callCount += 1;
      const id = `call_${this.#callCount}`;
      const called = { name: toolCall.name, arguments: JSON.stringify(toolCall.args) };
      response.write(
        chunk({
          role: "assistant",
          tool_calls: [{ index, id, type: "function", function: called }],
        }),
      );
    });
    response.write(chunk({}, step.calls.length > 0 ? "tool_calls" : "stop"));
    const usage = {
      prompt_tokens: total - completion,
      completion_tokens: completion,
      total_tokens: total,
    };
    response.end(`${event({ choices: [], usage })}data: [DONE]\n\n`);
  }
}

function event(fields: Record<string, unknown>): string {
  const body = {
    id: "scripted",
    object: "chat.completion.chunk",
    created: 0,
    model: "scripted",
    ...fields,
  };
  return `data: ${JSON.stringify(body)}\n\n`;
}

function chunk(delta: Record<string, unknown>, finishReason: string | null = null): string {
  return event({ choices: [{ index: 0, delta, finish_reason: finishReason }] });
}

function respondWithError(response: ServerResponse, status: number, message: string): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify({ error: { message, type: "scripted", code: status } }));
}
