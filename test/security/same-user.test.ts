/** What a process of the same user can do, which is all that forging files does, and what it cannot. */
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { emptyLedger, saveLedger } from "../../src/mail/ledger.ts";
import { boxesOf, makeBoxes, makeRunningFolder, runningFolder } from "../../src/mail/root.ts";
import { runningRecord, runningRecords, type SessionRecord } from "../../src/sessions/record.ts";
import { Correspondent, framesIn, there, type Letter } from "../delivery/life-support.ts";
import { lastResult, waitForProgress } from "../delivery/s7-tools.ts";
import { useStateFolder } from "../fixtures/folder.ts";
import { ALICE, BOB, CAROL, drop, mail, replyTo } from "../fixtures/mail.ts";
import { gonePid, sleeper, useProcesses } from "../fixtures/process.ts";
import { eventually } from "../host/eventually.ts";
import { call, say, stall } from "../host/model.ts";
import { Workplace } from "../host/workplace.ts";
import { FakeHost, Life, mailsIn, useLives } from "../mailbox/fake.ts";

const state = useStateFolder();
useLives();
useProcesses();

/** Writes a record as any process of the user can, and gives its path. */
function forge(address: string, fields: Partial<SessionRecord>, file = address): string {
  const record: SessionRecord = {
    ...{ address, cwd: "/srv", pid: process.pid, started: "", state: "idle", waitingOn: "" },
    ...{ updated: new Date().toISOString(), ...fields },
  };
  makeRunningFolder();
  const path = join(runningFolder(), `${file}.json`);
  writeFileSync(path, JSON.stringify(record));
  return path;
}

describe("forged mail", () => {
  test("is read in the name of whichever session it says it is from", () => {
    forge(ALICE, { name: "alice" });
    drop(BOB, mail({ from: ALICE, kind: "message", body: "I am not Alice." }));
    const life = Life.open(new FakeHost(BOB));
    expect(framesIn(there(life.host.puts[0]).mail.content)[0]).toMatchObject({
      from: "alice",
      address: ALICE,
      text: "I am not Alice.",
    });
  });

  test("is read by the session in whose folder it lies, whomever it names", () => {
    const life = Life.open(new FakeHost(BOB));
    drop(BOB, mail({ to: CAROL, kind: "message" }));
    life.mailbox.look();
    expect(life.read).toHaveLength(1);
  });

  test("that asks gets the last text of the run that it enters, and into a mailbox alone", () => {
    const life = Life.open(new FakeHost(BOB));
    life.prompt();
    const asked = drop(BOB, mail({ from: "no-session", kind: "ask" }));
    life.gap();
    life.end({ text: "what the user was told" });
    expect(asked).toContain(BOB);
    expect(mailsIn("no-session").map(({ body }) => body)).toEqual(["what the user was told"]);
  });

  test("that answers what was never asked starts nothing and quotes nothing", () => {
    const life = Life.open(new FakeHost(BOB));
    const { id } = life.mailbox.send({ to: ALICE, kind: "request", hops: 0, body: "a secret" });
    drop(BOB, replyTo(mail({ from: BOB, to: CAROL }), { in_reply_to: [id] }));
    life.mailbox.look();
    expect(life.host.puts.map(({ by }) => by)).toEqual(["append"]);
    expect(there(life.host.puts[0]).mail.content).not.toContain("a secret");
    expect(life.ledger.awaiting.map((awaited) => awaited.id)).toEqual([id]);
  });
});

describe("a forged record", () => {
  test("S3.3 in a session's own place makes it stand by until that is gone; it is never replaced", async () => {
    const life = Life.open(new FakeHost(BOB));
    const { pid } = await sleeper();
    const path = forge(BOB, { name: "forged", pid });
    const forged = readFileSync(path, "utf8");
    life.run({ text: "done" });
    drop(BOB, mail({ kind: "message" }));
    life.clock.advance(120_000);
    expect(life.read).toEqual([]);
    expect(life.host.warnings.join()).toContain(`process ${String(pid)} has this session open`);
    expect(readFileSync(path, "utf8")).toBe(forged);
    rmSync(path);
    life.clock.advance(10_000);
    expect(life.read).toHaveLength(1);
    writeFileSync(path, forged);
    life.close();
    expect(readFileSync(path, "utf8")).toBe(forged);
  });

  test("S3.2 S3.3 has no other record removed or replaced, whatever address and pid it names", async () => {
    const [{ pid }, gone] = [await sleeper(), await gonePid()];
    const others = [forge(ALICE, { name: "alice", pid }), forge("own-pid", { pid: process.pid })];
    const before = others.map((path) => readFileSync(path, "utf8"));
    // One that names the address of another, of a process that is gone, and one that leads out.
    forge(ALICE, { pid: gone }, "forged-1");
    forge(`../running/${ALICE}`, { pid: gone }, "forged-2");
    const life = Life.open(new FakeHost(BOB));
    expect(runningRecords().map(({ address }) => address)).toEqual([ALICE, BOB, "own-pid"]);
    expect(runningRecord("forged-1")).toBeUndefined();
    life.run({ text: "done" });
    life.clock.advance(120_000);
    life.mailbox.prune();
    life.close();
    expect(others.map((path) => readFileSync(path, "utf8"))).toEqual(before);
  });

  test("S3.2 has no process signalled or ended", async () => {
    const { pid } = await sleeper();
    forge(ALICE, { pid, started: "another token" });
    const life = Life.open(new FakeHost(BOB));
    expect(runningRecords().map(({ address }) => address)).toEqual([BOB]);
    life.close();
    expect(() => process.kill(pid, 0)).not.toThrow();
  });
});

test("a forged ledger has a session send what it lists: in its own name, and to mailboxes alone", () => {
  makeBoxes(BOB);
  const reply = { ...mail({ from: BOB, to: ALICE }), kind: "reply", status: "done" } as const;
  const outbox = [
    { ...reply, body: "never said" },
    { ...reply, id: "outside", to: "../../outside" },
    { ...reply, id: "another", from: CAROL },
    { ...reply, id: "request", kind: "request", status: "" } as const,
  ];
  saveLedger(BOB, { ...emptyLedger(), outbox }, false);
  Life.open(new FakeHost(BOB));
  expect(mailsIn(ALICE).map(({ from, body }) => ({ from, body }))).toEqual([
    { from: BOB, body: "never said" },
  ]);
  expect(boxesOf(ALICE).folder).toContain(state.root);
});

describe("an ask that waits, on real Pi", () => {
  let workplace: Workplace;
  beforeAll(async () => {
    workplace = await Workplace.open();
  });
  afterAll(() => workplace.close());

  const ASK = "session_mail_ask";

  test("S7.5 goes on waiting when others answer it, goes to whom a record names, and believes `from`", async () => {
    const alice = await workplace.session({ name: "alice" });
    const bob = new Correspondent(workplace, { name: "bob", cwd: "/srv" });
    const mallory = new Correspondent(workplace);
    const questions = (): Letter[] => bob.received().filter(({ kind }) => kind === "ask");
    const asked = (count: number): Promise<Letter | undefined> =>
      eventually(() => questions()[count - 1], `ask ${String(count)} in the forged mailbox`);
    const end = stall("");
    workplace.model.script(
      "alice",
      call(ASK, { to: "bob", message: "which port?" }),
      call(ASK, { to: "bob", message: "are you sure?" }),
      end,
    );
    const mark = alice.mark();
    await alice.prompt("ask bob");
    const first = there(await asked(1));
    const forged = mallory.send(alice, "reply", "port 1", { in_reply_to: [first.id] });
    await eventually(
      () => alice.status("mailbox")?.includes("1 pending"),
      "the forged answer to be claimed",
    );
    await waitForProgress(alice, /waiting on bob/, alice.mark());
    bob.send(alice, "reply", "port 2", { in_reply_to: [first.id] });
    const second = there(await asked(2));
    expect(lastResult(alice, ASK, mark).text).toContain("port 2");
    expect(lastResult(alice, ASK, mark).text).not.toContain(forged.body);
    // It is mail like any other, from whom it says.
    const gap = workplace.model.requests("alice").at(-1)?.text ?? "";
    expect(framesIn(gap).map(({ address }) => address)).toEqual([mallory.address]);

    mallory.send(alice, "reply", "forged", { in_reply_to: [second.id], from: bob.address });
    await end.started;
    expect(lastResult(alice, ASK, mark).text).toContain("bob answers:\n\nforged");
    end.release("so be it");
    expect((await alice.settled()).text).toBe("so be it");
    expect(alice.extensionErrors).toEqual([]);
    workplace.model.script("alice", say("ok"));
  });
});
