/** The running records, on real Pi: what they say, whose they are, and what becomes of them. */
import { mkdirSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { SessionRecord } from "../../src/sessions/record.ts";
import { stall } from "../host/model.ts";
import { newSessionId, type PiSession } from "../host/session.ts";
import { Workplace } from "../host/workplace.ts";
import { filesIn, recordOf } from "./s2-disk.ts";
import { useTool } from "./s7-tools.ts";

let workplace: Workplace;
let alice: PiSession;
beforeAll(async () => {
  workplace = await Workplace.open();
  alice = await workplace.session({ name: "alice" });
});
afterAll(() => workplace.close());

/** The names of the records of a process. */
function recordsOf({ pid }: PiSession): string[] {
  return filesIn(join(workplace.root, "running")).filter(
    (name) => recordOf(workplace, name.slice(0, -".json".length))?.pid === pid,
  );
}

/** Writes a record as another program may. */
function plantRecord(fields: Record<string, unknown>): string {
  const address = newSessionId();
  const record = {
    address,
    name: "planted",
    cwd: "/somewhere",
    pid: process.pid,
    started: "",
    state: "idle",
    waitingOn: "",
    updated: new Date().toISOString(),
    ...fields,
  };
  const path = workplace.runningRecord(address);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, JSON.stringify(record));
  return address;
}

async function list(): Promise<string> {
  const { text, isError } = await useTool(workplace, alice, "session_mail_list");
  expect(isError).toBe(false);
  return text;
}

describe("S3.1 the record of a session", () => {
  test("says who it is, and is written anew when it is renamed, starts a run and settles", async () => {
    const path = workplace.runningRecord(alice.id);
    expect(recordOf(workplace, alice.id)).toEqual({
      address: alice.id,
      name: "alice",
      cwd: workplace.cwd,
      pid: alice.pid,
      started: expect.stringMatching(process.platform === "linux" ? /./ : /^/) as string,
      state: "idle",
      waitingOn: "",
      updated: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/) as string,
    });
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const before = recordOf(workplace, alice.id);

    await alice.setName("alicia");
    await expect
      .poll(() => recordOf(workplace, alice.id), { timeout: 20_000 })
      .toEqual({ ...before, name: "alicia", updated: expect.any(String) as string });

    const thinking = stall("hm");
    workplace.model.script("alice", thinking);
    await alice.prompt("think");
    await thinking.started;
    expect(recordOf(workplace, alice.id)?.state).toBe("busy");
    thinking.release();
    await alice.settled();
    await expect.poll(() => recordOf(workplace, alice.id)?.state, { timeout: 20_000 }).toBe("idle");
    expect(recordOf(workplace, alice.id)?.name).toBe("alicia");
    expect(recordsOf(alice)).toEqual([`${alice.id}.json`]);
  });

  test("has no name when the session has none", async () => {
    const nameless = await workplace.session({ model: "bob" });
    expect(recordOf(workplace, nameless.id)).not.toHaveProperty("name");
    await nameless.quit();
  });

  test("is gone when the session has quit, and when it was told to end", async () => {
    const [bob, carol] = await Promise.all([
      workplace.session({ name: "bob" }),
      workplace.session({ name: "carol" }),
    ]);
    await bob.quit();
    await carol.kill("SIGTERM");
    expect(filesIn(join(workplace.root, "running"))).toEqual([`${alice.id}.json`]);
  });

  test("moves along with the session that /new or /clone opens in the same process", async () => {
    const dave = await workplace.session({ name: "dave" });
    await dave.ask("one");
    await dave.newSession();
    const { sessionId } = await dave.state();
    expect(sessionId).not.toBe(dave.id);
    expect(recordsOf(dave)).toEqual([`${sessionId}.json`]);
    expect(recordOf(workplace, sessionId)).toMatchObject({ address: sessionId, pid: dave.pid });
    await dave.ask("two");
    await dave.clone();
    const cloned = (await dave.state()).sessionId;
    expect(cloned).not.toBe(sessionId);
    expect(recordsOf(dave)).toEqual([`${cloned}.json`]);
    await dave.quit();
  });
});

describe("S3.2 a record whose process is gone", () => {
  test("after a kill -9 counts as not running, and is deleted by whoever reads it", async () => {
    const bob = await workplace.session({ name: "bob" });
    await bob.kill("SIGKILL");
    expect(recordOf(workplace, bob.id)?.pid).toBe(bob.pid);
    expect(await list()).not.toContain(bob.id);
    expect(recordOf(workplace, bob.id)).toBeUndefined();
    const [said] = await alice.command("/mailbox bob hello");
    expect(said?.level).toBe("error");
  });

  test.runIf(["linux", "darwin"].includes(process.platform))(
    "is deleted too when its pid belongs to another process now",
    async () => {
      const address = plantRecord({ started: "another time" });
      expect(await list()).not.toContain(address);
      expect(recordOf(workplace, address)).toBeUndefined();
    },
  );

  test.each([
    ["empty", ""],
    ["absent", undefined],
  ])("is judged by its pid alone when its token is %s", async (_how, started) => {
    const address = plantRecord({ started });
    expect(await list()).toContain(address);
    expect(recordOf(workplace, address)).toBeDefined();
  });

  test("one that makes no sense is passed over, and stops nothing", async () => {
    writeFileSync(workplace.runningRecord(newSessionId()), "{ half a rec");
    const other = plantRecord({ pid: "many" });
    const misnamed = plantRecord({ address: "somebody-else" });
    const text = await list();
    expect(text).toContain(alice.id);
    for (const address of [other, misnamed, "somebody-else"]) expect(text).not.toContain(address);
  });
});

describe("S3.3 the record of another process", () => {
  test("is not removed or overwritten by a second process of the same session", async () => {
    const first = recordOf(workplace, alice.id);
    const second = await workplace.session({ name: "alice", id: alice.id, resume: true });
    await second.setName("usurper");
    await second.ask("hello");
    expect(recordOf(workplace, alice.id)).toEqual(first);
    await second.quit();
    expect(recordOf(workplace, alice.id)).toEqual(first);
  });

  test("that has taken its place is not removed when a session quits", async () => {
    const record = recordOf(workplace, alice.id);
    const other: Partial<SessionRecord> = { ...record, pid: process.pid, started: "" };
    writeFileSync(workplace.runningRecord(alice.id), JSON.stringify(other));
    await alice.quit();
    expect(recordOf(workplace, alice.id)).toEqual(other);
  });
});
