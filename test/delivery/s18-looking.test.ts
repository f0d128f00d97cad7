/** Looking at mail with `/mailbox`, on real Pi: lists, plain lines, and what the doctor says. */
import { chmodSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { say, stall } from "../host/model.ts";
import { newSessionId, type PiSession } from "../host/session.ts";
import { Workplace } from "../host/workplace.ts";
import { filesIn, mailIn, nameOf, plant, plantMail } from "./s2-disk.ts";

let workplace: Workplace;
let alice: PiSession;
let bob: PiSession;
beforeEach(async () => {
  workplace = await Workplace.open();
  [alice, bob] = await Promise.all([
    workplace.session({ name: "alice" }),
    workplace.session({ name: "bob" }),
  ]);
});
afterEach(() => workplace.close());

/** The lines that one command told the user. */
async function linesOf(command: string, session = alice, level = "info"): Promise<string[]> {
  const said = await session.command(command);
  expect(said).toHaveLength(1);
  expect(said[0]?.level).toBe(level);
  return (said[0]?.message ?? "").split("\n");
}

/** The line of a list about the mail with this text. */
function about(text: string, lines: readonly string[]): string {
  return (
    lines.find((line) => line.includes(text)) ?? `nothing about ${text} in ${lines.join("\n")}`
  );
}

/** Sends a request that is answered, and waits for the answer. */
async function answered(text: string): Promise<void> {
  await alice.command(`/mailbox bob ${text}`);
  await alice.waitForEntry(({ customType }) => customType === "mailbox", "of the answer");
}

describe("S18.1 /mailbox inbox and /mailbox sent", () => {
  test("are empty at first", async () => {
    expect(await linesOf("/mailbox inbox")).toEqual(["The inbox is empty."]);
    expect(await linesOf("/mailbox sent")).toEqual(["Nothing was sent yet."]);
  });

  test("list each mail with time, other session, kind, state and first line, newest first", async () => {
    workplace.model.script("bob", say("All pass.\nEvery one."));
    await alice.command("/mailbox bob run the tests\nall of them");
    await alice.waitForEntry(({ customType }) => customType === "mailbox", "of the answer");
    const closed = newSessionId();
    await alice.command(`/mailbox ${closed} for later`);
    const pruned = newSessionId();
    await alice.command(`/mailbox ${pruned} for nobody`);
    rmSync(workplace.mailbox(pruned).folder, { recursive: true });
    const thinking = stall("busy ");
    workplace.model.script("bob", thinking);
    await alice.command("/mailbox bob think about it");
    await thinking.started;
    const writing = { timeout: 20_000 };
    await expect
      .poll(async () => about("think about it", await linesOf("/mailbox sent")), writing)
      .toMatch(/^\d\d:\d\d {2}→ {2}bob +request {2}read +think about it$/);
    await alice.command("/mailbox bob and this");
    const sent = await linesOf("/mailbox sent");
    expect(sent[0]).toBe("Sent:");
    expect(sent.slice(1).map((line) => line.replace(/^.*request {2}/, "").split(/ {2,}/))).toEqual([
      [expect.stringMatching(/^(waiting|unread)$/), "and this"],
      ["read", "think about it"],
      ["gone", "for nobody"],
      ["waiting", "for later"],
      ["answered done", "run the tests"],
    ]);
    const inbox = await linesOf("/mailbox inbox");
    expect(inbox).toEqual([
      "Inbox:",
      expect.stringMatching(/^\d\d:\d\d {2}← {2}bob {2}reply {2}read {2}All pass\.$/),
    ]);
    const owing = await linesOf("/mailbox inbox", bob);
    expect(about("think about it", owing)).toContain("to answer");
    expect(about("run the tests", owing)).toContain("answered");
    const mark = bob.mark();
    await bob.abort();
    await bob.settled(mark);
    await expect
      .poll(async () => about("think about it", await linesOf("/mailbox inbox", bob)), writing)
      .toContain("held");
    expect(about("and this", await linesOf("/mailbox inbox", bob))).toContain("answered");
    await expect
      .poll(async () => about("and this", await linesOf("/mailbox sent")), writing)
      .toContain("answered failed");
    thinking.release();
  });

  test("show nothing of a mail that could lead a terminal or a reader astray", async () => {
    await expect.poll(() => filesIn(workplace.mailbox(alice.id).cur).length).toBe(0);
    plantMail(workplace, { to: alice.id, body: "\u001b[2J\u202e[mailbox] mine" });
    await expect
      .poll(() => mailIn(workplace, alice.id, "cur"), { timeout: 20_000 })
      .toHaveLength(1);
    const [, line] = await linesOf("/mailbox inbox");
    // eslint-disable-next-line no-control-regex -- control characters are what this is about
    expect(line).not.toMatch(/[\u001b\u202e]/);
    expect(line).toContain("mine");
  });
});

describe("S18.2 /mailbox alone, where there is no terminal,", () => {
  test("tells this session, then those that run, inbox and sent", async () => {
    await answered("hello");
    const lines = await linesOf("/mailbox");
    expect(lines[0]).toBe(`This session is called alice; its address is ${alice.id}`);
    expect(lines.filter((line) => /^\S+:$/.test(line))).toEqual(["Sessions:", "Inbox:", "Sent:"]);
    const sessions = lines.slice(lines.indexOf("Sessions:"), lines.indexOf("Inbox:"));
    expect(about("alice", sessions)).toContain("this session");
    expect(about("bob", sessions)).toContain(workplace.cwd);
    expect(about("hello", lines)).toMatch(/→ {2}bob {2}request {2}answered done {2}hello$/);
  });
});

describe("S8.1 a lone word that is no subcommand", () => {
  test("names the nearest one, or says that a session wants a text", async () => {
    expect((await linesOf("/mailbox inbx", alice, "error"))[0]).toContain(
      "Did you mean /mailbox inbox?",
    );
    expect((await linesOf("/mailbox bob", alice, "error"))[0]).toContain(
      "/mailbox bob needs a text",
    );
    expect((await linesOf("/mailbox xylophone", alice, "error"))[0]).not.toContain("Did you mean");
  });

  test("of a subcommand followed by text is mail", async () => {
    const inbox = await workplace.session({ name: "inbox", model: "carol" });
    await linesOf("/mailbox inbox hello");
    await expect
      .poll(() => mailIn(workplace, inbox.id, "cur").at(-1)?.body, { timeout: 20_000 })
      .toBe("hello");
  });
});

describe("S18.4 /mailbox doctor", () => {
  test("finds nothing wrong with a healthy mailbox, and names what there is", async () => {
    await answered("hello");
    const lines = await linesOf("/mailbox doctor");
    expect(lines[0]).toBe("Nothing is wrong, as far as can be told.");
    expect(about("Root:", lines)).toContain(`${workplace.root}, 0700`);
    expect(about("Watcher:", lines)).toContain("found");
    expect(about("Record:", lines)).toContain("of this process");
    expect(about("Versions:", lines)).toMatch(/pi-session-mail \d.*Pi \d.*Node v\d/);
  });

  test("finds planted trouble, each with what to do, and changes nothing", async () => {
    chmodSync(workplace.mailbox(alice.id).folder, 0o755);
    workplace.settings({ hopLimit: 0 });
    plant(workplace, alice.id, "nonsense.json", "no mail");
    await alice.waitForNotification(/was set aside/);
    const before = filesIn(workplace.mailbox(alice.id).cur);
    const lines = await linesOf("/mailbox doctor");
    const problems = lines.filter((line) => line.startsWith("! "));
    expect(lines[0]).toBe("Problems: 3");
    expect(problems).toEqual([
      expect.stringContaining(`chmod 700 ${workplace.mailbox(alice.id).folder}`),
      expect.stringContaining("nonsense.json was set aside"),
      expect.stringContaining("hopLimit"),
    ]);
    expect(filesIn(workplace.mailbox(alice.id).cur)).toEqual(before);
  });

  test("says why a mailbox is off", async () => {
    const elsewhere = join(workplace.folder, "a-file");
    writeFileSync(elsewhere, "");
    const off = await workplace.session({ model: "carol", env: { XDG_STATE_HOME: elsewhere } });
    const [first, second] = await linesOf("/mailbox doctor", off);
    expect(first).toMatch(/^Problems: [1-9]/);
    expect(second).toMatch(/^! The mailbox is off: .*a-file/);
    expect((await linesOf("/mailbox inbox", off, "error"))[0]).toContain("no mailbox");
  });

  test("tells of mail that is open", async () => {
    const thinking = stall("busy ");
    workplace.model.script("alice", thinking);
    const request = plantMail(workplace, { to: alice.id, from: bob.id, kind: "request" });
    await thinking.started;
    const owed = async () => about("Owed:", await linesOf("/mailbox doctor"));
    await expect.poll(owed, { timeout: 20_000 }).toContain(request.id);
    mkdirSync(workplace.mailbox(alice.id).cur, { recursive: true });
    expect(filesIn(workplace.mailbox(alice.id).cur)).toEqual([nameOf(request)]);
    thinking.release();
  });
});
