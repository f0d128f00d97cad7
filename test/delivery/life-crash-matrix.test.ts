/**
 * `kill -9` at every step of a mail's life, on real Pi: the process ends at one named operation on
 * its files and is resumed. Whatever the step, the mail was read once, answered once, and counted.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually } from "../host/eventually.ts";
import { type Fault, Faults } from "../host/faults.ts";
import { call, say } from "../host/model.ts";
import type { PiSession, SessionEntry } from "../host/session.ts";
import type { Workplace } from "../host/workplace.ts";
import {
  bodiesIn,
  Correspondent,
  type Letter,
  lettersIn,
  mailIds,
  openSession,
  openWorkplace,
  there,
  turnsOf,
  untilIdle,
} from "./life-support.ts";

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

/** Alice sends Bob a request. */
const SENDING: readonly Step[] = [
  behind("what she awaits is written down", "renameSync", "/ALICE/ledger.json$"),
  behind("the copy is half written", "openSync", "/ALICE/tmp/"),
  behind("the copy is written", "writeFileSync", "/ALICE/tmp/"),
  behind("the copy is in sent/", "renameSync", "/ALICE/sent/"),
  behind("the mail in tmp/ is half written", "openSync", "/BOB/tmp/"),
  behind("the mail in tmp/ is written", "writeFileSync", "/BOB/tmp/"),
  behind("the mail in tmp/ is flushed", "fsyncSync", "/BOB/tmp/"),
];

/** Bob gets a request of Alice's, and from Erin an ask, a message and a late reply, all at once. */
const RECEIVING: readonly Step[] = [
  behind("the ledger is half written", "openSync", "/BOB/.ledger.json"),
  behind("the ledger lists the mail", "renameSync", "/BOB/ledger.json$", 1),
  behind("one mail is claimed", "renameSync", "/BOB/cur/", 1),
  behind("two mails are claimed", "renameSync", "/BOB/cur/", 2),
  behind("all mail is claimed", "renameSync", "/BOB/cur/", 4),
  before("the mail is handed to Pi", "appendFileSync", "BOB.jsonl$", 1),
  behind("one mail is in the conversation", "appendFileSync", "BOB.jsonl$", 1),
  behind("all but the waking mail are in it", "appendFileSync", "BOB.jsonl$", 3),
  behind("the ledger has struck those", "renameSync", "/BOB/ledger.json$", 2),
  before("the waking mail is handed to Pi", "appendFileSync", "BOB.jsonl$", 4),
  behind("the waking mail is in the conversation", "appendFileSync", "BOB.jsonl$", 4),
  behind("the ledger has struck all", "renameSync", "/BOB/ledger.json$", 3),
  behind("the answer's text is in the conversation", "appendFileSync", "BOB.jsonl$", 5),
  behind("the ledger lists the answers", "renameSync", "/BOB/ledger.json$", 4),
  behind("the answer in tmp/ is written", "writeFileSync", "/ALICE/tmp/"),
  behind("the first answer is delivered", "renameSync", "/ALICE/new/"),
  behind("the second answer is delivered", "renameSync", "/ERIN/new/"),
  behind("the ledger has struck the answers", "renameSync", "/BOB/ledger.json$", 5),
];

/** Alice, who has sent a request, gets its answer. */
const GETTING_THE_ANSWER: readonly Step[] = [
  behind("the ledger lists the answer", "renameSync", "/ALICE/ledger.json$", 2),
  behind("the answer is claimed", "renameSync", "/ALICE/cur/"),
  before("the answer is handed to Pi", "appendFileSync", "ALICE.jsonl$"),
  behind("the answer is in the conversation", "appendFileSync", "ALICE.jsonl$"),
  behind("the ledger has struck the answer", "renameSync", "/ALICE/ledger.json$", 3),
];

/** Alice's model, which has asked Bob, gets the answer as the result of its call. */
const WAITING_FOR_THE_ANSWER: readonly Step[] = [
  behind("the ask is delivered", "renameSync", "/BOB/new/"),
  behind("the ledger lists the answer", "renameSync", "/ALICE/ledger.json$", 2),
  behind("the answer is claimed", "renameSync", "/ALICE/cur/"),
  before("the call has its result", "appendFileSync", "ALICE.jsonl$", 3),
  behind("the result is in the conversation", "appendFileSync", "ALICE.jsonl$", 3),
  behind("the ledger has struck the answer", "renameSync", "/ALICE/ledger.json$", 3),
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

/** Has each of these letters be read once by Bob, and answered once where it asks for an answer. */
async function expectOnce(letters: readonly Letter[]): Promise<void> {
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
  for (const letter of letters) {
    const told = { entries: count(read.bob, letter.id), shown: count(shown, letter.body) };
    expect(told, letter.body).toEqual({ entries: 1, shown: 1 });
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

describe("S5.5 S6.7 the recipient is killed when", () => {
  test.each(RECEIVING)("$name", async (step) => {
    const { bob } = sessions;
    const text = newText();
    killAt("bob", step);
    bob.pause();
    expect(await request(text)).toBeDefined();
    const letters = [
      there(copyOf(text)),
      erin.send(bob, "ask", "Which?"),
      erin.send(bob, "message", "News."),
      erin.sendQuietly(bob, "Late."),
    ];
    bob.resume();
    await resume("bob");
    await expectOnce(letters);
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
  const changes = /^after (renameSync|appendFileSync|linkSync|unlinkSync|rmSync) .*(ALICE|BOB)/;
  const traced = [...faults.alice.traced, ...faults.bob.traced]
    .map(named)
    // The running records are written anew by whoever resumes the session.
    .filter((line) => changes.test(line) && !line.includes("/running/"));
  const steps = [...SENDING, ...RECEIVING, ...GETTING_THE_ANSWER, ...WAITING_FOR_THE_ANSWER];
  const unknown = traced.filter(
    (line) =>
      !line.includes("/BOB/new/") &&
      !steps.some(({ call, path }) => line.includes(` ${call} `) && new RegExp(path).test(line)),
  );
  expect(traced.length).toBeGreaterThan(10);
  expect(unknown).toEqual([]);
});
