/** The events on `pi.events`, on real Pi, for an extension that uses them. */
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Envelope } from "../../src/mail/envelope.ts";
import { call, say, stall } from "../host/model.ts";
import { newSessionId, textOf, type PiSession } from "../host/session.ts";
import { mailExtension, Workplace } from "../host/workplace.ts";
import { allMail, envelope, filesIn, ledgerOf, mailIn, nameOf, plantMail } from "./s2-disk.ts";
import { mailsIn, waitForResult } from "./s7-tools.ts";
import {
  emit,
  hookExtension,
  type Emitted,
  type Heard,
  type HookExtension,
} from "./s9-extensions.ts";

let workplace: Workplace;
let hook: HookExtension;
let alice: PiSession;
let bob: PiSession;
beforeAll(async () => {
  workplace = await Workplace.open();
  hook = hookExtension(workplace, "hook", "HANDLE");
  [alice, bob] = await Promise.all([
    // Whichever extension is loaded first, all of it works.
    workplace.session({ name: "alice", extensions: [hook.path, mailExtension] }),
    workplace.session({ name: "bob" }),
  ]);
});
afterAll(() => workplace.close());

describe("S9.1 message:send", () => {
  test("sends a request and sets the envelope before emit returns", async () => {
    const mark = bob.mark();
    workplace.model.script("bob", say("All pass."));
    const { envelope: sent, error } = await emit(alice, "message:send", {
      to: bob.id,
      body: "run the tests",
    });
    expect(error).toBeUndefined();
    expect(sent).toMatchObject({
      from: alice.id,
      to: bob.id,
      kind: "request",
      hops: 0,
      in_reply_to: [],
      status: "",
      body: "run the tests",
    });
    await bob.settled(mark);
    expect(mailIn(workplace, bob.id, "cur").at(-1)).toEqual(sent);
    expect(mailIn(workplace, alice.id, "sent").at(-1)).toEqual(sent);
    await alice.waitForEntry((entry) => textOf(entry).includes("All pass."), "of the answer");
  });

  test("reaches a closed session, whose mail waits", async () => {
    const id = newSessionId();
    const { envelope: sent } = await emit(alice, "message:send", { to: id, body: "later" });
    expect(mailIn(workplace, id, "new")).toEqual([sent]);
  });

  test.each([
    ["a name with blanks", { to: "dashboard work", body: "hello" }],
    ["a path", { to: "../elsewhere", body: "hello" }],
    ["an empty address", { to: "", body: "hello" }],
    ["the folder of the records", { to: "running", body: "hello" }],
    ["no address", { body: "hello" }],
    ["an address that is no text", { to: 5, body: "hello" }],
    ["an empty body", { to: "0199eeee-0000-7000-8000-000000000001", body: " \n" }],
    ["no body", { to: "0199eeee-0000-7000-8000-000000000001" }],
    ["a body that is no text", { to: "0199eeee-0000-7000-8000-000000000001", body: {} }],
  ])("sets the error, and writes nothing, for %s", async (_what, payload) => {
    const [mail, folders] = [allMail(workplace), filesIn(workplace.root)];
    const { envelope: sent, error } = await emit(alice, "message:send", payload);
    expect(sent).toBeUndefined();
    expect(error).toMatch(/\w/);
    expect(allMail(workplace)).toEqual(mail);
    expect(filesIn(workplace.root)).toEqual(folders);
  });

  test("S4.4 sets the error for the session itself, and S2.5 for what cannot be written", async () => {
    const own = await emit(alice, "message:send", { to: alice.id, body: "hello" });
    expect(own.error).toContain("cannot mail itself");
    const id = newSessionId();
    workplace.write(`state/pi-session-mail/${id}`, "in the way");
    const before = allMail(workplace);
    const blocked = await emit(alice, "message:send", { to: id, body: "hello" });
    expect(blocked.envelope).toBeUndefined();
    expect(blocked.error).toContain("Nothing was sent");
    expect(allMail(workplace)).toEqual(before);
    expect(ledgerOf(workplace, alice.id).awaiting.map(({ to }) => to)).not.toContain(id);
  });

  test("carries the hop count of the run, and is never refused for hops", async () => {
    const id = newSessionId();
    const emitted = (body: string) =>
      call("emit", { channel: "message:send", json: JSON.stringify({ to: id, body }) });
    workplace.settings({ hopLimit: 2 });
    workplace.model.script("alice", emitted("from a mail's run"), say("sent"));
    let mark = alice.mark();
    plantMail(workplace, { to: alice.id, from: bob.id, kind: "message", hops: 3 });
    const { text } = await waitForResult(alice, "emit", mark);
    expect((JSON.parse(text) as Emitted).envelope?.hops).toBe(4);
    await alice.settled(mark);

    workplace.model.script("alice", emitted("from the user's run"), say("sent"));
    mark = alice.mark();
    await alice.ask("send it");
    const own = await waitForResult(alice, "emit", mark);
    expect((JSON.parse(own.text) as Emitted).envelope?.hops).toBe(0);
    const idle = await emit(alice, "message:send", { to: id, body: "from no run" });
    expect(idle.envelope?.hops).toBe(0);
    workplace.settings({});
  });

  test("sets neither where there is no provider", async () => {
    const bare = await workplace.session({ model: "carol", extensions: [hook.path] });
    const sending = await emit(bare, "message:send", { to: bob.id, body: "hello" });
    expect(sending).not.toHaveProperty("envelope");
    expect(sending).not.toHaveProperty("error");
    expect(await emit(bare, "message:scan", {})).not.toHaveProperty("scanned");
    await bare.quit();
  });

  test("S1.5 sets the error, and scans nothing, where the mailbox is off", async () => {
    const off = await workplace.session({
      id: "no.address",
      model: "carol",
      extensions: [hook.path, mailExtension],
    });
    const sending = await emit(off, "message:send", { to: bob.id, body: "hello" });
    expect(sending).not.toHaveProperty("envelope");
    expect(sending.error).toContain("no mailbox");
    expect(await emit(off, "message:scan", {})).not.toHaveProperty("scanned");
    // There was one warning at start; a listener that throws would be shown to the user each time.
    expect(off.extensionErrors).toEqual([]);
    expect(off.stderr).not.toContain("Event handler error");
    await off.quit();
  });

  test("sends once also after all extensions were loaded anew, and after /new", async () => {
    const carol = await workplace.session({
      name: "carol",
      extensions: [hook.path, mailExtension],
    });
    await carol.command("/reload-all");
    const id = newSessionId();
    const first = await emit(carol, "message:send", { to: id, body: "once" });
    expect(mailIn(workplace, id, "new")).toEqual([first.envelope]);
    await carol.newSession();
    const second = await emit(carol, "message:send", { to: id, body: "once more" });
    expect(mailIn(workplace, id, "new")).toEqual([first.envelope, second.envelope]);
    expect(second.envelope?.from).toBe((await carol.state()).sessionId);
    expect(second.envelope?.from).not.toBe(carol.id);
    await carol.quit();
  });
});

describe("S9.2 message:inbound", () => {
  /** Delivers a mail to Alice, and gives what her listener was told of it. */
  async function heardOf(fields: Partial<Envelope>): Promise<Heard> {
    const since = hook.heard().length;
    const mail = plantMail(workplace, { to: alice.id, from: bob.id, ...fields });
    await expect.poll(() => hook.heard().length, { timeout: 20_000 }).toBe(since + 1);
    const [heard] = hook.heard().slice(since);
    expect(heard?.envelope).toEqual(mail);
    return heard ?? expect.fail();
  }

  test.each(["request", "ask", "message"] as const)(
    "comes once for every %s, before it is injected",
    async (kind) => {
      const mark = alice.mark();
      const { envelope: mail, path, requests } = await heardOf({ kind });
      await alice.settled(mark);
      expect(path).toBe(join(workplace.mailbox(alice.id).cur, nameOf(mail)));
      expect(existsSync(path)).toBe(true);
      expect(requests).toEqual([]);
      expect((await mailsIn(alice)).at(-1)?.details?.["id"]).toBe(mail.id);
      expect(hook.heard().filter((heard) => heard.envelope.id === mail.id)).toHaveLength(1);
    },
  );

  test("brings the copies of what a reply answers, as envelope and path", async () => {
    const id = newSessionId();
    const one = await emit(alice, "message:send", { to: id, body: "one" });
    const two = await emit(alice, "message:send", { to: id, body: "two" });
    const lost = crypto.randomUUID();
    const { requests } = await heardOf({
      from: id,
      kind: "reply",
      status: "done",
      in_reply_to: [one.envelope?.id ?? "", lost, two.envelope?.id ?? ""],
    });
    const { sent } = workplace.mailbox(alice.id);
    expect(requests).toEqual(
      [one, two].map(({ envelope: mail }) => ({
        envelope: mail,
        path: join(sent, nameOf(mail ?? expect.fail())),
      })),
    );
  });

  test("handled mail is not injected, starts nothing, and counts as read", async () => {
    await alice.ask("where are we?");
    const read = Number(/(\d+) read/.exec(alice.status("mailbox") ?? "")?.[1] ?? 0);
    const [requests, entries] = [
      workplace.model.requests("alice").length,
      (await mailsIn(alice)).length,
    ];
    await heardOf({ kind: "message", body: "HANDLE this" });
    await heardOf({ kind: "reply", status: "done", body: "HANDLE that" });
    await expect
      .poll(() => alice.status("mailbox"), { timeout: 20_000 })
      .toContain(`${String(read + 2)} read`);
    expect(alice.status("mailbox")).not.toContain("pending");
    await alice.ask("anything new?");
    expect(await mailsIn(alice)).toHaveLength(entries);
    expect(workplace.model.requests("alice")).toHaveLength(requests + 1);
    expect(workplace.model.requests("alice").at(-1)?.text).not.toContain("HANDLE");
  });

  test("S5.12 a request and an ask that were handled are answered when a run settles", async () => {
    const since = mailIn(workplace, bob.id, "cur").length;
    const { envelope: request } = await heardOf({ kind: "request", body: "HANDLE this request" });
    const { envelope: ask } = await heardOf({ kind: "ask", body: "HANDLE this ask" });
    workplace.model.script("alice", say("both are done"));
    await alice.ask("do what the listener showed you");
    await expect
      .poll(() => mailIn(workplace, bob.id, "cur").slice(since), { timeout: 20_000 })
      .toMatchObject([
        { kind: "reply", status: "done", in_reply_to: [request.id], body: "both are done" },
        { kind: "reply", status: "done", in_reply_to: [ask.id], body: "both are done" },
      ]);
    expect((await mailsIn(alice)).map(textOf).join()).not.toContain("HANDLE");
  });

  test("S5.5 handled mail stays read when the session is resumed", async () => {
    const dave = await workplace.session({ name: "dave", extensions: [mailExtension, hook.path] });
    await dave.ask("hello");
    const since = hook.heard().length;
    const mail = plantMail(workplace, { to: dave.id, kind: "request", body: "HANDLE it" });
    await expect.poll(() => hook.heard().length, { timeout: 20_000 }).toBe(since + 1);
    await expect.poll(() => dave.status("mailbox"), { timeout: 20_000 }).toContain("1 read");
    await dave.kill("SIGKILL");
    const resumed = await workplace.session({
      name: "dave",
      id: dave.id,
      resume: true,
      extensions: [mailExtension, hook.path],
    });
    await expect.poll(() => resumed.status("mailbox"), { timeout: 20_000 }).toContain("1 read");
    expect(hook.heard()).toHaveLength(since + 1);
    expect(ledgerOf(workplace, dave.id).owed.map(({ id }) => id)).toEqual([mail.id]);
    await resumed.quit();
  });

  test("a listener that throws keeps no mail away", async () => {
    const thrower = hookExtension(workplace, "thrower", "", 'throw new Error("no listener");');
    const erin = await workplace.session({
      name: "erin",
      extensions: [thrower.path, mailExtension],
    });
    plantMail(workplace, { to: erin.id, body: "all the same" });
    await erin.settled(0);
    expect((await mailsIn(erin)).map(textOf).join()).toContain("all the same");
    await erin.quit();
  });

  test("a listener that scans, and one that sends, while it is told of a mail", async () => {
    const nested = hookExtension(
      workplace,
      "nested",
      "HANDLE",
      `
		pi.events.emit("message:scan", {});
		const answer = { to: event.envelope.from, body: "had " + event.envelope.body };
		pi.events.emit("message:send", answer);
		`,
    );
    const id = newSessionId();
    const erin = await workplace.session({
      name: "erin",
      extensions: [nested.path, mailExtension],
    });
    await erin.ask("hello");
    plantMail(workplace, { to: erin.id, from: id, body: "HANDLE one" });
    await expect.poll(() => nested.heard().length, { timeout: 20_000 }).toBe(1);
    plantMail(workplace, { to: erin.id, from: id, body: "two" });
    await expect.poll(() => nested.heard().length, { timeout: 20_000 }).toBe(2);
    await erin.waitForEntry((entry) => textOf(entry).includes("two"), "of the second");
    const texts = (await mailsIn(erin)).map(textOf);
    expect(texts.filter((text) => text.includes("two"))).toHaveLength(1);
    expect(texts.join()).not.toContain("HANDLE one");
    expect(mailIn(workplace, id, "new").map(({ body }) => body)).toEqual([
      "had HANDLE one",
      "had two",
    ]);
    await erin.quit();
  });
});

describe("S9.3 message:scan", () => {
  /** Has Alice's extension deliver a mail and scan in one breath, and gives what came of it. */
  async function deliverAndScan(mail: Envelope): Promise<Emitted> {
    const { tmp, new: box } = workplace.mailbox(mail.to);
    mkdirSync(tmp, { recursive: true });
    writeFileSync(join(tmp, nameOf(mail)), JSON.stringify(mail));
    const said = await alice.command(
      `/rename-and-scan ${join(tmp, nameOf(mail))} ${join(box, nameOf(mail))}`,
    );
    return JSON.parse(said.at(-1)?.message ?? "") as Emitted;
  }

  test("claims what waits: listeners have heard it when emit returns, and it enters", async () => {
    const { heard } = await emit(alice, "message:scan", {});
    const mark = alice.mark();
    const mail = envelope({ to: alice.id, from: bob.id, body: "scanned" });
    const after = await deliverAndScan(mail);
    expect(after.scanned).toBe(true);
    expect(after.heard).toBe(heard + 1);
    expect(filesIn(workplace.mailbox(alice.id).new)).toEqual([]);
    await alice.settled(mark);
    expect((await mailsIn(alice)).at(-1)?.details?.["id"]).toBe(mail.id);
  });

  test("in the middle of a run claims it too, and leaves the run alone", async () => {
    const thinking = stall("my own ");
    workplace.model.script("alice", thinking, say("now the mail"));
    await alice.prompt("work");
    await thinking.started;
    const { heard } = await emit(alice, "message:scan", {});
    const mail = envelope({ to: alice.id, from: bob.id, body: "scanned in a run" });
    const after = await deliverAndScan(mail);
    expect(after).toMatchObject({ scanned: true, heard: heard + 1 });
    expect((await mailsIn(alice)).at(-1)?.details?.["id"]).not.toBe(mail.id);
    thinking.release("work");
    expect((await alice.settled()).text).toBe("my own work");
    expect((await alice.settled()).text).toBe("now the mail");
    expect((await mailsIn(alice)).at(-1)?.details?.["id"]).toBe(mail.id);
  });

  test("with nothing there, scanned is true all the same", async () => {
    expect((await emit(alice, "message:scan", {})).scanned).toBe(true);
  });
});
