import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { AddressError, resolveAddress } from "../../src/sessions/addressing.ts";
import type { RunningSession } from "../../src/sessions/record.ts";
import { parseCommand } from "../../src/surface/parse.ts";
import { type Choices, completions } from "../../src/surface/completion.ts";
import { ALICE, BOB, CAROL } from "../fixtures/mail.ts";
import { timesAsLong } from "../fixtures/time.ts";

const NOW = Date.UTC(2026, 10, 30);

function session(address: string, name?: string, change: Partial<RunningSession> = {}) {
  return {
    address,
    ...(name === undefined ? {} : { name }),
    cwd: `/home/${address.slice(0, 4)}`,
    pid: 1,
    started: "",
    state: "idle" as const,
    waitingOn: "",
    updated: new Date(NOW).toISOString(),
    stopped: false,
    ...change,
  };
}

const nothing: Choices = { self: ALICE, running: [session(ALICE, "alice")], closed: [], now: NOW };

/** What is offered for what was typed, beside Alice's own session. */
function offered(typed: string, running: RunningSession[], closed: string[] = []): string[] {
  const choices = { ...nothing, running: [...nothing.running, ...running], closed };
  return completions(typed, choices).map(({ value }) => value);
}

const SUBCOMMAND_NAMES = ["inbox", "sent", "doctor", "prune"];

describe("S18.3 the first word behind /mailbox", () => {
  test("is a subcommand, another running session, or a closed one, in this order", () => {
    const running = [session(BOB, "bob"), session(CAROL, "dashboard work", { state: "busy" })];
    const choices = { ...nothing, running: [...nothing.running, ...running], closed: ["old-id"] };
    const found = completions("", choices);
    expect(found.map(({ value }) => value)).toEqual([
      ...SUBCOMMAND_NAMES,
      "bob ",
      '"dashboard work" ',
      "old-id ",
    ]);
    expect(found.slice(-3).map(({ description }) => description)).toEqual([
      "idle, /home/0195",
      "busy, /home/0195",
      "closed",
    ]);
    expect(found.every(({ label, description }) => label !== "" && description !== "")).toBe(true);
  });

  test("begins with what was typed, in any case, behind a quote as well", () => {
    const running = [session(BOB, "Bob"), session(CAROL, "dashboard work")];
    expect(offered("bO", running)).toEqual(["Bob "]);
    expect(offered("  d", running)).toEqual(["doctor", '"dashboard work" ']);
    expect(offered('"D', running)).toEqual(['"dashboard work" ']);
    expect(offered('"dashboard w', running)).toEqual(['"dashboard work" ']);
    expect(offered("dashboard w", running)).toEqual([]);
    expect(offered('"in', running)).toEqual([]);
    expect(offered(BOB.slice(0, 5), running)).toEqual(["Bob "]);
    expect(offered("xyz", running)).toEqual([]);
  });

  test("is complete behind a blank or a closed quote", () => {
    const running = [session(BOB, "bob"), session(CAROL, "dashboard work")];
    for (const typed of ["bob ", "bob hello", "inbox ", '"dashboard work"', '"bob" x']) {
      expect(offered(typed, running)).toEqual([]);
    }
  });

  test("is not offered again when it stands there alone, so that Enter runs it", () => {
    expect(offered("inbox", [])).toEqual([]);
    expect(offered("prune", [session(BOB, "prune-bot")])).toEqual(["prune", "prune-bot "]);
  });

  test("is a short id where there is no name, or none that can be typed and means one session", () => {
    const short = BOB.slice(0, 8);
    for (const name of [
      undefined,
      'say "hi" there',
      '"',
      "two\nlines",
      " padded",
      "\u202e",
      CAROL,
    ]) {
      expect(offered(short, [session(BOB, name)])).toEqual([`${short} `]);
    }
    expect(offered("twin", [session(BOB, "twin"), session(CAROL, "twin")])).toEqual([
      `${short} `,
      `${CAROL.slice(0, 8)} `,
    ]);
    expect(offered("alice", [session(BOB, "alice")])).toEqual(["alice "]);
  });

  test("is one of the twenty closed sessions with the newest activity", () => {
    const closed = Array.from({ length: 30 }, (_, at) => `closed-${String(at)}`);
    expect(offered("closed", [], closed)).toEqual(closed.slice(0, 20).map((id) => `${id} `));
  });

  test("means the session that it is offered for, whatever the names", () => {
    const part = fc.constantFrom("a", '"', " ", "\n", "b", BOB.slice(0, 8), ALICE, "\u202e", "é");
    const names = fc.array(fc.option(fc.string({ unit: part, maxLength: 3 }), { nil: undefined }), {
      minLength: 1,
      maxLength: 6,
    });
    fc.assert(
      fc.property(names, (given) => {
        const others = given.map((name, at) =>
          session(`${BOB.slice(0, -1)}${String(at)}`, name?.trim() === "" ? undefined : name),
        );
        const running = [...nothing.running, ...others];
        const values = offered("", others).slice(SUBCOMMAND_NAMES.length);
        expect(values).toHaveLength(others.length);
        for (const [at, value] of values.entries()) {
          const command = parseCommand(`${value}hello`);
          if (command.do !== "send") throw new AddressError(value);
          expect(command.text).toBe("hello");
          expect(resolveAddress(command.to, running, ALICE)).toBe(others[at]?.address);
        }
      }),
    );
  });

  test("is there at once with two hundred sessions of one name, and nothing typed makes it throw", () => {
    const running = Array.from({ length: 200 }, (_, at) =>
      session(
        `0195b000-0000-7000-8000-${String(at).padStart(12, "0")}`,
        at % 2 ? "twin" : undefined,
      ),
    );
    expect(offered("", running)).toHaveLength(204);
    const few = running.slice(0, 20);
    const times = timesAsLong(
      () => offered("", running),
      () => offered("", few),
    );
    expect(times).toBeLessThan(100);
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (typed) => {
        offered(typed, running.slice(0, 3));
      }),
    );
  });
});
