/** Files in `new/` that no session of ours wrote, on real Pi. */
import { execFileSync } from "node:child_process";
import { lstatSync, mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually } from "../host/eventually.ts";
import { newSessionId, textOf, type PiSession } from "../host/session.ts";
import { Workplace } from "../host/workplace.ts";
import { envelope, filesIn, mailIn, nameOf, plant, plantMail } from "./s2-disk.ts";
import { mailsIn } from "./s7-tools.ts";

let workplace: Workplace;
beforeAll(async () => {
  workplace = await Workplace.open();
});
afterAll(() => workplace.close());

const to = "x";
const ids = (count: number): string[] => Array.from({ length: count }, () => crypto.randomUUID());

/** What is no mail, by what is wrong with it, and the word of the reason. */
const BAD: readonly (readonly [name: string, content: string, reason: RegExp])[] = [
  ["text", "hello", /JSON/],
  ["empty", "", /JSON/],
  ["list", "[]", /object/],
  ["null", "null", /object/],
  ["no-id", JSON.stringify({ ...envelope({ to }), id: undefined }), /id/],
  ["id-path", JSON.stringify({ ...envelope({ to }), id: "../x" }), /id/],
  ["no-from", JSON.stringify({ ...envelope({ to }), from: undefined }), /sender/],
  ["from-path", JSON.stringify({ ...envelope({ to }), from: "../../x" }), /sender/],
  ["replies-text", JSON.stringify({ ...envelope({ to }), in_reply_to: "one" }), /in_reply_to/],
  ["replies-numbers", JSON.stringify({ ...envelope({ to }), in_reply_to: [1] }), /in_reply_to/],
  ["replies-51", JSON.stringify({ ...envelope({ to }), in_reply_to: ids(51) }), /in_reply_to/],
  ["no-body", JSON.stringify({ ...envelope({ to }), body: undefined }), /body/],
  ["hops-negative", JSON.stringify({ ...envelope({ to }), hops: -1 }), /hops/],
  ["hops-part", JSON.stringify({ ...envelope({ to }), hops: 1.5 }), /hops/],
  ["hops-text", JSON.stringify({ ...envelope({ to }), hops: "1" }), /hops/],
  ["large", JSON.stringify(envelope({ to, body: "x".repeat(8 * 1024 * 1024) })), /larger/],
];

describe.each(["while a session runs", "before it starts"])("S2.6 S2.7 planted %s,", (when) => {
  let bob: PiSession;
  beforeAll(async () => {
    const id = newSessionId();
    if (when === "while a session runs") bob = await workplace.session({ name: "bob", id });
    const { new: box } = workplace.mailbox(id);
    mkdirSync(box, { recursive: true, mode: 0o700 });

    // What is no regular file comes first in name order, and must hold up nothing.
    execFileSync("mkfifo", [join(box, "000000000000001-fifo.json")]);
    mkdirSync(join(box, "000000000000002-folder.json"));
    const secret = JSON.stringify(envelope({ to: id, body: "behind a link" }));
    symlinkSync(workplace.write("secret.json", secret), join(box, "000000000000003-link.json"));
    const socket = createServer().listen(join(box, "4.json"));
    await new Promise((resolve) => socket.once("listening", resolve));
    socket.unref();
    for (const [name, content] of BAD)
      plant(workplace, id, `000000000000010-${name}.json`, content);
    plantMail(workplace, { to: id, body: "good mail" });

    if (when === "before it starts") bob = await workplace.session({ name: "bob", id });
    await bob.settled(0);
    await eventually(() => warnings().length >= BAD.length, "the warnings");
    socket.close();
  });
  afterAll(() => bob.kill());

  function warnings(): string[] {
    return bob.notifications
      .filter(({ level }) => level === "warning")
      .map(({ message }) => message);
  }

  test("a file that is no mail is set aside in cur/, with one warning that names it and says why", () => {
    const { cur } = workplace.mailbox(bob.id);
    for (const [name, content, reason] of BAD) {
      const path = join(cur, `000000000000010-${name}.json`);
      expect(readFileSync(path, "utf8") === content, name).toBe(true);
      const told = warnings().filter((message) => message.includes(path));
      expect(told, name).toHaveLength(1);
      expect(told[0]).toMatch(reason);
    }
  });

  test("mail behind it is delivered, and nothing else is", async () => {
    const mails = (await mailsIn(bob)).map(textOf);
    expect(mails).toHaveLength(1);
    expect(mails[0]).toContain("good mail");
    plantMail(workplace, { to: bob.id, body: "later mail" });
    await bob.waitForEntry((entry) => textOf(entry).includes("later mail"), "of later mail");
    await bob.settled(0);
  });

  test("what is no regular file is left where it is, and followed nowhere", async () => {
    expect(filesIn(workplace.mailbox(bob.id).new)).toEqual([
      "000000000000001-fifo.json",
      "000000000000002-folder.json",
      "000000000000003-link.json",
      // A socket that is closed takes its name along.
      ...filesIn(workplace.mailbox(bob.id).new).filter((name) => name === "4.json"),
    ]);
    expect(filesIn(workplace.mailbox(bob.id).cur).filter((name) => name === "4.json")).toEqual([]);
    expect(lstatSync(join(workplace.folder, "secret.json")).isFile()).toBe(true);
    expect((await mailsIn(bob)).map(textOf).join()).not.toContain("behind a link");
  });

  test("a resumed session says nothing of it again", async () => {
    await expect.poll(() => bob.status("mailbox"), { timeout: 20_000 }).toBe("✉ 2 read");
    await bob.quit();
    const resumed = await workplace.session({ name: "bob", id: bob.id, resume: true });
    await expect.poll(() => resumed.status("mailbox"), { timeout: 20_000 }).toBe("✉ 2 read");
    expect(resumed.notifications).toEqual([]);
    await resumed.quit();
  });
});

describe("S2.1 to S2.3 what is read", () => {
  let carol: PiSession;
  beforeAll(async () => {
    carol = await workplace.session({ name: "carol" });
  });
  afterAll(() => carol.quit());

  /** Plants a file and gives the text with which it enters. */
  async function enters(fields: Record<string, unknown>): Promise<string> {
    const id = crypto.randomUUID();
    plant(
      workplace,
      carol.id,
      `${String(Date.now()).padStart(15, "0")}-${id}.json`,
      JSON.stringify({ ...envelope({ to: carol.id }), id, ...fields }),
    );
    const entry = await carol.waitForEntry(({ details }) => details?.["id"] === id, "of the file");
    return textOf(entry);
  }

  /** How much mail the footer says was read, once it says that none is pending. */
  async function readCount(): Promise<number> {
    const text = await eventually(() => {
      const shown = carol.status("mailbox") ?? "";
      return shown.includes("pending") ? undefined : shown;
    }, "a footer with nothing pending");
    return Number(/(\d+) read/.exec(text)?.[1]);
  }

  test("S2.6 a reply to 50 mails", async () => {
    const text = await enters({ kind: "reply", status: "done", in_reply_to: ids(50) });
    expect(text).toContain("planted");
  });

  test("S2.2 an unknown kind is a message", async () => {
    const mark = carol.mark();
    expect(await enters({ kind: "gossip" })).toContain("is a message");
    await carol.settled(mark);
  });

  test("S2.3 an envelope from before kind and hops is a request, or a reply", async () => {
    const mark = carol.mark();
    const from = newSessionId();
    expect(await enters({ kind: undefined, hops: undefined, from })).toContain("is a request");
    await carol.settled(mark);
    expect(mailIn(workplace, from, "new")).toHaveLength(1);
    const after = carol.mark();
    expect(await enters({ kind: undefined, hops: undefined, in_reply_to: ids(1) })).toMatch(
      /It answers/,
    );
    expect(carol.events.slice(after).map(({ type }) => type)).not.toContain("agent_start");
  });

  test("S2.8 the same id is delivered once, whatever its file is called, also after a resume", async () => {
    const mark = carol.mark();
    const mail = plantMail(workplace, { to: carol.id, body: "only once" });
    await carol.settled(mark);
    const read = await readCount();
    plant(workplace, carol.id, "another name.json", JSON.stringify(mail));
    plant(workplace, carol.id, nameOf(mail), JSON.stringify(mail));
    const next = carol.mark();
    plantMail(workplace, { to: carol.id, body: "and then" });
    await carol.settled(next);
    expect(await readCount()).toBe(read + 1);
    await carol.quit();
    plant(workplace, carol.id, "a third name.json", JSON.stringify(mail));
    plantMail(workplace, { to: carol.id, body: "at last" });
    carol = await workplace.session({ name: "carol", id: carol.id, resume: true });
    await carol.settled(0);
    const texts = (await mailsIn(carol)).map(textOf);
    expect(texts.filter((text) => text.includes("only once"))).toHaveLength(1);
    expect(texts.at(-1)).toContain("at last");
    expect(filesIn(workplace.mailbox(carol.id).new)).toEqual([]);
  });

  test("S2.1 names of what is sent sort in the order of sending, however fast", async () => {
    const address = newSessionId();
    await Promise.all(
      Array.from({ length: 20 }, (_, number) =>
        carol.command(`/mailbox ${address} number ${String(number)}`),
      ),
    );
    const names = filesIn(workplace.mailbox(address).new);
    const mails = mailIn(workplace, address, "new");
    expect(mails.map(({ body }) => body)).toEqual(
      Array.from({ length: 20 }, (_, number) => `number ${String(number)}`),
    );
    for (const [position, mail] of mails.entries()) {
      expect(names[position]).toMatch(/^\d{15}-/);
      expect(names[position]).toBe(nameOf(mail));
      expect(mail.ts).toBe(new Date(mail.ts).toISOString());
      expect(Object.keys(mail).sort()).toEqual(
        ["body", "from", "hops", "id", "in_reply_to", "kind", "status", "to", "ts"].sort(),
      );
    }
    expect(new Set(names.map((name) => name.slice(0, 15))).size).toBe(20);
    expect(filesIn(workplace.mailbox(address).tmp)).toEqual([]);
    expect(
      filesIn(workplace.mailbox(carol.id).sent).filter((name) => names.includes(name)),
    ).toEqual(names);
  });
});
