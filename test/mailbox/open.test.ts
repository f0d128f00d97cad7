import { chmodSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { envelopeName } from "../../src/mail/envelope.ts";
import { boxesOf, MailboxOff, makeBoxes } from "../../src/mail/root.ts";
import { send } from "../../src/mail/store.ts";
import { Mailbox } from "../../src/mailbox/mailbox.ts";
import { runningRecord } from "../../src/sessions/record.ts";
import { footerText } from "../../src/surface/footer.ts";
import { filesBelow, namesIn, useStateFolder } from "../fixtures/folder.ts";
import { ALICE, BOB, drop, mail } from "../fixtures/mail.ts";
import { eventually } from "../host/eventually.ts";
import { FakeClock, FakeHost, Life, mailsIn, useLives } from "./fake.ts";

const state = useStateFolder();
useLives();

describe("opening a mailbox", () => {
  test("S1.2 S3.1 its folders and its record are there when it returns", () => {
    const host = new FakeHost(BOB);
    host.sessionName = "bob";
    const clock = new FakeClock();
    const life = new Life(host, clock);
    expect(namesIn(state.at(BOB))).toEqual(["cur", "new", "sent", "tmp"]);
    expect(runningRecord(BOB)).toEqual({
      address: BOB,
      name: "bob",
      cwd: "/work",
      pid: process.pid,
      started: expect.stringMatching(/./) as string,
      state: "idle",
      waitingOn: "",
      updated: new Date(clock.now()).toISOString(),
      stopped: false,
    });
    expect(life.mailbox.address).toBe(BOB);
    expect(host.warnings).toEqual([]);
    expect(host.status).toBeUndefined();
  });

  test("a session that never had mail needs no ledger", () => {
    Life.open(new FakeHost(BOB)).close();
    expect(filesBelow(state.root)).toEqual([]);
  });

  test("S5.2 claims nothing by itself, and all that waits on a later turn", () => {
    const envelope = mail();
    send(envelope, false);
    const clock = new FakeClock();
    const life = new Life(new FakeHost(BOB), clock);
    expect(life.waiting).toEqual([envelopeName(envelope)]);
    expect(life.host.puts).toEqual([]);
    clock.turn();
    expect(life.waiting).toEqual([]);
    expect(life.read).toEqual([envelope.id]);
  });

  test("S5.2 a shutdown before that turn cancels the claim", () => {
    const envelope = mail();
    send(envelope, false);
    const clock = new FakeClock();
    const life = new Life(new FakeHost(BOB), clock);
    life.close();
    expect(clock.pending).toBe(0);
    clock.advance(60_000);
    expect(life.waiting).toEqual([envelopeName(envelope)]);
    expect(life.host.puts).toEqual([]);
    expect(life.host.warnings).toEqual([]);
  });

  test("S5.1 mail that comes later is noticed by the watcher, in no time of the clock", async () => {
    const life = Life.open(new FakeHost(BOB));
    const envelope = mail();
    send(envelope, false);
    await eventually(() => life.read.length > 0, "the watcher");
    expect(life.read).toEqual([envelope.id]);
  });

  test("S5.1 or by the poll", () => {
    const life = Life.open(new FakeHost(BOB));
    const envelope = mail();
    send(envelope, false);
    life.clock.advance(1000);
    expect(life.read).toEqual([envelope.id]);
  });

  test("S1.3 says which folder is open to others and how to mend it, and leaves it alone", () => {
    const { folder } = makeBoxes(BOB);
    chmodSync(folder, 0o750);
    const life = Life.open(new FakeHost(BOB));
    expect(life.host.warnings).toHaveLength(1);
    expect(life.host.warnings[0]).toContain(`chmod 700 ${folder}`);
    life.clock.advance(10_000);
    expect(life.host.warnings).toHaveLength(1);
  });
});

describe("S1.2 S1.5 a mailbox that cannot be opened leaves nothing running", () => {
  /** Opens, and expects that it throws, with no record and no timer left. */
  function expectOff(host: FakeHost, reason: unknown): void {
    const clock = new FakeClock();
    const options = { clock, closed: true, running: false, footer: footerText };
    expect(() => new Mailbox(host, options)).toThrow(reason);
    expect(clock.pending).toBe(0);
    expect(host.warnings).toEqual([]);
    expect(host.status).toBeUndefined();
  }

  test.each(["", "a/b", "../up", "a.b", "running", "ü"])("an id %j that is no address", (id) => {
    expectOff(new FakeHost(id), MailboxOff);
    expect(namesIn(state.root)).toEqual([]);
  });

  test("a root below a file", () => {
    const host = new FakeHost(BOB);
    process.env["XDG_STATE_HOME"] = "/dev/null";
    expectOff(host, expect.objectContaining({ code: "ENOTDIR" }));
  });

  test("a root that is a file", () => {
    writeFileSync(state.root, "");
    expectOff(new FakeHost(BOB), expect.objectContaining({ code: "EEXIST" }));
  });

  test("no room for running records", () => {
    mkdirSync(state.root);
    writeFileSync(state.at("running"), "");
    expectOff(new FakeHost(BOB), Error);
  });

  test("a record that cannot be written", () => {
    mkdirSync(state.at("running", `${BOB}.json`), { recursive: true });
    expectOff(new FakeHost(BOB), /is in the way; remove it/);
    expect(namesIn(state.at("running"))).toEqual([`${BOB}.json`]);
  });

  test("a folder of the session that is a file", () => {
    mkdirSync(state.root);
    writeFileSync(state.at(BOB), "");
    expectOff(new FakeHost(BOB), Error);
    expect(runningRecord(BOB)).toBeUndefined();
  });
});

describe("the running record", () => {
  test("S3.1 follows the session: its name, its runs, whom it waits on", () => {
    const life = Life.open(new FakeHost(BOB));
    life.host.sessionName = "builder";
    life.mailbox.conversation.renamed();
    expect(runningRecord(BOB)).toMatchObject({ name: "builder", state: "idle" });
    life.start();
    life.clock.advance(100);
    expect(runningRecord(BOB)).toMatchObject({ state: "busy" });
    life.mailbox.showWaiting(ALICE);
    expect(runningRecord(BOB)).toMatchObject({ state: "busy", waitingOn: ALICE });
    expect(life.mailbox.waitingOn).toBe(ALICE);
    life.mailbox.showWaiting("");
    life.end({ text: "done" });
    expect(runningRecord(BOB)).toMatchObject({ state: "idle", waitingOn: "" });
    life.close();
    expect(runningRecord(BOB)).toBeUndefined();
    expect(namesIn(state.at("running"))).toEqual([]);
  });

  test("S3.5 is touched at least every 90 s while the session does nothing", () => {
    const life = Life.open(new FakeHost(BOB));
    for (let round = 0; round < 20; round++) {
      life.clock.advance(30_000);
      const age = life.clock.now() - Date.parse(runningRecord(BOB)?.updated ?? "");
      expect(age).toBeLessThan(60_000);
    }
  });

  test("S3.3 a record of another process is not removed by ours", () => {
    const life = Life.open(new FakeHost(BOB));
    const path = state.at("running", `${BOB}.json`);
    const other = { ...runningRecord(BOB), pid: 1, started: "" };
    writeFileSync(path, JSON.stringify(other));
    life.close();
    expect(JSON.parse(readFileSync(path, "utf8"))).toEqual(other);
  });

  test("S3.3 a record of another process is not overwritten by ours", () => {
    const life = Life.open(new FakeHost(BOB));
    const path = state.at("running", `${BOB}.json`);
    const other = { ...runningRecord(BOB), pid: 1, started: "" };
    writeFileSync(path, JSON.stringify(other));
    life.start();
    life.end({ text: "done" });
    life.clock.advance(120_000);
    life.mailbox.conversation.renamed();
    expect(JSON.parse(readFileSync(path, "utf8"))).toEqual(other);
  });
});

describe("closing a mailbox", () => {
  test("leaves no timer, no watcher, no footer", async () => {
    send(mail(), false);
    const life = Life.open(new FakeHost(BOB));
    expect(life.host.status).toBe("✉ 1 pending");
    life.close();
    expect(life.host.status).toBeUndefined();
    expect(life.clock.pending).toBe(0);
    const late = mail();
    send(late, false);
    await delay(50);
    expect(life.waiting).toEqual([envelopeName(late)]);
  });

  test("leaves nothing to do of what a settled run or a compaction has put off", () => {
    for (const put of ["settled", "compacted"] as const) {
      const life = Life.open(new FakeHost(BOB));
      if (put === "settled") life.mailbox.conversation.settled(false);
      else life.mailbox.conversation.compacted();
      life.close();
      expect([put, life.clock.pending]).toEqual([put, 0]);
    }
  });

  test("what comes after it does nothing, and throws where something is asked for", () => {
    const life = Life.open(new FakeHost(BOB));
    life.close();
    const before = filesBelow(state.root);
    send(mail(), false);
    life.prompt();
    life.gap();
    life.end({ text: "done" });
    life.mailbox.conversation.compacted();
    life.clock.advance(10_000);
    life.mailbox.showWaiting(ALICE);
    expect(life.host.puts).toEqual([]);
    expect(life.host.warnings).toEqual([]);
    expect(runningRecord(BOB)).toBeUndefined();
    expect(mailsIn(BOB)).toHaveLength(1);
    expect(filesBelow(state.root)).toHaveLength(before.length + 2);
    for (const ask of [
      () => life.mailbox.send({ to: ALICE, kind: "request", hops: 0, body: "x" }),
      () => life.mailbox.scan(),
      () => life.mailbox.openAsks(),
      () => life.mailbox.answer("x", "y"),
    ]) {
      expect(ask).toThrow("closed");
    }
    life.close();
  });

  test("a wait for an answer is given up", () => {
    const life = Life.open(new FakeHost(BOB));
    let abandoned = 0;
    const cancel = life.mailbox.expectAnswer("an-ask", {
      target: ALICE,
      answer: () => expect.unreachable(),
      abandon: () => {
        abandoned += 1;
        cancel();
      },
    });
    life.close();
    expect(abandoned).toBe(1);
  });

  test("S11.1 prunes at start what is old, after the opening has returned", () => {
    const old = makeBoxes(ALICE);
    const clock = new FakeClock(Date.now() + 31 * 24 * 60 * 60_000);
    const life = new Life(new FakeHost(BOB), clock);
    expect(namesIn(state.root)).toContain(ALICE);
    clock.advance(2000);
    expect(namesIn(state.root)).toEqual([BOB, "running"].sort());
    expect(old.folder).toBe(state.at(ALICE));
    expect(life.mailbox.prune()).toBe(0);
  });

  test("S11.1 prunes at once in print mode, which may be over soon", () => {
    makeBoxes(ALICE);
    const host = new FakeHost(BOB);
    host.canWake = false;
    Life.open(host, new FakeClock(Date.now() + 31 * 24 * 60 * 60_000)).clock.advance(1);
    expect(namesIn(state.root)).toEqual([BOB, "running"].sort());
  });

  test("S11.1 S11.3 leaves what is younger, what runs and what is its own, until it is told", () => {
    const CLOSED = "closed-one";
    makeBoxes(CLOSED);
    Life.open(new FakeHost(ALICE));
    const life = Life.open(new FakeHost(BOB), new FakeClock(Date.now() + 29 * 24 * 60 * 60_000));
    life.clock.advance(2000);
    expect(namesIn(state.root)).toEqual([ALICE, BOB, CLOSED, "running"].sort());
    expect(life.mailbox.prune()).toBe(1);
    expect(namesIn(state.root)).toEqual([ALICE, BOB, "running"].sort());
  });

  test("S11.1 never prunes its own, even when its record was taken away", () => {
    const life = Life.open(new FakeHost(BOB));
    rmSync(state.at("running", `${BOB}.json`));
    expect(life.mailbox.prune()).toBe(0);
    expect(namesIn(state.root)).toContain(BOB);
  });

  test("S12.1 pruneAfterDays is the setting's", () => {
    makeBoxes(ALICE);
    const host = new FakeHost(BOB);
    writeFileSync(`${host.agentFolder}/session-mail.json`, '{"pruneAfterDays": 2}');
    Life.open(host, new FakeClock(Date.now() + 3 * 24 * 60 * 60_000)).clock.advance(2000);
    expect(namesIn(state.root)).toEqual([BOB, "running"].sort());
  });

  test("S12.1 each problem with the settings is told once", () => {
    const host = new FakeHost(BOB);
    writeFileSync(`${host.agentFolder}/session-mail.json`, '{"hopLimit": 0}');
    const life = Life.open(host);
    for (let round = 0; round < 3; round++) {
      life.mailbox.settings();
      life.mailbox.send({ to: ALICE, kind: "request", hops: 0, body: "x" });
    }
    expect(host.warnings).toEqual([expect.stringContaining("hopLimit")]);
  });
});

describe("a mailbox of a session that was there before", () => {
  test("S1.1 a root that is a link of ours works as any", () => {
    mkdirSync(state.at("..", "real"));
    symlinkSync(state.at("..", "real"), state.root);
    drop(BOB, mail());
    const life = Life.open(new FakeHost(BOB));
    expect(life.read).toHaveLength(1);
    rmSync(state.root);
    mkdirSync(state.root);
    expect(boxesOf(BOB).folder).toBe(state.at(BOB));
  });
});
