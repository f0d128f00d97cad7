/**
 * What the tests of delivery share: letters that are written by nobody's session, tools to hold a
 * run where a test wants it, and the one check of exactly-once.
 */
import { randomUUID } from "node:crypto";
import { mkdirSync, readdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { eventually } from "../host/eventually.ts";
import type { ModelRequest, ScriptedModel } from "../host/model.ts";
import { newSessionId, textOf, type PiSession, type SessionEntry } from "../host/session.ts";
import { mailExtension, Workplace, type WorkplaceOptions } from "../host/workplace.ts";
import { textIn } from "./s2-disk.ts";

/** An envelope as it lies on disk, by the letter of S2.1. */
export interface Letter {
  readonly id: string;
  readonly from: string;
  readonly to: string;
  readonly kind: "request" | "ask" | "message" | "reply";
  readonly hops: number;
  readonly in_reply_to: readonly string[];
  readonly status: "done" | "stopped" | "failed" | "";
  readonly ts: string;
  readonly body: string;
}

const tools = `
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { Type } from "typebox";
async function untilThere(path, signal) {
  while (!existsSync(path)) {
    if (signal?.aborted) throw new Error("stopped waiting");
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
export default function (pi) {
  const wait = (name, terminate) => pi.registerTool({
    name,
    label: name,
    description: "Waits until a file is there",
    parameters: Type.Object({ path: Type.String() }),
    async execute(id, { path }, signal) {
      await untilThere(path, signal);
      return { content: [{ type: "text", text: "found " + path }], details: {}, ...(terminate ? { terminate } : {}) };
    },
  });
  wait("wait_for_file", false);
  wait("wait_and_end", true);
  pi.registerCommand("reload-now", {
    description: "What /reload does",
    handler: async (_args, ctx) => { await ctx.reload(); },
  });
  pi.on("session_start", (_event, ctx) => {
    const box = join(process.env.XDG_STATE_HOME, "pi-session-mail", ctx.sessionManager.getSessionId(), "new");
    const waiting = existsSync(box) ? readdirSync(box).length : 0;
    if (waiting > 0 && ctx.hasUI) ctx.ui.notify("waiting in session_start: " + waiting);
  });
}
`;

/** Opens a workplace whose sessions have the mail and the tools that hold a run. */
export async function openWorkplace(options: WorkplaceOptions = {}): Promise<Workplace> {
  const workplace = await Workplace.open(options);
  workplace.write("tools.ts", tools);
  return workplace;
}

/**
 * The extensions of a session under test, ours first. `MAIL_UNDER_TEST` names the entry file of
 * another copy, to see that a test fails on one that is broken.
 */
export function extensionsIn(workplace: Workplace): string[] {
  return [process.env["MAIL_UNDER_TEST"] ?? mailExtension, join(workplace.folder, "tools.ts")];
}

/** A session with the mail and the tools; its model is the script of the same name. */
export function openSession(
  workplace: Workplace,
  name: string,
  options: Parameters<Workplace["session"]>[0] = {},
): Promise<PiSession> {
  return workplace.session({ name, model: name, extensions: extensionsIn(workplace), ...options });
}

let lastSent = 0;
let letters = 0;

/** Somebody with an address and no session, who mails by the contract and reads what comes back. */
export class Correspondent {
  readonly address = newSessionId();
  readonly #workplace: Workplace;

  /** With a name it counts as running, in this process. */
  constructor(workplace: Workplace, running?: { name: string; cwd: string }) {
    this.#workplace = workplace;
    const boxes = workplace.mailbox(this.address);
    for (const box of [boxes.tmp, boxes.new, boxes.cur, boxes.sent]) {
      mkdirSync(box, { recursive: true, mode: 0o700 });
    }
    if (running === undefined) return;
    mkdirSync(join(workplace.root, "running"), { recursive: true, mode: 0o700 });
    writeFileSync(
      workplace.runningRecord(this.address),
      JSON.stringify({
        address: this.address,
        ...running,
        pid: process.pid,
        started: "",
        state: "idle",
        waitingOn: "",
        updated: new Date().toISOString(),
      }),
      { mode: 0o600 },
    );
  }

  /** What it is called in mail. */
  get shortId(): string {
    return this.address.slice(0, 8);
  }

  /** Sends a letter; no two letters have the same body. */
  send(
    to: PiSession | string,
    kind: Letter["kind"],
    text: string,
    fields: Partial<Letter> = {},
  ): Letter {
    lastSent = Math.max(Date.now(), lastSent + 1);
    letters += 1;
    const letter: Letter = {
      id: randomUUID(),
      from: this.address,
      to: typeof to === "string" ? to : to.id,
      kind,
      hops: 0,
      in_reply_to: [],
      status: kind === "reply" ? "done" : "",
      ts: new Date(lastSent).toISOString(),
      body: `${text} (letter ${letters})`,
      ...fields,
    };
    const boxes = this.#workplace.mailbox(letter.to);
    const name = `${String(Date.parse(letter.ts)).padStart(15, "0")}-${letter.id}.json`;
    for (const box of [boxes.tmp, boxes.new]) mkdirSync(box, { recursive: true, mode: 0o700 });
    writeFileSync(join(boxes.tmp, name), JSON.stringify(letter), { mode: 0o600 });
    renameSync(join(boxes.tmp, name), join(boxes.new, name));
    return letter;
  }

  /** A letter of a kind that is not mentioned otherwise: quiet, since nobody waited for it. */
  sendQuietly(to: PiSession | string, text: string, fields: Partial<Letter> = {}): Letter {
    return this.send(to, "reply", text, { in_reply_to: [randomUUID()], ...fields });
  }

  /** All that came back, in order of sending. */
  received(): Letter[] {
    return lettersIn(this.#workplace.mailbox(this.address).new);
  }

  /** The replies that name a letter. */
  answersTo(letter: Letter | undefined): Letter[] {
    const { id } = there(letter);
    return this.received().filter((reply) => reply.in_reply_to.includes(id));
  }

  /** Waits for the answer to a letter, and has it be the only one. */
  async answerTo(letter: Letter | undefined): Promise<Letter> {
    const { body } = there(letter);
    await eventually(() => this.answersTo(letter).length > 0, `an answer to ${body}`);
    const answers = this.answersTo(letter);
    expect(answers).toHaveLength(1);
    return there(answers[0]);
  }
}

/** What a list or a match holds, which a test knows to be there. */
export function there<Value>(value: Value | undefined): Value {
  if (value === undefined) throw new Error("the test expected something that is not there");
  return value;
}

/** The letters in a box, in name order. */
export function lettersIn(box: string): Letter[] {
  return readdirSync(box)
    .filter((name) => name.endsWith(".json"))
    .sort()
    .flatMap((name) => {
      const text = textIn(join(box, name));
      return text === undefined ? [] : [JSON.parse(text) as Letter];
    });
}

/** Waits until a session has taken all that waits for it into its hands. */
export async function claimed(workplace: Workplace, address: string): Promise<void> {
  const boxes = workplace.mailbox(address);
  await eventually(
    () => readdirSync(boxes.new).length === 0,
    `the mail in ${boxes.new} to be claimed`,
  );
}

/** A place where a run waits: the path for a tool, and what lets the run go on. */
export interface Gate {
  readonly path: string;
  readonly open: () => void;
}

let gates = 0;

/** A gate that is closed. */
export function newGate(workplace: Workplace): Gate {
  gates += 1;
  const name = `gate-${gates}`;
  return { path: join(workplace.folder, name), open: () => void workplace.write(name, "open") };
}

/** Waits until a tool of the run has begun. */
export async function inTool(session: PiSession, since: number, count = 1): Promise<void> {
  let seen = 0;
  await session.waitFor(
    (event) => event.type === "tool_execution_start" && ++seen === count,
    `tool call ${count}`,
    { since },
  );
}

/** A mail as a model reads it. */
export interface Frame {
  readonly from: string;
  readonly address: string;
  readonly cwd: string | undefined;
  /** What stands behind the first sentence. */
  readonly purpose: string;
  /** Quotes and body. */
  readonly text: string;
}

const FRAME =
  /^\[mailbox\] From (.+?) \(([\w-]+)(?:, working in (.+?))?\), another Pi session on this machine\. (.*)\n\n([^]*?)\n\n\[mailbox\] End of the mail from (.+)\. Text after this line is not part of it\.$/gm;

/** The mails that stand in a text, in order. */
export function framesIn(text: string): Frame[] {
  return [...text.matchAll(FRAME)].map(
    ([, from = "", address = "", cwd, purpose = "", inside = "", last]) => {
      expect(last).toBe(from);
      return { from, address, cwd, purpose, text: inside };
    },
  );
}

/** The bodies of the mails that a model was shown, in order; those of replies without the quotes. */
export function bodiesIn(request: ModelRequest | undefined): string[] {
  return framesIn(request?.text ?? "").map(({ text }) => text.split("\n\n").at(-1) ?? "");
}

/** The mails among the entries of a session. */
export function mailEntries(entries: readonly SessionEntry[]): SessionEntry[] {
  return entries.filter(
    ({ type, customType }) => type === "custom_message" && customType === "mailbox",
  );
}

/** The ids of the mails among the entries of a session, in order. */
export function mailIds(entries: readonly SessionEntry[]): unknown[] {
  return mailEntries(entries).map(({ details }) => details?.["id"]);
}

/** Waits for the entry of a letter. */
export function entryOf(
  session: PiSession,
  letter: Pick<Letter, "id"> | undefined,
): Promise<SessionEntry> {
  const { id } = there(letter);
  return session.waitForEntry(
    (entry) => entry.customType === "mailbox" && entry.details?.["id"] === id,
    `of the mail ${id}`,
  );
}

/** The requests of a model, without those for summaries. */
export function turnsOf(model: ScriptedModel, name: string): ModelRequest[] {
  return model.requests(name).filter(({ summary }) => !summary);
}

/**
 * Has every letter delivered exactly once: one entry of the session bears its id, and what the
 * model was shown held it as a mail once, never twice and not never. To see that nothing comes
 * late, the user says something first, and no more than the one request is made for it.
 */
export async function expectEachOnce(
  { model }: Workplace,
  session: PiSession,
  name: string,
  expected: readonly (Pick<Letter, "id" | "body"> | undefined)[],
): Promise<void> {
  const letters = expected.map(there);
  const before = turnsOf(model, name).length;
  await session.ask("Anything else?");
  expect(turnsOf(model, name).length).toBe(before + 1);
  const ids = mailIds(await session.entries());
  const shown = turnsOf(model, name).map(bodiesIn);
  const counts = letters.map(({ id, body }) => ({
    body,
    entries: ids.filter((other) => other === id).length,
    shown: Math.max(0, ...shown.map((bodies) => bodies.filter((other) => other === body).length)),
  }));
  expect(counts).toEqual(letters.map(({ body }) => ({ body, entries: 1, shown: 1 })));
  const inOrder = letters.map(({ id }) => id);
  expect(ids.filter((id) => inOrder.includes(String(id)))).toEqual(inOrder);
  expect(session.extensionErrors).toEqual([]);
}

/** The roles of a conversation in order, mails as "mail" and other texts by their beginning. */
export async function outline(session: PiSession, last: number): Promise<string[]> {
  const messages = await session.messages();
  return messages
    .slice(-last)
    .map((message) =>
      message.role === "custom"
        ? `mail: ${framesIn(textOf(message))[0]?.text.split("\n\n").at(-1) ?? "?"}`
        : `${message.role}: ${textOf(message)}`,
    );
}

/** Waits until no run is on. */
export async function untilIdle(session: PiSession): Promise<void> {
  await eventually(async () => !(await session.state()).isStreaming, "the session to be idle");
}

/** S6.5, to the letter. */
export const HELD =
  "(The user stopped an earlier run partway and took over; the answer that follows is from the run that completed after that.)";
