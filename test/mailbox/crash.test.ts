import { rmSync, symlinkSync, writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { type Envelope, envelopeName } from "../../src/mail/envelope.ts";
import { boxesOf } from "../../src/mail/root.ts";
import { claim, send } from "../../src/mail/store.ts";
import { emptyLedger, saveLedger } from "../../src/mail/ledger.ts";
import { useStateFolder } from "../fixtures/folder.ts";
import { ALICE, BOB, CAROL, drop, mail, replyTo } from "../fixtures/mail.ts";
import { FakeHost, Life, mailsIn, useLives } from "./fake.ts";

useStateFolder();
useLives();

/** Runs until nothing is left to do, and answers in each run. */
function finish(life: Life): void {
  for (let round = 0; round < 5; round++) {
    life.clock.advance(10_000);
    life.run({ text: "Whole." });
  }
  life.clock.advance(10_000);
}

/** Expects that each mail was read once and each request answered once, and the counts are right. */
function expectOnce(life: Life, mails: readonly Envelope[]): void {
  expect(life.read.toSorted()).toEqual(mails.map(({ id }) => id).toSorted());
  const answered = mailsIn(ALICE).flatMap(({ in_reply_to }) => in_reply_to);
  const asked = mails.filter(({ kind }) => kind === "request" || kind === "ask");
  expect(answered.toSorted()).toEqual(asked.map(({ id }) => id).toSorted());
  expect(life.ledger).toEqual({ ...emptyLedger(), read: mails.length });
  expect(life.waiting).toEqual([]);
  expect(life.host.status).toBe(`✉ ${String(mails.length)} read`);
  expect(life.host.warnings).toEqual([]);
}

function batch(): Envelope[] {
  return [mail(), mail({ kind: "ask" }), mail({ kind: "message" })];
}

/** The same, sent to Bob. */
function sendBatch(): Envelope[] {
  const mails = batch();
  for (const envelope of mails) send(envelope, false);
  return mails;
}

describe("S5.5 S6.7 after a kill -9, all is read once and answered once", () => {
  test("with mail in new/", () => {
    const life = Life.open(new FakeHost(BOB));
    const mails = sendBatch();
    life.crash();
    const next = life.next();
    finish(next);
    expectOnce(next, mails);
  });

  test("with mail written down and not moved", () => {
    const mails = sendBatch();
    saveLedger(BOB, { ...emptyLedger(), unread: mails.map(envelopeName) }, true);
    const life = Life.open(new FakeHost(BOB));
    finish(life);
    expectOnce(life, mails);
  });

  test("with mail of which a part was moved", () => {
    const mails = sendBatch();
    saveLedger(BOB, { ...emptyLedger(), unread: mails.map(envelopeName) }, true);
    rmSync(`${boxesOf(BOB).new}/${envelopeName(mails[1] ?? mail())}`);
    drop(BOB, mails[1] ?? mail(), undefined, "cur");
    const life = Life.open(new FakeHost(BOB));
    finish(life);
    expectOnce(life, mails);
  });

  test("with mail claimed by a busy session", () => {
    const life = Life.open(new FakeHost(BOB));
    life.prompt();
    const mails = sendBatch();
    life.mailbox.look();
    life.crash();
    const next = life.next();
    finish(next);
    expectOnce(next, mails);
  });

  test("with mail handed to Pi that had no entry yet", () => {
    const life = Life.open(new FakeHost(BOB));
    life.host.messages = "late";
    const mails = sendBatch();
    life.mailbox.look();
    life.crash();
    const next = life.next();
    finish(next);
    expectOnce(next, mails);
  });

  test("with a gap's mail that had no entry yet", () => {
    const life = Life.open(new FakeHost(BOB));
    life.prompt();
    const mails = sendBatch();
    life.mailbox.conversation.turnEnded(true);
    life.crash();
    const next = life.next();
    finish(next);
    expectOnce(next, mails);
  });

  test("with mail that had just entered", () => {
    const life = Life.open(new FakeHost(BOB));
    life.host.messages = "late";
    const mails = sendBatch();
    life.mailbox.look();
    life.host.release();
    life.crash();
    const next = life.next();
    expect(next.host.puts).toEqual([]);
    expect(next.mailbox.openAsks()).toHaveLength(1);
    finish(next);
    expectOnce(next, mails);
  });

  test("with mail that had entered and was known to", () => {
    const life = Life.open(new FakeHost(BOB));
    const mails = sendBatch();
    life.mailbox.look();
    life.start();
    life.gap();
    life.crash();
    const next = life.next();
    finish(next);
    expectOnce(next, mails);
  });

  test("with a text that no run's end followed", () => {
    const life = Life.open(new FakeHost(BOB));
    const mails = sendBatch();
    life.mailbox.look();
    life.start();
    life.mailbox.conversation.messageEnded({
      text: "Nearly.",
      stopReason: "stop",
      error: undefined,
    });
    life.mailbox.conversation.turnEnded(false);
    life.crash();
    const next = life.next();
    expect(mailsIn(ALICE)).toEqual([]);
    finish(next);
    expectOnce(next, mails);
  });

  test("with answers decided and not sent", () => {
    const life = Life.open(new FakeHost(BOB));
    const mails = sendBatch();
    life.mailbox.look();
    life.start();
    rmSync(boxesOf(ALICE).folder, { recursive: true });
    // So that they cannot go out, as if the process had ended between the two steps.
    writeFileSync(boxesOf(ALICE).folder, "");
    life.end({ text: "Whole." });
    expect(life.ledger.outbox).toHaveLength(2);
    life.crash();
    rmSync(boxesOf(ALICE).folder);
    const next = life.next();
    expect(mailsIn(ALICE)).toHaveLength(2);
    finish(next);
    expectOnce(next, mails);
  });

  test("with answers sent that the ledger still lists, waiting or claimed by their recipient", () => {
    const life = Life.open(new FakeHost(BOB));
    const mails = sendBatch();
    life.mailbox.look();
    life.start();
    life.end({ text: "Whole." });
    const answers = mailsIn(ALICE);
    saveLedger(BOB, { ...life.ledger, outbox: answers }, true);
    life.crash();
    const next = life.next();
    finish(next);
    expectOnce(next, mails);
    next.crash();
    claim(
      ALICE,
      () => false,
      () => undefined,
    );
    saveLedger(BOB, { ...next.ledger, outbox: answers }, true);
    finish(next.next());
    expect(mailsIn(ALICE)).toEqual([]);
  });

  test("with an answer half written to its recipient", () => {
    const life = Life.open(new FakeHost(BOB));
    const mails = sendBatch();
    life.mailbox.look();
    life.start();
    life.end({ text: "Whole." });
    for (const answer of mailsIn(ALICE)) {
      rmSync(`${boxesOf(ALICE).new}/${envelopeName(answer)}`);
      saveLedger(BOB, { ...life.ledger, outbox: [...life.ledger.outbox, answer] }, true);
      drop(ALICE, '{"id":', envelopeName(answer), "tmp");
    }
    life.crash();
    const next = life.next();
    finish(next);
    expectOnce(next, mails);
  });

  test("at every step, again and again", () => {
    const mails: Envelope[] = [];
    let life = Life.open(new FakeHost(BOB));
    const steps: (() => void)[] = [
      () => life.mailbox.look(),
      () => life.start(),
      () => life.gap(),
      () => life.end({ text: "Whole." }),
      () => life.clock.turn(),
      () => life.mailbox.conversation.turnEnded(true),
    ];
    for (let round = 0; round < 40; round++) {
      mails.push(...sendBatch());
      life.host.messages = round % 3 === 0 ? "late" : "enter";
      for (let step = 0; step <= round % 7; step++) steps[(round + step) % steps.length]?.();
      if (round % 5 === 0) life.host.release();
      life.crash();
      life = life.next();
    }
    finish(life);
    expectOnce(life, mails);
  });
});

describe("S1.6 after a power cut, which leaves of the session what was flushed,", () => {
  /** The machine goes off, and the session is opened again. */
  function cutPower(life: Life): Life {
    life.crash();
    return life.next(true, life.host.session.slice(0, life.host.flushed));
  }

  test.each<[string, (life: Life) => void]>([
    ["claimed", () => undefined],
    ["in the session", (life) => life.host.release()],
    [
      "seen by the model",
      (life) => {
        life.host.release();
        life.start();
      },
    ],
    [
      "in a gap",
      (life) => {
        life.host.release();
        life.start();
        life.gap();
      },
    ],
  ])("mail that was %s is read once and answered once", (_how, proceed) => {
    const life = Life.open(new FakeHost(BOB));
    life.host.messages = "late";
    const mails = sendBatch();
    life.mailbox.look();
    proceed(life);
    const next = cutPower(life);
    finish(next);
    expectOnce(next, mails);
  });

  test("mail that the ledger no longer lists is in what was flushed", () => {
    const life = Life.open(new FakeHost(BOB));
    const mails = sendBatch();
    life.mailbox.look();
    life.run({ text: "Whole." });
    expect(life.ledger).toEqual({ ...emptyLedger(), read: mails.length });
    expect(life.host.flushed).toBeGreaterThanOrEqual(mails.length);
    const next = cutPower(life);
    expect(next.read).toEqual(mails.map(({ id }) => id));
    finish(next);
    expectOnce(next, mails);
  });

  test("a session that cannot be flushed keeps its mail in the ledger, and says so once", () => {
    const life = Life.open(new FakeHost(BOB));
    const flush = life.host.flush.bind(life.host);
    life.host.flush = () => {
      throw new Error("EIO: i/o error, fsync");
    };
    const mails = sendBatch();
    life.mailbox.look();
    life.run({ text: "Whole." });
    life.clock.advance(5000);
    expect(life.ledger.unread).toHaveLength(mails.length);
    expect(life.host.warnings).toEqual([expect.stringContaining("EIO") as string]);
    life.host.flush = flush;
    life.clock.advance(5000);
    expect(life.ledger).toMatchObject({ unread: [], owed: [] });
    expect(life.read).toEqual(mails.map(({ id }) => id));
  });
});

describe("S8.2 S8.3 the counts after a crash", () => {
  test("are those before it", () => {
    const life = Life.open(new FakeHost(BOB));
    sendBatch();
    life.mailbox.look();
    life.start();
    life.end({ text: "done" });
    life.mailbox.send({ to: ALICE, kind: "request", hops: 0, body: "x" });
    life.mailbox.send({ to: CAROL, kind: "ask", hops: 0, body: "x" });
    life.host.idle = false;
    const unread = mail();
    send(unread, false);
    life.mailbox.look();
    expect(life.host.status).toBe("✉ 1 pending · 3 read · 2 awaiting");
    life.crash();
    const host = new FakeHost(BOB, life.host.session);
    host.idle = false;
    const next = Life.open(host);
    expect(next.host.status).toBe("✉ 1 pending · 3 read · 2 awaiting");
  });

  test("what had entered since the last settle counts as read", () => {
    const life = Life.open(new FakeHost(BOB));
    sendBatch();
    life.mailbox.look();
    life.start();
    expect(life.host.status).toBe("✉ 3 pending");
    life.crash();
    expect(life.next().host.status).toBe("✉ 3 read");
  });

  test("S8.2 a request that a crash kept from being sent is not awaited", () => {
    const life = Life.open(new FakeHost(BOB));
    const sent = life.mailbox.send({ to: ALICE, kind: "request", hops: 0, body: "x" });
    const unsent = mail({ from: BOB, to: ALICE });
    const { id, ts, to } = unsent;
    saveLedger(
      BOB,
      {
        ...life.ledger,
        awaiting: [...life.ledger.awaiting, { id, ts, to, kind: "request" }],
      },
      false,
    );
    life.crash();
    expect(life.next().ledger.awaiting.map((mail) => mail.id)).toEqual([sent.id]);
  });

  test("an answer that was written down and not moved is awaited no more, and comes once", () => {
    const life = Life.open(new FakeHost(BOB));
    const ask = life.mailbox.send({ to: ALICE, kind: "ask", hops: 0, body: "Which one?" });
    life.crash();
    const reply = replyTo(ask);
    send(reply, false);
    saveLedger(BOB, { ...emptyLedger(), unread: [envelopeName(reply)] }, false);
    const next = life.next();
    expect(next.read).toEqual([reply.id]);
    // It is still known as a late answer to an ask, and wakes.
    expect(next.host.puts.map(({ by }) => by)).toEqual(["wake"]);
    expect(next.host.puts[0]?.mail.content).toContain("Which one?");
    next.run({ text: "done" });
    expect(next.host.status).toBe("✉ 1 read");
  });
});

describe("a ledger that is gone or damaged", () => {
  function lived(): { life: Life; request: Envelope; ask: Envelope; unread: Envelope } {
    const life = Life.open(new FakeHost(BOB));
    const done = mail();
    send(done, false);
    life.mailbox.look();
    life.run({ text: "done" });
    const [request, ask, unread] = [mail(), mail({ kind: "ask" }), mail({ from: CAROL })];
    send(request, false);
    send(ask, false);
    life.mailbox.look();
    life.start();
    life.mailbox.send({ to: CAROL, kind: "ask", hops: 0, body: "x" });
    send(unread, false);
    life.mailbox.look();
    expect(mailsIn(ALICE)).toMatchObject([{ in_reply_to: [done.id] }]);
    life.crash();
    return { life, request, ask, unread };
  }

  test.each([
    ["missing", undefined],
    ["damaged", '{"unread":['],
    ["empty", ""],
  ])("%s: it is made anew, and nothing is lost or doubled", (_what, content) => {
    const { life, request, ask, unread } = lived();
    const { ledger } = boxesOf(BOB);
    if (content === undefined) rmSync(ledger);
    else writeFileSync(ledger, content);
    const next = life.next();
    expect(next.host.warnings.filter((text) => text.includes(ledger))).toHaveLength(
      content === undefined ? 0 : 1,
    );
    expect(next.host.puts.map(({ mail: { details } }) => details.id)).toEqual([unread.id]);
    next.clock.advance(100);
    expect(next.ledger.owed.map(({ id }) => id)).toEqual([request.id, ask.id, unread.id]);
    expect(next.ledger.awaiting).toHaveLength(1);
    finish(next);
    expect(mailsIn(ALICE).flatMap(({ in_reply_to }) => in_reply_to)).toHaveLength(3);
    // The ask of ours, and the answer.
    expect(mailsIn(CAROL)).toMatchObject([{ kind: "ask" }, { in_reply_to: [unread.id] }]);
    expect(next.host.status).toBe("✉ 4 read · 1 awaiting");
    expect(next.host.warnings).toHaveLength(content === undefined ? 0 : 1);
  });
});

describe("what another's mailbox looks like", () => {
  test.each(["a file", "a link that leads to itself"])(
    "one that is %s does not keep ours from opening",
    (what) => {
      const life = Life.open(new FakeHost(BOB));
      life.mailbox.send({ to: CAROL, kind: "request", hops: 0, body: "x" });
      const mails = sendBatch();
      life.crash();
      const { folder } = boxesOf(CAROL);
      rmSync(folder, { recursive: true });
      if (what === "a file") writeFileSync(folder, "");
      else symlinkToItself(folder);
      const next = life.next();
      finish(next);
      expect(next.read.toSorted()).toEqual(mails.map(({ id }) => id).toSorted());
    },
  );
});

function symlinkToItself(path: string): void {
  symlinkSync(path, path);
}
