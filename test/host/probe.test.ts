/** The harness alone, without mail: what later tests rely on holds for the Pi under test. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventually } from "./eventually.ts";
import { call, calls, fail, say, stall } from "./model.ts";
import { piIsAtLeast, piUnderTest } from "./pi.ts";
import { newSessionId, textOf, type PiSession } from "./session.ts";
import { Workplace } from "./workplace.ts";

const probeExtension = `
import { existsSync } from "node:fs";
import { Type } from "typebox";
export default function (pi) {
	pi.registerCommand("probe", {
		description: "Notifies and sets a status",
		handler: async (text, ctx) => {
			ctx.ui.setStatus("probe", text === "" ? undefined : "status " + text);
			ctx.ui.notify("probed " + text, "warning");
			if (text === "dialog") ctx.ui.notify("confirmed " + String(await ctx.ui.confirm("Sure?", "Really")));
			if (text === "throw") throw new Error("thrown by the probe");
			if (text === "quiet") pi.sendMessage({ customType: "probe", content: "quiet words", display: true, details: { id: "q" } }, { deliverAs: "followUp" });
		},
	});
	pi.registerTool({
		name: "wait_for_file",
		label: "Wait",
		description: "Waits until a file is there",
		parameters: Type.Object({ path: Type.String() }),
		async execute(id, params, signal) {
			while (!existsSync(params.path)) {
				if (signal?.aborted) throw new Error("stopped waiting");
				await new Promise((resolve) => setTimeout(resolve, 5));
			}
			return { content: [{ type: "text", text: "found " + params.path }], details: {} };
		},
	});
}
`;

let workplace: Workplace;
let extension: string;

beforeAll(async () => {
  workplace = await Workplace.open();
  extension = workplace.write("probe.ts", probeExtension);
});

afterAll(async () => {
  await workplace.close();
});

function alive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

describe(`a session of Pi ${piUnderTest().version}`, () => {
  let session: PiSession;

  beforeAll(async () => {
    session = await workplace.session({ name: "alice", extensions: [extension] });
  });

  it("answers a prompt and settles", async () => {
    workplace.model.script("alice", say("good day"));
    const { disposition } = await session.prompt("hello");
    expect(disposition).toBe(piIsAtLeast("1.3.0") ? "started" : "");
    expect(await session.settled()).toEqual({
      aborted: false,
      stopReason: "stop",
      error: "",
      text: "good day",
    });
    const request = workplace.model.requests("alice").at(-1);
    expect(request).toMatchObject({ model: "alice", last: "hello", text: "hello", summary: false });
    expect(request?.tools).toContain("wait_for_file");
    expect(request?.system).not.toBe("");
  });

  it("has the state, the name and the id it was started with", async () => {
    expect(await session.state()).toMatchObject({
      sessionId: session.id,
      sessionName: "alice",
      isStreaming: false,
    });
    await session.setName("alicia");
    expect((await session.state()).sessionName).toBe("alicia");
  });

  it("runs a command and shows what it told the user", async () => {
    expect(await session.command("/probe it")).toEqual([
      { message: "probed it", level: "warning" },
    ]);
    expect(session.status("probe")).toBe("status it");
    await session.command("/probe");
    expect(session.status("probe")).toBeUndefined();
    await session.command("/probe dialog");
    await session.waitForNotification("confirmed false");
    await session.command("/probe throw");
    expect(session.extensionErrors.join()).toContain("thrown by the probe");
  });

  it("shows an entry no event tells of", async () => {
    await session.command("/probe quiet");
    const entry = await session.waitForEntry(
      (candidate) => candidate.customType === "probe",
      "of the probe",
    );
    expect(entry).toMatchObject({ type: "custom_message", details: { id: "q" } });
    expect(textOf(entry)).toBe("quiet words");
  });

  it("calls tools, one or several at once, and steers between them", async () => {
    const path = `${workplace.folder}/go`;
    const mark = session.mark();
    workplace.model.script(
      "alice",
      call("wait_for_file", { path }, "I wait"),
      (request) =>
        calls([
          { name: "wait_for_file", args: { path } },
          { name: "read", args: { path: request.last.includes("turn left") ? path : "/nowhere" } },
        ]),
      say("done"),
    );
    await session.prompt("wait for it");
    await session.waitFor((event) => event.type === "tool_execution_start", "a tool call", {
      since: mark,
    });
    await session.steer("turn left");
    workplace.write("go", "contents of the file");
    expect((await session.settled()).text).toBe("done");
    const [first, second, third] = workplace.model.requests("alice").slice(-3);
    expect(first?.last).toBe("wait for it");
    expect(second?.text).toContain(`found ${path}`);
    expect(second?.last).toBe("turn left");
    expect(third?.text).toContain("contents of the file");
    expect(workplace.model.remaining("alice")).toBe(0);
  });

  it("is stopped in its text by escape, which also empties the queue", async () => {
    const step = stall("thinking aloud");
    workplace.model.script("alice", step);
    const mark = session.mark();
    await session.prompt("think");
    await step.started;
    await session.waitForText("thinking aloud", { since: mark });
    await session.steer("never seen");
    await session.escape();
    expect(await session.settled()).toMatchObject({
      aborted: true,
      stopReason: "aborted",
      text: "thinking aloud",
    });
    await step.abandoned;
    await session.ask("and now?");
    expect(workplace.model.requests("alice").at(-1)?.text).not.toContain("never seen");
  });

  it("is stopped in a tool call", async () => {
    workplace.model.script("alice", call("wait_for_file", { path: "/nowhere" }));
    const mark = session.mark();
    await session.prompt("wait for ever");
    await session.waitFor((event) => event.type === "tool_execution_start", "a tool call", {
      since: mark,
    });
    await session.abort();
    const settled = await session.settled();
    expect(settled.stopReason).toMatch(/aborted|error/);
    if (piIsAtLeast("1.1.0")) expect(settled.aborted).toBe(true);
  });

  it("goes on when a stalled stream is released, with text or with a call", async () => {
    const path = workplace.write("there", "");
    const first = stall("one ");
    const second = stall("");
    workplace.model.script("alice", first, second, say("three"));
    await session.prompt("count");
    await first.started;
    first.release(call("wait_for_file", { path }));
    await second.started;
    second.release("two");
    expect(await session.settled()).toMatchObject({ aborted: false, text: "two" });
    expect((await session.ask("more")).text).toBe("three");
  });

  it("ends a run on an error of the model, without a second try", async () => {
    const count = workplace.model.requests("alice").length;
    for (const status of [400, 503]) {
      workplace.model.script("alice", fail(status, "out of order"));
      const settled = await session.ask("please");
      expect(settled).toMatchObject({ aborted: false, stopReason: "error" });
      expect(settled.error).toContain("out of order");
    }
    expect(workplace.model.requests("alice")).toHaveLength(count + 2);
  });

  it("compacts by hand while the test holds the summary, and at a threshold", async () => {
    workplace.model.holdSummaries();
    const before = workplace.model.requests("alice").filter((request) => request.summary).length;
    const compacted = session.compact();
    await workplace.model.waitForSummaries("alice", before + 1);
    expect(await session.state()).toMatchObject({ isCompacting: true, isStreaming: false });
    workplace.model.releaseSummaries();
    await compacted;
    expect((await session.entries()).at(-1)).toMatchObject({ type: "compaction" });

    const mark = session.mark();
    workplace.model.script("alice", say("full", { tokens: 190_000 }));
    await session.ask("fill it up");
    expect(session.events.slice(mark)).toContainEqual(
      expect.objectContaining({ type: "compaction_end", reason: "threshold", aborted: false }),
    );
    expect(workplace.model.remaining("alice")).toBe(0);
  });

  it("opens a new session, a fork and an old session in the same process", async () => {
    const old = await session.state();
    await session.newSession();
    const fresh = await session.state();
    expect(fresh.sessionId).not.toBe(old.sessionId);
    workplace.model.script("alice", say("first"), say("second"));
    await session.ask("one");
    await session.ask("two");
    const asked = (await session.entries()).findLast((entry) => entry.message?.role === "user");
    await session.fork(asked?.id ?? "");
    const forked = await session.state();
    expect([old.sessionId, fresh.sessionId]).not.toContain(forked.sessionId);
    expect((await session.messages()).map((message) => message.role)).toEqual(
      expect.arrayContaining(["user", "assistant"]),
    );
    await session.switchSession(old.sessionFile ?? "");
    expect((await session.state()).sessionId).toBe(old.sessionId);
  });

  it("is paused and goes on, and quits when its stdin closes", async () => {
    session.pause();
    const answered = session.state().then(() => "answered");
    const waited = new Promise<string>((resolve) => setTimeout(resolve, 100, "waited"));
    expect(await Promise.race([answered, waited])).toBe("waited");
    session.resume();
    expect(await answered).toBe("answered");
    expect(await session.quit()).toEqual({ code: 0, signal: null });
    expect(session.running).toBe(false);
    await expect(session.state()).rejects.toThrow("has ended");
  });
});

describe("a session that ends and comes back", () => {
  it("is killed, and resumed by its id with its conversation and its name", async () => {
    const id = newSessionId();
    const first = await workplace.session({ name: "bob", id, extensions: [extension] });
    workplace.model.script("bob", say("noted"));
    await first.ask("remember the kettle");
    const step = stall("half a");
    workplace.model.script("bob", step);
    await first.prompt("say something");
    await step.started;
    expect(await first.kill()).toEqual({ code: null, signal: "SIGKILL" });
    const second = await workplace.session({
      name: "bob",
      id,
      resume: true,
      extensions: [extension],
    });
    expect(await second.state()).toMatchObject({ sessionId: id, sessionName: "bob" });
    await second.ask("what was it?");
    expect(workplace.model.requests("bob").at(-1)?.text).toContain("remember the kettle");
    await second.quit();
  });
});

describe("other ways to start", () => {
  it("prints an answer and ends", async () => {
    workplace.model.script("carol", say("printed"));
    const result = await workplace.print("say it", { model: "carol", extensions: [extension] });
    expect(result).toMatchObject({ stdout: "printed\n", code: 0 });
  });

  it("takes any model id, runs without a stored session, and without a key", async () => {
    const [unstored, keyless] = await Promise.all([
      workplace.session({ model: "made-up", session: false, extensions: [extension] }),
      workplace.session({ model: "alice", keyless: true, extensions: [extension] }),
    ]);
    expect((await unstored.ask("hello")).text).toBe("ok");
    expect((await unstored.state()).sessionFile).toBeUndefined();
    await expect(keyless.prompt("hello")).rejects.toThrow("No API key");
  });

  it("retries when the settings ask for it", async () => {
    const other = await Workplace.open({
      settings: { retry: { enabled: true, maxRetries: 1 } },
      extensions: [extension],
    });
    try {
      const session = await other.session({ name: "alice" });
      other.model.script("alice", fail(503, "overloaded"), say("second try"));
      expect((await session.ask("hello")).text).toBe("second try");
      expect(
        JSON.parse(readFileSync(`${other.agentDirectory}/settings.json`, "utf8")),
      ).toMatchObject({
        retry: { enabled: true, maxRetries: 1, baseDelayMs: 1 },
      });
    } finally {
      await other.close();
    }
  });

  it("tells why a start failed", async () => {
    const broken = workplace.write(
      "broken.ts",
      "export default function () { throw new Error('no start'); }",
    );
    await expect(workplace.session({ extensions: [broken] })).rejects.toThrow("no start");
  });
});

describe("closing a workplace", () => {
  it("leaves no process and no folder, also when a session is paused or in a run", async () => {
    const other = await Workplace.open({ extensions: [extension] });
    const [paused, running] = await Promise.all([
      other.session({ name: "alice" }),
      other.session({ name: "bob" }),
    ]);
    const step = stall("for ever");
    other.model.script("bob", step);
    await running.prompt("go");
    await step.started;
    paused.pause();
    expect(readdirSync(other.folder)).toContain("agent");
    await other.close();
    await other.close();
    await eventually(() => !alive(paused.pid) && !alive(running.pid), "both processes to be gone");
    expect(existsSync(other.folder)).toBe(false);
    await expect(fetch(other.model.url)).rejects.toThrow();
  });

  it("fails a wait with what the session last said", async () => {
    const session = await workplace.session({ name: "dave", extensions: [extension] });
    await session.command("/probe words");
    await expect(
      session.waitFor((event) => event.type === "never", "such thing", { timeoutMs: 50 }),
    ).rejects.toThrow(/showed no such thing within 50 ms[^]*probed words[^]*stderr/);
    const waiting = session.waitFor((event) => event.type === "never", "such thing");
    const [, outcome] = await Promise.allSettled([session.kill("SIGKILL"), waiting]);
    expect(String(outcome.status === "rejected" ? outcome.reason : "")).toContain("SIGKILL");
  });
});
