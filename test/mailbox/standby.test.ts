import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { envelopeName } from "../../src/mail/envelope.ts";
import { emptyLedger, type Ledger, saveLedger } from "../../src/mail/ledger.ts";
import { boxesOf, makeBoxes } from "../../src/mail/root.ts";
import { send } from "../../src/mail/store.ts";
import { ENTRY_TYPE } from "../../src/mailbox/host.ts";
import { findProcesses } from "../../src/sessions/process.ts";
import { runningRecord, type SessionRecord } from "../../src/sessions/record.ts";
import { CLOSED } from "../../src/turn/settle.ts";
import { useStateFolder } from "../fixtures/folder.ts";
import { ALICE, BOB, drop, mail } from "../fixtures/mail.ts";
import { type Sleeper, sleeper, useProcesses } from "../fixtures/process.ts";
import { FakeClock, FakeHost, Life, mailsIn, useLives } from "./fake.ts";

const state = useStateFolder();
useLives();
useProcesses();

const recordPath = (): string => state.at("running", `${BOB}.json`);

/** Another process serves Bob. */
async function servedByAnother(): Promise<{ other: Sleeper; record: SessionRecord }> {
  const other = await sleeper();
  const record: SessionRecord = {
    address: BOB,
    cwd: "/work",
    pid: other.pid,
    started: findProcesses([other.pid]).get(other.pid)?.token ?? "",
    state: "idle",
    waitingOn: "",
    updated: new Date().toISOString(),
  };
  mkdirSync(state.at("running"), { recursive: true });
  writeFileSync(recordPath(), JSON.stringify(record));
  return { other, record };
}

function readRecord(): unknown {
  return JSON.parse(readFileSync(recordPath(), "utf8"));
}

describe("S3.4 a second process of a session", () => {
  test("warns, naming the first's pid, and claims nothing whatever happens in it", async () => {
    const { other, record } = await servedByAnother();
    const first = mail();
    send(first, false);
    const life = Life.open(new FakeHost(BOB));
    expect(life.host.warnings).toEqual([expect.stringContaining(String(other.pid))]);
    life.mailbox.look();
    life.prompt();
    expect(life.gap()).toEqual({ mails: [], wake: false });
    life.end({ text: "done" });
    life.mailbox.conversation.renamed();
    life.mailbox.conversation.compacted();
    life.mailbox.showWaiting(ALICE);
    life.clock.advance(120_000);
    expect(life.waiting).toEqual([envelopeName(first)]);
    expect(life.read).toEqual([]);
    expect(mailsIn(ALICE)).toEqual([]);
    expect(life.host.warnings).toHaveLength(1);
    expect(life.host.status).toBeUndefined();
    expect(readRecord()).toEqual(record);
  });

  test("can neither send, scan nor answer", async () => {
    await servedByAnother();
    const life = Life.open(new FakeHost(BOB));
    for (const act of [
      () => life.mailbox.send({ to: ALICE, kind: "request", hops: 0, body: "x" }),
      () => life.mailbox.scan(),
      () => life.mailbox.openAsks(),
      () => life.mailbox.answer("x", "y"),
    ]) {
      expect(act).toThrow("Another process");
    }
    expect(mailsIn(ALICE)).toEqual([]);
  });

  test("takes over by itself when the first is gone, though it was killed", async () => {
    const { other } = await servedByAnother();
    const life = Life.open(new FakeHost(BOB));
    const envelope = mail();
    send(envelope, false);
    life.clock.advance(5000);
    expect(life.read).toEqual([]);
    await other.end();
    life.clock.advance(1000);
    expect(runningRecord(BOB)?.pid).toBe(process.pid);
    expect(life.read).toEqual([envelope.id]);
    life.run({ text: "done" });
    expect(mailsIn(ALICE)).toMatchObject([{ in_reply_to: [envelope.id], body: "done" }]);
    life.close();
    expect(life.clock.pending).toBe(0);
    expect(runningRecord(BOB)).toBeUndefined();
  });

  test("takes over when the first has closed and its process goes on", async () => {
    await servedByAnother();
    const life = Life.open(new FakeHost(BOB));
    rmSync(recordPath());
    life.clock.advance(1000);
    expect(runningRecord(BOB)?.pid).toBe(process.pid);
    expect(life.host.warnings).toHaveLength(1);
  });

  test("S5.5 reads what the first left unread, and what it had read and owes: its model has not", async () => {
    const { other } = await servedByAnother();
    const life = Life.open(new FakeHost(BOB));
    const [unread, owed] = [mail(), mail()];
    makeBoxes(BOB);
    drop(BOB, unread, undefined, "cur");
    drop(BOB, owed, undefined, "cur");
    const { id, ts, from } = owed;
    const ledger: Ledger = {
      ...emptyLedger(),
      unread: [envelopeName(unread)],
      owed: [{ id, ts, from, kind: "request", held: false, closed: false }],
      read: 7,
    };
    saveLedger(BOB, ledger, false);
    life.clock.advance(5000);
    expect(life.ledger).toEqual(ledger);
    await other.end();
    life.clock.advance(1000);
    expect(life.read).toEqual([unread.id, owed.id]);
    expect(life.host.status).toBe("✉ 2 pending · 6 read");
    life.run({ text: "done" });
    expect(mailsIn(ALICE)).toMatchObject([{ in_reply_to: [unread.id, owed.id], body: "done" }]);
    expect(life.ledger).toMatchObject({ unread: [], owed: [], outbox: [] });
  });

  test("S6.7 still owes what it has in its conversation, saying that it was closed", async () => {
    const owed = mail();
    const entry = { type: "custom_message", customType: ENTRY_TYPE, details: { id: owed.id } };
    const { other } = await servedByAnother();
    const life = Life.open(new FakeHost(BOB, [entry]), new FakeClock(), false);
    drop(BOB, owed, undefined, "cur");
    const { id, ts, from } = owed;
    const debt = { id, ts, from, kind: "request" as const, held: false, closed: false };
    saveLedger(BOB, { ...emptyLedger(), owed: [debt], read: 1 }, false);
    await other.end();
    life.clock.advance(1000);
    expect(life.read).toEqual([owed.id]);
    life.run({ text: "done" });
    expect(mailsIn(ALICE)).toMatchObject([{ in_reply_to: [id], body: `${CLOSED}\n\ndone` }]);
  });

  test("that was the first, and is left behind, waits for no answer and shows no counts", async () => {
    const life = Life.open(new FakeHost(BOB));
    const ask = life.mailbox.send({ to: ALICE, kind: "ask", hops: 0, body: "Which?" });
    let abandoned = 0;
    life.mailbox.showWaiting(ALICE);
    life.mailbox.expectAnswer(ask.id, {
      target: ALICE,
      answer: () => undefined,
      abandon: () => (abandoned += 1),
    });
    expect(life.host.status).toBe("✉ 1 awaiting");
    const { other } = await servedByAnother();
    life.clock.advance(1000);
    expect([abandoned, life.mailbox.waitingOn, life.host.status]).toEqual([1, "", undefined]);
    expect(() => life.mailbox.send({ to: ALICE, kind: "ask", hops: 0, body: "x" })).toThrow(
      "Another process",
    );
    await other.end();
    life.clock.advance(1000);
    expect(life.host.status).toBe("✉ 1 awaiting");
  });

  test("closing it touches neither the first's record nor its ledger", async () => {
    const { record } = await servedByAnother();
    makeBoxes(BOB);
    const unread = mail();
    drop(BOB, unread, undefined, "cur");
    const ledger = { ...emptyLedger(), unread: [envelopeName(unread)], entered: 3 };
    saveLedger(BOB, ledger, false);
    const life = Life.open(new FakeHost(BOB));
    life.close();
    expect(life.clock.pending).toBe(0);
    expect(readRecord()).toEqual(record);
    expect(life.ledger).toEqual(ledger);
  });

  test("in whose own run the take-over falls is shown as busy", async () => {
    const { other } = await servedByAnother();
    const life = Life.open(new FakeHost(BOB));
    life.prompt();
    await other.end();
    life.clock.advance(1000);
    expect(runningRecord(BOB)).toMatchObject({ pid: process.pid, state: "busy" });
    life.end({ text: "done" });
    expect(runningRecord(BOB)).toMatchObject({ state: "idle" });
  });

  test("whose runs before the take-over answer nothing after it", async () => {
    const { other } = await servedByAnother();
    const life = Life.open(new FakeHost(BOB));
    life.prompt();
    life.end({ text: "A secret of the user's." });
    await other.end();
    life.clock.advance(1000);
    send(mail(), false);
    life.mailbox.look();
    life.run({ text: "" });
    expect(mailsIn(ALICE)).toHaveLength(1);
    expect(mailsIn(ALICE)[0]?.body).not.toContain("secret");
  });

  test("that cannot take over at first says so once, and does it once it can", async () => {
    const { other } = await servedByAnother();
    const life = Life.open(new FakeHost(BOB));
    const envelope = mail();
    send(envelope, false);
    await other.end();
    // No record can be written: a folder stands in its place.
    rmSync(recordPath());
    mkdirSync(recordPath());
    life.clock.advance(10_000);
    expect(life.host.warnings).toHaveLength(2);
    expect(life.read).toEqual([]);
    rmSync(recordPath(), { recursive: true });
    life.clock.advance(1000);
    expect(runningRecord(BOB)?.pid).toBe(process.pid);
    expect(life.read).toEqual([envelope.id]);
    const later = mail({ kind: "message" });
    life.run({ text: "done" });
    send(later, false);
    life.clock.advance(1000);
    expect(life.read).toEqual([envelope.id, later.id]);
  });

  test("S3.4 that opens at the same moment, and is a moment late, leaves it to the first", async () => {
    const { other, record } = await servedByAnother();
    rmSync(recordPath());
    const host = new FakeHost(BOB);
    // A session is asked for its name when its record is about to be written.
    host.name = () => {
      writeFileSync(recordPath(), JSON.stringify(record));
      host.name = () => undefined;
      return undefined;
    };
    const envelope = mail();
    send(envelope, false);
    const life = Life.open(host);
    life.clock.advance(60_000);
    expect(readRecord()).toEqual(record);
    expect(life.waiting).toEqual([envelopeName(envelope)]);
    expect(life.host.warnings).toEqual([expect.stringContaining(String(other.pid))]);
    await other.end();
    life.clock.advance(1000);
    expect(life.read).toEqual([envelope.id]);
  });

  test("does not mistake this process for another: /new and /resume stay in one", () => {
    const first = Life.open(new FakeHost(BOB));
    first.close();
    const second = first.next();
    expect(second.host.warnings).toEqual([]);
    const crashed = Life.open(new FakeHost(ALICE));
    crashed.crash();
    expect(crashed.next().host.warnings).toEqual([]);
  });

  test("is not kept out by a record of a process that is gone", async () => {
    const { other } = await servedByAnother();
    await other.end();
    const life = Life.open(new FakeHost(BOB), new FakeClock());
    expect(life.host.warnings).toEqual([]);
    expect(runningRecord(BOB)?.pid).toBe(process.pid);
    expect(boxesOf(BOB).folder).toBe(state.at(BOB));
  });
});
