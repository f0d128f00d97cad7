/** `session_mail_ask` in time: what it shows while it waits, and that it does not wait for ever. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { call, say, stall } from "../host/model.ts";
import { textOf, type PiSession } from "../host/session.ts";
import { mailExtension, Workplace } from "../host/workplace.ts";
import { mailIn, recordOf } from "./s2-disk.ts";
import { clockedExtension, type ClockedExtension } from "./s7-clock.ts";
import { lastResult, mailsIn, progressSince, toolResults, waitForProgress } from "./s7-tools.ts";
import { hookExtension } from "./s9-extensions.ts";

const ASK = "session_mail_ask";
const MINUTE = 60_000;

let workplace: Workplace;
let clocked: ClockedExtension;
let alice: PiSession;
let bob: PiSession;
beforeAll(async () => {
  workplace = await Workplace.open();
  clocked = clockedExtension(workplace);
  const { path } = hookExtension(workplace, "taker", "take this over");
  [alice, bob] = await Promise.all([
    workplace.session({ name: "alice", extensions: [clocked.path] }),
    workplace.session({ name: "bob", extensions: [mailExtension, path] }),
  ]);
});
afterAll(() => workplace.close());

describe("S7.6 while it waits, an ask shows", () => {
  test("for how long, and that it is not read, then read and worked on", async () => {
    const [own, thinking] = [stall("my own work "), stall("your question ")];
    workplace.model.script("bob", own, thinking);
    workplace.model.script("alice", call(ASK, { to: "bob", message: "how far?" }), say("thanks"));
    const [mark, markBob] = [alice.mark(), bob.mark()];
    await bob.prompt("work");
    await own.started;
    await alice.prompt("ask how far");
    const first = await waitForProgress(alice, /bob/, mark);
    expect(first.text).toMatch(/ 0s /);
    expect(first.text).toContain("not read yet");
    clocked.pass(65_000);
    expect((await waitForProgress(alice, /1m \d+s/, mark)).text).toContain("not read yet");

    own.release("is done");
    await thinking.started;
    const read = await waitForProgress(alice, /read, working/, mark);
    expect(read.text).toMatch(/1m \d+s/);
    expect(read.details["ask"]).toBe(mailIn(workplace, alice.id, "sent").at(-1)?.id);
    expect(progressSince(alice, mark).every(({ text }) => text.includes("bob"))).toBe(true);
    thinking.release("this far");
    expect((await alice.settled()).text).toBe("thanks");
    await bob.settled(markBob);
  });

  test("that it is read and the other session idle", async () => {
    workplace.model.script("alice", call(ASK, { to: "bob", message: "take this over" }), say("ok"));
    const mark = alice.mark();
    await alice.prompt("ask for something a listener takes over");
    await waitForProgress(alice, /read, idle/, mark);
    // S5.12: it still gets its answer when a run of that session settles.
    workplace.model.script("bob", say("with pleasure"));
    await bob.ask("what was that?");
    await alice.settled();
    expect(lastResult(alice, ASK, mark).text).toContain("with pleasure");
  });
});

test("S7.4 S5.3 it waits 10 minutes and no more; the answer that comes then arrives as mail that wakes", async () => {
  const thinking = stall("at long last ");
  workplace.model.script("bob", thinking);
  workplace.model.script("alice", call(ASK, { to: "bob", message: "when?" }), say("too late"));
  const [mark, markBob] = [alice.mark(), bob.mark()];
  await alice.prompt("ask when");
  await thinking.started;
  await waitForProgress(alice, /working/, mark);

  clocked.pass(9 * MINUTE + 30_000);
  await waitForProgress(alice, /9m \d+s/, mark);
  expect(toolResults(alice, ASK, mark)).toEqual([]);
  expect(recordOf(workplace, alice.id)?.waitingOn).toBe(bob.id);

  clocked.pass(35_000);
  expect((await alice.settled()).text).toBe("too late");
  const { text, isError } = lastResult(alice, ASK, mark);
  expect(isError).toBe(false);
  expect(text).toContain("10 minutes");
  expect(text).toContain(mailIn(workplace, alice.id, "sent").at(-1)?.id);
  expect(text).toContain("arrives as mail");
  expect(recordOf(workplace, alice.id)?.waitingOn).toBe("");

  const [markLate, count] = [alice.mark(), workplace.model.requests("alice").length];
  workplace.model.script("alice", say("better than never"));
  thinking.release("tomorrow");
  await bob.settled(markBob);
  expect((await alice.settled(markLate)).text).toBe("better than never");
  expect(workplace.model.requests("alice")).toHaveLength(count + 1);
  const late = textOf((await mailsIn(alice)).at(-1));
  expect(late).toContain("at long last tomorrow");
  expect(late).toContain("stopped waiting");
});
