/** Where mail lives, on real Pi: its modes, and what a session does that can have no mailbox. */
import {
  chmodSync,
  chownSync,
  existsSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { say } from "../host/model.ts";
import { newSessionId, textOf, type PiSession } from "../host/session.ts";
import { Workplace } from "../host/workplace.ts";
import { filesIn, recordOf } from "./s2-disk.ts";
import { mailsIn, useTool } from "./s7-tools.ts";

let workplace: Workplace;
beforeEach(async () => {
  workplace = await Workplace.open();
});
afterEach(() => workplace.close());

/** Checks that a session goes on without a mailbox, says why once, and why nothing can be sent. */
async function expectOff(session: PiSession, reason: RegExp): Promise<void> {
  workplace.model.script(session.label, say("at your service"));
  expect((await session.ask("hello")).text).toBe("at your service");
  expect(session.notifications).toHaveLength(1);
  const [{ message, level } = { message: "", level: "" }] = session.notifications;
  expect(level).toBe("warning");
  expect(message).toMatch(/^mailbox: mailbox is off: ./);
  expect(message).toMatch(reason);

  const to = newSessionId();
  const uses: [string, Record<string, unknown>][] = [
    ["session_mail_list", {}],
    ["session_mail_send", { to, message: "hello" }],
    ["session_mail_ask", { to, message: "hello?" }],
    ["session_mail_reply", { ask: "x", message: "hello" }],
  ];
  for (const [name, args] of uses) {
    const { text, isError } = await useTool(workplace, session, name, args);
    expect(isError).toBe(true);
    expect(text).toMatch(reason);
  }
  for (const command of ["/mailbox", `/mailbox ${to} hello`, "/mailbox prune"]) {
    const [said] = await session.command(command);
    expect(said?.level).toBe("error");
    expect(said?.message).toMatch(reason);
  }
  expect(session.status("mailbox")).toBeUndefined();
  expect(session.extensionErrors).toEqual([]);
  expect(await session.quit()).toEqual({ code: 0, signal: null });
}

describe("S1.5 a state directory that cannot be written turns the mailbox off, and nothing else", () => {
  test("a file in its place", async () => {
    rmSync(workplace.stateDirectory, { recursive: true });
    writeFileSync(workplace.stateDirectory, "no folder");
    await expectOff(await workplace.session({ name: "alice" }), /ENOTDIR|EEXIST/);
    expect(statSync(workplace.stateDirectory).isFile()).toBe(true);
  });

  test("a file in the place of the mail root", async () => {
    writeFileSync(workplace.root, "no folder");
    await expectOff(await workplace.session({ name: "alice" }), /EEXIST/);
    expect(statSync(workplace.root).isFile()).toBe(true);
  });

  test("a file in the place of the running records: no half-start", async () => {
    mkdirSync(workplace.root);
    writeFileSync(join(workplace.root, "running"), "no folder");
    await expectOff(await workplace.session({ name: "alice" }), /EEXIST/);
    expect(readdirSync(workplace.root)).toEqual(["running"]);
  });

  test("a file in the place of its mailbox: no record", async () => {
    mkdirSync(workplace.root);
    const id = newSessionId();
    writeFileSync(workplace.mailbox(id).folder, "no folder");
    await expectOff(await workplace.session({ name: "alice", id }), /ENOTDIR|EEXIST/);
    expect(recordOf(workplace, id)).toBeUndefined();
  });

  test("a folder in the place of its record", async () => {
    const id = newSessionId();
    mkdirSync(workplace.runningRecord(id), { recursive: true });
    await expectOff(await workplace.session({ name: "alice", id }), /is in the way; remove it/);
    expect(filesIn(join(workplace.root, "running"))).toEqual([`${id}.json`]);
  });
});

describe("S1.2 a session id that is no address turns the mailbox off, before any path is built", () => {
  test.each(["no.address", "running"])("%j", async (id) => {
    const session = await workplace.session({ name: "alice", id });
    await expectOff(session, /session id/);
    expect(existsSync(workplace.root)).toBe(false);
  });

  test("one that is no UUID, and an address, is fine", async () => {
    const [alice, odd] = await Promise.all([
      workplace.session({ name: "alice" }),
      workplace.session({ id: "My_own-id", model: "bob" }),
    ]);
    const mark = odd.mark();
    expect((await alice.command("/mailbox My_own-id hello"))[0]?.message).toMatch(
      /^Sent \S+ to My_own-id$/,
    );
    await odd.settled(mark);
    expect(recordOf(workplace, "My_own-id")).toMatchObject({ address: "My_own-id" });
  });
});

describe.runIf(process.getuid?.() === 0)("S1.4 a root of another user is refused", () => {
  const another = 12_345;

  test("a folder that is another's", async () => {
    mkdirSync(workplace.root);
    chownSync(workplace.root, another, another);
    await expectOff(await workplace.session({ name: "alice" }), /another user/);
    expect(readdirSync(workplace.root)).toEqual([]);
  });

  test("a symbolic link that is another's", async () => {
    const target = join(workplace.folder, "target");
    mkdirSync(target, { mode: 0o755 });
    symlinkSync(target, workplace.root);
    lchownSync(workplace.root, another, another);
    await expectOff(await workplace.session({ name: "alice" }), /another user/);
    expect(readdirSync(target)).toEqual([]);
    expect(statSync(target).mode & 0o777).toBe(0o755);
  });
});

test("S1.4 a root that is the user's own symbolic link is fine", async () => {
  const target = join(workplace.folder, "elsewhere");
  mkdirSync(target);
  symlinkSync(target, workplace.root);
  const alice = await workplace.session({ name: "alice" });
  expect(alice.notifications).toEqual([]);
  expect(filesIn(join(target, alice.id))).toContain("new");
});

describe("S1.3 modes", () => {
  test("folders are 0700 and files 0600, whatever the umask, and a root that is open is closed", async () => {
    mkdirSync(workplace.root);
    chmodSync(workplace.root, 0o777);
    const umask = process.umask(0);
    let alice: PiSession;
    let bob: PiSession;
    try {
      [alice, bob] = await Promise.all([
        workplace.session({ name: "alice" }),
        workplace.session({ name: "bob" }),
      ]);
    } finally {
      process.umask(umask);
    }
    await alice.command("/mailbox bob hello");
    await bob.settled(0);
    await alice.waitForEntry(({ customType }) => customType === "mailbox", "of the answer");
    await alice.command(`/mailbox ${newSessionId()} later`);

    const paths = readdirSync(workplace.root, { recursive: true, encoding: "utf8" });
    expect(paths.filter((path) => path.endsWith(".json")).length).toBeGreaterThan(6);
    const open = ["", ...paths].flatMap((path) => {
      const found = lstatSync(join(workplace.root, path));
      const mode = found.mode & 0o777;
      return mode === (found.isDirectory() ? 0o700 : 0o600) ? [] : [`${path} ${mode.toString(8)}`];
    });
    expect(open).toEqual([]);
    expect([...alice.notifications, ...bob.notifications].map(({ level }) => level)).toEqual([
      "info",
      "info",
    ]);
  });

  test("a session whose own folder is open warns, names the chmod that mends it, and leaves it alone", async () => {
    const id = newSessionId();
    const { folder } = workplace.mailbox(id);
    mkdirSync(folder, { recursive: true });
    chmodSync(folder, 0o750);
    const alice = await workplace.session({ name: "alice", id });
    expect(alice.notifications).toHaveLength(1);
    expect(alice.notifications[0]?.level).toBe("warning");
    expect(alice.notifications[0]?.message).toContain(`chmod 700 ${folder}`);
    expect(statSync(folder).mode & 0o777).toBe(0o750);
    // It works all the same.
    const bob = await workplace.session({ name: "bob" });
    const mark = alice.mark();
    await bob.command("/mailbox alice hello");
    await alice.settled(mark);
    await alice.quit();
    chmodSync(folder, 0o700);
    const resumed = await workplace.session({ name: "alice", id, resume: true });
    expect(resumed.notifications).toEqual([]);
  });
});

test("S1.8 the root may be deleted while no session runs", async () => {
  let [alice, bob] = await Promise.all([
    workplace.session({ name: "alice" }),
    workplace.session({ name: "bob" }),
  ]);
  await alice.command("/mailbox bob one");
  await bob.settled(0);
  await alice.waitForEntry(({ customType }) => customType === "mailbox", "of the answer");
  await alice.ask("so?");
  await Promise.all([alice.quit(), bob.quit()]);
  rmSync(workplace.root, { recursive: true });

  [alice, bob] = await Promise.all([
    workplace.session({ name: "alice", id: alice.id, resume: true }),
    workplace.session({ name: "bob", id: bob.id, resume: true }),
  ]);
  workplace.model.script("bob", say("second answer"));
  const mark = bob.mark();
  await alice.command("/mailbox bob two");
  await bob.settled(mark);
  await alice.waitForEntry((entry) => textOf(entry).includes("second answer"), "of the second");
  expect(await mailsIn(bob)).toHaveLength(2);
  for (const session of [alice, bob]) {
    expect(session.notifications.filter(({ level }) => level !== "info")).toEqual([]);
  }
});
