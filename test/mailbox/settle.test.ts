import { rmSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { type Envelope, envelopeName } from "../../src/mail/envelope.ts";
import { boxesOf } from "../../src/mail/root.ts";
import { send } from "../../src/mail/store.ts";
import { CLOSED, HELD } from "../../src/turn/settle.ts";
import { useStateFolder } from "../fixtures/folder.ts";
import { ALICE, BOB, CAROL, drop, mail, replyTo } from "../fixtures/mail.ts";
import { FakeClock, FakeHost, Life, mailsIn, useLives } from "./fake.ts";

useStateFolder();
useLives();

/** A session that has read these mails in a run that is on. */
function reading(...mails: Envelope[]): Life {
  const life = Life.open(new FakeHost(BOB));
  for (const envelope of mails) send(envelope, false);
  life.mailbox.look();
  life.start();
  return life;
}

describe("S6.1 when a run settles", () => {
  test("the last text goes back: one reply per sender's requests, one of its own for its asks", () => {
    const [one, two, ask] = [mail(), mail(), mail({ kind: "ask" })];
    const [other, message] = [mail({ from: CAROL }), mail({ kind: "message" })];
    const life = reading(one, two, ask, other, message);
    life.gap();
    expect(mailsIn(ALICE)).toEqual([]);
    life.end({ text: "All done." });
    expect(mailsIn(ALICE)).toMatchObject([
      { from: BOB, to: ALICE, kind: "reply", status: "done", in_reply_to: [one.id, two.id] },
      { from: BOB, to: ALICE, kind: "reply", status: "done", in_reply_to: [ask.id] },
    ]);
    expect(mailsIn(CAROL)).toMatchObject([{ in_reply_to: [other.id], body: "All done." }]);
    expect(mailsIn(BOB, "sent")).toEqual([]);
    expect(life.ledger).toMatchObject({ owed: [], outbox: [], unread: [], entered: 0, read: 5 });
  });

  test("more than fifty of one sender are answered in several, each once", () => {
    const mails = Array.from({ length: 101 }, () => mail());
    const life = reading(...mails);
    life.end({ text: "done" });
    const answers = mailsIn(ALICE);
    expect(answers.map(({ in_reply_to }) => in_reply_to.length)).toEqual([50, 50, 1]);
    expect(answers.flatMap(({ in_reply_to }) => in_reply_to)).toEqual(mails.map(({ id }) => id));
  });

  test("mail that is seen to have entered only then is answered, too", () => {
    const life = Life.open(new FakeHost(BOB));
    life.host.messages = "late";
    const request = mail();
    send(request, false);
    life.mailbox.look();
    life.start();
    life.mailbox.conversation.messageEnded({
      text: "Whole.",
      stopReason: "stop",
      error: undefined,
    });
    life.mailbox.conversation.turnEnded(false);
    life.host.release();
    life.host.idle = true;
    life.mailbox.conversation.settled(false);
    expect(mailsIn(ALICE)).toMatchObject([{ in_reply_to: [request.id], body: "Whole." }]);
  });

  test("not when a part of the run has ended: Pi may try again", () => {
    const life = reading(mail());
    life.mailbox.conversation.messageEnded({ text: "", stopReason: "error", error: "overloaded" });
    life.mailbox.conversation.turnEnded(false);
    life.mailbox.conversation.runEnded(false);
    expect(mailsIn(ALICE)).toEqual([]);
    life.end({ text: "It worked in the end." });
    expect(mailsIn(ALICE)).toMatchObject([{ status: "done", body: "It worked in the end." }]);
  });

  test("also when it was on before the mailbox was opened, as where extensions are loaded anew", () => {
    const life = new Life(new FakeHost(BOB), new FakeClock(), false, true);
    const request = mail();
    send(request, false);
    life.clock.turn();
    life.gap();
    life.end({ text: "Whole." });
    expect(mailsIn(ALICE)).toMatchObject([{ in_reply_to: [request.id], body: "Whole." }]);
  });

  test("S6.8 replies and messages are not answered", () => {
    const life = reading(mail({ kind: "message" }), replyTo(mail({ from: BOB, to: ALICE })));
    life.end({ text: "Fine." });
    expect(mailsIn(ALICE)).toEqual([]);
  });

  test("S6.2 a run without a text is answered with a placeholder", () => {
    const life = reading(mail());
    life.end({ text: "" });
    expect(mailsIn(ALICE)).toMatchObject([{ status: "done" }]);
    expect(mailsIn(ALICE)[0]?.body).not.toBe("");
  });

  test("the text of an earlier run answers nothing", () => {
    const life = Life.open(new FakeHost(BOB));
    life.prompt();
    life.end({ text: "A secret of the user's." });
    send(mail(), false);
    life.mailbox.look();
    life.run({ text: "" });
    expect(mailsIn(ALICE)[0]?.body).not.toContain("secret");
  });

  test("S6.3 failed: the error, then any partial text", () => {
    const life = reading(mail());
    life.end({ text: "I had begun", stopReason: "error", error: "overloaded" });
    expect(mailsIn(ALICE)).toMatchObject([{ status: "failed" }]);
    expect(mailsIn(ALICE)[0]?.body).toMatch(/overloaded[\s\S]*I had begun/);
  });

  test("S7.8 an ask that was answered already is left out, the sender's others are not", () => {
    const [one, two, request] = [mail({ kind: "ask" }), mail({ kind: "ask" }), mail()];
    const life = reading(one, two, request);
    expect(life.mailbox.openAsks().map(({ id }) => id)).toEqual([one.id, two.id]);
    life.mailbox.answer(one.id, "Yes.");
    expect(life.ledger.outbox).toEqual([]);
    expect(mailsIn(ALICE)).toMatchObject([{ in_reply_to: [one.id], status: "done", body: "Yes." }]);
    expect(life.mailbox.openAsks().map(({ id }) => id)).toEqual([two.id]);
    expect(() => life.mailbox.answer(one.id, "No.")).toThrow();
    life.end({ text: "The rest." });
    expect(mailsIn(ALICE).map(({ in_reply_to }) => in_reply_to)).toEqual([
      [one.id],
      [two.id],
      [request.id],
    ]);
  });

  test("S7.7 an ask can be answered in the turn it came with, before that turn has ended", () => {
    const life = Life.open(new FakeHost(BOB));
    life.prompt();
    const ask = mail({ kind: "ask" });
    send(ask, false);
    life.gap();
    life.mailbox.answer(ask.id, "Yes.");
    life.end({ text: "done" });
    expect(mailsIn(ALICE)).toHaveLength(1);
  });
});

describe("S6.4 S6.5 a run that the user stopped", () => {
  test("S6.4 answers an ask at once, saying so, with the partial text", () => {
    const life = reading(mail({ kind: "ask" }));
    life.end({ text: "Half of it", stopReason: "aborted" });
    expect(mailsIn(ALICE)).toMatchObject([{ status: "stopped" }]);
    expect(mailsIn(ALICE)[0]?.body).toMatch(/stopped[\s\S]*Half of it/);
    life.run({ text: "later" });
    expect(mailsIn(ALICE)).toHaveLength(1);
  });

  test("S6.5 holds a request through stopped and failed runs, until one completes", () => {
    const request = mail();
    const life = reading(request);
    life.end({ text: "Half of it", stopReason: "aborted" });
    life.run({ stopReason: "aborted" });
    life.run({ stopReason: "error", error: "overloaded" });
    expect(mailsIn(ALICE)).toEqual([]);
    expect(life.ledger.owed).toMatchObject([{ id: request.id, held: true, closed: false }]);
    life.run({ text: "Whole." });
    expect(mailsIn(ALICE)).toMatchObject([
      { status: "done", in_reply_to: [request.id], body: `${HELD}\n\nWhole.` },
    ]);
    life.run({ text: "More." });
    expect(mailsIn(ALICE)).toHaveLength(1);
  });

  test("a stop that only the run's signal tells of is one", () => {
    const request = mail();
    const life = reading(request);
    life.mailbox.conversation.messageEnded({ text: "", stopReason: "error", error: "aborted" });
    life.mailbox.conversation.runEnded(true);
    life.host.idle = true;
    life.mailbox.conversation.settled(false);
    life.clock.turn();
    expect(mailsIn(ALICE)).toEqual([]);
    expect(life.ledger.owed).toMatchObject([{ held: true }]);
    // And it holds for that run alone.
    life.run({ stopReason: "error", error: "overloaded" });
    send(mail({ from: CAROL }), false);
    life.mailbox.look();
    life.run({ stopReason: "error", error: "overloaded" });
    expect(mailsIn(CAROL)).toMatchObject([{ status: "failed" }]);
  });

  test("S6.6 what it was stopped before reading is answered failed, and says that nothing was done", () => {
    const life = Life.open(new FakeHost(BOB));
    life.prompt();
    const [request, ask] = [mail(), mail({ kind: "ask", from: CAROL })];
    send(request, false);
    send(ask, false);
    life.mailbox.look();
    life.end({ stopReason: "aborted" });
    for (const [from, { id }] of [
      [ALICE, request],
      [CAROL, ask],
    ] as const) {
      expect(mailsIn(from)).toMatchObject([{ status: "failed", in_reply_to: [id] }]);
      expect(mailsIn(from)[0]?.body).toMatch(/nothing was done/i);
    }
    life.clock.advance(60_000);
    expect(life.read).toEqual([]);
    expect(life.host.idle).toBe(true);
    expect(life.ledger).toMatchObject({ unread: [], owed: [] });
    // Nor when it is opened again, whatever is made of its ledger.
    life.close();
    const next = life.next();
    expect(next.read).toEqual([]);
    next.run({ text: "done" });
    expect(mailsIn(ALICE)).toHaveLength(1);
  });

  test("S2.8 S6.6 what was answered so does not enter later, come it again or the ledger be lost", () => {
    const life = Life.open(new FakeHost(BOB));
    life.prompt();
    const request = mail();
    send(request, false);
    life.mailbox.look();
    life.end({ stopReason: "aborted" });
    drop(BOB, { ...request, ts: mail().ts });
    life.clock.advance(10_000);
    expect(life.read).toEqual([]);
    life.close();
    rmSync(boxesOf(BOB).ledger);
    const next = life.next();
    next.clock.advance(10_000);
    expect(next.read).toEqual([]);
  });

  test("S6.6 other unread mail is kept: it enters quietly and starts nothing", () => {
    const life = Life.open(new FakeHost(BOB));
    const ask = life.mailbox.send({ to: ALICE, kind: "ask", hops: 0, body: "Which?" });
    life.prompt();
    const kept = [mail({ kind: "message" }), replyTo(mail({ from: BOB, to: CAROL })), replyTo(ask)];
    for (const envelope of kept) send(envelope, false);
    send(mail(), false);
    life.mailbox.look();
    life.end({ stopReason: "aborted" });
    expect(life.read).toEqual(kept.map(({ id }) => id));
    expect(life.host.puts.map(({ by }) => by)).toEqual(["append", "append", "append"]);
    life.clock.advance(60_000);
    expect(life.host.puts).toHaveLength(3);
    expect(life.host.status).toBe("✉ 3 pending");
    life.run({ text: "done" });
    expect(life.host.status).toBe("✉ 3 read");
  });

  test("S6.6 what was put in quietly and did not become an entry is unread still", () => {
    const life = Life.open(new FakeHost(BOB));
    life.prompt();
    const envelope = mail({ kind: "message" });
    send(envelope, false);
    life.mailbox.look();
    life.host.messages = "lost";
    life.end({ stopReason: "aborted" });
    expect(life.ledger.unread).toEqual([envelopeName(envelope)]);
    life.host.messages = "enter";
    life.clock.advance(10_000);
    expect(life.read).toEqual([envelope.id]);
  });

  test("S5.5 mail that a gap took in before the stop was read, and is held", () => {
    const life = Life.open(new FakeHost(BOB));
    life.prompt();
    const request = mail();
    send(request, false);
    life.gap();
    life.end({ stopReason: "aborted" });
    expect(mailsIn(ALICE)).toEqual([]);
    expect(life.ledger.owed).toMatchObject([{ id: request.id, held: true }]);
  });

  test("S6.6 a request that the gap before the stop took, and another extension dropped, was not read", () => {
    const life = Life.open(new FakeHost(BOB));
    life.prompt();
    send(mail(), false);
    life.gap(() => true);
    life.end({ stopReason: "aborted" });
    expect(mailsIn(ALICE)).toMatchObject([{ status: "failed" }]);
  });
});

describe("S6.7 what a session owes survives it", () => {
  const ways = {
    quit: (life: Life) => {
      life.close();
    },
    crash: (life: Life) => {
      life.crash();
    },
  };

  test.each(["quit", "crash"] as const)(
    "a %s: the next run that completes answers it, saying so",
    (way) => {
      const [request, ask] = [mail(), mail({ kind: "ask" })];
      const life = reading(request, ask);
      life.gap();
      ways[way](life);
      const next = life.next();
      expect(next.host.puts).toEqual([]);
      expect(next.mailbox.openAsks().map(({ id }) => id)).toEqual([ask.id]);
      expect(mailsIn(ALICE)).toEqual([]);
      next.run({ stopReason: "error", error: "overloaded" });
      next.run({ stopReason: "aborted" });
      expect(mailsIn(ALICE)).toEqual([]);
      next.run({ text: "Whole." });
      const answers = mailsIn(ALICE);
      expect(answers).toMatchObject([
        { status: "done", in_reply_to: [request.id] },
        { status: "done", in_reply_to: [ask.id] },
      ]);
      for (const { body } of answers) expect(body).toContain(CLOSED);
      next.run({ text: "More." });
      expect(mailsIn(ALICE)).toHaveLength(2);
    },
  );

  test("two closings say it once", () => {
    const life = reading(mail());
    life.close();
    const next = life.next();
    next.close();
    next.next().run({ text: "Whole." });
    expect(mailsIn(ALICE)[0]?.body).toBe(`${CLOSED}\n\nWhole.`);
  });

  test("a request that is read after the reopening does not say it", () => {
    const life = reading(mail({ from: CAROL }));
    life.close();
    const next = life.next();
    send(mail(), false);
    next.mailbox.look();
    next.run({ text: "Whole." });
    expect(mailsIn(ALICE)[0]?.body).toBe("Whole.");
    expect(mailsIn(CAROL)[0]?.body).toBe(`${CLOSED}\n\nWhole.`);
  });

  test("an extension that is loaded anew does not say it", () => {
    const request = mail();
    const life = reading(request);
    life.close();
    const next = life.next(false);
    next.run({ text: "Whole." });
    expect(mailsIn(ALICE)).toMatchObject([{ in_reply_to: [request.id], body: "Whole." }]);
  });

  test("what was closed before the loading anew says it still", () => {
    const life = reading(mail());
    life.close();
    const next = life.next();
    next.close();
    next.next(false).run({ text: "Whole." });
    expect(mailsIn(ALICE)[0]?.body).toBe(`${CLOSED}\n\nWhole.`);
  });

  test("a held request says both", () => {
    const life = reading(mail());
    life.end({ stopReason: "aborted" });
    life.close();
    life.next().run({ text: "Whole." });
    expect(mailsIn(ALICE)[0]?.body).toBe(`${HELD}\n\n${CLOSED}\n\nWhole.`);
  });

  test("an ask that is owed can be answered with the tool", () => {
    const ask = mail({ kind: "ask" });
    const life = reading(ask);
    life.crash();
    const next = life.next();
    next.prompt();
    next.mailbox.answer(ask.id, "Yes.");
    next.end({ text: "Whole." });
    expect(mailsIn(ALICE)).toMatchObject([{ in_reply_to: [ask.id], body: "Yes." }]);
  });
});

describe("S6.5 what the user is told of a stop", () => {
  test("is once whom the next run answers, though a later stop holds it still", () => {
    const life = reading(mail(), mail({ from: CAROL }), mail());
    life.end({ stopReason: "aborted" });
    expect(life.host.warnings).toEqual([
      expect.stringMatching(/^mailbox: the next run that completes answers \S+, \S+, whatever/),
    ]);
    life.run({ stopReason: "aborted" });
    life.run({ text: "done" });
    expect(life.host.warnings).toHaveLength(1);
  });

  test("is nothing where nothing was owed, or was answered at once", () => {
    const life = reading(mail({ kind: "ask" }), mail({ kind: "message" }));
    life.end({ stopReason: "aborted" });
    expect(life.host.warnings).toEqual([]);
  });
});
