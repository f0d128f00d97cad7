import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { envelopeName } from "../../src/mail/envelope.ts";
import { boxesOf, makeBoxes } from "../../src/mail/root.ts";
import { send } from "../../src/mail/store.ts";
import { AddressError } from "../../src/sessions/addressing.ts";
import { filesBelow, namesIn, useStateFolder } from "../fixtures/folder.ts";
import { ALICE, BOB, CAROL, drop, mail, replyTo } from "../fixtures/mail.ts";
import { eventually } from "../host/eventually.ts";
import { FakeClock, FakeHost, Life, mailsIn, useLives } from "./fake.ts";

const state = useStateFolder();
useLives();

/** Puts a file where an address has its folder, and gives what takes it away. */
function block(address: string): () => void {
  const { folder } = boxesOf(address);
  rmSync(folder, { recursive: true, force: true });
  writeFileSync(folder, "");
  return () => {
    rmSync(folder);
  };
}

/** Puts a folder where Bob has his ledger, so that it cannot be written. */
function blockLedger(): () => void {
  const { ledger } = boxesOf(BOB);
  rmSync(ledger, { force: true });
  mkdirSync(ledger);
  return () => {
    rmSync(ledger, { recursive: true });
  };
}

describe("sending", () => {
  test("S2.1 S4.4 fills the envelope, and refuses the session itself", () => {
    const life = Life.open(new FakeHost(BOB));
    const sent = life.mailbox.send({ to: ALICE, kind: "ask", hops: 2, body: "Which?" });
    expect(sent).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
      from: BOB,
      to: ALICE,
      kind: "ask",
      hops: 2,
      in_reply_to: [],
      status: "",
      ts: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) as string,
      body: "Which?",
    });
    // What this process has sent in other tests counts, too.
    expect(Date.parse(sent.ts)).toBeGreaterThanOrEqual(life.clock.now());
    expect(mailsIn(ALICE)).toEqual([sent]);
    expect(mailsIn(BOB, "sent")).toEqual([sent]);
    expect(() => life.mailbox.send({ to: BOB, kind: "request", hops: 0, body: "x" })).toThrow(
      AddressError,
    );
    expect(life.ledger.awaiting).toHaveLength(1);
  });

  test("S2.1 names strictly increase, within one ms and when the clock goes back", () => {
    const clock = new FakeClock();
    const life = Life.open(new FakeHost(BOB), clock);
    for (let count = 0; count < 20; count++) {
      if (count === 10) clock.advance(-5000);
      life.mailbox.send({ to: ALICE, kind: "message", hops: 0, body: String(count) });
    }
    const times = namesIn(boxesOf(ALICE).new).map((name) => name.slice(0, 15));
    expect(new Set(times).size).toBe(20);
    expect(mailsIn(ALICE).map(({ body }) => body)).toEqual(
      Array.from({ length: 20 }, (_, count) => String(count)),
    );
  });

  test("S2.1 names strictly increase within a process when its session is opened anew", () => {
    const life = Life.open(new FakeHost(BOB));
    for (const body of ["1", "2", "3"]) {
      life.mailbox.send({ to: ALICE, kind: "message", hops: 0, body });
    }
    life.close();
    const next = life.next(false);
    next.mailbox.send({ to: ALICE, kind: "message", hops: 0, body: "4" });
    expect(mailsIn(ALICE).map(({ body }) => body)).toEqual(["1", "2", "3", "4"]);
    const times = namesIn(boxesOf(ALICE).new).map((name) => name.slice(0, 15));
    expect(new Set(times).size).toBe(4);
  });

  test("S2.5 one that throws is not awaited and leaves nothing", () => {
    const life = Life.open(new FakeHost(BOB));
    const unblock = block(ALICE);
    for (const kind of ["request", "ask", "message"] as const) {
      expect(() => life.mailbox.send({ to: ALICE, kind, hops: 0, body: "x" })).toThrow(
        "Nothing was sent",
      );
    }
    unblock();
    expect(life.ledger.awaiting).toEqual([]);
    expect(life.host.status).toBeUndefined();
    expect(mailsIn(BOB, "sent")).toEqual([]);
  });

  test("S2.5 one to what is no address throws", () => {
    const life = Life.open(new FakeHost(BOB));
    const before = filesBelow(state.home);
    for (const to of ["../up", "", "running", "a b"]) {
      expect(() => life.mailbox.send({ to, kind: "message", hops: 0, body: "x" })).toThrow();
    }
    expect(filesBelow(state.home)).toEqual(before);
  });

  test("S7.7 an answer that cannot be sent leaves the ask owed", () => {
    const life = Life.open(new FakeHost(BOB));
    const ask = mail({ kind: "ask" });
    send(ask, false);
    life.mailbox.look();
    life.start();
    const unblock = block(ALICE);
    expect(() => life.mailbox.answer(ask.id, "Yes.")).toThrow("Nothing was sent");
    expect(life.mailbox.openAsks()).toHaveLength(1);
    expect(life.ledger.outbox).toEqual([]);
    unblock();
    life.mailbox.answer(ask.id, "Yes.");
    life.end({ text: "done" });
    expect(mailsIn(ALICE)).toMatchObject([{ body: "Yes." }]);
  });
});

describe("S6.7 an answer whose recipient cannot be written", () => {
  test("is kept, told of once, and sent once it can be; others are sent", () => {
    const life = Life.open(new FakeHost(BOB));
    const [one, two] = [mail(), mail({ from: CAROL })];
    send(one, false);
    send(two, false);
    life.mailbox.look();
    life.start();
    const unblock = block(ALICE);
    life.end({ text: "Whole." });
    expect(mailsIn(CAROL)).toHaveLength(1);
    life.clock.advance(30_000);
    expect(life.host.warnings).toHaveLength(1);
    expect(life.ledger.outbox).toMatchObject([{ to: ALICE, in_reply_to: [one.id] }]);
    unblock();
    life.clock.advance(5000);
    expect(mailsIn(ALICE)).toMatchObject([{ body: "Whole.", in_reply_to: [one.id] }]);
    expect(mailsIn(CAROL)).toHaveLength(1);
    expect(life.ledger.outbox).toEqual([]);
  });

  const onLinux = test.skipIf(process.platform !== "linux");
  onLinux("is told of once also when it is the file that cannot be made", () => {
    const life = Life.open(new FakeHost(BOB));
    send(mail(), false);
    life.mailbox.look();
    life.start();
    const { tmp } = makeBoxes(ALICE);
    rmSync(tmp, { recursive: true });
    // A folder in which nothing can be made, by anybody.
    symlinkSync("/proc/self", tmp);
    life.end({ text: "Whole." });
    life.clock.advance(30_000);
    expect(life.ledger.outbox).toHaveLength(1);
    expect(life.host.warnings).toHaveLength(1);
    rmSync(tmp);
    life.clock.advance(5000);
    expect(mailsIn(ALICE)).toMatchObject([{ body: "Whole." }]);
  });

  test("is kept over a closing", () => {
    const life = Life.open(new FakeHost(BOB));
    send(mail(), false);
    life.mailbox.look();
    life.start();
    const unblock = block(ALICE);
    life.end({ text: "Whole." });
    life.close();
    unblock();
    const next = life.next();
    expect(mailsIn(ALICE)).toMatchObject([{ body: "Whole." }]);
    next.run({ text: "More." });
    expect(mailsIn(ALICE)).toHaveLength(1);
  });

  test("a sender whose address is too long for any mailbox keeps no one else from an answer", () => {
    const life = Life.open(new FakeHost(BOB));
    drop(BOB, mail({ from: "a".repeat(300) }));
    send(mail(), false);
    life.mailbox.look();
    life.run({ text: "Whole." });
    expect(mailsIn(ALICE)).toHaveLength(1);
    life.close();
    const next = life.next();
    send(mail(), false);
    next.mailbox.look();
    next.run({ text: "Whole." });
    expect(mailsIn(ALICE)).toHaveLength(2);
  });
});

describe("S5.5 a ledger that cannot be written", () => {
  test("mail stays in new/ until it can, with one warning", () => {
    const life = Life.open(new FakeHost(BOB));
    const unblock = blockLedger();
    const envelope = mail();
    send(envelope, false);
    life.mailbox.look();
    life.clock.advance(20_000);
    expect(life.waiting).toEqual([envelopeName(envelope)]);
    expect(life.read).toEqual([]);
    expect(life.host.status).toBeUndefined();
    expect(life.host.warnings).toHaveLength(1);
    unblock();
    life.clock.advance(5000);
    expect(life.read).toEqual([envelope.id]);
    expect(life.waiting).toEqual([]);
    life.run({ text: "done" });
    expect(mailsIn(ALICE)).toHaveLength(1);
    expect(life.host.warnings).toHaveLength(1);
  });

  test("S8.2 an answer that cannot be claimed is awaited still", () => {
    const life = Life.open(new FakeHost(BOB));
    const asked = life.mailbox.send({ to: ALICE, kind: "request", hops: 0, body: "x" });
    const unblock = blockLedger();
    send(replyTo(asked), false);
    life.clock.advance(5000);
    expect(life.host.status).toBe("✉ 1 awaiting");
    unblock();
    life.clock.advance(5000);
    expect(life.host.status).toBe("✉ 1 pending");
    expect(life.ledger.awaiting).toEqual([]);
  });

  test("in a run: no answer goes out before it is written down, and then it goes out once", () => {
    const life = Life.open(new FakeHost(BOB));
    send(mail(), false);
    life.mailbox.look();
    life.start();
    const unblock = blockLedger();
    life.end({ text: "Whole." });
    life.clock.advance(10_000);
    expect(mailsIn(ALICE)).toEqual([]);
    expect(life.host.warnings).toHaveLength(1);
    unblock();
    life.clock.advance(5000);
    expect(mailsIn(ALICE)).toMatchObject([{ body: "Whole." }]);
    expect(life.ledger).toMatchObject({ owed: [], outbox: [], read: 1 });
  });

  test("is told of anew when it could be written in between", () => {
    const life = Life.open(new FakeHost(BOB));
    for (const count of [1, 2]) {
      send(mail(), false);
      life.mailbox.look();
      const unblock = blockLedger();
      life.run({ text: "done" });
      life.clock.advance(10_000);
      expect(life.host.warnings).toHaveLength(count);
      unblock();
      life.clock.advance(5000);
    }
    expect(mailsIn(ALICE)).toHaveLength(2);
  });

  test("at the end of a session that owes: it is written as soon as the session is closed and it can", () => {
    const life = Life.open(new FakeHost(BOB));
    const request = mail();
    send(request, false);
    life.mailbox.look();
    life.start();
    const unblock = blockLedger();
    life.end({ stopReason: "aborted" });
    unblock();
    life.close();
    expect(life.ledger.owed).toMatchObject([{ id: request.id, held: true }]);
  });

  test("S2.5 a request of ours is refused: it could not be awaited", () => {
    const life = Life.open(new FakeHost(BOB));
    const unblock = blockLedger();
    const sending = (): string =>
      life.mailbox.send({ to: ALICE, kind: "request", hops: 0, body: "x" }).id;
    expect(sending).toThrow(/^Nothing was sent: EISDIR/);
    expect(mailsIn(ALICE)).toEqual([]);
    expect(life.host.status).toBeUndefined();
    expect(life.host.warnings).toEqual([]);
    unblock();
    const id = sending();
    expect(life.ledger.awaiting).toMatchObject([{ id }]);
  });
});

describe("a folder that is removed under a running session", () => {
  test("is made again, by a sender or by the session, and mail comes as before", async () => {
    const life = Life.open(new FakeHost(BOB));
    const request = mail();
    send(request, false);
    life.mailbox.look();
    life.start();
    rmSync(boxesOf(BOB).folder, { recursive: true });
    const second = mail();
    send(second, false);
    expect(life.gap().mails.map(({ details }) => details.id)).toEqual([second.id]);
    rmSync(boxesOf(BOB).folder, { recursive: true });
    life.end({ text: "Whole." });
    expect(mailsIn(ALICE)).toMatchObject([{ in_reply_to: [request.id, second.id] }]);
    expect(life.ledger).toMatchObject({ read: 2, owed: [] });
    const third = mail({ kind: "message" });
    send(third, false);
    life.clock.advance(5000);
    expect(life.read).toEqual([request.id, second.id, third.id]);
    life.run({ text: "x" });
    const fourth = mail({ kind: "message" });
    send(fourth, false);
    await eventually(() => life.read.length === 4, "the watcher on the new folder");
    expect(life.host.warnings).toEqual([]);
  });

  test.each(["new", "tmp", "sent"] as const)("%s alone, too", (box) => {
    expectMailWithout(box);
  });

  test("cur alone, too", () => {
    expectMailWithout("cur");
  });

  function expectMailWithout(box: "cur" | "new" | "tmp" | "sent"): void {
    const life = Life.open(new FakeHost(BOB));
    rmSync(boxesOf(BOB)[box], { recursive: true });
    life.clock.advance(10_000);
    // Another program delivers into new/ alone.
    mkdirSync(boxesOf(BOB).new, { recursive: true });
    const envelope = mail();
    writeFileSync(`${boxesOf(BOB).new}/${envelopeName(envelope)}`, JSON.stringify(envelope));
    life.clock.advance(10_000);
    expect(life.read).toEqual([envelope.id]);
    life.run({ text: "done" });
    expect(mailsIn(ALICE)).toHaveLength(1);
    life.mailbox.send({ to: ALICE, kind: "request", hops: 0, body: "x" });
    expect(mailsIn(ALICE)).toHaveLength(2);
  }

  test("the folder of running records: the record comes again", () => {
    const life = Life.open(new FakeHost(BOB));
    rmSync(state.at("running"), { recursive: true });
    const envelope = mail();
    send(envelope, false);
    life.clock.advance(1000);
    expect(life.read).toEqual([envelope.id]);
    life.clock.advance(5000);
    expect(namesIn(state.at("running"))).toEqual([`${BOB}.json`]);
  });
});

describe("S2.6 what is set aside", () => {
  test("is told of once, by file and reason, and holds up nothing", () => {
    const life = Life.open(new FakeHost(BOB));
    const bad = drop(BOB, "{", "000000000000000-bad.json");
    const envelope = mail();
    send(envelope, false);
    life.mailbox.look();
    expect(life.host.warnings).toHaveLength(1);
    expect(life.host.warnings[0]).toContain(bad.replace("/new/", "/cur/"));
    expect(life.host.warnings[0]).toContain("not JSON");
    life.run({ text: "done" });
    life.clock.advance(60_000);
    expect(life.read).toEqual([envelope.id]);
    life.close();
    expect(life.next().host.warnings).toEqual([]);
  });

  test("two files, two warnings", () => {
    const life = Life.open(new FakeHost(BOB));
    drop(BOB, "{", "a.json");
    drop(BOB, "[]", "b.json");
    life.mailbox.look();
    expect(life.host.warnings).toHaveLength(2);
  });
});

describe("S2.6 S5.5 anything at all in new/ or as a ledger", () => {
  test("never keeps a session from its mail", () => {
    const junk = fc.oneof(
      fc.uint8Array({ maxLength: 100 }),
      fc.json().map((text) => Buffer.from(text)),
    );
    fc.assert(
      fc.property(junk, junk, (ledger, file) => {
        makeBoxes(BOB);
        writeFileSync(boxesOf(BOB).ledger, ledger);
        drop(BOB, file, "000000000000000-junk.json");
        const request = mail();
        send(request, false);
        const life = Life.open(new FakeHost(BOB));
        expect(life.read).toContain(request.id);
        life.run({ text: "done" });
        expect(mailsIn(ALICE).flatMap(({ in_reply_to }) => in_reply_to)).toContain(request.id);
        expect(life.ledger.owed).toEqual([]);
        life.close();
        for (const address of [ALICE, BOB]) rmSync(boxesOf(address).folder, { recursive: true });
      }),
      { numRuns: 60 },
    );
  });
});

describe("what is unread", () => {
  test("and vanishes from cur/ under a closed session is forgotten, without a crash", () => {
    const life = Life.open(new FakeHost(BOB));
    life.host.idle = false;
    const envelope = mail();
    send(envelope, false);
    life.mailbox.look();
    life.crash();
    rmSync(`${boxesOf(BOB).cur}/${envelopeName(envelope)}`);
    const next = life.next();
    expect(next.read).toEqual([]);
    expect(next.ledger.unread).toEqual([]);
    send(replyTo(mail({ from: BOB, to: ALICE })), false);
    next.mailbox.look();
    expect(next.read).toHaveLength(1);
  });
});
