/** S9.4: the examples in the README do what it says, on real Pi. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { say, stall } from "../host/model.ts";
import { packageFolder } from "../host/pi.ts";
import type { PiSession } from "../host/session.ts";
import { mailExtension, Workplace } from "../host/workplace.ts";
import { allMail, filesIn, mailIn, plantMail } from "./s2-disk.ts";
import { mailsIn } from "./s7-tools.ts";

/** The README's fenced `js <name>` blocks, by name. */
const examples = new Map(
  [
    ...readFileSync(join(packageFolder, "README.md"), "utf8").matchAll(
      /^```js (\S+)\n([^]*?)^```$/gm,
    ),
  ].map(([, name = "", source = ""]) => [name, source]),
);

let workplace: Workplace;
let bob: PiSession;
beforeAll(async () => {
  workplace = await Workplace.open();
  bob = await workplace.session({ name: "bob" });
});
afterAll(() => workplace.close());

/** A session with one example in it, with or without this package. */
function sessionWith(example: string, name: string, withMail = true): Promise<PiSession> {
  const path = workplace.write(`example-${example}.js`, examples.get(example) ?? "");
  return workplace.session({ name, extensions: withMail ? [path, mailExtension] : [path] });
}

test("there are the examples that are tested here, and no others", () => {
  expect([...examples.keys()].sort()).toEqual(["inbound", "scan", "send"]);
});

describe("S9.4 the example `send`", () => {
  test("asks the session with that id to run the tests", async () => {
    const alice = await sessionWith("send", "alice");
    const mark = bob.mark();
    workplace.model.script("bob", say("All pass."));
    const said = await alice.command(`/ask-tests ${bob.id}`);
    await bob.settled(mark);
    const mail = mailIn(workplace, bob.id, "cur").at(-1);
    expect(said).toEqual([{ message: `Sent ${String(mail?.id)}`, level: "info" }]);
    expect(mail).toMatchObject({
      from: alice.id,
      kind: "request",
      hops: 0,
      body: "Please run the tests.",
    });

    const before = allMail(workplace);
    const [wrong] = await alice.command("/ask-tests not an address");
    expect(wrong?.level).toBe("error");
    expect(wrong?.message).toContain("Nothing was sent");
    expect(allMail(workplace)).toEqual(before);
    expect(alice.extensionErrors).toEqual([]);
    await alice.quit();
  });

  test("says so when pi-session-mail is not installed", async () => {
    const alice = await sessionWith("send", "alice", false);
    expect(await alice.command(`/ask-tests ${bob.id}`)).toEqual([
      { message: "pi-session-mail is not installed", level: "error" },
    ]);
    await alice.quit();
  });
});

describe("S9.4 the example `inbound`", () => {
  test("shows answers as notifications instead of in the conversation, and leaves other mail", async () => {
    const alice = await sessionWith("inbound", "alice");
    workplace.model.script("bob", say("All pass."));
    const mark = alice.mark();
    await alice.command("/mailbox bob run the tests");
    const notified = await alice.waitForNotification("All pass.", { since: mark });
    expect(notified).toEqual({ message: "run the tests\nAll pass.", level: "info" });
    await expect.poll(() => alice.status("mailbox"), { timeout: 20_000 }).toBe("✉ 1 read");
    expect(await mailsIn(alice)).toEqual([]);

    plantMail(workplace, { to: alice.id, from: bob.id, kind: "message", body: "news" });
    await alice.settled(mark);
    expect(await mailsIn(alice)).toHaveLength(1);
    expect(alice.extensionErrors).toEqual([]);
    expect(alice.stderr).not.toContain("Event handler error");
    await alice.quit();
  });
});

describe("S9.4 the example `scan`", () => {
  test("claims all mail that waits", async () => {
    const alice = await sessionWith("scan", "alice");
    const thinking = stall("my own ");
    workplace.model.script("alice", thinking);
    await alice.prompt("work");
    await thinking.started;
    plantMail(workplace, { to: alice.id, from: bob.id, body: "news" });
    expect(await alice.command("/mail-now")).toEqual([
      { message: "All mail is in", level: "info" },
    ]);
    expect(filesIn(workplace.mailbox(alice.id).new)).toEqual([]);
    expect(filesIn(workplace.mailbox(alice.id).cur)).toHaveLength(1);
    thinking.release("work");
    await alice.settled();
    await alice.settled();
    expect(await mailsIn(alice)).toHaveLength(1);
    await alice.quit();
  });

  test("says so when there is no mailbox", async () => {
    const alice = await sessionWith("scan", "alice", false);
    expect(await alice.command("/mail-now")).toEqual([
      { message: "There is no mailbox", level: "info" },
    ]);
    await alice.quit();
  });
});
