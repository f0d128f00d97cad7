import { chmodSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type Envelope, envelopeName } from "../../src/mail/envelope.ts";
import { emptyLedger, saveLedger } from "../../src/mail/ledger.ts";
import { boxesOf, makeBoxes } from "../../src/mail/root.ts";
import { send } from "../../src/mail/store.ts";
import { inboxOf, type ListedMail, sentOf } from "../../src/mailbox/overview.ts";
import { useStateFolder } from "../fixtures/folder.ts";
import { ALICE, BOB, CAROL, drop, mail, replyTo } from "../fixtures/mail.ts";
import { FakeHost, Life, mailsIn, useLives } from "./fake.ts";

useStateFolder();
useLives();

type Listed = readonly [text: string, state: string];

const listed = (mails: readonly ListedMail[]): Listed[] =>
  mails.map(({ envelope, state }) => [envelope.body, state]);

/** Bob, whom these mails reach one after another. */
function receiving(...mails: Envelope[]): Life {
  for (const envelope of mails) send(envelope, false);
  return Life.open(new FakeHost(BOB));
}

describe("S18.1 the inbox", () => {
  test("has each mail with its state, newest first", () => {
    const life = receiving(
      mail({ kind: "message", body: "read message" }),
      mail({ body: "answered request" }),
      mail({ kind: "ask", body: "answered ask" }),
    );
    life.start();
    life.end({ text: "done" });
    send(mail({ body: "held" }), false);
    life.mailbox.look();
    life.start();
    life.end({ stopReason: "aborted" });
    life.prompt();
    send(mail({ kind: "ask", body: "owed" }), false);
    life.gap();
    life.host.messages = "lost";
    send(mail({ kind: "message", body: "unread" }), false);
    life.mailbox.look();
    drop(BOB, mail({ body: "waiting" }), "called-anything.json");
    expect(listed(inboxOf(life.mailbox))).toEqual([
      ["waiting", "waiting"],
      ["unread", "unread"],
      ["owed", "to answer"],
      ["held", "held"],
      ["answered ask", "answered"],
      ["answered request", "answered"],
      ["read message", "read"],
    ]);
    expect(inboxOf(life.mailbox).every(({ isSent }) => !isSent)).toBe(true);
  });

  test("names the other session when it runs, else by so much of its id as tells it", () => {
    const alice = new FakeHost(ALICE);
    alice.sessionName = "alice\u001b[31m";
    Life.open(alice);
    const twin = `${ALICE.slice(0, 10)}7${ALICE.slice(11)}`;
    const life = receiving(mail(), mail({ from: CAROL }), mail({ from: twin }));
    expect(inboxOf(life.mailbox).map(({ other }) => other)).toEqual([
      twin.slice(0, 11),
      CAROL.slice(0, 8),
      "alice [31m",
    ]);
  });

  test("has the newest 20, and is not misled by what is no mail", () => {
    const life = receiving(...Array.from({ length: 25 }, (_, at) => mail({ body: String(at) })));
    drop(BOB, "no mail", `999999999999999-${ALICE}.json`, "cur");
    mkdirSync(join(boxesOf(BOB).cur, "999999999999998-folder.json"));
    writeFileSync(join(boxesOf(BOB).cur, "notes.txt"), "mine");
    const bodies = inboxOf(life.mailbox).map(({ envelope }) => envelope.body);
    expect(bodies).toEqual(Array.from({ length: 20 }, (_, at) => String(24 - at)));
  });

  test("has fewer where they are very long, which would hold Pi up", () => {
    const life = receiving();
    for (let at = 0; at < 6; at++)
      drop(BOB, mail({ body: "a".repeat(7 * 1024 * 1024) }), undefined, "cur");
    expect(inboxOf(life.mailbox)).toHaveLength(3);
  });

  test("is empty in a mailbox whose folders were removed", () => {
    const life = receiving(mail());
    rmSync(boxesOf(BOB).folder, { recursive: true });
    expect(inboxOf(life.mailbox)).toEqual([]);
    expect(sentOf(life.mailbox)).toEqual([]);
  });

  test.skipIf(process.getuid?.() === 0)("tells of a folder that cannot be read", () => {
    const life = receiving(mail());
    chmodSync(boxesOf(BOB).cur, 0);
    try {
      expect(() => inboxOf(life.mailbox)).toThrow(/EACCES/);
    } finally {
      chmodSync(boxesOf(BOB).cur, 0o700);
    }
  });
});

describe("S18.1 what was sent", () => {
  const post = (life: Life, body: string, kind: "request" | "ask" | "message" = "request") =>
    life.mailbox.send({ to: BOB, kind, hops: 0, body });

  test("has each mail with what became of it, newest first", () => {
    const alice = Life.open(new FakeHost(ALICE));
    const bob = Life.open(new FakeHost(BOB));
    for (const status of ["done", "stopped", "failed"] as const) {
      send(
        replyTo(post(alice, status), { status, ts: new Date(Date.now() + 1000).toISOString() }),
        false,
      );
    }
    alice.mailbox.look();
    post(alice, "read message", "message");
    post(alice, "read ask", "ask");
    bob.mailbox.look();
    bob.host.messages = "lost";
    bob.start();
    post(alice, "unread");
    bob.mailbox.look();
    post(alice, "waiting", "message");
    rmSync(join(boxesOf(BOB).cur, envelopeName(post(alice, "no more"))), { force: true });
    rmSync(join(boxesOf(BOB).new, envelopeName(mailsIn(ALICE, "sent").at(-1)!)));
    alice.mailbox.send({ to: CAROL, kind: "request", hops: 0, body: "pruned" });
    rmSync(boxesOf(CAROL).folder, { recursive: true });
    expect(listed(sentOf(alice.mailbox))).toEqual([
      ["pruned", "gone"],
      ["no more", "gone"],
      ["waiting", "waiting"],
      ["unread", "unread"],
      ["read ask", "read"],
      ["read message", "read"],
      ["failed", "answered failed"],
      ["stopped", "answered stopped"],
      ["done", "answered done"],
    ]);
    expect(sentOf(alice.mailbox).every(({ isSent }) => isSent)).toBe(true);
  });

  test("an answer that is not found any more was one; another session's is none", () => {
    const alice = Life.open(new FakeHost(ALICE));
    const bob = Life.open(new FakeHost(BOB));
    const asked = post(alice, "asked");
    bob.mailbox.look();
    bob.start();
    bob.clock.advance(100);
    const ts = new Date(Date.now() + 1000).toISOString();
    send(replyTo(asked, { from: CAROL, status: "failed", ts }), false);
    alice.mailbox.look();
    expect(listed(sentOf(alice.mailbox))).toEqual([["asked", "read"]]);
    bob.end({ text: "done" });
    alice.mailbox.look();
    expect(listed(sentOf(alice.mailbox))).toEqual([["asked", "answered done"]]);
    const answer = mailsIn(ALICE, "cur").find(({ from }) => from === BOB)!;
    rmSync(join(boxesOf(ALICE).cur, envelopeName(answer)));
    expect(listed(sentOf(alice.mailbox))).toEqual([["asked", "answered"]]);
  });

  test("a recipient that left no ledger is not said to have read it", () => {
    const alice = Life.open(new FakeHost(ALICE));
    const asked = post(alice, "asked");
    drop(BOB, asked, undefined, "cur");
    rmSync(join(boxesOf(BOB).new, envelopeName(asked)));
    expect(listed(sentOf(alice.mailbox))).toEqual([["asked", "unread"]]);
    saveLedger(BOB, emptyLedger(), false);
    expect(listed(sentOf(alice.mailbox))).toEqual([["asked", "read"]]);
  });

  test("a copy whose recipient is no address is no way out of the mail root", () => {
    const alice = Life.open(new FakeHost(ALICE));
    makeBoxes(ALICE);
    drop(ALICE, mail({ to: "../../etc", body: "planted" }), undefined, "sent");
    expect(listed(sentOf(alice.mailbox))).toEqual([["planted", "gone"]]);
  });
});

describe("S18.2 an answer by hand", () => {
  test("to a request in the run that it started is its one answer", () => {
    const request = mail();
    const other = mail();
    const life = receiving(request, other);
    life.start();
    const answer = life.mailbox.answer(request.id, "By hand.");
    expect(answer).toMatchObject({ status: "done", in_reply_to: [request.id], kind: "reply" });
    expect(() => life.mailbox.answer(request.id, "Again.")).toThrow(/Nothing was sent/);
    expect(life.ledger.owed.map(({ id }) => id)).toEqual([other.id]);
    life.end({ text: "By the run." });
    expect(mailsIn(ALICE).map(({ in_reply_to, body }) => [in_reply_to, body])).toEqual([
      [[request.id], "By hand."],
      [[other.id], "By the run."],
    ]);
    const next = life.next();
    next.run({ text: "Another run." });
    expect(mailsIn(ALICE)).toHaveLength(2);
  });

  test("to a held request is its one answer, and no run owes it then", () => {
    const request = mail();
    const life = receiving(request);
    life.start();
    life.end({ stopReason: "aborted" });
    life.mailbox.answer(request.id, "By hand.");
    life.prompt();
    life.end({ text: "Something else." });
    expect(mailsIn(ALICE)).toMatchObject([{ body: "By hand.", status: "done" }]);
  });

  test("is the one answer though a crash takes along the session that the mail was in", () => {
    const life = Life.open(new FakeHost(BOB));
    life.host.onDisk = false;
    const request = mail();
    send(request, false);
    life.mailbox.look();
    life.start();
    life.mailbox.answer(request.id, "By hand.");
    expect(life.host.status).toBe("✉ 1 pending");
    life.crash();
    const next = life.next(true, []);
    expect(next.read).toEqual([]);
    next.run({ text: "Something else." });
    expect(mailsIn(ALICE)).toMatchObject([{ body: "By hand." }]);
    expect(next.ledger).toMatchObject({ unread: [], owed: [], outbox: [], read: 1 });
  });

  test("to a mail that was not read is refused", () => {
    const life = Life.open(new FakeHost(BOB));
    life.host.messages = "lost";
    const request = mail();
    send(request, false);
    life.mailbox.look();
    expect(() => life.mailbox.answer(request.id, "By hand.")).toThrow(/Nothing was sent/);
    expect(mailsIn(ALICE)).toEqual([]);
  });
});
