import fc from "fast-check";
import {
  chmodSync,
  closeSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import { describe, expect, test } from "vitest";
import { type Envelope, envelopeName } from "../../src/mail/envelope.ts";
import { boxesOf, makeBoxes } from "../../src/mail/root.ts";
import { type Claim, claim, type Mail, send, waiting } from "../../src/mail/store.ts";
import { namesIn, useStateFolder } from "../fixtures/folder.ts";
import { BOB, drop, mail } from "../fixtures/mail.ts";
import { makeFifo, makeSocket } from "../fixtures/process.ts";

const state = useStateFolder();
const known = new Set<string>();
const isRoot = process.getuid?.() === 0;

/** Claims all that waits for Bob. */
function claimAll(commit: (mails: readonly Mail[]) => void = () => undefined): Claim {
  return claim(BOB, (id) => known.has(id), commit);
}

function idsOf({ mails }: Claim): string[] {
  return mails.map(({ envelope }) => envelope.id);
}

describe("S5.1 claiming", () => {
  test("moves what waits into cur/, in order of sending", () => {
    const mails = [mail(), mail(), mail()];
    for (const envelope of [...mails].reverse()) send(envelope, false);
    const found = claimAll();
    expect(found.mails).toEqual(
      mails.map((envelope) => ({ envelope, path: join(boxesOf(BOB).cur, envelopeName(envelope)) })),
    );
    expect(found.setAside).toEqual([]);
    expect(found.fault).toBeUndefined();
    expect(namesIn(boxesOf(BOB).new)).toEqual([]);
    expect(namesIn(boxesOf(BOB).cur)).toEqual(mails.map(envelopeName));
    expect(claimAll().mails).toEqual([]);
  });

  test("an address without a mailbox has no mail", () => {
    expect(claimAll()).toEqual({ mails: [], setAside: [], fault: undefined });
    expect(waiting(BOB)).toEqual([]);
    mkdirSync(state.root);
    writeFileSync(state.at(BOB), "a file");
    expect(waiting(BOB)).toEqual([]);
  });

  test("leaves names that are not of mail", () => {
    for (const name of ["notes.txt", ".hidden", "json", "x.json.part"]) drop(BOB, mail(), name);
    expect(claimAll().mails).toEqual([]);
    expect(namesIn(boxesOf(BOB).new)).toHaveLength(4);
  });

  test("a mail under another name lies under its own afterwards", () => {
    const envelope = mail();
    drop(BOB, envelope, "hello.json");
    expect(claimAll().mails.map(({ path }) => basename(path))).toEqual([envelopeName(envelope)]);
    expect(namesIn(boxesOf(BOB).cur)).toEqual([envelopeName(envelope)]);
  });

  test("commits once, with all of it, before anything moves", () => {
    const mails = [mail(), mail()];
    for (const envelope of mails) send(envelope, false);
    drop(BOB, "bad");
    const seen: string[][] = [];
    claimAll((batch) => {
      seen.push(batch.map(({ envelope }) => envelope.id));
      expect(waiting(BOB)).toHaveLength(3);
      expect(namesIn(boxesOf(BOB).cur)).toEqual([]);
    });
    expect(seen).toEqual([mails.map(({ id }) => id)]);
  });

  test("moves nothing, bad files included, when the commit throws", () => {
    send(mail(), false);
    drop(BOB, "bad");
    expect(() =>
      claimAll(() => {
        throw new Error("the disk is full");
      }),
    ).toThrow("the disk is full");
    expect(waiting(BOB)).toHaveLength(2);
    expect(namesIn(boxesOf(BOB).cur)).toEqual([]);
  });

  test("does not commit when nothing is claimed", () => {
    drop(BOB, "bad");
    const envelope = mail();
    known.add(envelope.id);
    send(envelope, false);
    claimAll(() => expect.unreachable("nothing is claimed"));
  });

  test("passes over a file that vanishes before it is read", () => {
    const [first, second] = [mail(), mail()];
    for (const envelope of [first, second]) send(envelope, false);
    const found = claim(
      BOB,
      () => {
        rmSync(join(boxesOf(BOB).new, envelopeName(second)), { force: true });
        return false;
      },
      () => undefined,
    );
    expect(idsOf(found)).toEqual([first.id]);
    expect(found.fault).toBeUndefined();
  });

  test("says what stood in the way of a move, and what was claimed before it", () => {
    const mails = [mail(), mail(), mail()];
    for (const envelope of mails) send(envelope, false);
    const found = claimAll(() => {
      // As if another process had taken the second at that moment.
      renameSync(
        join(boxesOf(BOB).new, envelopeName(mails[1] ?? mail())),
        join(state.home, "taken"),
      );
    });
    expect(idsOf(found)).toEqual([mails[0]?.id]);
    expect(found.fault).toContain("ENOENT");
    expect(idsOf(claimAll())).toEqual([mails[2]?.id]);
  });
});

describe("S2.6 what is set aside", () => {
  const good = { ...mail() };
  const withField = (change: object): string =>
    JSON.stringify({ ...good, id: mail().id, ...change });
  const ids = (count: number): string[] => Array.from({ length: count }, () => mail().id);

  test.each([
    ["not JSON", "{", "it is not JSON"],
    ["empty", "", "it is not JSON"],
    ["a list", "[]", "it is not an object"],
    ["a text", '"mail"', "it is not an object"],
    ["null", "null", "it is not an object"],
    ["no id", withField({ id: undefined }), "id"],
    ["a number as id", withField({ id: 7 }), "id"],
    ["an empty id", withField({ id: "" }), "id"],
    ["an id that leads elsewhere", withField({ id: "../../x" }), "id"],
    ["no sender", withField({ from: undefined }), "sender"],
    ["a bad sender", withField({ from: "../x" }), "sender"],
    ["running as a sender", withField({ from: "running" }), "sender"],
    ["in_reply_to is a text", withField({ in_reply_to: "x" }), "in_reply_to"],
    ["in_reply_to holds a number", withField({ in_reply_to: [1] }), "in_reply_to"],
    ["in_reply_to has 51", withField({ kind: "reply", in_reply_to: ids(51) }), "in_reply_to"],
    ["no body", withField({ body: undefined }), "body"],
    ["a body that is no text", withField({ body: 5 }), "body"],
    ["negative hops", withField({ hops: -1 }), "hops"],
    ["half a hop", withField({ hops: 0.5 }), "hops"],
    ["hops as text", withField({ hops: "1" }), "hops"],
    ["not UTF-8", Uint8Array.from([0x7b, 0xff]), "UTF-8"],
  ])("%s: in cur/, with its reason, and it holds up nothing", (_what, content, reason) => {
    const before = drop(BOB, content, "000000000000000-bad.json");
    const after = mail();
    send(after, false);
    const found = claimAll();
    expect(idsOf(found)).toEqual([after.id]);
    expect(found.setAside).toEqual([
      {
        path: join(boxesOf(BOB).cur, basename(before)),
        reason: expect.stringContaining(reason) as string,
      },
    ]);
    expect(readFileSync(found.setAside[0]?.path ?? "")).toEqual(Buffer.from(content));
    expect(waiting(BOB)).toEqual([]);
    // And it is told of once.
    expect(claimAll().setAside).toEqual([]);
  });

  test("fifty answered ids are fine", () => {
    const envelope = mail({ kind: "reply", in_reply_to: ids(50) });
    drop(BOB, envelope);
    expect(idsOf(claimAll())).toEqual([envelope.id]);
  });

  test("8 MiB are fine", () => {
    const envelope = mail({ body: "" });
    const room = 8 * 1024 * 1024 - JSON.stringify(envelope).length;
    drop(BOB, { ...envelope, body: "x".repeat(room) });
    expect(idsOf(claimAll())).toEqual([envelope.id]);
  });

  test("one byte more is set aside", () => {
    const envelope = mail({ body: "" });
    const room = 8 * 1024 * 1024 - JSON.stringify(envelope).length;
    drop(BOB, { ...envelope, body: "x".repeat(room + 1) });
    expect(claimAll().setAside).toEqual([
      { path: expect.any(String) as string, reason: "it is larger than 8192 KiB" },
    ]);
  });

  test("a huge file is not read", () => {
    const file = openSync(join(makeBoxes(BOB).new, "000000000000000-huge.json"), "w");
    // More than Node can read into one buffer, and no room on disk.
    ftruncateSync(file, 1024 ** 4);
    closeSync(file);
    const after = mail();
    send(after, false);
    const found = claimAll();
    expect(found.setAside.map(({ reason }) => reason)).toEqual(["it is larger than 8192 KiB"]);
    expect(idsOf(found)).toEqual([after.id]);
  });

  test("it never replaces a file in cur/", () => {
    drop(BOB, "first", "bad.json");
    claimAll();
    drop(BOB, "second", "bad.json");
    claimAll();
    const kept = namesIn(boxesOf(BOB).cur).map((name) =>
      readFileSync(join(boxesOf(BOB).cur, name), "utf8"),
    );
    expect(kept.sort()).toEqual(["first", "second"]);
  });

  test("a file whose name leaves no room for another does not stand in the way for ever", () => {
    const name = `${"x".repeat(250)}.json`;
    drop(BOB, "first", name);
    claimAll();
    drop(BOB, "second", name);
    drop(BOB, "third", "y.json");
    expect(claimAll().fault).toBeUndefined();
    expect(waiting(BOB)).toEqual([]);
  });

  test.skipIf(isRoot)("a file that may not be read (root may read all)", () => {
    chmodSync(drop(BOB, mail(), "locked.json"), 0);
    expect(claimAll().setAside[0]?.reason).toContain("cannot be read");
  });
});

describe("S2.7 what is no regular file is left where it is", () => {
  test("and neither hangs, nor redirects, nor holds up", async () => {
    const { new: box, cur } = makeBoxes(BOB);
    const secret = join(state.home, "secret.json");
    writeFileSync(secret, JSON.stringify(mail({ body: "redirected" })));
    makeFifo(join(box, "000000000000001-fifo.json"));
    mkdirSync(join(box, "000000000000002-folder.json"));
    symlinkSync(secret, join(box, "000000000000003-link.json"));
    symlinkSync("/dev/zero", join(box, "000000000000004-zero.json"));
    symlinkSync(join(box, "000000000000001-fifo.json"), join(box, "000000000000005-tofifo.json"));
    symlinkSync("nowhere", join(box, "000000000000006-nowhere.json"));
    const server = await makeSocket(join(state.home, "s"));
    try {
      // The path of a socket is short when it is made; it may be moved anywhere.
      renameSync(join(state.home, "s"), join(box, "000000000000007-socket.json"));
      const envelope = mail();
      send(envelope, false);
      const found = claimAll();
      expect(idsOf(found)).toEqual([envelope.id]);
      expect(found.setAside).toEqual([]);
      expect(found.fault).toBeUndefined();
      expect(namesIn(box)).toHaveLength(7);
      expect(namesIn(cur)).toEqual([envelopeName(envelope)]);
      expect(waiting(BOB)).toEqual([]);
    } finally {
      server.close();
    }
  });
});

describe("S2.8 the same id is claimed once", () => {
  test("under several names in one batch", () => {
    const envelope = mail();
    for (const name of ["a.json", "b.json", envelopeName(envelope)]) drop(BOB, envelope, name);
    const found = claimAll();
    expect(idsOf(found)).toEqual([envelope.id]);
    expect(found.setAside).toEqual([]);
    expect(waiting(BOB)).toEqual([]);
    expect(idsOf(claimAll())).toEqual([]);
  });

  test("under another name later", () => {
    const envelope = mail();
    send(envelope, false);
    claimAll();
    for (const name of ["later.json", envelopeName(envelope)]) {
      drop(BOB, envelope, name);
      expect(claimAll()).toEqual({ mails: [], setAside: [], fault: undefined });
    }
    expect(waiting(BOB)).toEqual([]);
  });

  test("when the session knows it, wherever its file is now", () => {
    const envelope = mail();
    known.add(envelope.id);
    drop(BOB, envelope);
    expect(claimAll(() => expect.unreachable())).toEqual({
      mails: [],
      setAside: [],
      fault: undefined,
    });
    expect(waiting(BOB)).toEqual([]);
  });

  test("with another time in one batch: the first by name counts", () => {
    const first = mail({ body: "first" });
    const second: Envelope = { ...first, ts: mail().ts, body: "second" };
    drop(BOB, second);
    drop(BOB, first);
    expect(claimAll().mails.map(({ envelope }) => envelope.body)).toEqual(["first"]);
  });

  test("with the longest id, sent twice under its own name", () => {
    const envelope = mail({ id: "x".repeat(200) });
    drop(BOB, envelope);
    claimAll();
    drop(BOB, envelope);
    expect(claimAll()).toEqual({ mails: [], setAside: [], fault: undefined });
    expect(waiting(BOB)).toEqual([]);
  });
});

describe("any file in new/", () => {
  const anyField = fc.oneof(
    fc.jsonValue(),
    fc.constantFrom("request", "ask", "reply", "message", "done", BOB, "running", "..", "x/y"),
    fc.array(fc.string(), { maxLength: 60 }),
  );
  const almostMail = fc.record(
    {
      id: fc.oneof(fc.uuid(), anyField),
      from: fc.oneof(fc.constant(BOB), anyField),
      to: anyField,
      kind: anyField,
      hops: fc.oneof(fc.nat(), anyField),
      in_reply_to: fc.oneof(fc.array(fc.uuid(), { maxLength: 55 }), anyField),
      status: anyField,
      ts: fc.oneof(
        fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
        anyField,
      ),
      body: fc.oneof(fc.string({ unit: "binary" }), anyField),
    },
    { requiredKeys: [] },
  );
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 300 }),
    almostMail.map((value) => Buffer.from(JSON.stringify(value))),
    fc.json().map((text) => Buffer.from(text)),
  );

  test("is claimed or set aside: it never crashes, stays, or holds up the mail behind it", () => {
    fc.assert(
      fc.property(fc.array(bytes, { maxLength: 4 }), (files) => {
        for (const [position, content] of files.entries()) {
          drop(BOB, content, `00000000000000${String(position)}-file.json`);
        }
        const after = mail();
        send(after, false);
        const found = claimAll();
        expect(found.fault).toBeUndefined();
        expect(idsOf(found)).toContain(after.id);
        expect(waiting(BOB)).toEqual([]);
        expect(new Set(idsOf(found)).size).toBe(found.mails.length);
        rmSync(state.at(BOB), { recursive: true });
      }),
      { numRuns: 300 },
    );
  });
});
