/** `session_mail_ask`, on real Pi: how the wait ends, and what is refused. */
import { rmSync, writeFileSync } from "node:fs";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { call, calls, fail, say, stall } from "../host/model.ts";
import { newSessionId, textOf, type PiSession } from "../host/session.ts";
import { mailExtension, Workplace } from "../host/workplace.ts";
import { allMail, mailIn, recordOf } from "./s2-disk.ts";
import {
  answerAsk,
  lastResult,
  mailsIn,
  toolResults,
  useTool,
  waitForProgress,
  waitForResult,
  type ToolResult,
} from "./s7-tools.ts";
import { hookExtension, type HookExtension } from "./s9-extensions.ts";

const ASK = "session_mail_ask";

let workplace: Workplace;
let alice: PiSession;
let bob: PiSession;
let hook: HookExtension;

beforeAll(async () => {
  workplace = await Workplace.open();
  hook = hookExtension(workplace, "hook");
  [alice, bob] = await Promise.all([
    workplace.session({ name: "alice", extensions: [mailExtension, hook.path] }),
    workplace.session({ name: "bob" }),
  ]);
});
afterAll(() => workplace.close());

function waitingOn(session: PiSession): string | undefined {
  return recordOf(workplace, session.id)?.waitingOn;
}

describe("S7.4 an ask that is answered", () => {
  test("S7.5 has the answer as its result, in the middle of the run and nowhere else", async () => {
    const thinking = stall("hm ");
    workplace.model.script("alice", call(ASK, { to: "bob", message: "which port?" }), say("8080!"));
    workplace.model.script("bob", thinking);
    const mark = alice.mark();
    await alice.prompt("find the port");
    await thinking.started;
    await waitForProgress(alice, /read, working/, mark);
    expect(waitingOn(alice)).toBe(bob.id);
    expect(workplace.model.requests("bob").at(-1)?.last).toContain("which port?");

    thinking.release("it is 8080");
    const settled = await alice.settled();
    expect(settled.text).toBe("8080!");
    const result = lastResult(alice, ASK, mark);
    expect(result.isError).toBe(false);
    expect(result.text).toContain("hm it is 8080");
    expect(result.text).not.toContain("not an answer");
    // The run went on with it: two requests, the second with the answer.
    expect(workplace.model.requests("alice")).toHaveLength(2);
    expect(workplace.model.requests("alice")[1]?.last).toContain("hm it is 8080");
    expect(waitingOn(alice)).toBe("");
    expect(await mailsIn(alice)).toEqual([]);
    expect(hook.heard()).toEqual([]);
    expect(mailIn(workplace, alice.id, "sent").at(-1)).toMatchObject({ kind: "ask", hops: 0 });
    expect(mailIn(workplace, alice.id, "cur").at(-1)).toMatchObject({
      kind: "reply",
      status: "done",
      in_reply_to: [mailIn(workplace, alice.id, "sent").at(-1)?.id],
    });
    expect(alice.status("mailbox")).not.toContain("awaiting");
  });

  test("is given session_mail_reply's answer while the other run goes on", async () => {
    const after = stall("");
    workplace.model.script("alice", call(ASK, { to: bob.id, message: "again?" }), say("thanks"));
    workplace.model.script("bob", answerAsk("yes, again"), after);
    const [mark, markBob] = [alice.mark(), bob.mark()];
    expect((await alice.ask("ask again")).text).toBe("thanks");
    expect(lastResult(alice, ASK, mark).text).toContain("yes, again");
    expect((await bob.state()).isStreaming).toBe(true);
    expect(waitingOn(alice)).toBe("");
    await after.started;
    after.release("the rest of my own work");
    await bob.settled(markBob);
    // S7.8: nothing more came of it.
    expect(await mailsIn(alice)).toEqual([]);
    expect(mailIn(workplace, alice.id, "new")).toEqual([]);
  });

  test("S6.4 S7.4 by a run that its user stopped is told that it is not an answer", async () => {
    const thinking = stall("I would say ");
    workplace.model.script("alice", call(ASK, { to: "bob", message: "what now?" }), say("pity"));
    workplace.model.script("bob", thinking);
    const [mark, markBob] = [alice.mark(), bob.mark()];
    await alice.prompt("ask what now");
    await thinking.started;
    await bob.waitForText("I would say", { since: markBob });
    await bob.escape();
    expect((await alice.settled()).text).toBe("pity");
    const { text, isError } = lastResult(alice, ASK, mark);
    expect(isError).toBe(false);
    expect(text).toMatch(/not an answer.*stopped/);
    expect(text).toContain("I would say");
    expect(waitingOn(alice)).toBe("");
  });

  test("S6.3 S7.4 by a run that failed is told that it is not an answer", async () => {
    workplace.model.script("alice", call(ASK, { to: "bob", message: "what now?" }), say("pity"));
    workplace.model.script("bob", fail(400, "the model is out of order"));
    const mark = alice.mark();
    await alice.ask("ask what now");
    const { text } = lastResult(alice, ASK, mark);
    expect(text).toMatch(/not an answer.*failed/);
    expect(text).toContain("the model is out of order");
    expect(waitingOn(alice)).toBe("");
  });
});

describe("S7.4 an ask whose wait ends without an answer", () => {
  test("because the user stopped the run: a later answer arrives as mail that wakes", async () => {
    const thinking = stall("slowly ");
    workplace.model.script("alice", call(ASK, { to: "bob", message: "how many?" }));
    workplace.model.script("bob", thinking);
    const [mark, markBob] = [alice.mark(), bob.mark()];
    await alice.prompt("ask how many");
    await thinking.started;
    await waitForProgress(alice, /working/, mark);
    await alice.escape();
    await alice.settled();
    const stopped = lastResult(alice, ASK, mark);
    expect(stopped.isError).toBe(true);
    expect(stopped.text).toContain("stopped");
    expect(stopped.text).toContain(mailIn(workplace, alice.id, "sent").at(-1)?.id);
    expect(waitingOn(alice)).toBe("");
    expect(alice.status("mailbox")).toContain("1 awaiting");

    const heard = hook.heard().length;
    const [markLate, count] = [alice.mark(), workplace.model.requests("alice").length];
    workplace.model.script("alice", say("seven, good"));
    thinking.release("seven");
    await bob.settled(markBob);
    expect((await alice.settled(markLate)).text).toBe("seven, good");
    expect(workplace.model.requests("alice")).toHaveLength(count + 1);
    const late = textOf((await mailsIn(alice)).at(-1));
    expect(late).toContain("slowly seven");
    expect(late).toContain("stopped waiting");
    expect(late).toContain("> how many?");
    expect(hook.heard()).toHaveLength(heard + 1);
    expect(hook.heard().at(-1)?.requests[0]?.envelope.body).toBe("how many?");
    expect(alice.status("mailbox")).not.toContain("awaiting");
  });

  test.each([
    ["was killed", (session: PiSession) => session.kill("SIGKILL")],
    ["quit", (session: PiSession) => session.quit()],
  ])("because the other session %s", async (_how, end) => {
    const carol = await workplace.session({ name: "carol" });
    await carol.ask("hello");
    const thinking = stall("I think ");
    workplace.model.script("alice", call(ASK, { to: "carol", message: "ready?" }), say("gone"));
    workplace.model.script("carol", thinking);
    const mark = alice.mark();
    await alice.prompt("ask carol");
    await thinking.started;
    await waitForProgress(alice, /working/, mark);
    expect(waitingOn(alice)).toBe(carol.id);
    await end(carol);
    expect((await alice.settled()).text).toBe("gone");
    const { text, isError } = lastResult(alice, ASK, mark);
    expect(isError).toBe(false);
    expect(text).toMatch(/carol was closed/);
    expect(text).toContain("later answer arrives as mail");
    expect(waitingOn(alice)).toBe("");

    // S6.7: what it owed survives it, and comes as mail that wakes.
    const resumed = await workplace.session({ name: "carol", id: carol.id, resume: true });
    const markLate = alice.mark();
    workplace.model.script("carol", say("ready now"));
    await resumed.ask("go on");
    await alice.settled(markLate);
    expect(textOf((await mailsIn(alice)).at(-1))).toContain("ready now");
    await resumed.quit();
  });

  test("because it cannot be written", async () => {
    const carol = await workplace.session({ name: "carol" });
    const { tmp } = workplace.mailbox(carol.id);
    rmSync(tmp, { recursive: true });
    writeFileSync(tmp, "in the way");
    const before = allMail(workplace);
    const { text, isError } = await useTool(workplace, alice, ASK, {
      to: "carol",
      message: "there?",
    });
    expect(isError).toBe(true);
    expect(text).toContain("Nothing was sent");
    expect(allMail(workplace)).toEqual(before);
    expect(waitingOn(alice)).toBe("");
    expect(alice.status("mailbox") ?? "").not.toContain("awaiting");
    await carol.quit();
  });
});

describe("S7.3 an ask is refused, writing nothing,", () => {
  let before: string[];
  beforeEach(() => {
    before = allMail(workplace);
  });
  afterEach(() => {
    expect(waitingOn(alice)).toBe("");
  });

  async function refused(args: Record<string, unknown>): Promise<ToolResult> {
    const result = await useTool(workplace, alice, ASK, args);
    expect(result.isError).toBe(true);
    expect(allMail(workplace)).toEqual(before);
    return result;
  }

  test("for an empty text, an unknown name with the near one, and itself", async () => {
    expect((await refused({ to: "bob", message: " " })).text).toContain("empty");
    expect((await refused({ to: "bbo", message: "hello" })).text).toContain('"bob"');
    expect((await refused({ to: "alice", message: "hello" })).text).toContain("cannot mail itself");
  });

  test("to a session that is closed, naming session_mail_send", async () => {
    const { text } = await refused({ to: newSessionId(), message: "hello" });
    expect(text).toContain("not running");
    expect(text).toContain("session_mail_send");
  });

  test("while another ask of the session waits: of two at once, one goes out", async () => {
    workplace.model.script(
      "alice",
      calls([
        { name: ASK, args: { to: "bob", message: "first?" } },
        { name: ASK, args: { to: "bob", message: "second?" } },
      ]),
      say("one at a time"),
    );
    workplace.model.script("bob", say("an answer"));
    const mark = alice.mark();
    await alice.ask("ask twice at once");
    const results = toolResults(alice, ASK, mark);
    expect(results).toHaveLength(2);
    const [error] = results.filter(({ isError }) => isError);
    const [answer] = results.filter(({ isError }) => !isError);
    expect(error?.text).toContain("another ask of this session is waiting");
    expect(answer?.text).toContain("an answer");
    expect(mailIn(workplace, alice.id, "sent").filter(({ body }) => body.endsWith("?"))).toEqual(
      expect.arrayContaining([expect.objectContaining({ body: "first?" })]),
    );
    expect(mailIn(workplace, alice.id, "sent").map(({ body }) => body)).not.toContain("second?");
  });

  test("to a session that waits on this one, naming what to do instead", async () => {
    const [mark, markBob] = [alice.mark(), bob.mark()];
    workplace.model.script("alice", call(ASK, { to: "bob", message: "your turn?" }), say("fine"));
    workplace.model.script("bob", call(ASK, { to: "alice", message: "yours?" }), say("no, mine"));
    await alice.ask("ask in a circle");
    await bob.settled(markBob);
    const { text, isError } = lastResult(bob, ASK, markBob);
    expect(isError).toBe(true);
    expect(text).toMatch(/alice is waiting for an answer from this session/);
    expect(text).toContain("session_mail_reply");
    expect(mailIn(workplace, bob.id, "sent")).toEqual([]);
    expect(waitingOn(bob)).toBe("");
    expect(lastResult(alice, ASK, mark).text).toContain("no, mine");
  });

  test("to a session that waits on this one through others", async () => {
    const dave = await workplace.session({ name: "dave" });
    const [mark, markDave] = [alice.mark(), dave.mark()];
    workplace.model.script("alice", call(ASK, { to: "bob", message: "one?" }), say("done"));
    workplace.model.script("bob", call(ASK, { to: "dave", message: "two?" }), say("from dave"));
    workplace.model.script("dave", call(ASK, { to: "alice", message: "three?" }), say("so be it"));
    await alice.ask("ask round");
    await dave.settled(markDave);
    const { text, isError } = lastResult(dave, ASK, markDave);
    expect(isError).toBe(true);
    expect(text).toContain("through other sessions");
    expect(mailIn(workplace, dave.id, "sent")).toEqual([]);
    expect(waitingOn(dave)).toBe("");
    expect(lastResult(alice, ASK, mark).text).toContain("from dave");
    await dave.quit();
  });
});

test("an ask that is quit in the middle clears what it waits on, and its late answer wakes", async () => {
  const erin = await workplace.session({ name: "erin" });
  workplace.model.script("erin", say("hello"));
  await erin.ask("hello");
  const thinking = stall("let me think ");
  workplace.model.script("erin", call(ASK, { to: "bob", message: "and?" }));
  workplace.model.script("bob", thinking);
  const [mark, markBob] = [erin.mark(), bob.mark()];
  await erin.prompt("ask bob");
  await thinking.started;
  await waitForProgress(erin, /working/, mark);
  await erin.quit();
  expect(recordOf(workplace, erin.id)).toBeUndefined();
  thinking.release("so what");
  await bob.settled(markBob);
  expect(mailIn(workplace, erin.id, "new")).toHaveLength(1);

  workplace.model.script("erin", say("so what, indeed"));
  const resumed = await workplace.session({ name: "erin", id: erin.id, resume: true });
  expect((await resumed.settled(0)).text).toBe("so what, indeed");
  expect(textOf((await mailsIn(resumed)).at(-1))).toContain("stopped waiting");
  await resumed.quit();
});

test("S7.4 the wait of a run that is over leaves the next ask free", async () => {
  workplace.model.script("alice", call(ASK, { to: "bob", message: "last one?" }), say("bye"));
  workplace.model.script("bob", say("the last"));
  const mark = alice.mark();
  await alice.prompt("and a last one");
  expect((await waitForResult(alice, ASK, mark)).text).toContain("the last");
  await alice.settled();
  expect(alice.extensionErrors).toEqual([]);
  expect(bob.extensionErrors).toEqual([]);
});
