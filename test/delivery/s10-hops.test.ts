/** Two models that keep waking each other come to an end. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { eventually } from "../host/eventually.ts";
import { call, type ModelRequest, say, type Step } from "../host/model.ts";
import type { PiSession } from "../host/session.ts";
import type { Workplace } from "../host/workplace.ts";
import {
  claimed,
  Correspondent,
  expectEachOnce,
  inTool,
  type Letter,
  lettersIn,
  newGate,
  openSession,
  openWorkplace,
  untilIdle,
} from "./life-support.ts";

let workplace: Workplace;
let alice: PiSession;
let bob: PiSession;
let balls = 0;

beforeAll(async () => {
  workplace = await openWorkplace();
  [alice, bob] = await Promise.all([
    openSession(workplace, "alice"),
    openSession(workplace, "bob"),
  ]);
});
afterEach(() => {
  workplace.settings({});
});
afterAll(() => workplace.close());

/** A model that answers whatever begins its run with a message to `other`, and then stops. */
function playTo(other: string): (request: ModelRequest) => Step {
  return ({ messages }) => {
    if (messages.at(-1)?.role === "tool") return say("played");
    balls += 1;
    return call("session_mail_send", { to: other, message: `ball ${balls}` });
  };
}

/** A person serves in alice, and both models play until one more call is refused. */
async function play(): Promise<void> {
  const before = refusals().length;
  workplace.model.answer("alice", playTo("bob"));
  workplace.model.answer("bob", playTo("alice"));
  await alice.prompt("serve");
  await eventually(() => refusals().length > before, "a refusal");
  await Promise.all([untilIdle(alice), untilIdle(bob)]);
  workplace.model.answer("alice", () => say("ok"));
  workplace.model.answer("bob", () => say("ok"));
}

/** What the models were told when a tool refused, in either session. */
function refusals(): string[] {
  return ["alice", "bob"].flatMap((name) =>
    workplace.model
      .requests(name)
      .filter(({ messages }) => messages.at(-1)?.role === "tool")
      .map(({ last }) => last)
      .filter((text) => text.includes("Nothing was sent")),
  );
}

/** All the messages that one sent to the other, in order of sending. */
function sent(): Letter[] {
  return [alice, bob]
    .flatMap(({ id }) => lettersIn(workplace.mailbox(id).sent))
    .filter(({ kind }) => kind === "message")
    .sort((one, other) => Date.parse(one.ts) - Date.parse(other.ts) || one.hops - other.hops);
}

/** Whether the last call of a tool in a session was an error. */
function lastCall(session: PiSession): unknown {
  return session.events.findLast(({ type }) => type === "tool_execution_end")?.["isError"];
}

describe("S10.2 two sessions that keep waking each other", () => {
  test.each([
    ["5, the default", {}, 5, "bob"],
    ["2, a setting", { hopLimit: 2 }, 2, "alice"],
  ] as const)(
    "stop at %s; a person typing starts the count again",
    async (_, settings, limit, last) => {
      workplace.settings(settings);
      const refuser = last === "alice" ? alice : bob;
      for (let serve = 0; serve < 2; serve++) {
        const before = sent().length;
        const refusedBefore = refusals().length;
        await play();
        const hops = sent()
          .slice(before)
          .map((letter) => letter.hops);
        expect(hops).toEqual(Array.from({ length: limit }, (__, count) => count));
        expect(refusals()).toHaveLength(refusedBefore + 1);
        expect(refusals().at(-1)).toMatch(/person typing in either session starts the count again/);
        expect(lastCall(refuser)).toBe(true);
      }
      const to = (session: PiSession): Letter[] =>
        sent().filter((letter) => letter.to === session.id);
      await expectEachOnce(workplace, alice, "alice", to(alice));
      await expectEachOnce(workplace, bob, "bob", to(bob));
    },
  );
});

describe("S10.1 S10.2 the count", () => {
  /** Has a letter of so many hops wake bob, whose model then makes a call; gives what it was told. */
  async function told(
    hops: number,
    name: string,
    args: Record<string, unknown>,
    during?: (session: PiSession) => Promise<void>,
  ): Promise<{ letter: Letter; text: string; isError: unknown }> {
    const erin = new Correspondent(workplace);
    const gate = newGate(workplace);
    const mark = bob.mark();
    workplace.model.script(
      "bob",
      call("wait_for_file", { path: gate.path }),
      call(name, args),
      say("told"),
    );
    const letter = erin.send(bob, "message", "pass it on", { hops });
    await inTool(bob, mark);
    await during?.(bob);
    gate.open();
    await bob.settled(mark);
    const result = workplace.model.requests("bob").at(-1)?.last ?? "";
    return { letter, text: result, isError: lastCall(bob) };
  }

  test.each(["session_mail_send", "session_mail_ask"])(
    "%s is refused at the limit",
    async (tool) => {
      const to = new Correspondent(workplace, { name: `target-${tool}`, cwd: "/" });
      const { letter, text, isError } = await told(4, tool, {
        to: `target-${tool}`,
        message: "further",
      });
      expect(isError).toBe(true);
      expect(text).toMatch(/person typing in either session/);
      expect(to.received()).toEqual([]);
      await expectEachOnce(workplace, bob, "bob", [letter]);
    },
  );

  test("is one more than that of the mail that woke the run", async () => {
    const to = new Correspondent(workplace, { name: "target-three", cwd: "/" });
    const { isError } = await told(2, "session_mail_send", { to: "target-three", message: "on" });
    expect(isError).toBe(false);
    expect(to.received()).toMatchObject([{ kind: "message", hops: 3 }]);
  });

  test("is the highest of the mail that woke and steered the run", async () => {
    const to = new Correspondent(workplace, { name: "target-four", cwd: "/" });
    await told(1, "session_mail_send", { to: "target-four", message: "on" }, async (session) => {
      new Correspondent(workplace).send(session, "message", "at the gap", { hops: 3 });
      await claimed(workplace, session.id);
    });
    expect(to.received()).toMatchObject([{ hops: 4 }]);
  });

  test("does not rise with a quiet reply", async () => {
    const to = new Correspondent(workplace, { name: "target-two", cwd: "/" });
    await told(1, "session_mail_send", { to: "target-two", message: "on" }, async (session) => {
      new Correspondent(workplace).sendQuietly(session, "at the gap", { hops: 4 });
      await claimed(workplace, session.id);
    });
    expect(to.received()).toMatchObject([{ hops: 2 }]);
  });

  test.each(["steer", "followUp"] as const)("is 0 once the user types (%s)", async (how) => {
    const to = new Correspondent(workplace, { name: `target-${how}`, cwd: "/" });
    const { isError } = await told(
      4,
      "session_mail_send",
      { to: `target-${how}`, message: "on" },
      async (session) => {
        await session.prompt("go ahead", how);
        if (how === "followUp") workplace.model.script("bob", say("followed up"));
      },
    );
    expect(isError).toBe(false);
    expect(to.received()).toMatchObject([{ hops: 0 }]);
  });

  test("of the user's run stays 0 when mail steers it", async () => {
    const to = new Correspondent(workplace, { name: "target-user", cwd: "/" });
    const gate = newGate(workplace);
    const mark = bob.mark();
    workplace.model.script(
      "bob",
      call("wait_for_file", { path: gate.path }),
      call("session_mail_send", { to: "target-user", message: "on" }),
      say("sent"),
    );
    await bob.prompt("do it");
    await inTool(bob, mark);
    const letter = new Correspondent(workplace).send(bob, "message", "at the gap", { hops: 4 });
    await claimed(workplace, bob.id);
    gate.open();
    await bob.settled(mark);
    expect(to.received()).toMatchObject([{ hops: 0 }]);
    await expectEachOnce(workplace, bob, "bob", [letter]);
  });

  test("starts afresh when the run settles", async () => {
    const to = new Correspondent(workplace, { name: "target-fresh", cwd: "/" });
    const erin = new Correspondent(workplace);
    let mark = bob.mark();
    erin.send(bob, "message", "far travelled", { hops: 4 });
    await bob.settled(mark);
    mark = bob.mark();
    workplace.model.script(
      "bob",
      call("session_mail_send", { to: "target-fresh", message: "on" }),
      say("sent"),
    );
    erin.send(bob, "message", "from next door", { hops: 0 });
    await bob.settled(mark);
    expect(to.received()).toMatchObject([{ hops: 1 }]);
  });

  test("of /mailbox is 0 and never refused, also in a run at the limit", async () => {
    const to = new Correspondent(workplace, { name: "target-command", cwd: "/" });
    await told(
      4,
      "session_mail_send",
      { to: "target-command", message: "refused" },
      async (session) => {
        const said = await session.command("/mailbox target-command from the user");
        expect(said[0]?.message).toMatch(/^Sent /);
      },
    );
    expect(to.received()).toMatchObject([{ kind: "request", hops: 0, body: "from the user" }]);
  });

  test("S6.8 never keeps an answer back", async () => {
    const erin = new Correspondent(workplace);
    const letter = erin.send(bob, "request", "far travelled", { hops: 40 });
    const ask = erin.send(bob, "ask", "also far travelled", { hops: 40 });
    expect(await erin.answerTo(letter)).toMatchObject({ status: "done" });
    expect(await erin.answerTo(ask)).toMatchObject({ status: "done" });
    await untilIdle(bob);
    await expectEachOnce(workplace, bob, "bob", [letter, ask]);
  });
});
