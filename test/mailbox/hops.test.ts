import { describe, expect, test } from "vitest";
import { send } from "../../src/mail/store.ts";
import { useStateFolder } from "../fixtures/folder.ts";
import { ALICE, BOB, CAROL, mail, replyTo } from "../fixtures/mail.ts";
import { FakeHost, Life, mailsIn, useLives } from "./fake.ts";

useStateFolder();
useLives();

describe("S10.1 a turn's hop count", () => {
  test("is 0 before anything, and for what the user starts", () => {
    const life = Life.open(new FakeHost(BOB));
    expect(life.mailbox.hops).toBe(0);
    life.prompt();
    expect(life.mailbox.hops).toBe(0);
    life.gap();
    expect(life.mailbox.hops).toBe(0);
  });

  test("is one more than the highest of the mail that started it", () => {
    const life = Life.open(new FakeHost(BOB));
    for (const hops of [1, 3, 0]) send(mail({ hops, kind: "message" }), false);
    life.mailbox.look();
    life.start();
    expect(life.mailbox.hops).toBe(4);
    life.gap();
    expect(life.mailbox.hops).toBe(4);
  });

  test("rises with mail that steers it", () => {
    const life = Life.open(new FakeHost(BOB));
    send(mail({ hops: 0 }), false);
    life.mailbox.look();
    life.start();
    expect(life.mailbox.hops).toBe(1);
    send(mail({ hops: 2 }), false);
    life.gap();
    expect(life.mailbox.hops).toBe(3);
  });

  test("is 0 once the user steers it, and stays so", () => {
    const life = Life.open(new FakeHost(BOB));
    send(mail({ hops: 4 }), false);
    life.mailbox.look();
    life.start();
    expect(life.mailbox.hops).toBe(5);
    life.mailbox.conversation.userSpoke();
    expect(life.mailbox.hops).toBe(0);
    send(mail({ hops: 4 }), false);
    life.gap();
    expect(life.mailbox.hops).toBe(0);
  });

  test("starts afresh when the run settles", () => {
    const life = Life.open(new FakeHost(BOB));
    send(mail({ hops: 4 }), false);
    life.mailbox.look();
    life.run({ text: "done" });
    expect(life.mailbox.hops).toBe(0);
    send(mail({ hops: 1, kind: "message" }), false);
    life.mailbox.look();
    life.start();
    expect(life.mailbox.hops).toBe(2);
  });

  test("is the mail's when what the user typed before started no run", () => {
    const life = Life.open(new FakeHost(BOB));
    life.mailbox.conversation.userSpoke();
    // As long as it may still start one, no mail gets in its way.
    life.clock.advance(2000);
    send(mail({ hops: 3 }), false);
    life.mailbox.look();
    life.start();
    expect(life.mailbox.hops).toBe(4);
  });

  test("does not count quiet replies", () => {
    const life = Life.open(new FakeHost(BOB));
    send(replyTo(mail({ from: BOB, to: ALICE }), { hops: 4 }), false);
    life.mailbox.look();
    expect(life.mailbox.hops).toBe(0);
    send(mail({ hops: 0, kind: "message" }), false);
    life.mailbox.look();
    life.start();
    expect(life.mailbox.hops).toBe(1);
  });

  test("counts a late answer to an ask", () => {
    const life = Life.open(new FakeHost(BOB));
    const ask = life.mailbox.send({ to: ALICE, kind: "ask", hops: 0, body: "x" });
    send(replyTo(ask, { hops: 2 }), false);
    life.mailbox.look();
    life.start();
    expect(life.mailbox.hops).toBe(3);
  });

  test("counts what a listener takes over, replies too", () => {
    const life = Life.open(new FakeHost(BOB));
    life.host.listener = (inbound) => {
      inbound.handled = true;
    };
    send(replyTo(mail({ from: BOB, to: ALICE }), { hops: 2 }), false);
    life.mailbox.look();
    // The listener starts a run of its own with what it took.
    life.start();
    expect(life.mailbox.hops).toBe(3);
    life.mailbox.conversation.userSpoke();
    expect(life.mailbox.hops).toBe(0);
  });

  test("does not count mail that a stopped run never read, nor what entered quietly behind it", () => {
    const life = Life.open(new FakeHost(BOB));
    life.prompt();
    send(mail({ hops: 4 }), false);
    send(mail({ hops: 4, kind: "message" }), false);
    life.mailbox.look();
    life.end({ stopReason: "aborted" });
    expect(life.read).toHaveLength(1);
    send(mail({ hops: 0, kind: "message" }), false);
    life.mailbox.look();
    life.start();
    expect(life.mailbox.hops).toBe(1);
  });

  test("S9.1 is 0 without a run, whatever has come in", () => {
    const life = Life.open(new FakeHost(BOB));
    life.host.listener = (inbound) => {
      inbound.handled = true;
    };
    send(mail({ hops: 4 }), false);
    life.mailbox.look();
    expect(life.mailbox.hops).toBe(0);
  });

  test("is kept for mail that is noticed while other extensions still handle the end of a run", () => {
    const life = settling();
    send(mail({ hops: 4, kind: "message" }), false);
    life.mailbox.look();
    settle(life);
    life.start();
    expect(life.read).toHaveLength(1);
    expect(life.mailbox.hops).toBe(5);
  });
});

/**
 * A session whose run has ended, and of whose end another extension that takes its time is told
 * before us: Pi is idle, puts in at once what starts nothing, and defers what starts a run.
 */
function settling(): Life {
  const life = Life.open(new FakeHost(BOB));
  life.prompt();
  life.mailbox.conversation.messageEnded({
    text: "For the user.",
    stopReason: "stop",
    error: undefined,
  });
  life.mailbox.conversation.turnEnded(false);
  life.mailbox.conversation.runEnded(false);
  life.host.idle = true;
  life.host.messages = "settling";
  return life;
}

/** And now we are told, and then Pi does what it has deferred. */
function settle(life: Life): void {
  life.mailbox.conversation.settled(false);
  life.host.messages = "enter";
  life.host.release();
  life.clock.turn();
}

describe("S6.9 an answer belongs to its run", () => {
  test("mail that is noticed while other extensions still handle the end of a run is no part of it", () => {
    const life = settling();
    const mails = [mail(), mail({ from: CAROL })];
    for (const envelope of mails) send(envelope, false);
    life.mailbox.look();
    settle(life);
    expect(mailsIn(ALICE)).toEqual([]);
    expect(mailsIn(CAROL)).toEqual([]);
    life.run({ text: "For both." });
    expect(life.read).toEqual(mails.map(({ id }) => id));
    expect(mailsIn(ALICE)).toMatchObject([{ body: "For both." }]);
    expect(mailsIn(CAROL)).toMatchObject([{ body: "For both." }]);
  });
});

describe("S10.1 replies", () => {
  test("carry the count of their run", () => {
    const life = Life.open(new FakeHost(BOB));
    const ask = mail({ kind: "ask", hops: 1 });
    send(ask, false);
    send(mail({ from: CAROL, hops: 3 }), false);
    life.mailbox.look();
    life.start();
    life.mailbox.answer(ask.id, "Yes.");
    life.end({ text: "done" });
    expect(mailsIn(ALICE)).toMatchObject([{ hops: 4 }]);
    expect(mailsIn(CAROL)).toMatchObject([{ hops: 4 }]);
  });

  test("S6.8 go out whatever the count", () => {
    const life = Life.open(new FakeHost(BOB));
    send(mail({ hops: 100 }), false);
    life.mailbox.look();
    life.run({ text: "done" });
    expect(mailsIn(ALICE)).toMatchObject([{ hops: 101, body: "done" }]);
  });
});
