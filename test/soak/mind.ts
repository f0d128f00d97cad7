/** The model of a session in a soak: it does what users ask it to, once, and answers with a text. */
import { setTimeout as delay } from "node:timers/promises";
import { call, fail, say, stall, type ModelRequest, type Step } from "../host/model.ts";
import { mailOf, tokensIn, type Pause, type Plan, type PlannedMail } from "./plan.ts";

/** How a text begins that a model answers with; its number follows. */
const ANSWER = /answer (\d+) of (\w+)$/;

/** What a model has been shown and what it will do. */
export class Mind {
  /** What was seen that must not be. */
  readonly complaints = new Set<string>();
  readonly #name: string;
  readonly #session: number;
  readonly #plan: Plan;
  readonly #addresses: readonly string[];
  /** By token: the first request that showed it. */
  readonly #firstSeen = new Map<string, number>();
  readonly #asks = new Map<string, string>();
  readonly #steps: (() => Step | Promise<Step>)[] = [];
  #requests = 0;
  #answerSlowly = 0;

  constructor(name: string, session: number, plan: Plan, addresses: readonly string[]) {
    this.#name = name;
    this.#session = session;
    this.#plan = plan;
    this.#addresses = addresses;
  }

  /** Whether a token has been shown to the model by the time of an answer, which names its request. */
  hadSeen(token: string, answer: string): boolean | undefined {
    const [, request, name] = ANSWER.exec(answer) ?? [];
    if (request === undefined || name !== this.#name) return undefined;
    return (this.#firstSeen.get(token) ?? Number.POSITIVE_INFINITY) <= Number(request);
  }

  /** Whether a token has been shown to the model. */
  hasSeen(token: string): boolean {
    return this.#firstSeen.has(token);
  }

  /** Takes in a request and gives the next step. */
  answer(request: ModelRequest): Step | Promise<Step> {
    this.#requests += 1;
    this.#read(request);
    // Every request holds the whole conversation, and the harness keeps them all.
    request.messages = [];
    request.text = "";
    request.system = "";
    const step = this.#steps.shift();
    if (step !== undefined) return step();
    const text = `answer ${this.#requests} of ${this.#name}`;
    const milliseconds = this.#answerSlowly;
    this.#answerSlowly = 0;
    return milliseconds === 0 ? say(text) : slowly(text, milliseconds);
  }

  #read({ messages, text }: ModelRequest): void {
    for (const [, id = "", token = ""] of text.matchAll(/ask id ([\w-]+)\..*\n\n.*(#\d+\.\d+#)/g))
      this.#asks.set(token, id);
    const shown = new Map<string, number>();
    for (const message of messages.filter(({ role }) => role === "user")) {
      for (const token of tokensIn(JSON.stringify(message.content)))
        shown.set(token, (shown.get(token) ?? 0) + 1);
    }
    for (const [token, times] of shown) {
      const mail = mailOf(this.#plan, token);
      if (mail.to === this.#session && times > 1)
        this.complaints.add(`${this.#name} was shown the mail ${token} ${times} times at once`);
      if (this.#firstSeen.has(token)) continue;
      this.#firstSeen.set(token, this.#requests);
      this.#decide(mail, token);
    }
  }

  #decide(mail: PlannedMail, token: string): void {
    if (mail.to === this.#session) {
      this.#pause(mail.after, mail.milliseconds);
      const ask = this.#asks.get(token);
      if (ask !== undefined && mail.answerByTool)
        this.#steps.push(() => call("session_mail_reply", { ask, message: "told by the tool" }));
    } else if (mail.by === this.#session && (mail.way === "send" || mail.way === "ask")) {
      this.#pause(mail.before, mail.milliseconds);
      const to = recipientOf(mail, this.#addresses);
      this.#steps.push(() => call(`session_mail_${mail.way}`, { to, message: bodyOf(token) }));
    }
  }

  #pause(pause: Pause, milliseconds: number): void {
    switch (pause) {
      case "none":
        return;
      case "tool":
        this.#steps.push(() => call("bash", { command: `sleep ${milliseconds / 1000}` }));
        return;
      case "text":
        this.#answerSlowly = milliseconds;
        return;
      case "failure":
        this.#steps.push(() => fail(400, "the model is out of order"));
    }
  }
}

/** The body of a mail. */
export function bodyOf(token: string): string {
  return `Mail ${token} of the soak.`;
}

/** How the sender of a mail calls its recipient. */
export function recipientOf(mail: PlannedMail, addresses: readonly string[]): string {
  // The hook takes addresses only.
  const byName = mail.byName && mail.way !== "hook";
  const to = byName ? nameOf(mail.to) : addresses[mail.to];
  if (to === undefined) throw new Error(`there is no session ${mail.to}`);
  return to;
}

/** How a session is called; its model too. */
export function nameOf(session: number): string {
  return `soaked${session}`;
}

function slowly(text: string, milliseconds: number): Step {
  const step = stall(text);
  void step.started.then(async () => {
    await delay(milliseconds);
    step.release();
  });
  return step;
}
