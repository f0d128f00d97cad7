import {
  mkdirSync,
  readdirSync,
  renameSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { envelopeName } from "../../src/mail/envelope.ts";
import { emptyLedger, type Ledger, saveLedger } from "../../src/mail/ledger.ts";
import { removeLeftovers } from "../../src/mail/leftovers.ts";
import { prune } from "../../src/mail/prune.ts";
import { boxesOf, makeBoxes, openRoot } from "../../src/mail/root.ts";
import { filesBelow, namesIn, useStateFolder } from "../fixtures/folder.ts";
import { ALICE, BOB, CAROL, drop, mail, replyTo } from "../fixtures/mail.ts";

const state = useStateFolder();
const DAY = 24 * 60 * 60_000;
const now = Date.now();

/** Sets the time of the last change of a folder and its four boxes. */
function touch(address: string, time: number): void {
  const { folder, tmp, new: box, cur, sent } = boxesOf(address);
  for (const path of [tmp, box, cur, sent, folder]) utimesSync(path, time / 1000, time / 1000);
}

/** A mailbox in which nothing has happened for 40 days. */
function oldBox(address: string, ledger?: Partial<Ledger>): void {
  makeBoxes(address);
  drop(address, mail({ to: address }), undefined, "cur");
  drop(address, mail({ from: address }), undefined, "sent");
  if (ledger) saveLedger(address, { ...emptyLedger(), ...ledger }, false);
  touch(address, now - 40 * DAY);
}

function pruneOld(isInUse: (address: string) => boolean = () => false): number {
  return prune({ isInUse, olderThan: 30 * DAY, now });
}

function pruneAll(): number {
  return prune({ isInUse: () => false, olderThan: Number.NEGATIVE_INFINITY, now });
}

describe("S11.1 what is removed", () => {
  test("an old mailbox of a closed session, with all that is in it", () => {
    oldBox(ALICE);
    oldBox(BOB, { read: 5 });
    expect(pruneOld()).toBe(2);
    expect(namesIn(state.root)).toEqual([]);
  });

  test("not one that is in use", () => {
    oldBox(ALICE);
    oldBox(BOB);
    expect(pruneOld((address) => address === ALICE)).toBe(1);
    expect(namesIn(state.root)).toEqual([ALICE]);
    expect(filesBelow(state.root)).toHaveLength(2);
  });

  test("not one in whose new/ mail waits, even if it cannot be read", () => {
    oldBox(BOB);
    drop(BOB, "not even mail");
    touch(BOB, now - 40 * DAY);
    expect(pruneOld()).toBe(0);
    expect(pruneAll()).toBe(0);
    expect(filesBelow(state.root)).toHaveLength(3);
  });

  test("not one whose ledger lists unread mail", () => {
    oldBox(BOB, { unread: ["000000000000001-x.json"] });
    expect(pruneOld()).toBe(0);
    expect(pruneAll()).toBe(0);
  });

  test("not one with an answer that is still to go out", () => {
    oldBox(BOB, { outbox: [replyTo(mail())] });
    expect(pruneOld()).toBe(0);
  });

  test("not one whose ledger cannot be made out", () => {
    oldBox(BOB);
    writeFileSync(boxesOf(BOB).ledger, "{");
    touch(BOB, now - 40 * DAY);
    expect(pruneOld()).toBe(0);
    expect(namesIn(state.root)).toEqual([BOB]);
  });

  test.each(["folder", "tmp", "new", "cur", "sent"] as const)(
    "not one in whose %s something has happened since",
    (place) => {
      oldBox(BOB);
      const recent = (now - 29 * DAY) / 1000;
      utimesSync(boxesOf(BOB)[place], recent, recent);
      expect(pruneOld()).toBe(0);
      const past = (now - 31 * DAY) / 1000;
      utimesSync(boxesOf(BOB)[place], past, past);
      expect(pruneOld()).toBe(1);
    },
  );

  test("not one that is exactly as old as it may be", () => {
    oldBox(BOB);
    touch(BOB, now - 30 * DAY);
    expect(pruneOld()).toBe(0);
    touch(BOB, now - 30 * DAY - 1000);
    expect(pruneOld()).toBe(1);
  });

  test("one without its boxes, too", () => {
    mkdirSync(state.at(BOB), { recursive: true });
    utimesSync(state.at(BOB), 1, 1);
    expect(pruneOld()).toBe(1);
  });

  test("nothing where there is no root", () => {
    expect(pruneOld()).toBe(0);
    expect(namesIn(state.home)).toEqual([]);
  });
});

describe("S11.2 only real folders named like an address", () => {
  test("never running/, files, other names, or links", () => {
    openRoot();
    const kept = join(state.home, "kept");
    mkdirSync(kept);
    writeFileSync(join(kept, "precious"), "");
    utimesSync(kept, 1, 1);
    symlinkSync(kept, state.at(ALICE));
    writeFileSync(state.at(CAROL), "a file");
    for (const name of ["a folder", "a.b", ".hidden", ".pruned-x", ".pruned-a.b"]) {
      mkdirSync(state.at(name));
      utimesSync(state.at(name), 1, 1);
    }
    utimesSync(state.at("running"), 1, 1);
    const before = namesIn(state.root);
    expect(pruneAll()).toBe(0);
    expect(namesIn(state.root)).toEqual(before);
    expect(namesIn(kept)).toEqual(["precious"]);
  });

  test("a box that is a link is unlinked, and what it leads to is left alone", () => {
    oldBox(BOB);
    const kept = join(state.home, "kept");
    mkdirSync(kept);
    writeFileSync(join(kept, "precious"), "");
    symlinkSync(kept, join(boxesOf(BOB).folder, "linked"));
    touch(BOB, now - 40 * DAY);
    expect(pruneOld()).toBe(1);
    expect(namesIn(kept)).toEqual(["precious"]);
  });

  test("one that cannot be looked into does not stop the rest", () => {
    oldBox(ALICE);
    oldBox(BOB);
    const ledger = boxesOf(ALICE).ledger;
    // Neither there nor not there.
    symlinkSync(ledger, ledger);
    touch(ALICE, now - 40 * DAY);
    expect(pruneOld()).toBe(1);
    expect(namesIn(state.root)).toEqual([ALICE]);
  });
});

describe("S11.2 a folder is moved aside before it is removed", () => {
  test("mail that arrives at that moment is put back", () => {
    oldBox(BOB);
    const envelope = mail();
    // The second question is asked when the folder has been moved.
    let asked = 0;
    const removed = pruneOld(() => {
      asked += 1;
      if (asked === 2) {
        const aside = readdirSync(state.root).find((name) => name.startsWith(".pruned-")) ?? "";
        writeFileSync(state.at(aside, "new", envelopeName(envelope)), JSON.stringify(envelope));
      }
      return false;
    });
    expect(removed).toBe(0);
    expect(namesIn(state.root)).toEqual([BOB]);
    expect(filesBelow(state.root)).toEqual([`${BOB}/new/${envelopeName(envelope)}`]);
    expect(statSync(boxesOf(BOB).folder).mode & 0o777).toBe(0o700);
  });

  test("it is put back whole for a session that starts at that moment", () => {
    oldBox(BOB, { read: 5 });
    const before = filesBelow(state.root);
    let asked = 0;
    expect(pruneOld(() => ++asked === 2)).toBe(0);
    expect(filesBelow(state.root)).toEqual(before);
  });

  test("for a session that starts at that moment, when its folder has been made anew, nothing is lost", () => {
    oldBox(BOB, { read: 5 });
    const before = filesBelow(state.root);
    let asked = 0;
    const start = (): boolean => {
      asked += 1;
      if (asked === 2) makeBoxes(BOB);
      return asked === 2;
    };
    pruneOld(start);
    // Whoever prunes next finds what was left, and the session runs.
    pruneOld((address) => address === BOB);
    expect(filesBelow(state.root)).toEqual(before);
  });

  test("what an earlier pruner left is removed, and the mail in it is put back", () => {
    oldBox(ALICE);
    oldBox(BOB);
    const envelope = mail();
    drop(BOB, envelope);
    renameSync(state.at(ALICE), state.at(`.pruned-${ALICE}.${randomUUID()}`));
    renameSync(state.at(BOB), state.at(`.pruned-${BOB}.${randomUUID()}`));
    expect(prune({ isInUse: () => false, olderThan: 30 * DAY, now })).toBe(0);
    expect(filesBelow(state.root)).toEqual([`${BOB}/new/${envelopeName(envelope)}`]);
    expect(namesIn(state.root)).toEqual([BOB]);
  });
});

describe("S11.3 at once, whatever the age", () => {
  test("removes what lies still, and keeps what waits or is in use", () => {
    for (const address of [ALICE, BOB, CAROL]) makeBoxes(address);
    drop(BOB, mail());
    const removed = prune({
      isInUse: (address) => address === CAROL,
      olderThan: Number.NEGATIVE_INFINITY,
      now,
    });
    expect(removed).toBe(1);
    expect(namesIn(state.root)).toEqual([BOB, CAROL].sort());
  });

  test("a clock that runs behind the disk's makes no difference", () => {
    makeBoxes(BOB);
    expect(prune({ isInUse: () => false, olderThan: Number.NEGATIVE_INFINITY, now: 0 })).toBe(1);
  });
});

describe("what writers that were killed have left", () => {
  const UNFINISHED = `.ledger.json.${randomUUID()}`;

  /** A file that was last written so long ago. */
  function leave(path: string, age: number): void {
    writeFileSync(path, "half a");
    utimesSync(path, (now - age) / 1000, (now - age) / 1000);
  }

  test("is removed when it is a day old, from tmp/, the folder and the running records", () => {
    openRoot();
    const { tmp, folder } = makeBoxes(BOB);
    const record = state.at("running", `.${ALICE}.json.${randomUUID()}`);
    const left = [join(tmp, randomUUID()), join(folder, UNFINISHED), record];
    for (const path of left) leave(path, DAY + 1000);
    removeLeftovers(BOB, now);
    expect(filesBelow(state.root)).toEqual([]);
  });

  test("is kept while it may still be written", () => {
    openRoot();
    const { tmp, folder } = makeBoxes(BOB);
    for (const path of [join(tmp, randomUUID()), join(folder, UNFINISHED)]) {
      leave(path, DAY - 60_000);
    }
    removeLeftovers(BOB, now);
    expect(filesBelow(state.root)).toHaveLength(2);
  });

  test("is all that is removed: no mail, no ledger, no record, nothing of another's", () => {
    openRoot();
    const { tmp, folder, ledger } = makeBoxes(BOB);
    for (const box of ["new", "cur", "sent"] as const) drop(BOB, mail(), undefined, box);
    drop(ALICE, "half a", randomUUID(), "tmp");
    const kept = [
      ledger,
      state.at("running", `${BOB}.json`),
      join(folder, "notes"),
      join(folder, ".hidden.json"),
    ];
    for (const path of kept) leave(path, 40 * DAY);
    mkdirSync(join(tmp, "folder"));
    symlinkSync(ledger, join(tmp, "link"));
    const before = filesBelow(state.root);
    removeLeftovers(BOB, now + 40 * DAY);
    expect(filesBelow(state.root)).toEqual(before);
  });
});
