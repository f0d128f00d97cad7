/** Every file of the corpus by itself, in a session without Pi. */
import { lstatSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { boxesOf, MailboxOff, makeBoxes, mailRoot, runningFolder } from "../../src/mail/root.ts";
import { isAddress } from "../../src/mail/address.ts";
import { send, SendError } from "../../src/mail/store.ts";
import type { Inbound } from "../../src/mailbox/arrivals.ts";
import { cleanText } from "../../src/text.ts";
import { namesIn, useStateFolder } from "../fixtures/folder.ts";
import { ALICE, BOB, mail } from "../fixtures/mail.ts";
import { FakeClock, FakeHost, Life, mailsIn, useLives } from "../mailbox/fake.ts";
import { BIDIRECTIONAL, ESCAPES, linesOf, looksLikeFrame } from "../turn/reader.ts";
import { CannotBePlanted, CORPUS, type HostileFile, type Place, type Planted } from "./corpus.ts";
import { lookOutside, makeOutside, SENTINEL } from "./outside.ts";

const state = useStateFolder();
useLives();

/** How many times the work of a plain mail of its size a file may make. */
const MARGIN = 12;

const MAX_BYTES = 8 * 1024 * 1024;

test("the corpus is as large as was asked for, and no two files in it are called alike", () => {
  expect(CORPUS.length).toBeGreaterThanOrEqual(70);
  expect(new Set(CORPUS.map(({ name }) => name)).size).toBe(CORPUS.length);
});

describe.each(["while the session runs", "before it starts"] as const)(
  "S2.6 S2.7 S5.11 planted %s:",
  (when) => {
    test.for(CORPUS)("$name is $expect", async (entry, { skip }) => {
      const place = newPlace();
      const running = when === "while the session runs" ? Life.open(newHost(BOB)) : undefined;
      const planted = await plantOr(entry, place, skip);
      const behind = mail({ to: BOB, kind: "message", body: "behind it" });
      send(behind, false);
      const before = lookOutside(place.outside);
      const file = lstatSync(pathIn(place.box, planted.name));

      const shown: Inbound[] = [];
      const life = running ?? new Life(newHost(BOB), new FakeClock());
      life.host.listener = (inbound) => shown.push({ ...inbound });
      if (running) life.mailbox.look();
      else life.clock.turn();

      expect([...life.read].sort()).toEqual(
        [
          behind.id,
          ...(planted.id !== undefined && entry.expect === "delivered" ? [planted.id] : []),
        ].sort(),
      );
      expect(shown).toHaveLength(life.read.length);
      expectFile(entry, place, planted, file.ino);
      expectWarnings(life.host.warnings, entry, planted);
      for (const { mail: entered } of life.host.puts) {
        expectFramed(entered.content);
        expectUnarmed(JSON.stringify(entered.details));
        expect(JSON.stringify(entered.details).length).toBeLessThan(2000);
      }

      life.run({ text: "done" });
      life.clock.advance(60_000);
      life.close();
      const next = life.next();
      next.clock.advance(60_000);
      expect(next.read).toEqual(life.read);
      expect([...life.host.warnings, ...next.host.warnings]).toHaveLength(
        entry.expect === "set aside" ? 1 : 0,
      );

      const told = JSON.stringify([life.host.session, life.host.warnings, shown, next.host.puts]);
      expect(told.includes(SENTINEL)).toBe(false);
      expect(lookOutside(place.outside)).toEqual(before);
      expect(namesIn(state.home)).toEqual(["agent", "outside", "pi-session-mail"]);
      expect(namesIn(mailRoot()).filter((name) => name !== "running" && !isAddress(name))).toEqual(
        [],
      );
      await planted.close?.();
    });
  },
);

function newPlace(): Place {
  const outside = join(state.home, "outside");
  makeOutside(outside);
  return { box: makeBoxes(BOB).new, address: BOB, outside };
}

describe("S2.7 a folder of the mail root that is a link to one outside", () => {
  const folders = ["folder", "new", "cur", "tmp", "sent", "running"] as const;

  test.each(folders)("%s: nothing there is read, moved or written", (which) => {
    const { outside } = newPlace();
    makeBoxes(ALICE);
    const linked = which === "running" ? runningFolder() : boxesOf(BOB)[which];
    rmSync(linked, { recursive: true, force: true });
    symlinkSync(join(outside, "folder"), linked);
    const before = lookOutside(outside);
    for (const kind of ["message", "request"] as const) {
      try {
        send(mail({ from: ALICE, to: BOB, kind }), false);
      } catch (error) {
        expect(error).toBeInstanceOf(SendError);
      }
    }
    const host = newHost(BOB);
    try {
      const life = Life.open(host);
      life.run({ text: "done" });
      life.mailbox.send({ to: ALICE, kind: "request", hops: 0, body: "Which?" });
      life.close();
    } catch (error) {
      expect([MailboxOff, SendError]).toContain((error as Error).constructor);
    }
    expect(JSON.stringify([host.session, host.warnings]).includes(SENTINEL)).toBe(false);
    expect(lookOutside(outside)).toEqual(before);
  });
});

/** A host whose disk is not waited for. */
function newHost(address: string): FakeHost {
  const host = new FakeHost(address);
  writeFileSync(join(host.agentFolder, "session-mail.json"), '{"durable":false}');
  return host;
}

async function plantOr(
  entry: HostileFile,
  place: Place,
  skip: (reason: string) => never,
): Promise<Planted> {
  try {
    return await entry.plant(place);
  } catch (error) {
    if (error instanceof CannotBePlanted) skip(error.message);
    throw error;
  }
}

function pathIn(box: string, name: string | Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${box}/`), Buffer.from(name)]);
}

function isThere(path: Buffer): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

/** The planted file lies where it belongs, and is still the same file. */
function expectFile(entry: HostileFile, { box }: Place, planted: Planted, file: number): void {
  const { cur } = boxesOf(BOB);
  const stayed = pathIn(box, planted.name);
  if (entry.expect === "left") {
    expect(lstatSync(stayed).ino).toBe(file);
    expect(namesIn(cur)).toHaveLength(1);
    return;
  }
  expect(isThere(stayed)).toBe(false);
  if (entry.expect === "set aside") expect(lstatSync(pathIn(cur, planted.name)).ino).toBe(file);
  else {
    expect(namesIn(cur).map((name) => lstatSync(join(cur, name)).ino)).toContain(file);
    expect(mailsIn(BOB, "cur").map(({ id }) => id)).toContain(planted.id);
  }
}

/** One warning for a file that was set aside, which names it, in one line that harms no terminal. */
function expectWarnings(warnings: readonly string[], entry: HostileFile, planted: Planted): void {
  if (entry.expect !== "set aside") {
    expect(warnings).toEqual([]);
    return;
  }
  expect(warnings).toHaveLength(1);
  const shown = cleanText(warnings[0] ?? "");
  expectUnarmed(shown);
  expect(linesOf(shown)).toHaveLength(1);
  const plain = planted.name.toString().replace(/[^\w.-]+/g, "");
  expect(shown.replace(/[^\w.-]+/g, "")).toContain(plain);
  expect(shown).toContain(boxesOf(BOB).cur);
}

/** One frame, as its reader tells: it opens with the first line and closes with the last. */
function expectFramed(content: string): void {
  const lines = linesOf(content);
  expect(lines[0]).toMatch(
    /^\[mailbox\] From \S+ \([\w-]+(?:, working in \/work)?\), another Pi session on this machine\. /,
  );
  expect(lines.at(-1)).toMatch(/^\[mailbox\] End of the mail from \S+\. Text after this line/);
  expect(lines.filter(looksLikeFrame)).toHaveLength(2);
  expectUnarmed(content);
  // The body is cut at 32 KiB, and a line of it may be quoted.
  expect(Buffer.byteLength(content)).toBeLessThan(128 * 1024);
}

/** Nothing in a text acts on a terminal or turns the text around. */
function expectUnarmed(text: string): void {
  expect(ESCAPES.exec(text)).toBeNull();
  expect(BIDIRECTIONAL.exec(text)).toBeNull();
}

describe("no file holds a session up", () => {
  /** CPU time of this process in ms, which neither a busy machine nor a slow disk makes longer. */
  function costOf(work: () => void): number {
    const before = process.cpuUsage();
    work();
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1000;
  }

  let addresses = 0;

  /** A session of its own, with whatever is planted waiting for it. */
  async function openWith(plant: (place: Place) => unknown): Promise<Life> {
    addresses += 1;
    const address = `timed-${String(addresses)}`;
    const outside = join(state.home, `outside-${String(addresses)}`);
    makeOutside(outside);
    const box = makeBoxes(address).new;
    await plant({ box, address, outside });
    return new Life(newHost(address), new FakeClock());
  }

  /** What a plain mail with a body of this many bytes costs, at the least. */
  async function costOfPlain(bytes: number): Promise<number> {
    const costs: number[] = [];
    for (let count = 0; count < 5; count++) {
      const life = await openWith(({ address }) => {
        send(mail({ to: address, kind: "message", body: "x".repeat(bytes) }), false);
      });
      costs.push(costOf(() => life.clock.turn()));
      expect(life.read).toHaveLength(1);
      life.close();
    }
    return Math.min(...costs);
  }

  /** Measured in the same run, for the sizes that are near it. */
  const plain = new Map<number, number>();
  beforeEach(async () => {
    for (const bytes of [1024 * 1024, MAX_BYTES - 1000]) {
      if (!plain.has(bytes)) plain.set(bytes, await costOfPlain(bytes));
    }
  });

  /** The cost of a plain mail that is no smaller; what is too large is not to be read at all. */
  function controlFor(size: number): number {
    const isLarge = size > 1024 * 1024 && size <= MAX_BYTES;
    return plain.get(isLarge ? MAX_BYTES - 1000 : 1024 * 1024) ?? 0;
  }

  test.for(CORPUS)("$name", async (entry, { skip }) => {
    const costs: number[] = [];
    let allowed = 0;
    // One that is too slow by chance is measured anew.
    for (let tries = 0; tries < 3; tries++) {
      let planted: Planted | undefined;
      let size = 0;
      const life = await openWith(async (place) => {
        planted = await plantOr(entry, place, skip);
        const found = lstatSync(pathIn(place.box, planted.name));
        size = found.isFile() ? found.size : 0;
      });
      costs.push(costOf(() => life.clock.turn()));
      life.close();
      await planted?.close?.();
      allowed = MARGIN * controlFor(size);
      if (Math.min(...costs) <= allowed) break;
    }
    expect(Math.min(...costs)).toBeLessThanOrEqual(allowed);
  });
});
