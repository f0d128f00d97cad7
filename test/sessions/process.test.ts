import { describe, expect, test } from "vitest";
import { ownStartToken } from "../../src/sessions/record.ts";
import { findProcesses, isRunning, parsePs } from "../../src/sessions/process.ts";
import { eventually } from "../host/eventually.ts";
import { gonePid, sleeper, useProcesses, zombie } from "../fixtures/process.ts";

useProcesses();

/** Whether a process counts as running, going by what the system says of it now. */
function runs(pid: number, started: string): boolean {
  return isRunning(pid, started, findProcesses([pid]));
}

function tokenOf(pid: number): string {
  return findProcesses([pid]).get(pid)?.token ?? "";
}

describe("S3.2 start tokens", () => {
  test("a process has one, the same each time", async () => {
    const { pid } = await sleeper();
    const token = tokenOf(pid);
    expect(token).not.toBe("");
    expect(tokenOf(pid)).toBe(token);
    expect(ownStartToken()).toBe(tokenOf(process.pid));
    expect(ownStartToken()).not.toBe(token);
  });

  test("all that are asked for at once are told", async () => {
    const [one, two] = await Promise.all([sleeper(), sleeper()]);
    const found = findProcesses([one.pid, two.pid, process.pid]);
    expect([...found.keys()]).toEqual([one.pid, two.pid, process.pid]);
    expect(findProcesses([])).toEqual(new Map());
  });

  test("the command's own name has no say in it", async () => {
    // The name of the test runner's process has blanks and brackets, as any may.
    const before = process.title;
    const token = ownStartToken();
    process.title = "a) R (b) 1 2";
    try {
      expect(ownStartToken()).toBe(token);
    } finally {
      process.title = before;
    }
  });
});

describe("S3.2 whether a process runs", () => {
  test("it does, with its token", async () => {
    const { pid } = await sleeper();
    expect(runs(pid, tokenOf(pid))).toBe(true);
  });

  test("it is gone when it has ended", async () => {
    const { pid, end } = await sleeper();
    const token = tokenOf(pid);
    await end();
    expect(runs(pid, token)).toBe(false);
    expect(runs(pid, "")).toBe(false);
  });

  test("another process that has its pid now is not it", async () => {
    const { pid } = await sleeper();
    expect(runs(pid, `${tokenOf(pid)}0`)).toBe(false);
    expect(runs(pid, "some-other-token")).toBe(false);
    // Not even when its token says what we say of one that is gone.
    expect(runs(pid, "gone")).toBe(false);
    expect(runs(await gonePid(), "gone")).toBe(false);
  });

  test("without a token the pid alone decides", async () => {
    const { pid } = await sleeper();
    expect(runs(pid, "")).toBe(true);
    expect(isRunning(pid, "", new Map())).toBe(true);
    expect(isRunning(pid, "token of a system that has none now", new Map())).toBe(true);
    expect(isRunning(await gonePid(), "", new Map())).toBe(false);
  });

  test("one of another user runs, though it may not be signalled", () => {
    expect(isRunning(1, "", new Map())).toBe(true);
  });

  test("one that has ended and was not collected is gone", async () => {
    const pid = await zombie();
    expect(process.kill(pid, 0)).toBe(true);
    expect(runs(pid, "")).toBe(false);
    expect(runs(pid, tokenOf(pid))).toBe(false);
  });

  test("S3.5 one that is stopped still runs, and is known to be stopped until it is continued", async () => {
    const { pid, signal } = await sleeper();
    const stopped = (): boolean | undefined => findProcesses([pid]).get(pid)?.stopped;
    expect(stopped()).toBe(false);
    signal("SIGSTOP");
    expect(runs(pid, tokenOf(pid))).toBe(true);
    await eventually(() => stopped() === true, "the process to be stopped");
    signal("SIGCONT");
    await eventually(() => stopped() === false, "the process to go on");
  });

  test("a pid that no system has is gone", () => {
    for (const pid of [2 ** 31, 2 ** 40, Number.MAX_SAFE_INTEGER])
      expect(runs(pid, "")).toBe(false);
  });
});

describe("S3.2 what `ps` lists on macOS", () => {
  const listing = [
    "    1 Ss   Mon Nov 30 08:00:00 2026    ",
    "  501 S+   Mon Nov 30 09:00:01 2026",
    "  502 T    Mon Nov 30 09:00:02 2026",
    "  503 Z    Mon Nov 30 09:00:03 2026",
    "",
  ].join("\n");

  test("says when each started and whether it is stopped; what is not listed, or has ended, is gone", () => {
    expect(parsePs(listing, [501, 502, 503, 504], 1)).toEqual(
      new Map([
        [501, { token: "Mon Nov 30 09:00:01 2026", stopped: false }],
        [502, { token: "Mon Nov 30 09:00:02 2026", stopped: true }],
        [503, undefined],
        [504, undefined],
      ]),
    );
  });

  test.each(["", "ps: illegal pid\n", listing.slice(50)])(
    "one that was cut off says of nobody that it is gone: %j",
    (cut) => {
      expect(parsePs(cut, [501], 1)).toEqual(new Map());
    },
  );
});
