import fc from "fast-check";
import { visibleWidth } from "@earendil-works/pi-tui";
import { describe, expect, test } from "vitest";
import type { ListedMail } from "../../src/mailbox/overview.ts";
import type { RunningSession } from "../../src/sessions/record.ts";
import { firstLine, mailLines, sessionLines, timeOf } from "../../src/surface/lists.ts";
import { ALICE, BOB, CAROL, mail } from "../fixtures/mail.ts";

const NOW = new Date(2026, 10, 30, 14, 5).getTime();

function entry(change: Partial<ListedMail>, body = "Please run the tests."): ListedMail {
  const envelope = mail({ ts: new Date(NOW - 60_000).toISOString(), body });
  return { envelope, path: "", isSent: false, other: "alice", state: "read", ...change };
}

function session(change: Partial<RunningSession>): RunningSession {
  return {
    address: ALICE,
    cwd: "/work",
    pid: 1,
    started: "",
    state: "idle",
    waitingOn: "",
    updated: new Date(NOW).toISOString(),
    stopped: false,
    ...change,
  };
}

describe("S18.1 a line for each mail", () => {
  test("in columns", () => {
    const mails = [
      entry({ state: "to answer" }),
      entry({ other: "日本", isSent: true, state: "answered done" }, "\n\n  two\nthree"),
    ];
    expect(mailLines(mails, NOW)).toEqual([
      "14:04  ←  alice  request  to answer      Please run the tests.",
      "14:04  →  日本   request  answered done  two",
    ]);
  });

  test("says the date of another day", () => {
    expect(timeOf(NOW - 60_000, NOW)).toBe("14:04");
    expect(timeOf(NOW - 24 * 60 * 60_000, NOW)).toBe("2026-11-29");
    expect(timeOf(undefined, NOW)).toBe("?");
  });

  test("is one short and harmless line, whatever is in the mail", () => {
    const text = fc.string({
      unit: fc.constantFrom("a", "\n", "\u001b[31m", "\u202e", "😀", "\u2028"),
    });
    fc.assert(
      fc.property(text, text, (other, body) => {
        const [line = "", ...more] = mailLines([entry({ other }, body.repeat(50))], NOW);
        expect(more).toEqual([]);
        // eslint-disable-next-line no-control-regex -- control characters are what this is about
        expect(line).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u2028\u202e]/);
        expect(visibleWidth(line)).toBeLessThan(300);
      }),
    );
    expect(firstLine("x".repeat(5_000_000))).toHaveLength(80);
  });
});

describe("S18.1 a line for each running session", () => {
  test("in columns, marking this one and naming whom each waits for", () => {
    const sessions = [
      session({ name: "alice", waitingOn: BOB, state: "busy" }),
      session({ address: BOB, name: "dashboard work", cwd: "/home/bob" }),
      session({ address: CAROL, stopped: true }),
    ];
    expect(sessionLines(sessions, ALICE, NOW)).toEqual([
      `alice           ${ALICE.slice(0, 8)}  busy            /work      this session, waiting on dashboard work`,
      `dashboard work  ${BOB.slice(0, 8)}  idle            /home/bob`,
      `(no name)       ${CAROL.slice(0, 8)}  not responding  /work`,
    ]);
  });
});
