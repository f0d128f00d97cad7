import fc from "fast-check";
import {
  closeSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { openRoot } from "../../src/mail/root.ts";
import { findProcesses } from "../../src/sessions/process.ts";
import {
  ownStartToken,
  recordVersion,
  removeRecord,
  runningRecord,
  type RunningSession,
  runningRecords,
  type SessionRecord,
  stateOf,
  writeRecord,
} from "../../src/sessions/record.ts";
import { namesIn, useStateFolder } from "../fixtures/folder.ts";
import { ALICE, BOB, CAROL } from "../fixtures/mail.ts";
import { gonePid, makeFifo, sleeper, useProcesses, zombie } from "../fixtures/process.ts";

const state = useStateFolder();
useProcesses();
beforeEach(openRoot);

function record(change: Partial<SessionRecord> = {}): SessionRecord {
  return {
    address: ALICE,
    name: "alice",
    cwd: "/work",
    pid: process.pid,
    started: ownStartToken(),
    state: "idle",
    waitingOn: "",
    updated: new Date().toISOString(),
    ...change,
  };
}

function pathOf(address: string): string {
  return state.at("running", `${address}.json`);
}

/** Puts a record there as another program would. */
function drop(content: string | Uint8Array | SessionRecord, address = ALICE): void {
  const isText = typeof content === "string" || content instanceof Uint8Array;
  writeFileSync(pathOf(address), isText ? content : JSON.stringify(content));
}

describe("S3.1 a running record", () => {
  test("is written as it is, 0600, and nothing beside it", () => {
    writeRecord(record());
    expect(namesIn(state.at("running"))).toEqual([`${ALICE}.json`]);
    expect(statSync(pathOf(ALICE)).mode & 0o777).toBe(0o600);
    expect(JSON.parse(readFileSync(pathOf(ALICE), "utf8"))).toEqual(
      record({ updated: updatedOf() }),
    );
    expect(runningRecord(ALICE)).toEqual({ ...record({ updated: updatedOf() }), stopped: false });
  });

  test("replaces the one before", () => {
    writeRecord(record());
    writeRecord(record({ state: "busy", waitingOn: BOB }));
    expect(runningRecord(ALICE)).toMatchObject({ state: "busy", waitingOn: BOB });
  });

  test("needs no name", () => {
    const { name, ...nameless } = record();
    expect(name).toBe("alice");
    writeRecord(nameless);
    expect(runningRecord(ALICE)).toEqual({ ...nameless, stopped: false });
  });

  test("of several sessions are listed in order of address", () => {
    for (const address of [CAROL, ALICE, BOB]) writeRecord(record({ address }));
    expect(runningRecords().map(({ address }) => address)).toEqual([ALICE, BOB, CAROL]);
  });

  test("there is none where there is no root", () => {
    rmSync(state.root, { recursive: true });
    expect(runningRecords()).toEqual([]);
    expect(runningRecord(ALICE)).toBeUndefined();
    removeRecord(ALICE, "");
  });

  test("fields of a newer copy do no harm", () => {
    drop(JSON.stringify({ ...record(), inbound: "quiet" }));
    expect(runningRecord(ALICE)).toMatchObject({ address: ALICE });
  });

  function updatedOf(): string {
    return runningRecord(ALICE)?.updated ?? "";
  }
});

describe("S3.2 the record of a process that is gone is deleted by whoever reads it", () => {
  /** Expects that a record does not count and that reading it has removed it. */
  function expectDeleted(dead: SessionRecord): void {
    drop(dead);
    expect(runningRecord(ALICE)).toBeUndefined();
    expect(namesIn(state.at("running"))).toEqual([]);
    drop(dead);
    writeRecord(record({ address: BOB }));
    expect(runningRecords().map(({ address }) => address)).toEqual([BOB]);
    expect(namesIn(state.at("running"))).toEqual([`${BOB}.json`]);
  }

  test("ended", async () => {
    const { pid, end } = await sleeper();
    const started = findProcesses([pid]).get(pid)?.token ?? "";
    await end();
    expectDeleted(record({ pid, started }));
  });

  test("ended, without a token", async () => {
    expectDeleted(record({ pid: await gonePid(), started: "" }));
  });

  test("ended and not collected", async () => {
    expectDeleted(record({ pid: await zombie(), started: "" }));
  });

  test("its pid now another's", async () => {
    const { pid } = await sleeper();
    expectDeleted(record({ pid, started: "another-time" }));
  });

  test("its pid now ours", () => {
    expectDeleted(record({ started: "another-time" }));
  });

  test("one that runs stays, with its token or without", async () => {
    const { pid } = await sleeper();
    for (const started of [findProcesses([pid]).get(pid)?.token ?? "", ""]) {
      drop(record({ pid, started }));
      expect(runningRecord(ALICE)).toMatchObject({ pid, started });
      expect(runningRecords()).toHaveLength(1);
    }
  });
});

describe("S3.3 removing our record", () => {
  test("removes it", () => {
    const version = writeRecord(record()) ?? "";
    expect(version).toBe(recordVersion(ALICE));
    removeRecord(ALICE, version);
    expect(namesIn(state.at("running"))).toEqual([]);
    removeRecord(ALICE, version);
  });

  test("leaves what has taken its place: a record of another process, or what is none", () => {
    const version = writeRecord(record()) ?? "";
    for (const content of [record({ pid: 1, started: "" }), "not JSON"]) {
      drop(content);
      const text = readFileSync(pathOf(ALICE), "utf8");
      removeRecord(ALICE, version);
      expect(readFileSync(pathOf(ALICE), "utf8")).toBe(text);
      expect(namesIn(state.at("running"))).toEqual([`${ALICE}.json`]);
    }
  });

  test("leaves a folder in its place", () => {
    const version = writeRecord(record()) ?? "";
    rmSync(pathOf(ALICE));
    mkdirSync(pathOf(ALICE));
    removeRecord(ALICE, version);
    expect(namesIn(state.at("running"))).toEqual([`${ALICE}.json`]);
  });
});

describe("what is no record is passed over", () => {
  const change = (fields: object): string => JSON.stringify({ ...record(), ...fields });

  test.each([
    ["empty", ""],
    ["not JSON", "{"],
    ["a list", "[]"],
    ["null", "null"],
    ["no pid", change({ pid: undefined })],
    ["pid 0, which is every process", change({ pid: 0 })],
    ["a negative pid, which is a group", change({ pid: -1 })],
    ["half a pid", change({ pid: 1.5 })],
    ["a pid as text", change({ pid: "1" })],
    ["another address", change({ address: BOB })],
    ["a state that nobody knows", change({ state: "dreaming" })],
    ["a name that is none", change({ name: 5 })],
    ["not UTF-8", Uint8Array.from([0xff])],
  ])("%s", (_what, content) => {
    drop(content);
    expect(runningRecord(ALICE)).toBeUndefined();
    expect(runningRecords()).toEqual([]);
    // It tells of no process, so it is nobody's to delete.
    expect(namesIn(state.at("running"))).toHaveLength(1);
  });

  test("a huge one is not read", () => {
    const file = openSync(pathOf(ALICE), "w");
    ftruncateSync(file, 1024 ** 4);
    closeSync(file);
    expect(runningRecords()).toEqual([]);
  });

  test("one that is just too large", () => {
    drop(record({ cwd: "x".repeat(64 * 1024) }));
    expect(runningRecord(ALICE)).toBeUndefined();
  });

  test("a FIFO, a folder, a link", () => {
    makeFifo(pathOf(ALICE));
    mkdirSync(pathOf(BOB));
    const elsewhere = join(state.home, "elsewhere");
    writeFileSync(elsewhere, JSON.stringify(record({ address: CAROL })));
    symlinkSync(elsewhere, pathOf(CAROL));
    expect(runningRecords()).toEqual([]);
    expect(runningRecord(ALICE)).toBeUndefined();
  });

  test("names that are no addresses, and temporary files", () => {
    drop(record({ address: "a.b" }), "a.b");
    drop(record({ address: "running" }), "running");
    writeFileSync(state.at("running", `.${ALICE}.json.123`), JSON.stringify(record()));
    writeFileSync(state.at("running", ALICE), JSON.stringify(record()));
    expect(runningRecords()).toEqual([]);
    expect(namesIn(state.at("running"))).toHaveLength(4);
  });

  test("and keeps no session from being listed", () => {
    drop("{", BOB);
    writeRecord(record());
    expect(runningRecords().map(({ address }) => address)).toEqual([ALICE]);
  });

  test("any bytes and any JSON: never a crash", () => {
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 200 }),
      fc.json().map((text) => Buffer.from(text)),
      fc
        .record(
          {
            address: fc.constantFrom(ALICE, BOB, "", 5),
            name: fc.jsonValue(),
            cwd: fc.oneof(fc.string(), fc.jsonValue()),
            // Never a pid that a process may have: nothing of ours may run as it.
            pid: fc.oneof(fc.integer({ min: 2 ** 23 }), fc.double({ min: 2 ** 23 }), fc.string()),
            started: fc.oneof(fc.string(), fc.jsonValue()),
            state: fc.constantFrom("idle", "busy", "x", null),
            waitingOn: fc.oneof(fc.string(), fc.jsonValue()),
            updated: fc.oneof(fc.string(), fc.jsonValue()),
          },
          { requiredKeys: [] },
        )
        .map((value) => Buffer.from(JSON.stringify(value))),
    );
    fc.assert(
      fc.property(bytes, (content) => {
        drop(content);
        expect(runningRecords()).toEqual([]);
        expect(runningRecord(ALICE)).toBeUndefined();
      }),
      { numRuns: 300 },
    );
  });
});

describe("S3.5 a session that does not respond", () => {
  const now = Date.now();
  const updated = (age: number): string => new Date(now - age).toISOString();
  const running = (change: Partial<SessionRecord>, stopped = false): RunningSession => ({
    ...record(change),
    stopped,
  });

  test("has not touched its record for 90 s", () => {
    for (const doing of ["idle", "busy"] as const) {
      expect(stateOf(running({ state: doing, updated: updated(0) }), now)).toBe(doing);
      expect(stateOf(running({ state: doing, updated: updated(90_000) }), now)).toBe(doing);
      expect(stateOf(running({ state: doing, updated: updated(90_001) }), now)).toBe(
        "not responding",
      );
    }
  });

  test("has a process that is stopped, however fresh its record", () => {
    expect(stateOf(running({ updated: updated(0) }, true), now)).toBe("not responding");
  });

  test("a record from the future responds", () => {
    expect(stateOf(running({ updated: updated(-3_600_000) }), now)).toBe("idle");
  });
});
