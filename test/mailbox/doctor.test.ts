import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { envelopeName } from "../../src/mail/envelope.ts";
import { boxesOf } from "../../src/mail/root.ts";
import { send } from "../../src/mail/store.ts";
import { examine } from "../../src/mailbox/doctor.ts";
import { findProcesses } from "../../src/sessions/process.ts";
import { filesBelow, useStateFolder } from "../fixtures/folder.ts";
import { ALICE, BOB, CAROL, drop, mail } from "../fixtures/mail.ts";
import { sleeper, useProcesses } from "../fixtures/process.ts";
import { FakeHost, Life, useLives } from "./fake.ts";

const state = useStateFolder();
useLives();
useProcesses();

const examined = ({ host, clock, mailbox }: Life) =>
  examine({
    address: host.address,
    agentFolder: host.agentFolder,
    now: clock.now(),
    own: mailbox.ownFacts(),
  });
const off = (address = BOB) => examine({ address, agentFolder: state.home, now: Date.now() });

describe("S18.4 what a mailbox is examined for", () => {
  test("the root, its folders, its record and its watcher", () => {
    const life = Life.open(new FakeHost(BOB));
    const facts = examined(life);
    expect(facts).toMatchObject({
      address: BOB,
      root: { is: { path: state.root, kind: "folder", mode: 0o700, isForeign: false } },
      record: { is: { pid: process.pid, of: "ours", isStopped: false } },
      waiting: { is: [] },
      open: { is: { unread: [], owed: [], held: [], awaiting: [], outbox: [] } },
      noMail: { is: [] },
      settings: { hopLimit: 5 },
      settingsProblems: [],
    });
    expect(facts.own?.watching?.found).toEqual({ byWatcher: 0, byPoll: 0 });
    expect("is" in facts.folders && facts.folders.is.map(({ kind }) => kind)).toEqual(
      Array.from({ length: 5 }, () => "folder"),
    );
  });

  test("what is unread, owed, held, awaited and still to be delivered, by id and age", () => {
    const life = Life.open(new FakeHost(BOB));
    const [held, owed, unread] = [mail(), mail({ kind: "ask" }), mail({ kind: "message" })];
    send(held, false);
    life.mailbox.look();
    life.start();
    life.end({ stopReason: "aborted" });
    life.prompt();
    send(owed, false);
    life.gap();
    life.clock.advance(100);
    const asked = life.mailbox.send({ to: CAROL, kind: "ask", hops: 0, body: "?" });
    life.host.messages = "lost";
    send(unread, false);
    life.mailbox.look();
    drop(BOB, mail({ id: "waits" }));
    const item = (of: { id: string; ts: string }) => ({ id: of.id, at: Date.parse(of.ts) });
    const facts = examined(life);
    expect(facts.open).toEqual({
      is: {
        unread: [item(unread)],
        owed: [item(owed)],
        held: [item(held)],
        awaiting: [item(asked)],
        outbox: [],
      },
    });
    expect(facts.waiting).toMatchObject({ is: [{ id: "waits" }] });
  });

  test("what was set aside, and what in cur/ is no mail", () => {
    const life = Life.open(new FakeHost(BOB));
    drop(BOB, "no mail", "nonsense.json");
    life.mailbox.look();
    const bad = drop(BOB, "{}", envelopeName(mail({ id: "bad" })), "cur");
    const facts = examined(life);
    expect(facts.own?.setAside).toEqual([
      { path: join(boxesOf(BOB).cur, "nonsense.json"), reason: "it is not JSON" },
    ]);
    expect(facts.noMail).toEqual({ is: ["nonsense.json", bad.split("/").at(-1)] });
    for (let count = 0; count < 30; count++) drop(BOB, "no mail");
    life.mailbox.look();
    expect(examined(life).own?.setAside).toHaveLength(20);
  });

  test("settings that do not hold", () => {
    const host = new FakeHost(BOB);
    writeFileSync(join(host.agentFolder, "session-mail.json"), '{ "hopLimit": 0 }');
    const facts = examined(Life.open(host));
    expect(facts.settingsProblems).toEqual([expect.stringContaining("hopLimit")]);
  });

  test("another process that serves it, from its ledger", async () => {
    const other = await sleeper();
    const request = mail();
    const before = Life.open(new FakeHost(BOB));
    send(request, false);
    before.mailbox.look();
    before.start();
    before.clock.advance(100);
    before.close();
    writeFileSync(
      state.at("running", `${BOB}.json`),
      JSON.stringify({
        address: BOB,
        cwd: "/work",
        pid: other.pid,
        started: findProcesses([other.pid]).get(other.pid)?.token ?? "",
      }),
    );
    const facts = examined(Life.open(new FakeHost(BOB)));
    expect(facts.own?.watching).toBeUndefined();
    expect(facts.record).toMatchObject({ is: { pid: other.pid, of: "another" } });
    expect(facts.open).toMatchObject({ is: { owed: [{ id: request.id }] } });
  });

  test("a session without a mailbox, whatever is in the way", () => {
    expect(off()).toMatchObject({
      own: undefined,
      root: { is: { kind: "missing" } },
      record: { is: undefined },
      open: { is: "missing" },
    });
    expect(off("../../etc")).toMatchObject({ folders: { fault: expect.any(String) as string } });
    writeFileSync(state.root, "a file");
    expect(off()).toMatchObject({ root: { is: { kind: "no folder", isUsable: false } } });
  });

  test("nothing is changed by it, not even the record of a process that is gone", () => {
    const life = Life.open(new FakeHost(BOB));
    send(mail(), false);
    life.mailbox.look();
    life.close();
    const gone = { address: BOB, cwd: "/", pid: 2 ** 22 - 1, started: "gone" };
    writeFileSync(state.at("running", `${BOB}.json`), JSON.stringify(gone));
    drop(BOB, mail());
    rmSync(boxesOf(BOB).sent, { recursive: true });
    const before = [filesBelow(state.home), readdirSync(boxesOf(BOB).folder)];
    expect(off().record).toMatchObject({ is: { of: "gone" } });
    off(ALICE);
    expect([filesBelow(state.home), readdirSync(boxesOf(BOB).folder)]).toEqual(before);
    mkdirSync(boxesOf(BOB).sent);
  });
});
