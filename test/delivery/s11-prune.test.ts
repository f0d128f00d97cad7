/** Which mailboxes of closed sessions are removed, at start and by `/mailbox prune`, on real Pi. */
import {
  existsSync,
  lutimesSync,
  mkdirSync,
  readdirSync,
  renameSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Ledger } from "../../src/mail/ledger.ts";
import { stall } from "../host/model.ts";
import { newSessionId, type PiSession } from "../host/session.ts";
import { Workplace } from "../host/workplace.ts";
import { envelope, filesIn, ledgerOf, mailIn, nameOf, plantMail } from "./s2-disk.ts";

const BOXES = ["tmp", "new", "cur", "sent"] as const;
const NOTHING: Ledger = { unread: [], owed: [], outbox: [], awaiting: [], entered: 0, read: 0 };

let workplace: Workplace;
beforeEach(async () => {
  workplace = await Workplace.open();
});
afterEach(() => workplace.close());

/** Sets when a mailbox last changed, its boxes and all. */
function age(folder: string, days: number): void {
  const then = new Date(Date.now() - days * 86_400_000);
  for (const box of BOXES)
    if (existsSync(join(folder, box))) utimesSync(join(folder, box), then, then);
  utimesSync(folder, then, then);
}

/** Makes the mailbox of a closed session that last changed so many days ago. */
function closedMailbox(days: number, address: string = newSessionId()): string {
  const { folder } = workplace.mailbox(address);
  for (const box of BOXES) mkdirSync(join(folder, box), { recursive: true, mode: 0o700 });
  const read = envelope({ to: address });
  writeFileSync(join(folder, "cur", nameOf(read)), JSON.stringify(read));
  age(folder, days);
  return address;
}

/** Gives a mailbox a ledger, and its age back. */
function withLedger(address: string, ledger: Partial<Ledger>, days: number): string {
  writeFileSync(workplace.mailbox(address).ledger, JSON.stringify({ ...NOTHING, ...ledger }));
  age(workplace.mailbox(address).folder, days);
  return address;
}

function isThere(address: string): boolean {
  return existsSync(workplace.mailbox(address).folder);
}

async function untilGone(address: string): Promise<void> {
  await expect.poll(() => isThere(address), { timeout: 20_000 }).toBe(false);
}

/** How much mail lies in a mailbox. */
function mailsOf(address: string): number {
  return BOXES.reduce((sum, box) => sum + filesIn(workplace.mailbox(address)[box]).length, 0);
}

/** Makes mailboxes of closed sessions that must stay whatever their age, and says what they are. */
function keptMailboxes(days: number): Record<string, string> {
  const waiting = closedMailbox(days);
  plantMail(workplace, { to: waiting });
  age(workplace.mailbox(waiting).folder, days);

  const unread = closedMailbox(days);
  withLedger(unread, { unread: readdirSync(workplace.mailbox(unread).cur) }, days);
  return { waiting, unread };
}

describe("S11.1 S11.2 at start", () => {
  test("an old mailbox of a closed session is removed, and no other folder is", async () => {
    const bob = await workplace.session({ name: "bob" });
    const own = closedMailbox(99);
    const old = closedMailbox(31);
    const read = withLedger(closedMailbox(31), { read: 7 }, 31);
    const kept = keptMailboxes(99);
    const recent = closedMailbox(29);
    const recentBox = closedMailbox(99);
    utimesSync(workplace.mailbox(recentBox).sent, new Date(), new Date());
    age(workplace.mailbox(bob.id).folder, 99);

    const elsewhere = join(workplace.folder, "elsewhere");
    for (const box of BOXES) mkdirSync(join(elsewhere, box), { recursive: true });
    age(elsewhere, 99);
    const link = newSessionId();
    symlinkSync(elsewhere, workplace.mailbox(link).folder);
    lutimesSync(workplace.mailbox(link).folder, new Date(0), new Date(0));
    const odd = [".hidden", "a.b", "a b"].map((name) => join(workplace.root, name));
    for (const folder of odd) {
      mkdirSync(folder);
      age(folder, 99);
    }
    const file = newSessionId();
    writeFileSync(workplace.mailbox(file).folder, "a file");
    utimesSync(workplace.mailbox(file).folder, new Date(0), new Date(0));
    age(join(workplace.root, "running"), 99);

    const alice = await workplace.session({ name: "alice", id: own });
    await untilGone(old);
    await untilGone(read);
    expect(mailsOf(kept["waiting"] ?? "")).toBe(2);
    expect(mailsOf(kept["unread"] ?? "")).toBe(1);
    for (const address of [own, recent, recentBox, bob.id, link, file]) {
      expect(isThere(address)).toBe(true);
    }
    expect(readdirSync(elsewhere)).toHaveLength(BOXES.length);
    for (const folder of odd) expect(existsSync(folder)).toBe(true);
    expect(existsSync(workplace.runningRecord(bob.id))).toBe(true);
    expect(readdirSync(workplace.root).filter((name) => name.startsWith(".pruned"))).toEqual([]);
    expect(alice.notifications).toEqual([]);
  });

  test("S12.1 pruneAfterDays says what is old", async () => {
    workplace.settings({ pruneAfterDays: 2 });
    const [old, recent] = [closedMailbox(3), closedMailbox(1)];
    await workplace.session({ name: "alice" });
    await untilGone(old);
    expect(isThere(recent)).toBe(true);
  });

  test("a session that was killed is closed: its record does not keep its mailbox", async () => {
    const bob = await workplace.session({ name: "bob" });
    await bob.kill("SIGKILL");
    age(workplace.mailbox(bob.id).folder, 31);
    await workplace.session({ name: "alice" });
    await untilGone(bob.id);
    expect(existsSync(workplace.runningRecord(bob.id))).toBe(false);
  });
});

describe("S11.3 /mailbox prune", () => {
  let alice: PiSession;
  beforeEach(async () => {
    alice = await workplace.session({ name: "alice" });
  });

  async function prune(): Promise<string | undefined> {
    const said = await alice.command("/mailbox prune");
    expect(said).toHaveLength(1);
    expect(said[0]?.level).toBe("info");
    return said[0]?.message;
  }

  test("removes what is closed, whatever its age, and says how many", async () => {
    expect(await prune()).toBe("Removed 0 mailbox folders of closed sessions");
    const bob = await workplace.session({ name: "bob" });
    const closed = [closedMailbox(0), closedMailbox(3), closedMailbox(29)];
    const kept = keptMailboxes(300);
    const link = newSessionId();
    symlinkSync(workplace.mailbox(bob.id).folder, workplace.mailbox(link).folder);
    expect(await prune()).toBe("Removed 3 mailbox folders of closed sessions");
    for (const address of closed) expect(isThere(address)).toBe(false);
    expect(mailsOf(kept["waiting"] ?? "")).toBe(2);
    expect(mailsOf(kept["unread"] ?? "")).toBe(1);
    for (const address of [alice.id, bob.id, link]) expect(isThere(address)).toBe(true);
    expect(await prune()).toBe("Removed 0 mailbox folders of closed sessions");
  });

  test("leaves the mail that a killed session had claimed and not read", async () => {
    const bob = await workplace.session({ name: "bob" });
    const thinking = stall("busy ");
    workplace.model.script("bob", thinking);
    await bob.prompt("work");
    await thinking.started;
    const mail = plantMail(workplace, { to: bob.id, from: alice.id, body: "unread" });
    await expect
      .poll(() => mailIn(workplace, bob.id, "cur").map(({ id }) => id), { timeout: 20_000 })
      .toEqual([mail.id]);
    await bob.kill("SIGKILL");
    expect(ledgerOf(workplace, bob.id).unread).toHaveLength(1);
    expect(await prune()).toBe("Removed 0 mailbox folders of closed sessions");

    const resumed = await workplace.session({ name: "bob", id: bob.id, resume: true });
    await resumed.waitForEntry(({ details }) => details?.["id"] === mail.id, "of the mail");
  });

  test("leaves a mailbox whose ledger nobody can read", async () => {
    const closed = closedMailbox(300);
    writeFileSync(workplace.mailbox(closed).ledger, "{ half a led");
    expect(await prune()).toBe("Removed 0 mailbox folders of closed sessions");
    expect(isThere(closed)).toBe(true);
  });

  test("finishes what a prune that was cut off had begun, and puts back the mail in it", async () => {
    const closed = closedMailbox(300);
    const mail = plantMail(workplace, { to: closed });
    const aside = join(workplace.root, `.pruned-${closed}.${crypto.randomUUID()}`);
    renameSync(workplace.mailbox(closed).folder, aside);
    await prune();
    expect(existsSync(aside)).toBe(false);
    expect(mailIn(workplace, closed, "new")).toEqual([mail]);
  });

  test("mail to a session whose mailbox was removed makes it anew", async () => {
    const closed = closedMailbox(300);
    await prune();
    await alice.command(`/mailbox ${closed} hello`);
    expect(mailIn(workplace, closed, "new")).toMatchObject([{ body: "hello" }]);
    const bob = await workplace.session({ name: "bob", id: closed });
    await bob.settled(0);
    await alice.waitForEntry(({ customType }) => customType === "mailbox", "of the answer");
  });
});
