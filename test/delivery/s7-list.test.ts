/** `session_mail_list`, on real Pi. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { call, say, stall } from "../host/model.ts";
import type { PiSession } from "../host/session.ts";
import { Workplace } from "../host/workplace.ts";
import { mailIn, plantMail } from "./s2-disk.ts";
import { clockedExtension } from "./s7-clock.ts";
import { useTool, waitForProgress, waitForResult } from "./s7-tools.ts";

const LIST = "session_mail_list";

let workplace: Workplace;
beforeAll(async () => {
  workplace = await Workplace.open();
});
afterAll(() => workplace.close());

/** The line of a listing that holds this id. */
function lineOf(listing: string, id: string): string {
  const line = listing.split("\n").find((candidate) => candidate.includes(id));
  if (line === undefined) throw new Error(`${id} is not listed in:\n${listing}`);
  return line;
}

describe("S7 session_mail_list", () => {
  let alice: PiSession;
  let bob: PiSession;
  beforeAll(async () => {
    [alice, bob] = await Promise.all([
      workplace.session({ name: "alice" }),
      workplace.session({ name: "bob", cwd: `${workplace.folder}/else where` }),
    ]);
  });

  test("shows label, full id, directory and state of every running session, and marks the caller", async () => {
    const { text, isError } = await useTool(workplace, alice, LIST);
    expect(isError).toBe(false);
    expect(lineOf(text, alice.id)).toContain("alice");
    expect(lineOf(text, alice.id)).toContain(workplace.cwd);
    expect(lineOf(text, alice.id)).toContain("busy");
    expect(lineOf(text, alice.id)).toContain("this session");
    expect(lineOf(text, bob.id)).toContain("bob");
    expect(lineOf(text, bob.id)).toContain(`${workplace.folder}/else where`);
    expect(lineOf(text, bob.id)).toContain("idle");
    expect(lineOf(text, bob.id)).not.toContain("this session");
    expect(text).not.toMatch(/\basks?\b/i);
  });

  test("shows who is busy, whom a session waits on, and the asks the caller owes with id, sender and age", async () => {
    const carol = await workplace.session({ name: "carol" });
    const thinking = stall("let me see ");
    workplace.model.script(
      "carol",
      call("session_mail_ask", { to: "bob", message: "which port?" }),
    );
    workplace.model.script("bob", thinking, say("8080"));
    const [markBob, markCarol] = [bob.mark(), carol.mark()];
    await carol.prompt("ask bob for the port");
    await thinking.started;
    await waitForProgress(carol, /read, working/, markCarol);

    const { text: forAlice } = await useTool(workplace, alice, LIST);
    expect(lineOf(forAlice, bob.id)).toContain("busy");
    expect(lineOf(forAlice, carol.id)).toMatch(/waiting on bob/);
    expect(lineOf(forAlice, bob.id)).not.toContain("waiting on");

    thinking.release(call(LIST));
    const { text: forBob } = await waitForResult(bob, LIST, markBob);
    const [ask] = mailIn(workplace, carol.id, "sent");
    const owed = lineOf(forBob, ask?.id ?? "no ask");
    expect(owed).toContain("carol");
    expect(owed).toContain("less than a minute");
    await Promise.all([bob.settled(markBob), carol.settled(markCarol)]);

    const { text: answered } = await useTool(workplace, bob, LIST);
    expect(answered).not.toContain(ask?.id);
    expect(lineOf(answered, carol.id)).not.toContain("waiting on");
    await carol.quit();
    const { text: gone } = await useTool(workplace, alice, LIST);
    expect(gone).not.toContain(carol.id);
  });

  test("says how old an ask is, and calls a sender that does not run by its id", async () => {
    const mark = bob.mark();
    const ask = plantMail(workplace, {
      to: bob.id,
      from: "0199aaaa-dead-7000-8000-000000000001",
      kind: "ask",
      ts: new Date(Date.now() - 2 * 3_600_000 - 60_000).toISOString(),
    });
    workplace.model.script("bob", call(LIST), say("there you are"));
    const { text } = await waitForResult(bob, LIST, mark);
    expect(lineOf(text, ask.id)).toMatch(/0199aaaa.*2 hours/);
    await bob.settled(mark);
  });
});

test("S4.7 sessions whose ids begin alike are told apart, by labels that can be used as a `to`", async () => {
  const ids = ["0199bbbb-1111-7000-8000-00000000000a", "0199bbbb-1122-7000-8000-00000000000b"];
  const [alice, one, other] = await Promise.all([
    workplace.session({ name: "dave" }),
    workplace.session({ id: ids[0]!, model: "erin" }),
    workplace.session({ id: ids[1]!, model: "erin" }),
  ]);
  const { text } = await useTool(workplace, alice, LIST);
  const labels = [one, other].map(({ id }) => /^- (\S+) \(/.exec(lineOf(text, id))?.[1] ?? "");
  expect(labels[0]).not.toBe(labels[1]);
  for (const [position, label] of labels.entries()) {
    expect(ids[position]?.startsWith(label)).toBe(true);
    const mark = [one, other][position]?.mark() ?? 0;
    const sent = await useTool(workplace, alice, "session_mail_send", {
      to: label,
      message: "you there",
    });
    expect(sent.details["to"]).toBe(ids[position]);
    await [one, other][position]?.settled(mark);
  }
});

test("S3.5 a session that does not move is listed as not responding", async () => {
  const clocked = clockedExtension(workplace);
  const [watcher, sleeper] = await Promise.all([
    workplace.session({ name: "watcher", extensions: [clocked.path] }),
    workplace.session({ name: "sleeper", extensions: [clocked.path] }),
  ]);
  const { text: before } = await useTool(workplace, watcher, LIST);
  expect(lineOf(before, sleeper.id)).toContain("idle");
  sleeper.pause();
  clocked.pass(91_000);
  const { text } = await useTool(workplace, watcher, LIST);
  expect(lineOf(text, sleeper.id)).toContain("not responding");
  expect(lineOf(text, watcher.id)).not.toContain("not responding");
  sleeper.resume();
  await expect
    .poll(async () => lineOf((await useTool(workplace, watcher, LIST)).text, sleeper.id), {
      timeout: 20_000,
      interval: 300,
    })
    .toContain("idle");
});
