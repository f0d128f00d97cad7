import { rmSync, writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { boxesOf } from "../../src/mail/root.ts";
import { sourceOf } from "../../src/surface/screen/source.ts";
import { Session } from "../../src/surface/session.ts";
import { useStateFolder } from "../fixtures/folder.ts";
import { ALICE, BOB, CAROL, drop, mail } from "../fixtures/mail.ts";
import { FakeClock, FakeHost, Life, mailsIn, useLives } from "../mailbox/fake.ts";

useStateFolder();
useLives();

function opened(address: string, name?: string): Life & { session: Session } {
  const host = new FakeHost(address);
  host.sessionName = name;
  const life = Life.open(host, new FakeClock());
  const session = new Session();
  session.open(life.mailbox);
  return Object.assign(life, { session });
}

describe("S18.2 what the screen shows of a mailbox", () => {
  test("the running sessions, this one marked", () => {
    const { session } = opened(ALICE, "alice");
    opened(BOB, "bob\u001b[2J").mailbox.showWaiting(ALICE);
    expect(sourceOf(session, "alice").sessions()).toEqual([
      {
        address: BOB,
        label: "bob [2J",
        cwd: "/work",
        state: "idle",
        waitingOn: "alice",
        isSelf: false,
      },
      {
        address: ALICE,
        label: "alice",
        cwd: "/work",
        state: "idle",
        waitingOn: "",
        isSelf: true,
      },
    ]);
  });

  test("its mail", () => {
    const alice = opened(ALICE);
    const source = sourceOf(alice.session, undefined);
    const ask = mail({ from: BOB, to: ALICE, kind: "ask" });
    drop(ALICE, ask);
    alice.mailbox.look();
    expect(source.inbox().map(({ envelope }) => envelope.id)).toEqual([ask.id]);
    expect(source.sent()).toEqual([]);
    source.send(BOB, "hello");
    expect(source.sent()[0]).toMatchObject({ state: "waiting", envelope: { body: "hello" } });
  });
});

describe("S18.2 sessions of one name", () => {
  test("are told apart by their short ids", () => {
    const { session } = opened(ALICE, "alice");
    opened(BOB, "twin");
    opened(CAROL, "twin");
    const labels = sourceOf(session, "alice")
      .sessions()
      .map(({ label }) => label);
    expect(labels[0]).toMatch(/^twin \S{8,}$/);
    expect(labels[1]).toMatch(/^twin \S{8,}$/);
    expect(new Set(labels).size).toBe(3);
    expect(labels[2]).toBe("alice");
  });
});

describe("S18.2 what the screen sends", () => {
  test("a request with hops 0, also in a run that comes from a long chain of mails", () => {
    const alice = opened(ALICE);
    opened(BOB, "bob");
    drop(ALICE, mail({ from: BOB, to: ALICE, kind: "message", hops: 4 }));
    alice.mailbox.look();
    alice.start();
    expect(alice.mailbox.hops).toBe(5);
    const said = sourceOf(alice.session, "alice").send(BOB, "run the tests\nplease");
    const [request] = mailsIn(BOB);
    expect(request).toMatchObject({
      from: ALICE,
      kind: "request",
      hops: 0,
      body: "run the tests\nplease",
    });
    expect(said).toBe(`Sent ${String(request?.id)} to bob`);
  });

  test("the answer to a request or ask that is owed, which is owed no longer", () => {
    const alice = opened(ALICE);
    const source = sourceOf(alice.session, "alice");
    const ask = mail({ from: BOB, to: ALICE, kind: "ask" });
    drop(ALICE, ask);
    alice.mailbox.look();
    alice.start();
    const [owed] = source.inbox();
    expect(owed?.state).toBe("to answer");
    const said = source.answer(owed!, "8080");
    const [reply] = mailsIn(BOB);
    expect(reply).toMatchObject({ kind: "reply", in_reply_to: [ask.id], body: "8080" });
    expect(said).toContain(`Sent ${String(reply?.id)} to `);
    expect(source.inbox()[0]?.state).toBe("answered");
    expect(() => source.answer(owed!, "again")).toThrow("Nothing was sent");
    expect(mailsIn(BOB)).toHaveLength(1);
  });

  test("nothing of an empty text, to itself, or where the disk does not let it", () => {
    const { session } = opened(ALICE);
    const source = sourceOf(session, "alice");
    expect(() => source.send(BOB, " \n")).toThrow("the message is empty");
    expect(() => source.send(ALICE, "hello")).toThrow("cannot mail itself");
    const { folder } = boxesOf(BOB);
    writeFileSync(folder, "in the way");
    expect(() => source.send(BOB, "hello")).toThrow("Nothing was sent");
    rmSync(folder);
    expect(source.sent()).toEqual([]);
  });

  test("is open for as long as the session has this mailbox", () => {
    const { session } = opened(ALICE);
    const source = sourceOf(session, "alice");
    expect(source.isOpen()).toBe(true);
    session.close("the session is closed");
    expect(source.isOpen()).toBe(false);
    expect(() => sourceOf(session, "alice")).toThrow("the session is closed");
  });
});
