import fc from "fast-check";
import {
  appendFileSync,
  closeSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { envelopeName } from "../../src/mail/envelope.ts";
import {
  emptyLedger,
  type Ledger,
  loadLedger,
  type ReadMarks,
  rebuildLedger,
  saveLedger,
} from "../../src/mail/ledger.ts";
import { boxesOf, MailboxOff, makeBoxes } from "../../src/mail/root.ts";
import { namesIn, useStateFolder } from "../fixtures/folder.ts";
import { ALICE, BOB, CAROL, drop, mail, replyTo } from "../fixtures/mail.ts";
import { makeFifo } from "../fixtures/process.ts";

const state = useStateFolder();

function full(): Ledger {
  const { id, ts } = mail();
  return {
    unread: ["000000000000001-a.json", "000000000000002-b.json"],
    owed: [{ id, ts, from: ALICE, kind: "ask", held: true, closed: false }],
    outbox: [replyTo(mail())],
    awaiting: [{ id, ts, to: CAROL, kind: "request" }],
    entered: 2,
    read: 40,
  };
}

/** A session that holds these ids, of which the second were answered. */
function marks(read: readonly string[] = [], answered: readonly string[] = []): ReadMarks {
  return { isRead: (id) => read.includes(id), isAnswered: (id) => answered.includes(id) };
}

describe("loading and saving", () => {
  test.each([true, false])("what was saved is loaded, 0600 (durable: %s)", (durable) => {
    makeBoxes(BOB);
    const ledger = full();
    saveLedger(BOB, ledger, durable);
    expect(loadLedger(BOB)).toEqual(ledger);
    expect(statSync(boxesOf(BOB).ledger).mode & 0o777).toBe(0o600);
    saveLedger(BOB, emptyLedger(), durable);
    expect(loadLedger(BOB)).toEqual(emptyLedger());
    expect(namesIn(state.at(BOB))).toEqual(["cur", "ledger.json", "new", "sent", "tmp"]);
  });

  test("it lies beside the boxes", () => {
    makeBoxes(BOB);
    const ledger = full();
    saveLedger(BOB, ledger, false);
    expect(JSON.parse(readFileSync(state.at(BOB, "ledger.json"), "utf8"))).toEqual(ledger);
  });

  test("each empty ledger is one of its own", () => {
    emptyLedger().unread.push("x");
    expect(emptyLedger().unread).toEqual([]);
  });

  test("it is missing where there is none, and where there is no mailbox", () => {
    expect(loadLedger(BOB)).toBe("missing");
    makeBoxes(BOB);
    expect(loadLedger(BOB)).toBe("missing");
  });

  test("no ledger is looked for outside the root", () => {
    expect(() => loadLedger("../up")).toThrow(MailboxOff);
  });

  test("a save that fails leaves the ledger before", () => {
    makeBoxes(BOB);
    mkdirSync(boxesOf(BOB).ledger);
    expect(() => {
      saveLedger(BOB, full(), true);
    }).toThrow();
    expect(namesIn(state.at(BOB))).toEqual(["cur", "ledger.json", "new", "sent", "tmp"]);
  });
});

describe("S5.5 a ledger of several lines", () => {
  const withRead = (read: number): Ledger => ({ ...emptyLedger(), read });

  function saveThree(): void {
    makeBoxes(BOB);
    for (const read of [1, 2, 3]) saveLedger(BOB, withRead(read), read === 2, true);
  }

  test("is the last of them", () => {
    saveThree();
    expect(readFileSync(boxesOf(BOB).ledger, "utf8").split("\n")).toHaveLength(4);
    expect(loadLedger(BOB)).toEqual(withRead(3));
  });

  test("is the one before, where a power cut left the last in part or as zeros", () => {
    saveThree();
    for (const torn of ['{"unread":["0', "\0".repeat(4096)]) {
      appendFileSync(boxesOf(BOB).ledger, torn);
      expect(loadLedger(BOB)).toEqual(withRead(3));
      saveLedger(BOB, withRead(3), true);
    }
  });

  test("is damaged when its last whole line is none", () => {
    saveThree();
    appendFileSync(boxesOf(BOB).ledger, '{"unread":[]}\n');
    expect(loadLedger(BOB)).toBe("damaged");
  });

  test("is replaced by one line when its end is not known to be whole", () => {
    saveThree();
    appendFileSync(boxesOf(BOB).ledger, '{"unread":["0');
    saveLedger(BOB, withRead(4), true);
    expect(readFileSync(boxesOf(BOB).ledger, "utf8")).toBe(`${JSON.stringify(withRead(4))}\n`);
  });

  test("does not grow without end", () => {
    makeBoxes(BOB);
    for (let read = 0; read < 3000; read++) saveLedger(BOB, withRead(read), false, true);
    expect(statSync(boxesOf(BOB).ledger).size).toBeLessThan(70 * 1024);
    expect(loadLedger(BOB)).toEqual(withRead(2999));
  });
});

describe("a damaged ledger", () => {
  const change = (fields: object): string => JSON.stringify({ ...full(), ...fields });
  const { id, ts } = mail();
  const owed = { id, ts, from: ALICE, kind: "ask", held: false, closed: false };

  test.each([
    ["empty", ""],
    ["half written", change({}).slice(0, 50)],
    ["a list", "[]"],
    ["null", "null"],
    ["an empty object", "{}"],
    ["no unread", change({ unread: undefined })],
    ["unread that are no names", change({ unread: [1] })],
    ["no owed", change({ owed: undefined })],
    ["owed that is a message", change({ owed: [{ ...owed, kind: "message" }] })],
    ["owed without held", change({ owed: [{ ...owed, held: undefined }] })],
    ["owed with an id that leads elsewhere", change({ owed: [{ ...owed, id: "../x" }] })],
    ["no outbox", change({ outbox: undefined })],
    ["an outbox of texts", change({ outbox: ["x"] })],
    ["no awaiting", change({ awaiting: undefined })],
    ["awaiting nobody", change({ awaiting: [{ id, ts, kind: "ask" }] })],
    ["a negative count", change({ read: -1 })],
    ["half a mail", change({ entered: 0.5 })],
    ["not UTF-8", Uint8Array.from([0x7b, 0xff, 0x7d])],
  ])("%s", (_what, content) => {
    makeBoxes(BOB);
    writeFileSync(boxesOf(BOB).ledger, content);
    expect(loadLedger(BOB)).toBe("damaged");
  });

  test("no regular file: a folder, a FIFO, a link", () => {
    const { ledger } = makeBoxes(BOB);
    mkdirSync(ledger);
    expect(loadLedger(BOB)).toBe("damaged");
    rmSync(ledger, { recursive: true });
    makeFifo(ledger);
    expect(loadLedger(BOB)).toBe("damaged");
    rmSync(ledger);
    writeFileSync(join(state.home, "elsewhere"), JSON.stringify(full()));
    symlinkSync(join(state.home, "elsewhere"), ledger);
    expect(loadLedger(BOB)).toBe("damaged");
  });

  test("too large to be one", () => {
    const file = openSync(makeBoxes(BOB).ledger, "w");
    ftruncateSync(file, 1024 ** 4);
    closeSync(file);
    expect(loadLedger(BOB)).toBe("damaged");
  });

  test("one that cannot be looked at for now is neither missing nor damaged", () => {
    mkdirSync(state.root);
    // A link that leads to itself can be there and not be followed.
    symlinkSync(BOB, state.at(BOB));
    expect(() => loadLedger(BOB)).toThrow("ELOOP");
  });

  test("any bytes and any JSON: a ledger or damaged, and nothing else", () => {
    const { ledger } = makeBoxes(BOB);
    const anything = fc.oneof(
      fc.uint8Array({ maxLength: 200 }),
      fc.json().map((text) => Buffer.from(text)),
      fc
        .record({
          unread: fc.oneof(fc.array(fc.string()), fc.jsonValue()),
          owed: fc.oneof(fc.array(fc.jsonValue()), fc.constant([])),
          outbox: fc.oneof(fc.array(fc.jsonValue()), fc.constant([])),
          awaiting: fc.oneof(fc.array(fc.jsonValue()), fc.constant([])),
          entered: fc.oneof(fc.integer(), fc.jsonValue()),
          read: fc.oneof(fc.integer(), fc.jsonValue()),
        })
        .map((value) => Buffer.from(JSON.stringify(value))),
    );
    fc.assert(
      fc.property(anything, (content) => {
        writeFileSync(ledger, content);
        const found = loadLedger(BOB);
        expect(found === "damaged" || typeof found === "object").toBe(true);
      }),
      { numRuns: 300 },
    );
  });
});

describe("rebuilding", () => {
  test("of a mailbox that is not there, or empty, gives an empty ledger", () => {
    expect(rebuildLedger(BOB, marks())).toEqual(emptyLedger());
    makeBoxes(BOB);
    expect(rebuildLedger(BOB, marks())).toEqual(emptyLedger());
  });

  test("S5.5 what no entry shows is unread, in order of sending", () => {
    const mails = [mail(), mail({ kind: "message" }), mail({ kind: "ask" })];
    for (const envelope of [...mails].reverse()) drop(BOB, envelope, undefined, "cur");
    const ledger = rebuildLedger(BOB, marks());
    expect(ledger).toEqual({ ...emptyLedger(), unread: mails.map(envelopeName) });
  });

  test("S6.7 what was read and not answered is owed, in the manner of a closed session", () => {
    const [request, ask, message, answered] = [
      mail(),
      mail({ kind: "ask", from: CAROL }),
      mail({ kind: "message" }),
      mail(),
    ];
    const reply = replyTo(mail({ from: BOB, to: ALICE }));
    const all = [request, ask, message, answered, reply];
    for (const envelope of all) drop(BOB, envelope, undefined, "cur");
    const read = all.map(({ id }) => id);
    expect(rebuildLedger(BOB, marks(read, [answered.id, message.id]))).toEqual({
      ...emptyLedger(),
      read: 5,
      owed: [
        { id: request.id, ts: request.ts, kind: "request", from: ALICE, held: false, closed: true },
        { id: ask.id, ts: ask.ts, kind: "ask", from: CAROL, held: false, closed: true },
      ],
    });
  });

  test("S8.2 requests and asks of ours without an answer are awaited; messages are not", () => {
    const ours = { from: BOB, to: ALICE };
    const [request, ask, message, answered] = [
      mail(ours),
      mail({ ...ours, kind: "ask" }),
      mail({ ...ours, kind: "message" }),
      mail(ours),
    ];
    for (const envelope of [request, ask, message, answered])
      drop(BOB, envelope, undefined, "sent");
    drop(BOB, replyTo(answered), undefined, "cur");
    expect(rebuildLedger(BOB, marks()).awaiting).toEqual([
      { id: request.id, ts: request.ts, kind: "request", to: ALICE },
      { id: ask.id, ts: ask.ts, kind: "ask", to: ALICE },
    ]);
  });

  test("S8.2 an answer from a session that was not asked is none", () => {
    const asked = mail({ from: BOB, to: ALICE, kind: "ask" });
    drop(BOB, asked, undefined, "sent");
    drop(BOB, replyTo(asked, { from: CAROL }), undefined, "cur");
    expect(rebuildLedger(BOB, marks()).awaiting.map(({ id }) => id)).toEqual([asked.id]);
  });

  test("S8.2 an answer that waits in new/ is still to come", () => {
    const asked = mail({ from: BOB, to: ALICE });
    drop(BOB, asked, undefined, "sent");
    drop(BOB, replyTo(asked));
    expect(rebuildLedger(BOB, marks()).awaiting.map(({ id }) => id)).toEqual([asked.id]);
    expect(rebuildLedger(BOB, marks()).unread).toEqual([]);
  });

  test("S2.6 S2.7 files that are no mail are passed over", () => {
    drop(BOB, "not JSON", undefined, "cur");
    drop(BOB, mail(), "no-mail.txt", "cur");
    const { cur } = boxesOf(BOB);
    makeFifo(join(cur, "fifo.json"));
    mkdirSync(join(cur, "folder.json"));
    symlinkSync("/dev/zero", join(cur, "zero.json"));
    expect(rebuildLedger(BOB, marks())).toEqual(emptyLedger());
  });

  test("S2.8 the same mail under two names counts once", () => {
    const envelope = mail();
    for (const name of ["a.json", "b.json"]) drop(BOB, envelope, name, "cur");
    expect(rebuildLedger(BOB, marks()).unread).toEqual(["a.json"]);
    expect(rebuildLedger(BOB, marks([envelope.id])).read).toBe(1);
  });
});
