/** `session_mail_reply`, on real Pi: one ask answered in the middle of a run, and what is refused. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { call, say, stall } from "../host/model.ts";
import { textOf, type PiSession } from "../host/session.ts";
import { Workplace } from "../host/workplace.ts";
import type { Envelope } from "../../src/mail/envelope.ts";
import { allMail, ledgerOf, mailIn, plantMail } from "./s2-disk.ts";
import {
  answerAsk,
  askIn,
  lastResult,
  mailsIn,
  useTool,
  waitForProgress,
  waitForResult,
} from "./s7-tools.ts";

const ASK = "session_mail_ask";
const REPLY = "session_mail_reply";

let workplace: Workplace;
let alice: PiSession;
let bob: PiSession;
beforeAll(async () => {
  workplace = await Workplace.open();
  [alice, bob] = await Promise.all([
    workplace.session({ name: "alice" }),
    workplace.session({ name: "bob" }),
  ]);
});
afterAll(() => workplace.close());

/** The replies that an address has received, oldest first. */
function repliesTo({ id }: PiSession): Envelope[] {
  // In the order in which mail moves, so that none is missed on its way.
  const found = [...mailIn(workplace, id, "new"), ...mailIn(workplace, id, "cur")];
  const replies = new Map(found.map((mail) => [mail.id, mail])).values();
  return [...replies]
    .filter(({ kind }) => kind === "reply")
    .sort((one, other) => one.ts.localeCompare(other.ts));
}

function lastSentBy({ id }: PiSession): Envelope {
  const mail = mailIn(workplace, id, "sent").at(-1);
  if (!mail) throw new Error(`${id} has sent nothing`);
  return mail;
}

describe("S7 S7.8 session_mail_reply", () => {
  test("answers one ask, done, while the run goes on; the settle leaves that one out and answers the rest", async () => {
    const carol = await workplace.session({ name: "carol" });
    const own = stall("my own work ");
    const after = stall("");
    workplace.model.script("bob", own, answerAsk("the port is 8080"), after);
    const markBob = bob.mark();
    await bob.prompt("work");
    await own.started;

    // One sender's request, an ask of it that stopped waiting, and an ask that waits; another's request.
    await alice.command("/mailbox bob how do the tests go?");
    const request = lastSentBy(alice);
    workplace.model.script("alice", call(ASK, { to: "bob", message: "which host?" }));
    let mark = alice.mark();
    await alice.prompt("ask for the host");
    await waitForProgress(alice, /not read yet/, mark);
    await alice.escape();
    await alice.settled();
    const abandoned = lastSentBy(alice);
    workplace.model.script("alice", call(ASK, { to: "bob", message: "which port?" }), say("8080"));
    await carol.command("/mailbox bob and the linter?");
    mark = alice.mark();
    await alice.prompt("ask for the port");
    await waitForProgress(alice, /not read yet/, mark);
    const ask = lastSentBy(alice);

    own.release("is done");
    await after.started;
    expect((await alice.settled()).text).toBe("8080");
    expect(lastResult(alice, ASK, mark).text).toContain("the port is 8080");
    const reply = lastResult(bob, REPLY, markBob);
    expect(reply.isError).toBe(false);
    expect(reply.text).toContain(ask.id);
    expect((await bob.state()).isStreaming).toBe(true);
    expect(repliesTo(alice)).toMatchObject([
      { status: "done", in_reply_to: [ask.id], from: bob.id, body: "the port is 8080" },
    ]);

    const [markLate, markCarol] = [alice.mark(), carol.mark()];
    after.release("all is well, on localhost");
    // The late answer wakes.
    await alice.settled(markLate);
    await carol.waitForEntry(({ customType }) => customType === "mailbox", "of the answer");
    expect(repliesTo(alice).slice(1)).toEqual([
      expect.objectContaining({ in_reply_to: [request.id], body: "all is well, on localhost" }),
      expect.objectContaining({ in_reply_to: [abandoned.id], body: "all is well, on localhost" }),
    ]);
    expect(repliesTo(carol)).toMatchObject([{ body: "all is well, on localhost" }]);
    expect(carol.answers(markCarol)).toEqual([]);
    expect(ledgerOf(workplace, bob.id).owed).toEqual([]);
    expect(ledgerOf(workplace, alice.id).awaiting).toEqual([]);
    await carol.quit();
  });

  test("takes an id with blanks around it, and an ask that waits no more", async () => {
    workplace.model.script("bob", (request) =>
      call(REPLY, { ask: ` ${askIn(request)}\n`, message: "planted yourself" }),
    );
    const mark = bob.mark();
    const ask = plantMail(workplace, { to: bob.id, from: alice.id, kind: "ask", body: "who?" });
    await bob.settled(mark);
    expect(lastResult(bob, REPLY, mark)).toMatchObject({ isError: false });
    expect(repliesTo(alice).at(-1)).toMatchObject({ in_reply_to: [ask.id], status: "done" });
    await alice.waitForEntry(
      (entry) => textOf(entry).includes("planted yourself"),
      "of the answer",
    );
  });
});

describe("S7.7 session_mail_reply is refused, sending nothing,", () => {
  async function refused(args: { ask: string; message: string }): Promise<string> {
    const before = allMail(workplace);
    const { text, isError } = await useTool(workplace, bob, REPLY, args);
    expect(isError).toBe(true);
    expect(allMail(workplace)).toEqual(before);
    return text;
  }

  /** Delivers a mail to Bob and waits until a run on it has settled. */
  async function received(fields: Pick<Envelope, "kind">): Promise<Envelope> {
    const mark = bob.mark();
    const mail = plantMail(workplace, { to: bob.id, from: alice.id, ...fields });
    await bob.settled(mark);
    return mail;
  }

  test("for an ask answered by the tool, in the same run and in a later one", async () => {
    workplace.model.script(
      "bob",
      answerAsk("once"),
      (request) => call(REPLY, { ask: askIn(request), message: "twice" }),
      say("so not twice"),
    );
    const mark = bob.mark();
    const ask = plantMail(workplace, { to: bob.id, from: alice.id, kind: "ask" });
    await bob.settled(mark);
    const second = lastResult(bob, REPLY, mark);
    expect(second).toMatchObject({ isError: true });
    expect(second.text).toContain("answered already");
    const answers = repliesTo(alice).filter(({ in_reply_to }) => in_reply_to.includes(ask.id));
    expect(answers).toMatchObject([{ body: "once" }]);
    expect(await refused({ ask: ask.id, message: "thrice" })).toContain("answered already");
  });

  test("for an ask answered when its run settled", async () => {
    const ask = await received({ kind: "ask" });
    expect(repliesTo(alice).at(-1)?.in_reply_to).toEqual([ask.id]);
    expect(await refused({ ask: ask.id, message: "again" })).toContain("answered already");
  });

  test("for a request, also one that is still owed", async () => {
    const request = await received({ kind: "request" });
    expect(await refused({ ask: request.id, message: "early" })).toContain("is a request");
    const mark = bob.mark();
    const id = crypto.randomUUID();
    workplace.model.script("bob", call(REPLY, { ask: id, message: "early" }), say("in its time"));
    plantMail(workplace, { id, to: bob.id, from: alice.id, kind: "request" });
    const { text, isError } = await waitForResult(bob, REPLY, mark);
    expect(isError).toBe(true);
    expect(text).toContain("is a request");
    await bob.settled(mark);
    expect(repliesTo(alice).at(-1)).toMatchObject({ in_reply_to: [id], body: "in its time" });
  });

  test("for a message", async () => {
    const message = await received({ kind: "message" });
    const text = await refused({ ask: message.id, message: "thanks" });
    expect(text).toContain("is a message");
    expect(text).toContain("session_mail_send");
    expect(text).toContain(alice.id);
  });

  test("for a reply", async () => {
    await bob.command("/mailbox alice anything new?");
    await bob.waitForEntry(
      ({ details }) => details?.["kind"] === "reply",
      "of the reply to the request",
    );
    const reply = repliesTo(bob).at(-1);
    expect(await refused({ ask: reply?.id ?? "", message: "thanks" })).toMatch(
      /is itself an answer/,
    );
  });

  test("for an id that never reached this session", async () => {
    const strange = [crypto.randomUUID(), lastSentBy(alice).id.slice(0, 8), "../../x", ""];
    for (const ask of strange) {
      expect(await refused({ ask, message: "hello" })).toMatch(/not the id of a mail/);
    }
    // A mail that went to somebody else.
    expect(await refused({ ask: lastSentBy(bob).id, message: "hello" })).toMatch(
      /not the id of a mail to this session/,
    );
  });

  test("for an empty text; the ask is then still owed", async () => {
    workplace.model.script(
      "bob",
      (request) => call(REPLY, { ask: askIn(request), message: " \n" }),
      say("a real answer"),
    );
    const mark = bob.mark();
    const ask = plantMail(workplace, { to: bob.id, from: alice.id, kind: "ask" });
    await bob.settled(mark);
    const { text, isError } = lastResult(bob, REPLY, mark);
    expect(isError).toBe(true);
    expect(text).toContain("empty");
    expect(repliesTo(alice).at(-1)).toMatchObject({
      in_reply_to: [ask.id],
      body: "a real answer",
    });
    expect((await mailsIn(bob)).length).toBeGreaterThan(0);
  });
});
