/** `session-mail.json`, on real Pi: when it is read, and what is wrong with it. */
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { eventually } from "../host/eventually.ts";
import { call, say } from "../host/model.ts";
import { newSessionId, type Notification, type PiSession } from "../host/session.ts";
import { mailExtension, Workplace } from "../host/workplace.ts";
import { filesIn, plantMail } from "./s2-disk.ts";
import { useTool, waitForResult, type ToolResult } from "./s7-tools.ts";

const SEND = "session_mail_send";

let workplace: Workplace;
let file: string;
beforeAll(async () => {
  workplace = await Workplace.open();
  file = join(workplace.agentDirectory, "session-mail.json");
});
afterAll(() => workplace.close());
afterEach(() => {
  rmSync(file, { recursive: true, force: true });
});

function warnings(session: PiSession, since = 0): Notification[] {
  return session.notificationsSince(since).filter(({ level }) => level === "warning");
}

/** Has a session's model send in a run that a mail of so many hops has started. */
async function sendAfter(hops: number, session: PiSession): Promise<ToolResult> {
  const mark = session.mark();
  workplace.model.script(
    session.label,
    call(SEND, { to: newSessionId(), message: "on it goes" }),
    say("done"),
  );
  plantMail(workplace, { to: session.id, from: newSessionId(), hops });
  const result = await waitForResult(session, SEND, mark);
  await session.settled(mark);
  return result;
}

test("S12.1 without a file the defaults hold, and nothing is said", async () => {
  const alice = await workplace.session({ name: "alice" });
  expect(await sendAfter(3, alice)).toMatchObject({ isError: false });
  const refused = await sendAfter(4, alice);
  expect(refused.isError).toBe(true);
  expect(refused.text).toContain("hopLimit is 5");
  expect(alice.notifications).toEqual([]);
  await alice.quit();
});

test("S12.1 it is read at each send", async () => {
  const alice = await workplace.session({ name: "alice" });
  workplace.settings({ hopLimit: 2, durable: false, somethingElse: [1] });
  expect(await sendAfter(0, alice)).toMatchObject({ isError: false });
  const refused = await sendAfter(1, alice);
  expect(refused.isError).toBe(true);
  expect(refused.text).toContain("hopLimit is 2");
  workplace.settings({ hopLimit: 9 });
  expect(await sendAfter(7, alice)).toMatchObject({ isError: false });
  expect(await sendAfter(8, alice)).toMatchObject({ isError: true });
  expect(alice.notifications).toEqual([]);
  await alice.quit();
});

test("S12.1 mail that is not flushed arrives all the same", async () => {
  workplace.settings({ durable: false });
  const [alice, bob] = await Promise.all([
    workplace.session({ name: "alice" }),
    workplace.session({ name: "bob" }),
  ]);
  await alice.command("/mailbox bob hello");
  await bob.settled(0);
  await alice.waitForEntry(({ customType }) => customType === "mailbox", "of the answer");
  await Promise.all([alice.quit(), bob.quit()]);
});

describe("S12.1 what is invalid has its default, with one warning", () => {
  let alice: PiSession;
  beforeAll(async () => {
    alice = await workplace.session({ name: "alice" });
  });

  /** Sends twice, so that what is told twice is seen, and gives what was told. */
  async function told(): Promise<string[]> {
    const mark = alice.mark();
    for (let time = 0; time < 2; time++) {
      const { isError } = await useTool(workplace, alice, SEND, {
        to: newSessionId(),
        message: "hello",
      });
      expect(isError).toBe(false);
    }
    return warnings(alice, mark).map(({ message }) => message);
  }

  test.each([
    ["hopLimit", [0, -1, 2.5, "7", null, true]],
    ["pruneAfterDays", [0, -1, 2.5, "7", [], {}]],
    ["durable", [0, "true", null]],
  ])("%s", async (key, values) => {
    const [first, ...others] = values;
    workplace.settings({ [key]: first ?? null });
    const messages = await told();
    expect(messages).toHaveLength(1);
    expect(messages[0]).toContain(key);
    expect(messages[0]).toContain(file);
    // The same problem, with another value, is not told again.
    for (const value of others) {
      workplace.settings({ [key]: value });
      expect(await told()).toEqual([]);
    }
  });

  test("the other keys hold beside an invalid one", async () => {
    workplace.settings({ hopLimit: 2, pruneAfterDays: "many" });
    expect(await sendAfter(1, alice)).toMatchObject({ isError: true });
  });

  test("several at once are told one by one", async () => {
    const bob = await workplace.session({ name: "bob" });
    await bob.command(`/mailbox ${newSessionId()} hello`);
    expect(warnings(bob)).toEqual([]);
    workplace.settings({ hopLimit: 0, pruneAfterDays: 0, durable: "no" });
    await bob.command(`/mailbox ${newSessionId()} hello`);
    expect(warnings(bob)).toHaveLength(3);
    await bob.quit();
  });

  test("a file that is not JSON, no object, or no text; and a folder in its place", async () => {
    const bob = await workplace.session({ name: "bob" });
    const wrong: (string | Uint8Array)[][] = [
      ["{ hopLimit: 3", ""],
      ["[]", "null", '"hopLimit"', "7"],
      [Uint8Array.of(0x7b, 0xff, 0xfe, 0x7d)],
    ];
    for (const contents of wrong) {
      const mark = bob.mark();
      for (const content of [...contents, contents[0] ?? ""]) {
        writeFileSync(file, content);
        const said = await bob.command(`/mailbox ${newSessionId()} hello`);
        expect(said.at(-1)?.message).toMatch(/^Sent /);
      }
      expect(warnings(bob, mark)).toHaveLength(1);
      expect(warnings(bob, mark)[0]?.message).toContain(file);
    }
    const mark = bob.mark();
    rmSync(file);
    mkdirSync(file);
    await bob.command(`/mailbox ${newSessionId()} hello`);
    await bob.command(`/mailbox ${newSessionId()} hello`);
    expect(warnings(bob, mark)).toHaveLength(1);
    expect(warnings(bob, mark)[0]?.message).toContain("cannot be read");
    await bob.quit();
  });
});

test("S12.1 it is read at start: what is wrong is told before anything is sent", async () => {
  workplace.settings({ hopLimit: "three", pruneAfterDays: 3 });
  const alice = await workplace.session({ name: "alice" });
  await alice.waitForNotification("hopLimit");
  expect(warnings(alice)).toHaveLength(1);
  await alice.quit();
});

test("S12.1 it may be a symbolic link to a file", async () => {
  const alice = await workplace.session({ name: "alice" });
  symlinkSync(workplace.write("dotfiles/session-mail.json", '{ "hopLimit": 1 }'), file);
  const refused = await sendAfter(0, alice);
  expect(refused.isError).toBe(true);
  expect(refused.text).toContain("hopLimit is 1");
  expect(alice.notifications).toEqual([]);

  rmSync(file);
  symlinkSync("nowhere", file);
  expect(await sendAfter(3, alice)).toMatchObject({ isError: false });
  await alice.quit();
});

test("S1.8 S12.1 each agent directory has its own, and shares the mail of the user", async () => {
  const other = await Workplace.open({ stateDirectory: workplace.stateDirectory });
  try {
    workplace.settings({ hopLimit: 1 });
    const [alice, dave] = await Promise.all([
      workplace.session({ name: "alice" }),
      other.session({ name: "dave" }),
    ]);
    other.model.script("dave", say("hello back"));
    await alice.command("/mailbox dave hello");
    await dave.settled(0);
    await alice.waitForEntry(({ customType }) => customType === "mailbox", "of the answer");
    expect(await sendAfter(0, alice)).toMatchObject({ isError: true });

    other.model.script("dave", call(SEND, { to: newSessionId(), message: "on" }), say("done"));
    const mark = dave.mark();
    plantMail(other, { to: dave.id, from: newSessionId(), hops: 0 });
    expect(await waitForResult(dave, SEND, mark)).toMatchObject({ isError: false });
    await alice.quit();
  } finally {
    await other.close();
  }
});

describe("S12.2 S1.1 the environment", () => {
  test.each([
    ["empty", ""],
    ["relative", "some/state"],
  ])("with an XDG_STATE_HOME that is %s, mail lives in ~/.local/state", async (_how, value) => {
    const alice = await workplace.session({ name: "alice", env: { XDG_STATE_HOME: value } });
    const root = join(workplace.folder, "home/.local/state/pi-session-mail");
    const id = newSessionId();
    expect((await alice.command(`/mailbox ${id} hello`))[0]?.message).toMatch(/^Sent /);
    expect(filesIn(join(root, id, "new"))).toHaveLength(1);
    expect(filesIn(join(root, "running"))).toEqual([`${alice.id}.json`]);
    expect(filesIn(workplace.mailbox(alice.id).folder)).toEqual([]);
    await alice.quit();
  });

  test("nothing else of it is read: not variables that others of its kind have", async () => {
    const alice = await workplace.session({
      name: "alice",
      env: {
        PI_SESSION_MAIL_DIR: "/dev/null/x",
        SESSION_MAIL_HOP_LIMIT: "1",
        HOP_LIMIT: "1",
        XDG_DATA_HOME: "/dev/null/x",
        XDG_RUNTIME_DIR: "/dev/null/x",
      },
      extensions: [environmentWatcher(), mailExtension],
    });
    await alice.command(`/mailbox ${newSessionId()} hello`);
    await useTool(workplace, alice, SEND, { to: newSessionId(), message: "hello" });
    const seen = await eventually(async () => {
      const said = await alice.command("/environment");
      return said[0]?.message;
    }, "what was read");
    expect(seen).toBe("XDG_STATE_HOME");
    await alice.quit();
  });
});

/** An extension that tells which environment variables files of this package have read. */
function environmentWatcher(): string {
  return workplace.write(
    "environment.ts",
    `
const seen = new Set();
const real = process.env;
process.env = new Proxy(real, {
	get(target, key) {
		if (typeof key === "string" && new Error().stack.split("\\n")[2]?.includes(${JSON.stringify(join(mailExtension, ".."))})) seen.add(key);
		return target[key];
	},
});
export default function (pi) {
	pi.registerCommand("environment", {
		description: "What was read",
		handler: async (args, ctx) => ctx.ui.notify([...seen].sort().join(","), "info"),
	});
}
`,
  );
}
