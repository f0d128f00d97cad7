/** The footer's counts through whole exchanges, on both sides, on real Pi. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { call, say, stall } from "../host/model.ts";
import type { PiSession } from "../host/session.ts";
import { Workplace } from "../host/workplace.ts";
import { plantMail } from "./s2-disk.ts";
import { waitForProgress } from "./s7-tools.ts";

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

/** Every text the footer has shown, oldest first; "" where it was hidden. */
function shown(session: PiSession, since = 0): string[] {
  return session.events
    .slice(since)
    .filter((event) => event["method"] === "setStatus" && event["statusKey"] === "mailbox")
    .map((event) => (typeof event["statusText"] === "string" ? event["statusText"] : ""));
}

/** Waits until the footer shows this. */
async function footer(session: PiSession, text: string, since = 0): Promise<void> {
  await session.waitFor(
    (event) =>
      event["method"] === "setStatus" &&
      event["statusKey"] === "mailbox" &&
      event["statusText"] === text,
    `the footer ${text}`,
    { since },
  );
  expect(session.status("mailbox")).toBe(text);
}

describe("S8.2 the footer", () => {
  test("counts a request on both sides, and is hidden while there is nothing to count", async () => {
    expect(alice.status("mailbox")).toBeUndefined();
    expect(bob.status("mailbox")).toBeUndefined();
    const thinking = stall("All ");
    workplace.model.script("bob", thinking);

    await alice.command("/mailbox bob run the tests");
    await thinking.started;
    await footer(alice, "✉ 1 awaiting");
    await footer(bob, "✉ 1 pending");

    thinking.release("pass.");
    await bob.settled(0);
    await footer(bob, "✉ 1 read");
    // The answer is in the conversation, and no run has settled since.
    await footer(alice, "✉ 1 pending");

    await alice.ask("and?");
    await footer(alice, "✉ 1 read");
    // No count was ever shown that was not so, and none in passing that is zero.
    expect(shown(alice)).toEqual(["✉ 1 awaiting", "✉ 1 pending", "✉ 1 read"]);
    expect(shown(bob)).toEqual(["✉ 1 pending", "✉ 1 read"]);
  });

  test("counts an ask and the answer that its tool call takes", async () => {
    const thinking = stall("8080, ");
    workplace.model.script("bob", thinking);
    workplace.model.script(
      "alice",
      call("session_mail_ask", { to: "bob", message: "which port?" }),
      say("thanks"),
    );
    const mark = alice.mark();
    await alice.prompt("ask for the port");
    await thinking.started;
    await waitForProgress(alice, /working/, mark);
    await footer(alice, "✉ 1 awaiting");
    await footer(bob, "✉ 1 pending");
    thinking.release("I think");
    await alice.settled();
    await bob.settled(0);
    await footer(alice, "✉ 1 read");
    await footer(bob, "✉ 1 read");
  });

  test("shows all three counts, in order", async () => {
    const own = stall("busy ");
    workplace.model.script("bob", say("one"), own);
    await alice.command("/mailbox bob one");
    await bob.settled(0);
    await bob.prompt("work");
    await own.started;
    await bob.command("/mailbox alice two");
    await alice.settled(0);
    // The answer of Alice waits, for Bob's text is being written: one request of his, answered.
    await footer(bob, "✉ 1 pending · 1 read");
    const id = "0199dddd-0000-7000-8000-000000000001";
    await bob.command(`/mailbox ${id} three`);
    await footer(bob, "✉ 1 pending · 1 read · 1 awaiting");
    const mark = bob.mark();
    plantMail(workplace, { to: bob.id, from: alice.id });
    await footer(bob, "✉ 2 pending · 1 read · 1 awaiting", mark);
    own.release("no more");
    await bob.settled();
    await bob.settled();
    await footer(bob, "✉ 3 read · 1 awaiting", mark);
  });

  test("keeps its counts through quit and resume", async () => {
    await alice.command("/mailbox bob one");
    await bob.settled(0);
    await footer(alice, "✉ 1 pending");
    await alice.ask("and?");
    const id = "0199dddd-0000-7000-8000-000000000002";
    await alice.command(`/mailbox ${id} two`);
    await footer(alice, "✉ 1 read · 1 awaiting");
    await alice.quit();
    const resumed = await workplace.session({ name: "alice", id: alice.id, resume: true });
    await footer(resumed, "✉ 1 read · 1 awaiting");
  });

  test("does not count a message that was sent, for none is awaited", async () => {
    const mark = alice.mark();
    workplace.model.script(
      "alice",
      call("session_mail_send", { to: "bob", message: "news" }),
      say("told"),
    );
    await alice.ask("tell bob");
    await bob.settled(0);
    expect(shown(alice, mark)).toEqual([]);
    await footer(bob, "✉ 1 read");
  });
});
