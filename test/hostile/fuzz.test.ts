/** Whole files as a session meets them, through all that it does with them, made up at random. */
import { lstatSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isAddress } from "../../src/mail/address.ts";
import type { Envelope } from "../../src/mail/envelope.ts";
import { boxesOf, mailRoot, makeBoxes, runningFolder } from "../../src/mail/root.ts";
import { send } from "../../src/mail/store.ts";
import { Session } from "../../src/surface/session.ts";
import { findRecipient } from "../../src/surface/tools/checks.ts";
import { registerList } from "../../src/surface/tools/list.ts";
import { cleanText } from "../../src/text.ts";
import { namesIn, useStateFolder } from "../fixtures/folder.ts";
import { ALICE, BOB, CAROL, mail } from "../fixtures/mail.ts";
import { FakeHost, Life, mailsIn, type RunEnd, useLives } from "../mailbox/fake.ts";
import { hostile } from "../turn/hostile.ts";
import { BIDIRECTIONAL, ESCAPES, linesOf, looksLikeFrame } from "../turn/reader.ts";
import { lookOutside, makeOutside, SENTINEL } from "./outside.ts";

const state = useStateFolder();
useLives();

/** What may stand where anything may: harmful texts, and values of every other type. */
const anything = fc.oneof(
  hostile(),
  fc.jsonValue({ maxDepth: 2 }),
  fc.constantFrom<unknown>(null, -1, 1e300, 0.5, "", [], {}, "__proto__", "running"),
);

const mostly = <Good>(good: fc.Arbitrary<Good>): fc.Arbitrary<unknown> =>
  fc.oneof({ weight: 9, arbitrary: good }, { weight: 1, arbitrary: anything });

/** Few ids, so that they meet; `sent` stands for that of a mail which the session has sent. */
const someId = fc.constantFrom("one", "two", "three", "four", "sent", "i".repeat(200));

/** Addresses, those of sessions that send and answer among them, and paths that are none. */
const someAddress = fc.constantFrom(ALICE, CAROL, BOB, "nobody", "a".repeat(200));
const noAddress = fc.constantFrom("../../x", "..", "", "running", "a/b", "/tmp/x", "a\0b", "é");

const someTime = fc.oneof(
  fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
  fc.constantFrom("2026-11-30T12:00:00+14:00", "Tue Dec 01 2026 00:00:00 (\u202e) +00:00", ""),
);

const nearMail = fc.record(
  {
    id: mostly(someId),
    from: mostly(someAddress),
    to: mostly(fc.oneof(someAddress, noAddress)),
    kind: mostly(fc.constantFrom("request", "ask", "message", "reply")),
    hops: mostly(fc.nat()),
    in_reply_to: mostly(fc.array(someId, { maxLength: 3 })),
    status: mostly(fc.constantFrom("", "done", "stopped", "failed")),
    ts: mostly(someTime),
    body: mostly(hostile()),
    extra: anything,
  },
  { requiredKeys: ["id", "from", "body"] },
);

const junk = fc.oneof(
  nearMail.map((value) => Buffer.from(JSON.stringify(value))),
  // A good text with some bytes of it changed.
  fc
    .tuple(nearMail, fc.array(fc.tuple(fc.nat(), fc.nat({ max: 255 })), { maxLength: 3 }))
    .map(([value, changes]) => {
      const bytes = Buffer.from(JSON.stringify(value));
      for (const [at, byte] of changes) bytes[at % bytes.length] = byte;
      return bytes;
    }),
  fc.uint8Array({ maxLength: 60 }),
);

/** Names of files, which end in `.json` or not, and act on whoever prints them. */
const someName = fc
  .tuple(hostile(12), fc.constantFrom(".json", ".json", ".json", ".JSON", ""))
  .map(([name, end]) => name.toWellFormed().replace(/[/\0]/g, "_") + end)
  .filter((name) => name !== "." && name !== ".." && name !== "" && Buffer.byteLength(name) < 256);

/** A disk that is not waited for. */
const UNHURRIED = Buffer.from('{"durable":false}');

const settings = fc.oneof(
  fc.constant(UNHURRIED),
  fc.uint8Array({ maxLength: 20 }),
  fc
    .record(
      { hopLimit: anything, pruneAfterDays: anything, durable: fc.boolean() },
      { requiredKeys: [] },
    )
    .map((value) => Buffer.from(JSON.stringify(value))),
);

const ending: fc.Arbitrary<RunEnd> = fc.constantFrom<RunEnd>(
  { text: "Done." },
  { text: "Half.", stopReason: "aborted" },
  { stopReason: "error", error: "no" },
);

function newHost(written: Uint8Array = UNHURRIED): FakeHost {
  const host = new FakeHost(BOB);
  writeFileSync(join(host.agentFolder, "session-mail.json"), written);
  return host;
}

/** Runs a property with a state folder that is empty each time. */
async function check<Given>(
  given: fc.Arbitrary<Given>,
  numRuns: number,
  holds: (given: Given) => void | Promise<void>,
): Promise<void> {
  await fc.assert(
    fc.asyncProperty(given, async (value) => {
      makeOutside(join(state.home, "outside"));
      const before = lookOutside(join(state.home, "outside"));
      try {
        await holds(value);
        expect(lookOutside(join(state.home, "outside"))).toEqual(before);
        expect(namesIn(state.home)).toEqual(["agent", "outside", "pi-session-mail"]);
        expect(
          namesIn(mailRoot()).filter((name) => name !== "running" && !isAddress(name)),
        ).toEqual([]);
      } finally {
        for (const name of namesIn(state.home)) rmSync(join(state.home, name), { recursive: true });
      }
    }),
    { numRuns },
  );
}

/** The inodes of all files in the boxes of an address that hold what was received. */
function received(address: string): Set<number> {
  const boxes = boxesOf(address);
  return new Set(
    [boxes.new, boxes.cur].flatMap((box) =>
      readdirSync(box).map((name) => lstatSync(join(box, name)).ino),
    ),
  );
}

/** All answers of the session, wherever they went, but for those to itself. */
function replies(): Envelope[] {
  return namesIn(mailRoot())
    .filter((address) => isAddress(address) && address !== BOB)
    .flatMap((address) => [...mailsIn(address, "new"), ...mailsIn(address, "cur")])
    .filter(({ from, kind }) => from === BOB && kind === "reply");
}

function expectUnarmed(text: string): void {
  expect(ESCAPES.exec(text)).toBeNull();
  expect(BIDIRECTIONAL.exec(text)).toBeNull();
}

/** What a session showed: mail in one frame each, warnings that harm no terminal, no secret. */
function expectClean({ host }: Life): void {
  for (const { mail: entered } of host.puts) {
    const lines = linesOf(entered.content);
    expect([lines[0], lines.at(-1)].map((line) => looksLikeFrame(line ?? ""))).toEqual([
      true,
      true,
    ]);
    expect(lines.filter(looksLikeFrame)).toHaveLength(2);
    expectUnarmed(entered.content);
    expectUnarmed(JSON.stringify(entered.details));
  }
  for (const warning of host.warnings) {
    expect(linesOf(cleanText(warning))).toHaveLength(1);
    expectUnarmed(cleanText(warning));
  }
  expect(new Set(host.warnings).size).toBe(host.warnings.length);
  expect(JSON.stringify([host.session, host.warnings]).includes(SENTINEL)).toBe(false);
}

function times<Item>(list: readonly Item[], wanted: Item): number {
  return list.filter((item) => item === wanted).length;
}

describe("S2.6 S5.5 S5.11 S6.1 any files in new/, whatever the settings", () => {
  test("mail enters once each, a good one among it, answers go out once each, no file is lost", async () => {
    const given = fc.record({
      files: fc.uniqueArray(fc.tuple(someName, junk), { maxLength: 6, selector: ([name]) => name }),
      settings,
      ending,
      running: fc.boolean(),
    });
    await check(given, 50, ({ files, settings: written, ending: end, running }) => {
      const host = newHost(written);
      const early = running ? Life.open(host) : undefined;
      const asked = early?.mailbox.send({ to: ALICE, kind: "request", hops: 0, body: "Which?" });
      const { new: box } = makeBoxes(BOB);
      for (const [name, content] of files) {
        const text = Buffer.from(content).toString("latin1");
        const named = text.replaceAll('"sent"', JSON.stringify(asked?.id ?? "sent"));
        writeFileSync(join(box, name), named, "latin1");
      }
      const good = mail({ body: "good" });
      send(good, false);
      const planted = received(BOB);

      const life = early ?? Life.open(host);
      life.mailbox.look();
      life.run(end);
      life.clock.advance(60_000);
      life.close();
      const next = life.next();
      next.run({ text: "All of it." });
      next.clock.advance(60_000);

      expect(times(next.read, good.id)).toBe(1);
      expect(new Set(next.read).size).toBe(next.read.length);
      const answered = replies().flatMap(({ in_reply_to }) => in_reply_to);
      expect(times(answered, good.id)).toBe(1);
      expect(new Set(answered).size).toBe(answered.length);
      expect([...planted].filter((file) => !received(BOB).has(file))).toEqual([]);
      expect(next.ledger).toMatchObject({ unread: [], owed: [], outbox: [] });
      for (const warning of life.host.warnings) {
        expect(warning).toMatch(
          /was set aside: |session-mail\.json: |^mailbox: the next run that completes /,
        );
      }
      for (const one of [life, next]) expectClean(one);
    });
  });
});

describe("S5.5 S6.7 S8.3 any ledger", () => {
  const notable = fc.oneof(
    someName,
    fc.constantFrom(
      "",
      ".",
      "..",
      "../../../outside/secret.json",
      "../new",
      "../../running",
      "a\0b",
      "n".repeat(300),
      "kept.json",
      "bad\n.json",
      "folder.json",
    ),
  );
  const open = {
    id: someId,
    ts: fc.oneof(someTime, hostile()),
    kind: fc.constantFrom("request", "ask"),
  };
  const address = fc.oneof(
    { weight: 3, arbitrary: someAddress },
    { weight: 2, arbitrary: noAddress },
  );
  const count = fc.oneof(fc.nat(), fc.constantFrom(0, Number.MAX_SAFE_INTEGER, 1e300));
  const ledger = fc.record({
    unread: fc.array(notable, { maxLength: 5 }),
    owed: fc.array(
      fc.record({ ...open, from: address, held: fc.boolean(), closed: fc.boolean() }),
      {
        maxLength: 4,
      },
    ),
    outbox: fc.array(
      fc.record({
        id: someId,
        from: address,
        to: address,
        kind: fc.constantFrom("request", "ask", "message", "reply"),
        hops: fc.nat(),
        in_reply_to: fc.array(someId, { maxLength: 3 }),
        status: fc.constantFrom("", "done", "stopped", "failed"),
        ts: fc.oneof(someTime, hostile()),
        body: hostile(),
      }),
      { maxLength: 4 },
    ),
    awaiting: fc.array(fc.record({ ...open, to: address }), { maxLength: 4 }),
    entered: count,
    read: count,
    more: anything,
  });

  test("leads nowhere outside, removes nothing, and keeps no one from mail or answers", async () => {
    await check(fc.tuple(ledger, ending), 40, ([written, end]) => {
      const { cur, folder, ledger: path } = makeBoxes(BOB);
      writeFileSync(path, JSON.stringify(written));
      writeFileSync(join(folder, "unknown.txt"), "not ours");
      const kept = mail({ id: "one", body: "kept" });
      writeFileSync(join(cur, "kept.json"), JSON.stringify(kept));
      writeFileSync(join(cur, "bad\n.json"), "{");
      mkdirSync(join(cur, "folder.json"));
      const good = mail({ body: "good" });
      send(good, false);
      const planted = received(BOB);

      const life = Life.open(newHost());
      life.run(end);
      life.clock.advance(60_000);
      life.close();
      const next = life.next();
      next.run({ text: "All of it." });
      next.clock.advance(60_000);

      expect(times(next.read, good.id)).toBe(1);
      expect(new Set(next.read).size).toBe(next.read.length);
      const answered = replies().flatMap(({ in_reply_to }) => in_reply_to);
      expect(times(answered, good.id)).toBe(1);
      expect([...planted].filter((file) => !received(BOB).has(file))).toEqual([]);
      expect(namesIn(folder)).toEqual(["cur", "ledger.json", "new", "sent", "tmp", "unknown.txt"]);
      // Nothing stays open that can never be done.
      expect(next.ledger).toMatchObject({ unread: [], owed: [], outbox: [] });
      for (const one of [life, next]) expectClean(one);
    });
  });
});

describe("S3.2 S4.5 S5.11 any running record", () => {
  const long = fc.constantFrom("n", "\u{1f600}", "\u202e").map((unit) => unit.repeat(3000));
  const record = fc.record({
    name: fc.option(fc.oneof(hostile(), long), { nil: undefined }),
    cwd: fc.oneof(hostile(), long),
    // This process: the record counts as that of a session that runs.
    pid: fc.constant(process.pid),
    started: fc.constant(""),
    state: fc.constantFrom("idle", "busy"),
    waitingOn: fc.oneof(someAddress, noAddress, hostile(), long),
    updated: fc.oneof(someTime, hostile()),
  });
  const bad = fc.oneof(
    fc.uint8Array({ maxLength: 40 }),
    nearMail.map((value) => Buffer.from(JSON.stringify(value))),
  );

  test("forges no label, no line of the list and no refusal, and keeps no one from mail", async () => {
    await check(
      fc.record({ alice: record, carol: record, own: bad, other: bad }),
      30,
      async (given) => {
        mkdirSync(runningFolder(), { recursive: true });
        const put = (address: string, content: Uint8Array | string) => {
          writeFileSync(join(runningFolder(), `${address}.json`), content);
        };
        put(ALICE, JSON.stringify({ ...given.alice, address: ALICE }));
        put(CAROL, JSON.stringify({ ...given.carol, address: CAROL }));
        put(BOB, given.own);
        put("other", given.other);
        const [message, ask] = [mail({ kind: "message" }), mail({ from: CAROL, kind: "ask" })];
        for (const one of [message, ask]) send(one, false);

        const life = Life.open(newHost());
        expect(life.read).toEqual([message.id, ask.id]);
        for (const { mail: entered } of life.host.puts) {
          expect(linesOf(entered.content)[0]).toMatch(/^\[mailbox\] From \S/);
          expect(entered.content.length).toBeLessThan(8 * 1024);
        }
        life.start();
        const list = await listOf(life);
        const lines = linesOf(list);
        expect(lines.filter((line) => line.startsWith("- "))).toHaveLength(4);
        expect(lines).toHaveLength(7);
        expectUnarmed(list);
        for (const wanted of [given.alice.name ?? "", given.carol.name ?? "", "aliec", "0195"]) {
          let refusal = "";
          try {
            findRecipient(life.mailbox, wanted);
          } catch (error) {
            refusal = error instanceof Error ? error.message : "";
          }
          expectUnarmed(refusal);
          expect(linesOf(refusal)).toHaveLength(1);
        }
        life.end({ text: "Done." });
        life.clock.advance(60_000);
        expect(replies().flatMap(({ in_reply_to }) => in_reply_to)).toEqual([ask.id]);
        expect(life.host.warnings).toEqual([]);
        expectClean(life);
        expect(namesIn(runningFolder())).toEqual(
          [`${ALICE}.json`, `${BOB}.json`, `${CAROL}.json`, "other.json"].sort(),
        );
        life.close();
      },
    );
  });
});

/** What the model of a session is told when it lists the sessions. */
async function listOf({ mailbox }: Life): Promise<string> {
  const session = new Session();
  session.open(mailbox);
  let text = "";
  interface Tool {
    execute: () => Promise<{ content: readonly { text: string }[] }>;
  }
  const tools: Tool[] = [];
  const pi = { registerTool: (tool: Tool) => tools.push(tool) };
  registerList(pi as unknown as ExtensionAPI, session);
  for (const tool of tools) text += (await tool.execute()).content[0]?.text ?? "";
  return text;
}
