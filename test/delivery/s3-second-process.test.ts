/** S3.4: two processes that open one session, on real Pi. One of them serves its address. */
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { findProcesses } from "../../src/sessions/process.ts";
import { eventually } from "../host/eventually.ts";
import { Faults } from "../host/faults.ts";
import { say, stall } from "../host/model.ts";
import { textOf, type PiSession } from "../host/session.ts";
import { Workplace } from "../host/workplace.ts";
import { filesIn, ledgerOf, mailIn, plantMail, recordOf } from "./s2-disk.ts";
import { mailsIn, useTool } from "./s7-tools.ts";

let workplace: Workplace;
let bob: PiSession;
let first: PiSession;
beforeEach(async () => {
  workplace = await Workplace.open();
  [bob, first] = await Promise.all([
    workplace.session({ name: "bob" }),
    workplace.session({ name: "alice" }),
  ]);
  await first.ask("hello");
});
afterEach(() => workplace.close());

/** Opens Alice's session once more, with a model of its own. */
function openAgain(): Promise<PiSession> {
  return workplace.session({ name: "carol", id: first.id, resume: true });
}

async function takenOverBy({ pid, id }: PiSession): Promise<void> {
  await expect.poll(() => recordOf(workplace, id)?.pid, { timeout: 20_000 }).toBe(pid);
}

describe("S3.4 a second process of a session", () => {
  test("warns, naming the first's pid, and claims nothing while that one is there", async () => {
    const second = await openAgain();
    expect(second.notifications).toHaveLength(1);
    expect(second.notifications[0]?.level).toBe("warning");
    expect(second.notifications[0]?.message).toContain(String(first.pid));

    const mark = first.mark();
    await bob.command("/mailbox alice one");
    await first.settled(mark);
    expect((await mailsIn(first)).map(textOf).join()).toContain("one");
    await second.ask("anything for me?");
    expect(await mailsIn(second)).toEqual([]);
    // The answer went out once, from the first.
    await bob.waitForEntry(({ customType }) => customType === "mailbox", "of the answer");
    expect(mailIn(workplace, bob.id, "cur")).toHaveLength(1);

    const [said] = await second.command("/mailbox bob hello");
    expect(said?.level).toBe("error");
    expect(said?.message).toMatch(/another process/i);
    const sent = await useTool(workplace, second, "session_mail_send", {
      to: "bob",
      message: "hello",
    });
    expect(sent.isError).toBe(true);
    expect(sent.text).toMatch(/another process/i);
    expect(mailIn(workplace, first.id, "sent")).toEqual([]);
    expect(second.notifications).toHaveLength(2);
    expect(second.extensionErrors).toEqual([]);
  });

  test("takes over by itself when the first has quit; mail is neither lost nor doubled", async () => {
    const second = await openAgain();
    let mark = first.mark();
    plantMail(workplace, { to: first.id, from: bob.id, body: "read by the first" });
    await first.settled(mark);
    await first.quit();
    plantMail(workplace, { to: first.id, from: bob.id, body: "sent to nobody" });
    await second.settled(0);
    await takenOverBy(second);
    expect((await mailsIn(second)).map(textOf).join()).toContain("sent to nobody");
    expect((await mailsIn(second)).map(textOf).join()).not.toContain("read by the first");
    await expect.poll(() => second.status("mailbox"), { timeout: 20_000 }).toBe("✉ 2 read");

    mark = second.mark();
    workplace.model.script("carol", say("from the second"));
    await bob.command("/mailbox alice and now?");
    await second.settled(mark);
    await bob.waitForEntry((entry) => textOf(entry).includes("from the second"), "of the answer");
    const [sent] = await second.command("/mailbox bob hello");
    expect(sent?.level).toBe("info");
  });

  test("takes over when the first was killed in the middle of a run, with what it had not read", async () => {
    const thinking = stall("my own ");
    workplace.model.script("alice", thinking);
    await first.prompt("work");
    await thinking.started;
    const second = await openAgain();
    const mail = plantMail(workplace, {
      to: first.id,
      from: bob.id,
      kind: "request",
      body: "who is there?",
    });
    await expect
      .poll(() => mailIn(workplace, first.id, "cur").map(({ id }) => id), { timeout: 20_000 })
      .toEqual([mail.id]);
    await first.kill("SIGKILL");
    workplace.model.script("carol", say("the second is"));
    await second.settled(0);
    await takenOverBy(second);
    const mails = await mailsIn(second);
    expect(mails.map(({ details }) => details?.["id"])).toEqual([mail.id]);
    await bob.waitForEntry((entry) => textOf(entry).includes("the second is"), "of the answer");
    expect(mailIn(workplace, bob.id, "cur")).toHaveLength(1);
    expect(filesIn(workplace.mailbox(first.id).new)).toEqual([]);
  });

  test("S6.1 reads itself what the first had read and not answered when it was killed", async () => {
    const second = await openAgain();
    const thinking = stall("my own ");
    workplace.model.script("alice", thinking);
    await bob.command("/mailbox alice who will do it?");
    await thinking.started;
    await eventually(
      () => ledgerOf(workplace, first.id).owed.length === 1,
      "the request to be read",
    );
    await first.kill();
    workplace.model.script("carol", say("the second will"));
    await second.settled(0);
    await takenOverBy(second);
    expect((await mailsIn(second)).map(textOf).join()).toContain("who will do it?");
    expect(workplace.model.requests("carol").at(-1)?.text).toContain("who will do it?");
    await bob.waitForEntry((entry) => textOf(entry).includes("the second will"), "of the answer");
    expect(mailIn(workplace, bob.id, "cur")).toHaveLength(1);
    await expect.poll(() => second.status("mailbox"), { timeout: 20_000 }).toBe("✉ 1 read");
  });

  test("waits while the first is only stopped, which is listed so and keeps its mail", async () => {
    const second = await openAgain();
    const list = async (): Promise<string> => {
      const { text } = await useTool(workplace, bob, "session_mail_list");
      return text.split("\n").find((line) => line.includes(first.id)) ?? "";
    };
    expect(await list()).toContain("idle");
    first.pause();
    await eventually(async () => (await list()).includes("not responding"), "it to be listed so");

    await bob.command("/mailbox alice are you there?");
    const [said] = await second.command("/mailbox bob hello");
    expect(said?.message).toMatch(/another process/i);
    // Longer than it takes the second to look for the first.
    await second.ask("anything for me?");
    await delay(1500);
    expect(filesIn(workplace.mailbox(first.id).new)).toHaveLength(1);
    expect(recordOf(workplace, first.id)?.pid).toBe(first.pid);

    const mark = first.mark();
    first.resume();
    await first.settled(mark);
    await bob.waitForEntry(({ customType }) => customType === "mailbox", "of the answer");
    expect((await mailsIn(first)).map(textOf).join()).toContain("are you there?");
    expect(await mailsIn(second)).toEqual([]);
    await eventually(async () => (await list()).includes("idle"), "it to be listed as before");
    expect(second.notificationsSince(0)).toHaveLength(2);
  });

  test("that starts in the same moment: one of the two serves the address, the other waits", async () => {
    const { id } = first;
    await first.quit();
    const faults = new Faults(workplace);
    // Both are held where each is about to put its record there, and let go together.
    faults.set({
      call: "linkSync",
      path: `/running/${id}`,
      when: "before",
      nth: 1,
      then: "SIGSTOP",
    });
    const both = ["alice", "carol"].map((model) =>
      workplace.launch({ name: "alice", model, id, resume: true, env: faults.env }),
    );
    const pids = both.map(({ pid }) => pid);
    await eventually(
      () => [...findProcesses(pids).values()].every((found) => found?.stopped === true),
      "both to be about to start",
    );
    for (const session of both) session.resume();
    await Promise.all(both.map((session) => session.state()));
    const warned = both.filter(({ notifications }) => notifications.length > 0);
    expect(warned).toHaveLength(1);
    const serving = both.find((session) => session !== warned[0]);
    expect(recordOf(workplace, id)?.pid).toBe(serving?.pid);
    await bob.command("/mailbox alice which of you?");
    await bob.waitForEntry(({ customType }) => customType === "mailbox", "of the answer");
    const read = await Promise.all(both.map(async (session) => (await mailsIn(session)).length));
    expect(read.toSorted()).toEqual([0, 1]);
    expect(mailIn(workplace, bob.id, "cur")).toHaveLength(1);
  });

  test("that quits again leaves the first alone", async () => {
    const second = await openAgain();
    await second.quit();
    expect(recordOf(workplace, first.id)?.pid).toBe(first.pid);
    const mark = first.mark();
    await bob.command("/mailbox alice still there?");
    await first.settled(mark);
    expect((await mailsIn(first)).map(textOf).join()).toContain("still there?");
  });
});
