import type { ExtensionAPI, ToolDefinition } from "@earendil-works/pi-coding-agent";
import fc from "fast-check";
import { beforeEach, describe, expect, test } from "vitest";
import type { ReplyStatus } from "../../src/mail/envelope.ts";
import { send } from "../../src/mail/store.ts";
import { Session } from "../../src/surface/session.ts";
import { registerAsk } from "../../src/surface/tools/ask.ts";
import { registerList } from "../../src/surface/tools/list.ts";
import { registerReply } from "../../src/surface/tools/reply.ts";
import { registerSend } from "../../src/surface/tools/send.ts";
import { useStateFolder } from "../fixtures/folder.ts";
import { ALICE, BOB, CAROL, mail } from "../fixtures/mail.ts";
import { FakeClock, FakeHost, Life, useLives } from "../mailbox/fake.ts";
import { hostile } from "../turn/hostile.ts";
import {
  bindKeys,
  type Call,
  drawnCall,
  type Entry,
  seen,
  themeOf,
  THEMES,
  WIDTHS,
} from "./transcript.ts";

useStateFolder();
useLives();

const session = new Session();
const tools = new Map<string, ToolDefinition>();
const pi = {
  registerTool: (tool: ToolDefinition) => tools.set(tool.name, tool),
} as unknown as ExtensionAPI;
for (const register of [registerList, registerSend, registerAsk, registerReply]) {
  register(pi, session);
}

const toolOf = (name: string): ToolDefinition => tools.get(`session_mail_${name}`)!;

/** Calls a tool as Pi does; `progress` is told what it streams. */
async function run(
  name: string,
  args: object,
  progress: (result: Entry) => void = () => undefined,
): Promise<Entry> {
  const tool = toolOf(name);
  return tool.execute("1", args, undefined, progress, undefined as never);
}

const draw = (name: string, call: Call, width = 60): string[] =>
  drawnCall(toolOf(name), call, width)
    .map((line) => line.slice(1))
    .filter((line) => line !== "");

/** The lines below the call's own. */
const resultOf = (name: string, call: Call, width = 60): string[] =>
  draw(name, { args: {}, ...call }, width).slice(1);

function open(address: string, name: string, clock = new FakeClock()): Life {
  const host = new FakeHost(address);
  host.sessionName = name;
  return Life.open(host, clock);
}

beforeEach(() => {
  bindKeys();
  themeOf("dark");
});

describe("a tool call in the transcript", () => {
  const args = { to: "bob", message: "\nPlease look at this.\nIt fails." };

  test("says what it does, to whom, and how the message begins", () => {
    expect(draw("send", { args })).toEqual(["Send mail → bob  Please look at this."]);
    expect(draw("ask", { args })).toEqual(["Ask a session → bob  Please look at this."]);
    expect(draw("reply", { args: { ask: "a1", message: "Yes." } })).toEqual([
      "Answer an ask  Yes.",
    ]);
    expect(draw("list", { args: {} })).toEqual(["Sessions"]);
  });

  test("is one line at every width, and cut where it is long", () => {
    const long = { to: "漢".repeat(300), message: "word ".repeat(500) };
    for (const width of WIDTHS) {
      const lines = draw("send", { args: long }, width);
      expect(lines).toEqual([expect.stringMatching(/^Send mail → .*…$/)]);
    }
  });

  test("has the whole message when expanded", () => {
    expect(draw("send", { args, expanded: true })).toEqual([
      "Send mail → bob",
      "Please look at this.",
      "It fails.",
    ]);
    expect(draw("reply", { args: { ask: "a1", message: "Yes." }, expanded: true })).toEqual([
      "Answer an ask",
      "a1",
      "Yes.",
    ]);
  });

  test("is drawn while its arguments are not there yet", () => {
    for (const name of ["list", "send", "ask", "reply"]) {
      for (const part of [undefined, null, {}, { to: undefined }, { to: 3, message: [] }, "x"]) {
        const title = draw(name, { args: {} });
        expect(title).toHaveLength(1);
        expect(draw(name, { args: part })).toEqual(title);
      }
    }
  });

  test("S7.1 that is refused says so in the colour of errors", () => {
    const text = "Nothing was sent: the message is empty. Write one.";
    const refused: Call = {
      result: { content: [{ type: "text", text }], details: {} },
      isError: true,
    };
    for (const name of ["list", "send", "ask", "reply"]) {
      expect(resultOf(name, refused)).toEqual([text]);
      const theme = themeOf("light");
      const drawn = toolOf(name).renderResult!(
        refused.result as never,
        { expanded: false, isPartial: false },
        theme,
        { expanded: false, isError: true } as never,
      );
      expect(drawn.render(60).join("")).toBe(theme.fg("error", text));
    }
  });
});

describe("a result in the transcript of", () => {
  test("send says to whom it went", async () => {
    session.open(open(ALICE, "alice").mailbox);
    open(BOB, "bob");
    const result = await run("send", { to: "bob", message: "Hello." });
    expect(resultOf("send", { result })).toEqual(["sent to bob"]);
    const { id } = result.details as { id: string };
    expect(resultOf("send", { result, expanded: true }, 200)).toEqual([
      "sent to bob",
      `${id} to ${BOB}`,
    ]);
  });

  test("S7.2 send says when the other session is closed and the mail waits", async () => {
    session.open(open(ALICE, "alice").mailbox);
    const result = await run("send", { to: CAROL, message: "Hello." });
    expect(resultOf("send", { result })).toEqual([
      "sent to 0195c000",
      "closed: it waits until that session is opened again",
    ]);
  });

  test("reply says that it answered", async () => {
    const life = open(ALICE, "alice");
    session.open(life.mailbox);
    const ask = mail({ from: BOB, to: ALICE, kind: "ask" });
    send(ask, false);
    life.mailbox.look();
    const result = await run("reply", { ask: ask.id, message: "Yes." });
    expect(resultOf("reply", { result })).toEqual(["answered"]);
    expect(resultOf("reply", { result, expanded: true }, 200).join("\n")).toContain(ask.id);
  });

  test("list is a short table, and the whole text when expanded", async () => {
    const life = open(ALICE, "alice");
    session.open(life.mailbox);
    open(BOB, "漢字");
    send(mail({ from: BOB, to: ALICE, kind: "ask" }), false);
    life.mailbox.look();
    const result = await run("list", {});
    expect(resultOf("list", { result })).toEqual([
      "2 sessions · 1 unanswered ask",
      "alice  idle, this session  /work",
      "漢字   idle  /work",
    ]);
    const whole = resultOf("list", { result, expanded: true }, 200).join("\n");
    expect(whole).toContain("Running sessions:");
    expect(whole).toContain(BOB);
    expect(whole).toContain("Asks that you have not answered yet");
  });

  test("list with many sessions shows a few, and is small in the session file", async () => {
    session.open(open(ALICE, "alice").mailbox);
    for (let place = 0; place < 12; place += 1) {
      open(`0195d000-0000-7000-8000-0000000000${String(place + 10)}`, `s${String(place)}`);
    }
    const result = await run("list", {});
    const lines = resultOf("list", { result });
    expect(lines[0]).toBe("13 sessions");
    expect(lines).toHaveLength(10);
    expect(lines.at(-1)).toBe("… 5 more (ctrl+o to expand)");
    expect(JSON.stringify(result.details).length).toBeLessThan(1000);
  });
});

describe("an ask in the transcript", () => {
  /** Alice asks Bob, and Bob answers, or does not. */
  async function asked(ending: (bob: Life, clock: FakeClock) => void): Promise<Entry> {
    const clock = new FakeClock();
    const alice = open(ALICE, "alice", clock);
    const bob = open(BOB, "bob", clock);
    session.open(alice.mailbox);
    const result = run("ask", { to: "bob", message: "Which port?" });
    bob.mailbox.look();
    ending(bob, clock);
    alice.mailbox.look();
    return result;
  }

  test("S7.6 while it waits says on whom, how long, what that one does, and how to stop", async () => {
    const clock = new FakeClock();
    session.open(open(ALICE, "alice", clock).mailbox);
    const bob = open(BOB, "bob", clock);
    const progress: Entry[] = [];
    const result = run("ask", { to: "bob", message: "Which port?" }, (one) => progress.push(one));
    bob.mailbox.look();
    bob.start();
    clock.advance(72_000);
    const partial: Call = { result: progress.at(-1)!, isPartial: true };
    expect(resultOf("ask", partial)).toEqual([
      "waiting on bob · 1m 12s · read, working · escape to stop",
    ]);
    expect(resultOf("ask", partial, 20).join(" ")).toContain("escape to stop");
    bindKeys({ "app.interrupt": "ctrl+q" });
    expect(resultOf("ask", partial)[0]).toMatch(/ · ctrl\+q to stop$/);
    bindKeys({ "app.interrupt": [] });
    expect(resultOf("ask", partial)[0]).toMatch(/working$/);
    bob.close();
    clock.advance(1000);
    expect(resultOf("ask", { result: await result })).toEqual([
      "bob was closed before it answered; a later answer arrives",
      "as mail",
    ]);
  });

  test("says who answered, and the answer as Markdown", async () => {
    const result = await asked((bob) => {
      bob.run({ text: "**Port** 8080.\n\n- a\n- b" });
    });
    expect(resultOf("ask", { result })).toEqual(["bob answered", "Port 8080.", "- a", "- b"]);
    const { ask } = result.details as { ask: string };
    expect(resultOf("ask", { result })).not.toContain(ask);
    expect(resultOf("ask", { result, expanded: true })).toContain(ask);
  });

  test("folds a long answer", async () => {
    const result = await asked((bob) => {
      bob.run({ text: "- line\n".repeat(20) });
    });
    expect(resultOf("ask", { result }).at(-1)).toBe("… 12 more lines (ctrl+o to expand)");
    expect(
      resultOf("ask", { result, expanded: true }).filter((line) => line === "- line"),
    ).toHaveLength(20);
  });

  test.each<[ReplyStatus, string]>([
    ["stopped", "no answer from bob: stopped by the user there"],
    ["failed", "no answer from bob: it failed, or stopped, before it had one"],
  ])("S7.4 that got no answer says so: %s", async (status, words) => {
    const result = await asked((bob) => {
      bob.run({
        text: "Half of it",
        stopReason: status === "stopped" ? "aborted" : "error",
        error: "x",
      });
    });
    const lines = resultOf("ask", { result }, 200);
    expect(lines[0]).toBe(words);
    expect(lines.join("\n")).toContain("Half of it");
  });

  test("S7.4 that waited too long says so", async () => {
    const result = await asked((_bob, clock) => {
      clock.advance(10 * 60_000);
    });
    expect(resultOf("ask", { result }, 200)).toEqual([
      "no answer from bob within 10 minutes; a later one arrives as mail",
    ]);
  });
});

describe("a result of an older session, or one that says anything", () => {
  const content = [{ type: "text", text: "bob answers:\n\nPort 8080." }];

  test.each([
    ["no details", undefined],
    ["null", null],
    ["details without what is needed", { id: "m1", to: BOB, ask: 3 }],
    ["details of another kind", "x"],
  ])("with %s shows the text that the model got", (_what, details) => {
    for (const name of ["list", "send", "ask", "reply"]) {
      expect(resultOf(name, { result: { content, details } })).toEqual([
        "bob answers:",
        "Port 8080.",
      ]);
    }
  });

  test("whatever is in it, is drawn within the width, with no escape of its own", () => {
    const text = hostile(100);
    const session = fc.record({
      label: text,
      cwd: text,
      state: text,
      self: fc.boolean(),
      waitingOn: text,
    });
    const fields = {
      id: text,
      to: text,
      label: text,
      ask: text,
      running: fc.boolean(),
      ended: fc.constantFrom("answer", "patience", "gone"),
      status: fc.constantFrom("done", "stopped", "failed", ""),
      body: fc.tuple(fc.nat(60), fc.nat(60)),
      count: fc.nat(),
      asks: fc.nat(),
      sessions: fc.array(session, { maxLength: 8 }),
    };
    const said = fc.oneof(
      fc.record(fields),
      fc.record(fields, { requiredKeys: [] }),
      fc.anything(),
    );
    const themes = THEMES.map(themeOf);
    fc.assert(
      fc.property(
        fc.constantFrom("list", "send", "ask", "reply"),
        fc.oneof(fc.array(fc.record({ type: fc.constant("text"), text })), fc.anything()),
        said,
        fc.oneof(fc.record({ to: text, message: text, ask: text }), fc.anything()),
        fc.record({ expanded: fc.boolean(), isPartial: fc.boolean(), isError: fc.boolean() }),
        fc.constantFrom(1, 2, 12, ...WIDTHS),
        fc.constantFrom(...themes),
        (name, inside, details, args, options, width, theme) => {
          const tool = toolOf(name);
          const context = options as never;
          const call = tool.renderCall!(args, theme, context);
          expect(seen(call.render(width), width)).not.toContain("(This cannot be shown.)");
          const result = { content: inside, details } as never;
          const drawn = tool.renderResult!(result, options, theme, context);
          expect(seen(drawn.render(width), width)).not.toContain("(This cannot be shown.)");
        },
      ),
      { numRuns: 1500 },
    );
  });
});
