/** What a soak does, drawn from its seed alone: which mails are sent, and what chaos strikes when. */
import { Random } from "./random.ts";

/** What a soak is made from. */
export interface SoakOptions {
  readonly seed: number;
  /** How many sessions take part. */
  readonly sessions: number;
  /** How many mails are sent, answers not counted. */
  readonly mails: number;
}

/** How a mail is sent: by `/mailbox`, through the hook, or by the model with a tool. */
export type Way = "command" | "hook" | "send" | "ask";

/** What a model does before it goes on: nothing, a slow tool call, a slow text, or it fails. */
export type Pause = "none" | "tool" | "text" | "failure";

/** One mail to be sent. Sessions are numbers. */
export interface PlannedMail {
  readonly number: number;
  readonly by: number;
  readonly to: number;
  readonly way: Way;
  /** Whether the recipient is given by its name, which leads to it only while it runs. */
  readonly byName: boolean;
  /** What the sender's model does first, when it is the model that sends. */
  readonly before: Pause;
  /** What the recipient's model does when it reads the mail. */
  readonly after: Pause;
  /** Whether the recipient's model answers an ask with the tool for it. */
  readonly answerByTool: boolean;
  readonly milliseconds: number;
}

/** What the chaos can do to a session. */
export type Blow =
  | "escape"
  | "abort"
  | "pause"
  | "compact"
  | "reload"
  | "leave"
  | "quit"
  | "kill"
  | "succeed"
  | "inherit";

/** One blow to one session. */
export interface PlannedBlow {
  readonly session: number;
  readonly blow: Blow;
  /** How many mails have been tried to be sent before it is due. */
  readonly at: number;
  /** How long it waits then. */
  readonly delay: number;
  /** How long its effect lasts: of a pause, or between an end and the next start. */
  readonly milliseconds: number;
}

export interface Plan extends SoakOptions {
  readonly mailsToSend: readonly PlannedMail[];
  /** In the order in which they are due. */
  readonly blows: readonly PlannedBlow[];
}

const ways = { command: 3, hook: 1, send: 3, ask: 3 };
const pauses = { none: 5, tool: 3, text: 3, failure: 0.4 };
const blows = {
  escape: 5,
  abort: 3,
  pause: 3,
  compact: 1,
  reload: 1.5,
  leave: 1.5,
  quit: 1.5,
  kill: 3.5,
  succeed: 0.75,
  inherit: 0.75,
};

/** So many mails are tried for each blow. */
const MAILS_PER_BLOW = 3;

/** The plan of a soak; the same options give the same plan. */
export function planSoak(options: SoakOptions): Plan {
  const random = new Random(options.seed);
  const mailsToSend = Array.from({ length: options.mails }, (_, number): PlannedMail => {
    const by = random.below(options.sessions);
    return {
      number,
      by,
      to: (by + 1 + random.below(options.sessions - 1)) % options.sessions,
      way: random.weighted(ways),
      byName: random.fraction() < 0.3,
      before: random.weighted(pauses),
      after: random.weighted(pauses),
      answerByTool: random.fraction() < 0.4,
      milliseconds: random.below(150),
    };
  });
  const planned = Array.from(
    { length: Math.floor(options.mails / MAILS_PER_BLOW) },
    (): PlannedBlow => ({
      session: random.below(options.sessions),
      blow: random.weighted(blows),
      at: random.below(options.mails),
      delay: random.below(60),
      milliseconds: random.below(250),
    }),
  );
  return { ...options, mailsToSend, blows: planned.sort((one, other) => one.at - other.at) };
}

/** What marks every try to send a planned mail, and its body alone. */
export function tokenOf({ number }: PlannedMail, attempt: number): string {
  return `#${number}.${attempt}#`;
}

/** The tokens that stand in a text, as often as they do. */
export function tokensIn(text: string): string[] {
  return text.match(/#\d+\.\d+#/g) ?? [];
}

/** The planned mail that a token is of, as it was sent in that try. */
export function mailOf(plan: Plan, token: string): PlannedMail {
  const [number, attempt] = token.slice(1, -1).split(".").map(Number);
  const mail = plan.mailsToSend[number ?? -1];
  if (mail === undefined) throw new Error(`no mail is planned for ${token}`);
  return asTried(mail, attempt ?? 1);
}

/**
 * How a mail is sent in a try. A full id leads to a session whether or not it runs, and what a
 * user types is refused by no rule.
 */
export function asTried(mail: PlannedMail, attempt: number): PlannedMail {
  if (attempt === 1) return mail;
  return { ...mail, byName: false, ...(attempt > TRIES_AS_PLANNED ? { way: "command" } : {}) };
}

/** So often a mail is tried to be sent in the way that is planned. */
const TRIES_AS_PLANNED = 3;
