/**
 * What goes wrong with the disk and the clock while sessions run: whoever tries to send is told
 * why it cannot be, nothing is lost, doubled or delivered in part, and all goes on by itself once
 * the fault is gone. Most faults are put between Pi and its files; a full and a read-only file
 * system are real ones as well, where the tests may mount one.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { eventually } from "../host/eventually.ts";
import { type Fault, Faults } from "../host/faults.ts";
import { call, say, stall } from "../host/model.ts";
import { textOf, type PiSession } from "../host/session.ts";
import type { Workplace } from "../host/workplace.ts";
import {
  Correspondent,
  entryOf,
  expectEachOnce,
  openSession,
  openWorkplace,
  there,
  untilIdle,
} from "./life-support.ts";
import { allMail } from "./s2-disk.ts";

/** A fault that a test can bring about and mend. */
interface Breakage {
  readonly name: string;
  /** What a sender is told of it. */
  readonly told: RegExp;
  readonly injected?: Pick<Fault, "call" | "then" | "only">;
  /** Brings about a real one in the state directory; gives what mends it. */
  readonly real?: (state: string) => () => void;
}

const BREAKAGES: readonly Breakage[] = [
  {
    name: "a full disk",
    told: /^Nothing was sent: ENOSPC.*make room/,
    injected: { call: "(write|append)FileSync|mkdirSync", then: "ENOSPC" },
  },
  {
    name: "a file system that became read-only",
    told: /^Nothing was sent: EROFS.*mount it for writing/,
    injected: { call: ".*", then: "EROFS", only: "writing" },
  },
  {
    name: "a folder without permission",
    told: /^Nothing was sent: EACCES.*check the permissions/,
    injected: { call: "(open|readdir|rename|mkdir|unlink|link)Sync", then: "EACCES" },
  },
  {
    name: "too many open files",
    told: /^Nothing was sent: EMFILE.*close some programs/,
    injected: { call: "(open|readdir|readFile)Sync|watch", then: "EMFILE" },
  },
  {
    name: "a disk with errors",
    told: /^Nothing was sent: EIO.*check the disk/,
    injected: { call: "(write|append)FileSync|fsyncSync", then: "EIO" },
  },
  {
    name: "a real full disk",
    told: /^Nothing was sent: ENOSPC.*make room/,
    real: (state) => {
      const filler = join(state, "filler");
      try {
        for (;;) writeFileSync(filler, "x".repeat(4096), { flag: "a" });
      } catch {
        // Now it is full.
      }
      return () => {
        rmSync(filler, { force: true });
      };
    },
  },
  {
    name: "a real file system that became read-only",
    told: /^Nothing was sent: EROFS.*mount it for writing/,
    real: (state) => {
      execFileSync("mount", ["-o", "remount,ro", state]);
      return () => {
        execFileSync("mount", ["-o", "remount,rw", state]);
      };
    },
  },
];

/** Whether these tests may mount a file system; CI may. */
function mayMount(): boolean {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return false;
  const place = join("/tmp", `may-mount-${process.pid}`);
  mkdirSync(place);
  try {
    execFileSync("mount", ["-t", "tmpfs", "none", place], { stdio: "ignore" });
    execFileSync("umount", [place]);
    return true;
  } catch {
    return false;
  } finally {
    rmSync(place, { recursive: true });
  }
}

const canMount = mayMount();
if (!canMount) console.warn("real full and read-only disks are skipped: they need a root user");

let workplace: Workplace;
let faults: Faults;
let alice: PiSession;
let bob: PiSession;
let erin: Correspondent;
let mounted: string | undefined;

async function open(real: boolean): Promise<void> {
  if (real) {
    mounted = join("/tmp", `pi-session-mail-disk-${process.pid}`);
    mkdirSync(mounted);
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=2m", "none", mounted]);
  }
  workplace = await openWorkplace(mounted === undefined ? {} : { stateDirectory: mounted });
  faults = new Faults(workplace);
  erin = new Correspondent(workplace);
  [alice, bob] = (await Promise.all(
    ["alice", "bob"].map(async (name) => {
      const session = await openSession(workplace, name, { env: faults.env });
      await session.ask("hello");
      return session;
    }),
  )) as [PiSession, PiSession];
}

async function close(): Promise<void> {
  await workplace.close();
  if (mounted === undefined) return;
  execFileSync("umount", ["-l", mounted]);
  rmSync(mounted, { recursive: true });
  mounted = undefined;
}

describe.each([
  ["put between Pi and its files", false],
  ["real", true],
])("a fault that is %s", (_how, real) => {
  const breakages = BREAKAGES.filter((breakage) => (breakage.real !== undefined) === real);
  if (real && !canMount) {
    test.skip.each(breakages)("S2.5 $name", () => undefined);
    return;
  }

  beforeAll(() => open(real));
  afterAll(close);

  let mend = (): void => undefined;
  afterEach(() => {
    mend();
  });

  function bringAbout({ injected, real: make }: Breakage): void {
    if (make) mend = make(workplace.stateDirectory);
    else {
      faults.set({ path: workplace.root, when: "before", ...there(injected) });
      mend = () => {
        faults.set();
      };
    }
  }

  describe.each(breakages)("$name", (breakage) => {
    test("S2.5 a sender is told so and nothing is sent, in part or whole; then it works again", async () => {
      const before = allMail(workplace);
      bringAbout(breakage);
      const [said] = await alice.command("/mailbox bob do it");
      expect(there(said).message).toMatch(breakage.told);
      expect(there(said).level).toBe("error");
      workplace.model.script(
        "alice",
        call("session_mail_send", { to: "bob", message: "news" }),
        call("session_mail_ask", { to: "bob", message: "which?" }),
        say("I see."),
      );
      await alice.ask("Send it.");
      const results = (await alice.messages()).filter(({ role }) => role === "toolResult");
      for (const result of results.slice(-2)) {
        expect(result.isError).toBe(true);
        expect(textOf(result)).toMatch(breakage.told);
      }
      expect(allMail(workplace)).toEqual(before);
      expect(alice.status("mailbox") ?? "").not.toContain("awaiting");

      mend();
      const mark = bob.mark();
      const [sent] = await alice.command("/mailbox bob do it after all");
      expect(there(sent).message).toMatch(/^Sent /);
      await bob.settled(mark);
      await eventually(() => alice.status("mailbox")?.includes("awaiting") !== true, "the answer");
      expect(alice.extensionErrors).toEqual([]);
    });

    test("S5.5 its recipient's user is told; the mail is read once, and answered once, after it", async () => {
      const mark = bob.mark();
      bob.pause();
      const letters = [erin.send(bob, "message", "one"), erin.send(bob, "request", "two")];
      bringAbout(breakage);
      bob.resume();
      await bob.waitForNotification(new RegExp(breakage.told.source.replace(/^\^.*: /, "")), {
        since: mark,
      });
      mend();
      await erin.answerTo(letters[1]);
      await untilIdle(bob);
      await expectEachOnce(workplace, bob, "bob", letters);
      const warnings = bob.notificationsSince(mark);
      expect(warnings.length).toBeLessThanOrEqual(3);
    });

    test("S6.1 an answer that could not be sent is sent once, after it", async () => {
      const mark = bob.mark();
      const step = stall("half ");
      workplace.model.script("bob", step);
      const letter = erin.send(bob, "request", "three");
      await step.started;
      await entryOf(bob, letter);
      bringAbout(breakage);
      step.release("whole");
      await bob.settled(mark);
      expect(erin.answersTo(letter)).toEqual([]);
      mend();
      expect(await erin.answerTo(letter)).toMatchObject({ status: "done", body: "half whole" });
      await expectEachOnce(workplace, bob, "bob", [letter]);
    });
  });
});

/** Removes a folder that sessions may write into meanwhile. */
function remove(folder: string): void {
  rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 5 });
}

describe("while sessions run,", () => {
  beforeAll(() => open(false));
  afterAll(close);

  test.each([
    ["the recipient's mailbox", () => workplace.mailbox(bob.id).folder],
    ["its new/", () => workplace.mailbox(bob.id).new],
    ["its cur/", () => workplace.mailbox(bob.id).cur],
    ["the sender's mailbox", () => workplace.mailbox(alice.id).folder],
    ["the running records", () => join(workplace.root, "running")],
    ["the whole root", () => workplace.root],
  ])("S1.5 S5.1 %s is removed: mail goes both ways again by itself", async (_what, folder) => {
    remove(folder());
    await eventually(async () => {
      // Without its record a session is not found by its name, but it is by its full id.
      const [said] = await alice.command(`/mailbox ${bob.id} still there?`);
      return there(said).message.startsWith("Sent ");
    }, "the mail to be sent");
    await bob.waitForEntry(
      (entry) => entry.customType === "mailbox" && JSON.stringify(entry).includes("still there?"),
      "of the request",
    );
    await eventually(() => alice.status("mailbox")?.includes("awaiting") !== true, "the answer");
    const id = await eventually(async () => {
      const [said] = await alice.command("/mailbox bob and by name?");
      return /^Sent (\S+) to /.exec(there(said).message)?.[1];
    }, "the session to be found by its name again");
    await entryOf(bob, { id });
    await eventually(() => alice.status("mailbox")?.includes("awaiting") !== true, "its answer");
    await untilIdle(bob);
    expect([...alice.extensionErrors, ...bob.extensionErrors]).toEqual([]);
  });

  test("S6.1 all is removed under a run: its answer goes out all the same", async () => {
    const step = stall("half ");
    workplace.model.script("bob", step);
    const letter = erin.send(bob, "request", "under a run");
    await step.started;
    remove(workplace.root);
    step.release("whole");
    expect(await erin.answerTo(letter)).toMatchObject({ status: "done", body: "half whole" });
  });

  test.each([
    ["back a day", -1],
    ["ahead a day", 1],
  ])("S5.5 S5.13 the clock jumps %s: mail comes, once, and is answered", async (_how, days) => {
    const step = stall("half ");
    workplace.model.script("bob", step);
    await bob.prompt("write");
    await step.started;
    const before = erin.send(bob, "request", "before the jump");
    faults.setClock(days * 24 * 60 * 60_000);
    step.release("whole");
    const after = [erin.send(bob, "request", "after it"), erin.send(bob, "ask", "and this")];
    for (const letter of [before, ...after]) await erin.answerTo(letter);
    const mark = bob.mark();
    await alice.command("/mailbox bob from a session with that clock");
    await bob.settled(mark);
    await eventually(() => alice.status("mailbox")?.includes("awaiting") !== true, "the answer");
    await untilIdle(bob);
    faults.setClock(0);
    await expectEachOnce(workplace, bob, "bob", [before, ...after]);
  });
});
