/**
 * `kill -9` at every step of a mail's life, on real Pi: the process ends at one named operation on
 * its files and is resumed. Whatever the step, the mail was read once, answered once, and counted.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually } from "../host/eventually.ts";
import { type Fault, Faults } from "../host/faults.ts";
import { call, say, stall } from "../host/model.ts";
import type { PiSession, SessionEntry } from "../host/session.ts";
import type { Workplace } from "../host/workplace.ts";
import {
  bodiesIn,
  claimed,
  Correspondent,
  inTool,
  type Letter,
  lettersIn,
  mailIds,
  newGate,
  openSession,
  openWorkplace,
  there,
  turnsOf,
  untilIdle,
} from "./life-support.ts";
import { ledgerOf } from "./s2-disk.ts";

/** An operation at which a process is killed; its path may say ALICE, BOB or ERIN for an address. */
interface Step extends Pick<Fault, "when" | "call" | "path" | "nth"> {
  readonly name: string;
}

/** The process is killed behind an operation; of several on such paths, the nth. */
function behind(name: string, operation: Fault["call"], path: string, nth = 1): Step {
  return { name, when: "after", call: operation, path, nth };
}

/** The process is killed before an operation; of several on such paths, the nth. */
function before(name: string, operation: Fault["call"], path: string, nth = 1): Step {
  return { name, when: "before", call: operation, path, nth };
}

/** A ledger is saved as one more line of its file or, the first time, by replacing that. */
const SAVE = "renameSync|writeFileSync";

/** Alice sends Bob a request. */
const SENDING: readonly Step[] = [
  behind("what she awaits is written down", SAVE, "/ALICE/ledger.json$"),
  behind("the copy is half written", "openSync", "/ALICE/tmp/"),
  behind("the copy is written", "writeFileSync", "/ALICE/tmp/"),
  behind("the copy is flushed", "fsyncSync", "/ALICE/tmp/"),
  behind("the copy is in sent/", "renameSync", "/ALICE/sent/"),
  behind("the mail is in tmp/", "linkSync", "/BOB/tmp/"),
];

/** Bob gets a request of Alice's, and from Erin an ask, a message and a late reply, all at once. */
const RECEIVING: readonly Step[] = [
  before("the mail is read", SAVE, "/BOB/ledger.json$"),
  behind("the ledger lists the mail", SAVE, "/BOB/ledger.json$"),
  behind("one mail is claimed", "renameSync", "/BOB/cur/", 1),
  behind("two mails are claimed", "renameSync", "/BOB/cur/", 2),
  behind("all mail is claimed", "renameSync", "/BOB/cur/", 4),
  before("the mail is handed to Pi", "appendFileSync", "BOB.jsonl$", 1),
  behind("one mail is in the conversation", "appendFileSync", "BOB.jsonl$", 1),
  behind("all but the waking mail are in it", "appendFileSync", "BOB.jsonl$", 3),
  before("the waking mail is handed to Pi", "appendFileSync", "BOB.jsonl$", 4),
  behind("the waking mail is in the conversation", "appendFileSync", "BOB.jsonl$", 4),
  behind("the answer's text is in the conversation", "appendFileSync", "BOB.jsonl$", 5),
  behind("the ledger has struck the mail", SAVE, "/BOB/ledger.json$", 2),
  behind("the ledger lists the answers", SAVE, "/BOB/ledger.json$", 3),
  behind("the answer in tmp/ is written", "writeFileSync", "/ALICE/tmp/"),
  behind("the first answer is delivered", "renameSync", "/ALICE/new/"),
  behind("the second answer is delivered", "renameSync", "/ERIN/new/"),
  behind("the ledger has struck the answers", SAVE, "/BOB/ledger.json$", 4),
];

/** Bob, in a tool call, has claimed the same mail; it enters behind the call's result. */
const AT_A_GAP: readonly Step[] = [
  before("the result and the mail are handed to Pi", "appendFileSync", "BOB.jsonl$", 1),
  behind("the result is in the conversation", "appendFileSync", "BOB.jsonl$", 1),
  behind("one mail is in it", "appendFileSync", "BOB.jsonl$", 2),
  behind("all mail is in it", "appendFileSync", "BOB.jsonl$", 5),
  behind("the ledger has struck all", SAVE, "/BOB/ledger.json$", 1),
];

/** Bob's user stops a run before the same mail is read: of it, requests and asks are refused. */
const AT_A_STOP: readonly Step[] = [
  behind("the ledger lists the refusals", SAVE, "/BOB/ledger.json$", 1),
  behind("one refusal is delivered", "renameSync", "/(ALICE|ERIN)/new/"),
  behind("the ledger has struck the refusals", SAVE, "/BOB/ledger.json$", 2),
  behind("one mark of a refusal is in the session", "appendFileSync", "BOB.jsonl$", 2),
  behind("the first other mail is in it", "appendFileSync", "BOB.jsonl$", 4),
];

/** Bob's model answers Erin's ask in the middle of a run. */
const ANSWERING_NOW: readonly Step[] = [
  behind("the ledger lists the answer", SAVE, "/BOB/ledger.json$", 1),
  behind("the answer is delivered", "renameSync", "/ERIN/new/"),
  behind("the ledger has struck the answer", SAVE, "/BOB/ledger.json$", 2),
  behind("its mark is in the session", "appendFileSync", "BOB.jsonl$", 2),
];

/** Alice, who has sent a request, gets its answer. */
const GETTING_THE_ANSWER: readonly Step[] = [
  behind("the ledger lists the answer", SAVE, "/ALICE/ledger.json$", 2),
  behind("the answer is claimed", "renameSync", "/ALICE/cur/"),
  before("the answer is handed to Pi", "appendFileSync", "ALICE.jsonl$"),
  behind("the answer is in the conversation", "appendFileSync", "ALICE.jsonl$"),
  behind("the ledger has struck the answer", SAVE, "/ALICE/ledger.json$", 3),
];

/** Alice's model, which has asked Bob, gets the answer as the result of its call. */
const WAITING_FOR_THE_ANSWER: readonly Step[] = [
  behind("the ask is delivered", "renameSync", "/BOB/new/"),
  behind("the ledger lists the answer", SAVE, "/ALICE/ledger.json$", 2),
  behind("the answer is claimed", "renameSync", "/ALICE/cur/"),
  before("the call has its result", "appendFileSync", "ALICE.jsonl$", 3),
  behind("the result is in the conversation", "appendFileSync", "ALICE.jsonl$", 3),
  behind("the ledger has struck the answer", SAVE, "/ALICE/ledger.json$", 3),
];

type Name = "alice" | "bob";

let workplace: Workplace;
let erin: Correspondent;
let faults: Record<Name, Faults>;
let sessions: Record<Name, PiSession>;

beforeAll(async () => {
  workplace = await openWorkplace();
  erin = new Correspondent(workplace);
  faults = { alice: new Faults(workplace), bob: new Faults(workplace) };
  const open = async (name: Name): Promise<PiSession> => {
    const session = await openSession(workplace, name, { env: faults[name].env });
    // The session is on disk from here on.
    await session.ask("hello");
    return session;
  };
  const [alice, bob] = await Promise.all([open("alice"), open("bob")]);
  sessions = { alice, bob };
});
afterAll(() => workplace.close());

/** From now on a process of this name is killed at the step. */
function killAt(name: Name, { path, ...step }: Step): void {
  const named = path
    .replace("ALICE", sessions.alice.id)
    .replace("BOB", sessions.bob.id)
    .replace("ERIN", erin.address)
    .replaceAll(".", "\\.");
  faults[name].set({ ...step, path: named, then: "SIGKILL" });
}

/** Waits for the end of a process, which must be the kill, and resumes its session. */
async function resume(name: Name): Promise<void> {
  const { id, exited } = sessions[name];
  expect((await exited).signal).toBe("SIGKILL");
  faults[name].set();
  sessions[name] = await openSession(workplace, name, {
    id,
    resume: true,
    env: faults[name].env,
  });
}

/** Has a session take in all that waits, and complete a run, which answers all it owes. */
async function finish(name: Name): Promise<void> {
  const session = sessions[name];
  const { new: box } = workplace.mailbox(session.id);
  await eventually(() => lettersIn(box).length === 0, `${name} to claim what waits`);
  await untilIdle(session);
  await session.ask("Anything else?");
  await eventually(
    () => session.status("mailbox")?.includes("pending") !== true,
    "nothing to be pending",
  );
}

/** The ids of the mail and of the answers to asks that a session holds. */
function readIn(entries: readonly SessionEntry[]): unknown[] {
  const answers = entries.flatMap(({ message }) => {
    const answer = message?.details?.["answer"];
    return answer === undefined ? [] : [answer];
  });
  return [...mailIds(entries), ...answers];
}

const count = (list: readonly unknown[], wanted: unknown): number =>
  list.filter((one) => one === wanted).length;

/**
 * Has each of these letters be read once by Bob, and answered once where it asks for an answer; those
 * that are `refused` be answered once and not read.
 */
async function expectOnce(
  letters: readonly Letter[],
  refused: readonly Letter[] = [],
): Promise<void> {
  await finish("bob");
  const { alice, bob } = sessions;
  const boxes = workplace.mailbox(alice.id);
  const answersOf = ({ id, from }: Letter): Letter[] =>
    (from === erin.address
      ? erin.received()
      : [...lettersIn(boxes.new), ...lettersIn(boxes.cur)]
    ).filter(({ in_reply_to }) => in_reply_to.includes(id));
  await eventually(
    () => alice.status("mailbox")?.includes("awaiting") !== true,
    "alice to have her answer",
  );
  await finish("alice");

  const read = { alice: readIn(await alice.entries()), bob: readIn(await bob.entries()) };
  const shown = bodiesIn(turnsOf(workplace.model, "bob").at(-1));
  for (const letter of [...letters, ...refused]) {
    const times = refused.includes(letter) ? 0 : 1;
    const told = { entries: count(read.bob, letter.id), shown: count(shown, letter.body) };
    expect(told, letter.body).toEqual({ entries: times, shown: times });
    const asks = letter.kind === "request" || letter.kind === "ask";
    const answers = answersOf(letter);
    expect(answers, letter.body).toHaveLength(asks ? 1 : 0);
    if (letter.from === alice.id) expect(count(read.alice, answers[0]?.id), letter.body).toBe(1);
  }
  for (const name of ["alice", "bob"] as const) {
    expect(new Set(read[name]).size).toBe(read[name].length);
    const session = sessions[name];
    // S8.2: nothing is pending, nothing awaited, and each mail was counted once.
    const { length } = read[name];
    expect(session.status("mailbox")).toBe(length > 0 ? `✉ ${length} read` : undefined);
    expect(session.extensionErrors).toEqual([]);
    expect(lettersIn(workplace.mailbox(session.id).new)).toEqual([]);
  }
}

/** The mail of Alice's with this text, which was sent or is being sent, by her own copy. */
function copyOf(text: string): Letter | undefined {
  return lettersIn(workplace.mailbox(sessions.alice.id).sent).find(({ body }) => body === text);
}

let texts = 0;

function newText(): string {
  texts += 1;
  return `Do number ${texts}.`;
}

/** Alice sends Bob a request and is told its id, or is killed on the way. */
async function request(text: string): Promise<string | undefined> {
  try {
    const [said] = await sessions.alice.command(`/mailbox bob ${text}`);
    return /^Sent (\S+) to /.exec(there(said).message)?.[1];
  } catch {
    return undefined;
  }
}

describe("S1.6 S2.5 the sender is killed when", () => {
  test.each(SENDING)("$name: nothing was sent, and nothing is awaited", async (step) => {
    const text = newText();
    killAt("alice", step);
    expect(await request(text)).toBeUndefined();
    await resume("alice");
    expect(sessions.alice.status("mailbox") ?? "").not.toMatch(/awaiting/);
    await expectOnce([]);
    expect(turnsOf(workplace.model, "bob").at(-1)?.text).not.toContain(text);
  });

  test("the mail is in new/: it is read and answered once, though she was not told", async () => {
    const text = newText();
    killAt("alice", behind("the mail is in new/", "renameSync", "/BOB/new/"));
    expect(await request(text)).toBeUndefined();
    await resume("alice");
    await expectOnce([there(copyOf(text))]);
  });
});

/** Mail of every kind to Bob: a request of Alice's, and an ask, a message and a late reply of Erin's. */
async function sendBatch(): Promise<[Letter, Letter, Letter, Letter]> {
  const { bob } = sessions;
  const text = newText();
  expect(await request(text)).toBeDefined();
  return [
    there(copyOf(text)),
    erin.send(bob, "ask", "Which?"),
    erin.send(bob, "message", "News."),
    erin.sendQuietly(bob, "Late."),
  ];
}

describe("S5.5 S6.7 the recipient is killed when", () => {
  test.each(RECEIVING)("$name", async (step) => {
    const { bob } = sessions;
    killAt("bob", step);
    bob.pause();
    const letters = await sendBatch();
    bob.resume();
    await resume("bob");
    await expectOnce(letters);
  });

  test.each(AT_A_GAP)("at a gap: $name", async (step) => {
    const { bob } = sessions;
    const gate = newGate(workplace);
    workplace.model.script("bob", call("wait_for_file", { path: gate.path }));
    const mark = bob.mark();
    await bob.prompt("Wait.");
    await inTool(bob, mark);
    const letters = await sendBatch();
    await claimed(workplace, bob.id);
    killAt("bob", step);
    gate.open();
    await resume("bob");
    await expectOnce(letters);
  });

  test.each(AT_A_STOP)("S6.6 at a stop: $name", async (step) => {
    const { bob } = sessions;
    const thinking = stall("Half");
    workplace.model.script("bob", thinking);
    const mark = bob.mark();
    await bob.prompt("Think.");
    await bob.waitForText("Half", { since: mark });
    const [one, two, ...others] = await sendBatch();
    await claimed(workplace, bob.id);
    killAt("bob", step);
    // It ends in the middle of the stop.
    await bob.escape().catch(() => undefined);
    await resume("bob");
    await expectOnce(others, [one, two]);
  });

  test.each(ANSWERING_NOW)("S7.7 as its model answers an ask: $name", async (step) => {
    const { bob } = sessions;
    const thinking = stall("Let me see.");
    workplace.model.script("bob", thinking);
    const ask = erin.send(bob, "ask", "Which port?");
    await thinking.started;
    await eventually(
      () => ledgerOf(workplace, bob.id).owed.some(({ id }) => id === ask.id),
      "the ask to be read",
    );
    killAt("bob", step);
    thinking.release(call("session_mail_reply", { ask: ask.id, message: "8080" }));
    await resume("bob");
    await expectOnce([ask]);
    expect(erin.answersTo(ask)).toMatchObject([{ status: "done", body: "8080" }]);
  });
});

describe("S5.5 S7.5 the sender, who gets the answer, is killed when", () => {
  test.each(GETTING_THE_ANSWER)("$name", async (step) => {
    const text = newText();
    killAt("alice", step);
    expect(await request(text)).toBeDefined();
    await resume("alice");
    await expectOnce([there(copyOf(text))]);
  });

  test.each(WAITING_FOR_THE_ANSWER)("as the result of a call: $name", async (step) => {
    const text = newText();
    workplace.model.script(
      "alice",
      call("session_mail_ask", { to: "bob", message: text }),
      say("I see."),
    );
    killAt("alice", step);
    await sessions.alice.prompt("Ask him.");
    await resume("alice");
    workplace.model.script("alice");
    await expectOnce([there(copyOf(text))]);
  });
});

test("no operation that changes a mailbox or a session is missing from the matrix", async () => {
  const { alice, bob } = sessions;
  faults.alice.trace();
  faults.bob.trace();
  const text = newText();
  await request(text);
  await expectOnce([there(copyOf(text))]);
  const named = (line: string): string =>
    line.replace(alice.id, "ALICE").replace(bob.id, "BOB").replace(workplace.stateDirectory, "");
  const changes = /^after ((rename|appendFile|link|unlink|rm|writeFile)Sync) .*(ALICE|BOB)/;
  const traced = [...faults.alice.traced, ...faults.bob.traced]
    .map(named)
    // The running records are written anew by whoever resumes the session, and a watcher is tried
    // with a file that is no mail some time after a start.
    .filter((line) => changes.test(line) && !/\/running\/|\/\.probe-/.test(line));
  const steps = [...SENDING, ...RECEIVING, ...GETTING_THE_ANSWER];
  const unknown = traced.filter(
    (line) =>
      !line.includes("/BOB/new/") &&
      !steps.some(({ call, path }) => new RegExp(` (${call}) .*${path}`).test(line)),
  );
  expect(traced.length).toBeGreaterThan(10);
  expect(unknown).toEqual([]);
});
