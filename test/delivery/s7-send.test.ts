/** `session_mail_send`, on real Pi: what it returns, and what it refuses. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { newSessionId, textOf, type PiSession } from "../host/session.ts";
import { Workplace } from "../host/workplace.ts";
import { allMail, mailIn } from "./s2-disk.ts";
import { mailsIn, useTool, type ToolResult } from "./s7-tools.ts";

let workplace: Workplace;
let alice: PiSession;
let bob: PiSession;
beforeAll(async () => {
  workplace = await Workplace.open();
  [alice, bob] = await Promise.all([
    workplace.session({ name: "alice" }),
    workplace.session({ name: "bob" }),
  ]);
});
afterAll(() => workplace.close());

function send(args: Record<string, unknown>): Promise<ToolResult> {
  return useTool(workplace, alice, "session_mail_send", args);
}

describe("S7 session_mail_send", () => {
  test("writes a message that wakes the other session, and returns its id", async () => {
    const mark = bob.mark();
    const { text, isError } = await send({ to: "bob", message: "the port is 8080" });
    await bob.settled(mark);
    const mail = mailIn(workplace, bob.id, "cur").at(-1);
    expect(isError).toBe(false);
    expect(mail).toMatchObject({
      from: alice.id,
      to: bob.id,
      kind: "message",
      hops: 0,
      status: "",
      in_reply_to: [],
      body: "the port is 8080",
    });
    expect(text).toContain(mail?.id);
    expect(text).not.toContain("not running");
    expect(mailIn(workplace, alice.id, "sent").at(-1)).toEqual(mail);
    const [injected] = await mailsIn(bob);
    expect(textOf(injected)).toContain("expects no answer");
    expect(textOf(injected)).toContain(alice.id);
    // S6.8: a message is never answered.
    expect(mailIn(workplace, alice.id, "cur")).toEqual([]);
    expect(mailIn(workplace, alice.id, "new")).toEqual([]);
  });

  test("S4.1 mail to a closed session, by its full id, waits, and the result says so", async () => {
    const id = newSessionId();
    const { text, isError } = await send({ to: id, message: "read this later" });
    expect(isError).toBe(false);
    const [waiting] = mailIn(workplace, id, "new");
    expect(waiting).toMatchObject({ to: id, body: "read this later" });
    expect(text).toContain(waiting?.id);
    expect(text).toMatch(/not running.*waits/);

    const carol = await workplace.session({ name: "carol", id });
    await carol.settled();
    expect((await mailsIn(carol)).map(textOf).join()).toContain("read this later");
    await carol.quit();
  });

  test("takes the first or the last 8 characters of an id", async () => {
    for (const to of [bob.id.slice(-8), bob.id.slice(-12)]) {
      const mark = bob.mark();
      const { details } = await send({ to, message: "to a fragment" });
      expect(details["to"]).toBe(bob.id);
      await bob.settled(mark);
    }
  });
});

describe("S7.1 S7.2 a refusal is a tool error that says what to do instead, and writes nothing", () => {
  async function refused(args: Record<string, unknown>): Promise<string> {
    const before = allMail(workplace);
    const { text, isError } = await send(args);
    expect(isError).toBe(true);
    expect(allMail(workplace)).toEqual(before);
    return text;
  }

  test.each(["", "  \n\t "])("an empty text (%j)", async (message) => {
    expect(await refused({ to: "bob", message })).toContain("empty");
  });

  test("S4.3 S4.8 an unknown name, naming the one that is near", async () => {
    const text = await refused({ to: "bobb", message: "hello" });
    expect(text).toMatch(/Did you mean "bob"/);
    expect(text).toContain("full id");
    const far = await refused({ to: "nobody-like-that", message: "hello" });
    expect(far).not.toContain("Did you mean");
    expect(far).toContain("full id");
  });

  test("a part of an id that is shorter than 8 characters", async () => {
    expect(await refused({ to: bob.id.slice(-7), message: "hello" })).toContain("full id");
  });

  test("S4.3 a name that several sessions have, naming each with its full id", async () => {
    const twins = await Promise.all([
      workplace.session({ name: "twin", model: "dave" }),
      workplace.session({ name: "twin", model: "erin" }),
    ]);
    const text = await refused({ to: "twin", message: "hello" });
    for (const twin of twins) expect(text).toContain(`twin ${twin.id}`);
    // What is shown can be used.
    const [first] = twins;
    const mark = first.mark();
    const short = new RegExp(`${first.id} \\(or just (\\S+?)\\)`).exec(text)?.[1];
    const sent = await send({ to: short, message: "you, that is" });
    expect(sent.details["to"]).toBe(first.id);
    await first.settled(mark);
    await Promise.all(twins.map((twin) => twin.quit()));
  });

  test("S4.4 itself, by name, by id and by a part of it", async () => {
    for (const to of ["alice", alice.id, alice.id.slice(-10)]) {
      expect(await refused({ to, message: "note to self" })).toContain("cannot mail itself");
    }
  });

  test("a recipient that would lead out of the mail root", async () => {
    for (const to of ["../../elsewhere", "running", "/tmp/x-y-z-0-1"]) {
      expect(await refused({ to, message: "hello" })).toContain("No running session");
    }
  });
});

test("S2.5 a send that cannot be delivered is a tool error and leaves nothing", async () => {
  const id = newSessionId();
  workplace.write(`state/pi-session-mail/${id}`, "a file in the mailbox's place");
  const before = allMail(workplace);
  const { text, isError } = await send({ to: id, message: "hello" });
  expect(isError).toBe(true);
  expect(text).toContain("Nothing was sent");
  expect(allMail(workplace)).toEqual(before);
});
