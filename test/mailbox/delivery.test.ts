import { describe, expect, test } from "vitest";
import { envelopeName } from "../../src/mail/envelope.ts";
import { send } from "../../src/mail/store.ts";
import { useStateFolder } from "../fixtures/folder.ts";
import { ALICE, BOB, CAROL, drop, mail, replyTo } from "../fixtures/mail.ts";
import { FakeHost, Life, mailsIn, useLives } from "./fake.ts";

useStateFolder();
useLives();

/** How each mail was put into the session, in order. */
function puts({ host }: Life): [by: string, id: string][] {
  return host.puts.map(({ by, mail: { details } }) => [by, details.id]);
}

/** An answer of Alice to a request that Bob never sent: quiet mail. */
function quiet() {
  return replyTo(mail({ from: BOB, to: ALICE }));
}

describe("S5.3 an idle session", () => {
  test.each(["request", "ask", "message"] as const)("is woken by a %s", (kind) => {
    const life = Life.open(new FakeHost(BOB));
    const envelope = mail({ kind });
    send(envelope, false);
    life.mailbox.look();
    expect(puts(life)).toEqual([["wake", envelope.id]]);
    const { content, details } = life.host.puts[0]!.mail;
    expect(content.slice(...details.body)).toBe(envelope.body);
    expect(details).toEqual({
      id: envelope.id,
      from: ALICE,
      label: ALICE.slice(0, 8),
      kind,
      status: "",
      ts: envelope.ts,
      body: details.body,
      quotes: [],
    });
  });

  test("is not woken by a reply, which it shows at once", () => {
    const life = Life.open(new FakeHost(BOB));
    const reply = quiet();
    send(reply, false);
    life.mailbox.look();
    expect(puts(life)).toEqual([["append", reply.id]]);
    expect(life.host.idle).toBe(true);
  });

  test("is woken by a late answer to an ask, and not by one to a request", () => {
    const life = Life.open(new FakeHost(BOB));
    const ask = life.mailbox.send({ to: ALICE, kind: "ask", hops: 0, body: "Which one?" });
    const request = life.mailbox.send({ to: ALICE, kind: "request", hops: 0, body: "Do it." });
    const [toRequest, toAsk] = [replyTo(request), replyTo(ask)];
    send(toRequest, false);
    life.mailbox.look();
    send(toAsk, false);
    life.mailbox.look();
    expect(puts(life)).toEqual([
      ["append", toRequest.id],
      ["wake", toAsk.id],
    ]);
    expect(life.host.puts[0]?.mail.content).toContain("Do it.");
    expect(life.host.puts[1]?.mail.content).toContain("had stopped waiting");
  });

  test("an answer that names an ask of ours and comes from another is quiet, and quotes nothing", () => {
    const life = Life.open(new FakeHost(BOB));
    const ask = life.mailbox.send({ to: ALICE, kind: "ask", hops: 0, body: "A secret question" });
    const forged = replyTo(ask, { from: CAROL });
    send(forged, false);
    life.mailbox.look();
    expect(puts(life)).toEqual([["append", forged.id]]);
    expect(life.host.puts[0]?.mail.content).not.toContain("A secret question");
  });

  test("S5.6 takes a batch in order of sending, at the cost of one run", () => {
    const life = Life.open(new FakeHost(BOB));
    const batch = [mail({ kind: "message" }), mail({ kind: "ask" }), quiet(), mail(), quiet()];
    for (const envelope of [...batch].reverse()) send(envelope, false);
    life.mailbox.look();
    expect(puts(life)).toEqual(
      batch.map(({ id }, position) => [position === batch.length - 1 ? "wake" : "append", id]),
    );
  });

  test("S5.6 takes a quiet batch without a run", () => {
    const life = Life.open(new FakeHost(BOB));
    const batch = [quiet(), quiet(), quiet()];
    for (const envelope of batch) send(envelope, false);
    life.mailbox.look();
    expect(puts(life)).toEqual(batch.map(({ id }) => ["append", id]));
  });

  test("S5.13 mail that was claimed earlier and sent later enters later", () => {
    const life = Life.open(new FakeHost(BOB));
    const [first, second, third] = [mail(), mail(), mail()];
    life.host.idle = false;
    for (const envelope of [second, third, first]) {
      send(envelope, false);
      life.mailbox.look();
    }
    life.host.idle = true;
    life.mailbox.look();
    expect(life.read).toEqual([first.id, second.id, third.id]);
  });

  test("S2.8 is given a mail once, whatever its file is called and however often it comes", () => {
    const life = Life.open(new FakeHost(BOB));
    const envelope = mail();
    send(envelope, false);
    life.mailbox.look();
    life.run({ text: "done" });
    drop(BOB, envelope, "again.json");
    drop(BOB, envelope);
    drop(BOB, { ...envelope, ts: mail().ts });
    life.mailbox.look();
    life.run({ text: "nothing" });
    expect(life.read).toEqual([envelope.id]);
    expect(mailsIn(ALICE)).toHaveLength(1);
    expect(life.waiting).toEqual([]);
  });

  test("S2.8 nor is one that is on its way given twice", () => {
    const life = Life.open(new FakeHost(BOB));
    life.host.messages = "late";
    const envelope = mail();
    send(envelope, false);
    life.mailbox.look();
    drop(BOB, { ...envelope, ts: mail().ts }, "again.json");
    life.mailbox.look();
    life.host.release();
    life.run({ text: "done" });
    life.clock.advance(60_000);
    expect(life.read).toEqual([envelope.id]);
    expect(mailsIn(ALICE)).toHaveLength(1);
  });

  test("S2.8 nor is one that is unread given, or shown to listeners, twice", () => {
    const life = Life.open(new FakeHost(BOB));
    let shown = 0;
    life.host.listener = () => {
      shown += 1;
    };
    life.host.idle = false;
    const envelope = mail();
    send(envelope, false);
    life.mailbox.look();
    drop(BOB, { ...envelope, ts: mail().ts }, "again.json");
    life.mailbox.look();
    life.host.idle = true;
    life.mailbox.look();
    expect(life.read).toEqual([envelope.id]);
    expect(shown).toBe(1);
  });
});

describe("S5.3 a busy session", () => {
  test("takes mail in at the next gap between tool calls, in order, and goes on", () => {
    const life = Life.open(new FakeHost(BOB));
    life.prompt();
    const batch = [quiet(), mail({ kind: "message" }), mail()];
    for (const envelope of batch) send(envelope, false);
    const gap = life.gap();
    expect(gap.wake).toBe(true);
    expect(gap.mails.map(({ details }) => details.id)).toEqual(batch.map(({ id }) => id));
    expect(life.gap()).toEqual({ mails: [], wake: false });
    expect(life.host.puts).toEqual([]);
    life.end({ text: "All three." });
    expect(mailsIn(ALICE).map(({ in_reply_to }) => in_reply_to)).toEqual([[batch[2]?.id]]);
  });

  test("need not go on for a reply", () => {
    const life = Life.open(new FakeHost(BOB));
    life.prompt();
    send(quiet(), false);
    expect(life.gap()).toMatchObject({ wake: false, mails: [{}] });
  });

  test("S5.4 nothing is put into Pi's queue while it is busy, however often it is looked at", () => {
    const life = Life.open(new FakeHost(BOB));
    life.prompt();
    send(mail(), false);
    life.mailbox.look();
    life.mailbox.scan();
    life.clock.advance(60_000);
    life.mailbox.conversation.compacted();
    life.clock.advance(60_000);
    expect(life.host.puts).toEqual([]);
    expect(life.ledger.unread).toHaveLength(1);
  });

  test("S6.9 nothing enters without tool results; it starts the next run", () => {
    const life = Life.open(new FakeHost(BOB));
    const first = mail();
    send(first, false);
    life.mailbox.look();
    life.start();
    const second = mail({ from: CAROL });
    send(second, false);
    life.mailbox.look();
    expect(life.mailbox.conversation.turnEnded(false)).toEqual({ mails: [], wake: false });
    life.end({ text: "The answer to the first." });
    expect(life.read).toEqual([first.id]);
    expect(mailsIn(ALICE)).toMatchObject([
      { in_reply_to: [first.id], body: "The answer to the first." },
    ]);
    expect(mailsIn(CAROL)).toEqual([]);
    life.clock.turn();
    expect(life.read).toEqual([first.id, second.id]);
    life.run({ text: "The answer to the second." });
    expect(mailsIn(CAROL)).toMatchObject([
      { in_reply_to: [second.id], body: "The answer to the second." },
    ]);
    expect(mailsIn(ALICE)).toHaveLength(1);
  });

  test("S5.5 mail that another extension dropped from the gap is unread again at settle", () => {
    const life = Life.open(new FakeHost(BOB));
    life.prompt();
    const [dropped, kept] = [mail({ from: CAROL }), mail()];
    send(dropped, false);
    send(kept, false);
    life.gap((id) => id === dropped.id);
    expect(life.gap().mails).toEqual([]);
    life.end({ text: "The answer to what was kept." });
    expect(mailsIn(ALICE)).toHaveLength(1);
    expect(mailsIn(CAROL)).toEqual([]);
    life.clock.turn();
    expect(puts(life)).toEqual([["wake", dropped.id]]);
    life.run({ text: "The answer to what was dropped." });
    expect(mailsIn(CAROL)).toMatchObject([{ body: "The answer to what was dropped." }]);
  });

  test("S5.3 after a compaction without a run, mail enters once the user's own prompt had its chance", () => {
    const life = Life.open(new FakeHost(BOB));
    life.host.idle = false;
    const envelope = mail();
    send(envelope, false);
    life.mailbox.look();
    life.host.idle = true;
    life.mailbox.conversation.compacted();
    life.clock.advance(99);
    expect(life.read).toEqual([]);
    life.clock.advance(1);
    expect(life.read).toEqual([envelope.id]);
  });
});

describe("S5.4 S5.5 a mail that Pi was given", () => {
  test("and that never becomes an entry is given again after two seconds of idleness, not before", () => {
    const life = Life.open(new FakeHost(BOB));
    life.host.messages = "lost";
    const envelope = mail();
    send(envelope, false);
    life.mailbox.look();
    expect(puts(life)).toHaveLength(1);
    for (let waited = 0; waited < 1900; waited += 100) {
      life.clock.advance(100);
      life.mailbox.look();
    }
    expect(puts(life)).toHaveLength(1);
    life.host.messages = "enter";
    life.clock.advance(100);
    life.mailbox.look();
    expect(puts(life)).toEqual([
      ["wake", envelope.id],
      ["wake", envelope.id],
    ]);
    expect(life.read).toEqual([envelope.id]);
  });

  test("is given again by itself", () => {
    const life = Life.open(new FakeHost(BOB));
    life.host.messages = "lost";
    send(mail(), false);
    life.mailbox.look();
    life.host.messages = "enter";
    life.clock.advance(10_000);
    expect(life.read).toHaveLength(1);
  });

  test("is not given again while Pi is busy", () => {
    const life = Life.open(new FakeHost(BOB));
    life.host.messages = "late";
    const envelope = mail();
    send(envelope, false);
    life.mailbox.look();
    life.clock.advance(600_000);
    expect(puts(life)).toHaveLength(1);
    life.host.release();
    life.run({ text: "done" });
    life.clock.advance(600_000);
    expect(life.read).toEqual([envelope.id]);
    expect(mailsIn(ALICE)).toHaveLength(1);
  });

  test("keeps the others back until it is there, so that they cost no run of their own", () => {
    const life = Life.open(new FakeHost(BOB));
    life.host.messages = "late";
    send(mail(), false);
    life.mailbox.look();
    // As between the call and Pi's first event of the run.
    life.host.idle = true;
    const second = mail();
    send(second, false);
    life.mailbox.look();
    expect(puts(life)).toHaveLength(1);
    life.host.release();
    life.start();
    expect(life.gap().mails.map(({ details }) => details.id)).toEqual([second.id]);
  });

  test("is counted from when the last run settled, too", () => {
    const life = Life.open(new FakeHost(BOB));
    life.host.messages = "lost";
    send(mail(), false);
    life.mailbox.look();
    life.clock.advance(1500);
    life.prompt();
    life.clock.advance(10_000);
    life.end({ text: "Something else." });
    life.clock.advance(1000);
    life.mailbox.look();
    expect(puts(life)).toHaveLength(1);
    life.host.messages = "enter";
    life.clock.advance(1000);
    life.mailbox.look();
    expect(puts(life)).toHaveLength(2);
  });

  test("of which a whole batch is lost is given again in order", () => {
    const life = Life.open(new FakeHost(BOB));
    life.host.messages = "lost";
    const batch = [mail(), quiet(), mail({ kind: "message" })];
    for (const envelope of batch) send(envelope, false);
    life.mailbox.look();
    life.host.messages = "enter";
    life.clock.advance(10_000);
    expect(life.read).toEqual(batch.map(({ id }) => id));
  });

  test("and that a run took in late, after an error, is not given again", () => {
    const life = Life.open(new FakeHost(BOB));
    const envelope = mail();
    send(envelope, false);
    life.mailbox.look();
    life.run({ stopReason: "error", error: "no key" });
    life.clock.advance(60_000);
    expect(life.read).toEqual([envelope.id]);
    expect(mailsIn(ALICE)).toMatchObject([{ status: "failed" }]);
  });
});

describe("S5.5 entries that are not on disk yet", () => {
  test("the mail stays in the ledger until they are, and is not given again", () => {
    const life = Life.open(new FakeHost(BOB));
    life.host.onDisk = false;
    const envelope = mail();
    send(envelope, false);
    life.mailbox.look();
    life.start();
    life.clock.advance(100);
    expect(life.read).toEqual([envelope.id]);
    expect(life.ledger.unread).toEqual([envelopeName(envelope)]);
    expect(life.ledger.owed.map(({ id }) => id)).toEqual([envelope.id]);
    expect(life.host.status).toBe("✉ 1 pending");
    life.mailbox.look();
    life.host.onDisk = true;
    life.gap();
    expect(life.ledger.unread).toEqual([]);
    expect(life.ledger.owed.map(({ id }) => id)).toEqual([envelope.id]);
    expect(life.host.status).toBe("✉ 1 pending");
    life.end({ text: "done" });
    expect(life.host.status).toBe("✉ 1 read");
    expect(life.read).toEqual([envelope.id]);
  });

  test("a crash that takes them along leaves the mail unread, and owed once", () => {
    const life = Life.open(new FakeHost(BOB));
    life.host.onDisk = false;
    const envelope = mail();
    send(envelope, false);
    life.mailbox.look();
    life.start();
    life.crash();
    const next = life.next(true, []);
    expect(next.read).toEqual([envelope.id]);
    next.run({ text: "done" });
    expect(mailsIn(ALICE)).toMatchObject([{ body: "done", in_reply_to: [envelope.id] }]);
    expect(next.host.status).toBe("✉ 1 read");
  });

  test("a crash that leaves them leaves the mail read, and owed once", () => {
    const life = Life.open(new FakeHost(BOB));
    life.host.onDisk = false;
    const envelope = mail();
    send(envelope, false);
    life.mailbox.look();
    life.start();
    life.crash();
    const next = life.next();
    expect(next.read).toEqual([envelope.id]);
    expect(next.host.status).toBe("✉ 1 read");
    next.run({ text: "done" });
    expect(mailsIn(ALICE).map(({ in_reply_to }) => in_reply_to)).toEqual([[envelope.id]]);
  });

  test("quiet mail in a new session waits for its first message likewise", () => {
    const life = Life.open(new FakeHost(BOB));
    life.host.onDisk = false;
    const reply = quiet();
    send(reply, false);
    life.mailbox.look();
    expect(life.read).toEqual([reply.id]);
    life.close();
    const next = life.next(true, []);
    expect(next.read).toEqual([reply.id]);
    next.close();
    expect(next.next().read).toEqual([reply.id]);
  });
});

describe("S8.2 the footer", () => {
  test("tells what is pending, read and awaited, and hides when there is nothing", () => {
    const life = Life.open(new FakeHost(BOB));
    expect(life.host.status).toBeUndefined();
    send(mail(), false);
    send(mail({ kind: "message" }), false);
    life.mailbox.look();
    expect(life.host.status).toBe("✉ 2 pending");
    life.start();
    expect(life.host.status).toBe("✉ 2 pending");
    life.end({ text: "done" });
    expect(life.host.status).toBe("✉ 2 read");
    const asked = life.mailbox.send({ to: ALICE, kind: "request", hops: 0, body: "x" });
    expect(life.host.status).toBe("✉ 2 read · 1 awaiting");
    life.mailbox.send({ to: ALICE, kind: "message", hops: 0, body: "x" });
    expect(life.host.status).toBe("✉ 2 read · 1 awaiting");
    send(replyTo(asked), false);
    life.mailbox.look();
    expect(life.host.status).toBe("✉ 1 pending · 2 read");
    life.run({ text: "done" });
    expect(life.host.status).toBe("✉ 3 read");
  });

  test("counts mail that is claimed by a busy session as pending", () => {
    const life = Life.open(new FakeHost(BOB));
    life.prompt();
    send(mail(), false);
    life.mailbox.look();
    expect(life.host.status).toBe("✉ 1 pending");
    life.gap();
    expect(life.host.status).toBe("✉ 1 pending");
    life.end({ text: "x" });
    expect(life.host.status).toBe("✉ 1 read");
  });

  test("an answer from a session that was not asked is not taken as the answer", () => {
    const life = Life.open(new FakeHost(BOB));
    const asked = life.mailbox.send({ to: ALICE, kind: "ask", hops: 0, body: "x" });
    send(replyTo(asked, { from: CAROL }), false);
    life.mailbox.look();
    expect(life.ledger.awaiting.map(({ id }) => id)).toEqual([asked.id]);
    expect(life.host.status).toBe("✉ 1 pending · 1 awaiting");
    send(replyTo(asked), false);
    life.mailbox.look();
    expect(life.ledger.awaiting).toEqual([]);
  });

  test("a message that names what it answers is no answer", () => {
    const life = Life.open(new FakeHost(BOB));
    const asked = life.mailbox.send({ to: ALICE, kind: "ask", hops: 0, body: "x" });
    send(replyTo(asked, { kind: "message", status: "" }), false);
    life.mailbox.look();
    expect(life.ledger.awaiting.map(({ id }) => id)).toEqual([asked.id]);
  });
});

describe("print mode, where no run can be started", () => {
  test("what is there before the user's prompt goes along with it", () => {
    const host = new FakeHost(BOB);
    host.canWake = false;
    const batch = [mail(), quiet()];
    for (const envelope of batch) send(envelope, false);
    const life = Life.open(host);
    expect(puts(life)).toEqual([]);
    life.prompt();
    expect(puts(life)).toEqual(batch.map(({ id }) => ["append", id]));
    life.end({ text: "Both done." });
    expect(mailsIn(ALICE)).toMatchObject([{ in_reply_to: [batch[0]?.id], body: "Both done." }]);
  });

  test("what comes later enters at a gap, or waits for the next time", () => {
    const host = new FakeHost(BOB);
    host.canWake = false;
    const life = Life.open(host);
    life.prompt();
    const [early, late] = [mail(), mail()];
    send(early, false);
    expect(life.gap().mails.map(({ details }) => details.id)).toEqual([early.id]);
    send(late, false);
    life.mailbox.look();
    life.end({ text: "done" });
    life.clock.advance(60_000);
    expect(life.host.puts).toEqual([]);
    life.close();
    expect(life.next().read).toEqual([early.id, late.id]);
  });
});

describe("S7.5 an ask that waits", () => {
  test("gets its answer alone: neither the conversation nor a listener does", () => {
    const life = Life.open(new FakeHost(BOB));
    life.prompt();
    const ask = life.mailbox.send({ to: ALICE, kind: "ask", hops: 0, body: "Which?" });
    const answers: string[] = [];
    life.host.listener = () => expect.unreachable("it is the tool's");
    const cancel = life.mailbox.expectAnswer(ask.id, {
      target: ALICE,
      answer: ({ id }) => answers.push(id),
      abandon: () => expect.unreachable(),
    });
    const reply = replyTo(ask);
    send(reply, false);
    life.mailbox.look();
    expect(answers).toEqual([reply.id]);
    cancel();
    // Pi writes the result of the tool call, and the gap behind it comes.
    life.host.session.push({
      type: "message",
      message: {
        role: "toolResult",
        toolName: "session_mail_ask",
        details: { ask: ask.id, answer: reply.id },
      },
    });
    expect(life.gap().mails).toEqual([]);
    life.end({ text: "done" });
    life.clock.advance(60_000);
    expect(life.read).toEqual([]);
    expect(life.ledger).toMatchObject({ unread: [], awaiting: [], read: 1 });
  });

  test("S5.5 whose result never came to be gets its answer as mail", () => {
    const life = Life.open(new FakeHost(BOB));
    life.prompt();
    const ask = life.mailbox.send({ to: ALICE, kind: "ask", hops: 0, body: "Which?" });
    const cancel = life.mailbox.expectAnswer(ask.id, {
      target: ALICE,
      answer: () => undefined,
      abandon: () => undefined,
    });
    const reply = replyTo(ask);
    send(reply, false);
    life.mailbox.look();
    cancel();
    life.end({ stopReason: "aborted" });
    expect(life.read).toEqual([reply.id]);
    expect(life.host.idle).toBe(true);
  });

  test("takes no answer from another session, and none to another ask", () => {
    const life = Life.open(new FakeHost(BOB));
    life.prompt();
    const ask = life.mailbox.send({ to: ALICE, kind: "ask", hops: 0, body: "Which?" });
    life.mailbox.expectAnswer(ask.id, {
      target: ALICE,
      answer: () => expect.unreachable(),
      abandon: () => undefined,
    });
    const [forged, other] = [replyTo(ask, { from: CAROL }), quiet()];
    send(forged, false);
    send(other, false);
    expect(life.gap().mails.map(({ details }) => details.id)).toEqual([forged.id, other.id]);
  });
});

describe("a prompt on its way from its input to its run", () => {
  test("is not overtaken by mail that wakes, which joins its run or comes after it", () => {
    const life = Life.open(new FakeHost(BOB));
    life.mailbox.conversation.userSpoke();
    const envelope = mail();
    send(envelope, false);
    life.mailbox.look();
    expect(puts(life)).toEqual([]);
    life.start();
    life.end({ text: "The user's own." });
    life.clock.turn();
    expect(puts(life)).toEqual([["wake", envelope.id]]);
    expect(mailsIn(ALICE)).toEqual([]);
  });

  test("that starts no run does not keep mail waiting", () => {
    const life = Life.open(new FakeHost(BOB));
    life.mailbox.conversation.userSpoke();
    const envelope = mail();
    send(envelope, false);
    life.mailbox.look();
    life.clock.advance(2000);
    expect(puts(life)).toEqual([["wake", envelope.id]]);
  });
});

describe("a run without a message of the model", () => {
  test("answers nothing, and what is owed stays owed", () => {
    const life = Life.open(new FakeHost(BOB));
    send(mail(), false);
    life.mailbox.look();
    life.start();
    life.host.idle = true;
    life.mailbox.conversation.settled(false);
    life.clock.turn();
    expect(mailsIn(ALICE)).toEqual([]);
    life.run({ text: "done" });
    expect(mailsIn(ALICE)).toMatchObject([{ status: "done", body: "done" }]);
  });
});
