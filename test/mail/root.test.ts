import {
  chmodSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  rmSync,
  statSync,
  symlinkSync,
} from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { isAddress } from "../../src/mail/address.ts";
import {
  boxesOf,
  isOpenToOthers,
  mailRoot,
  MailboxOff,
  makeBoxes,
  openRoot,
  runningFolder,
} from "../../src/mail/root.ts";
import { BOB } from "../fixtures/mail.ts";
import { namesIn, useStateFolder } from "../fixtures/folder.ts";

const state = useStateFolder();
const isRoot = process.getuid?.() === 0;

/** Runs with a umask and puts the one before back. */
function withUmask(mask: number, run: () => void): void {
  const before = process.umask(mask);
  try {
    run();
  } finally {
    process.umask(before);
  }
}

function modeOf(path: string): number {
  return statSync(path).mode & 0o777;
}

describe("S1.1 where the mail root is", () => {
  const inHome = join(homedir(), ".local", "state", "pi-session-mail");

  test("below XDG_STATE_HOME", () => {
    expect(mailRoot()).toBe(state.root);
    expect(runningFolder()).toBe(state.at("running"));
  });

  test("below ~/.local/state when that is unset, empty or relative", () => {
    delete process.env["XDG_STATE_HOME"];
    expect(mailRoot()).toBe(inHome);
    for (const value of ["", "state", "./state", "../state", "~/state"]) {
      process.env["XDG_STATE_HOME"] = value;
      expect(mailRoot()).toBe(inHome);
    }
  });

  test("is read at every call", () => {
    const first = boxesOf(BOB).ledger;
    process.env["XDG_STATE_HOME"] = "/elsewhere";
    expect(mailRoot()).toBe("/elsewhere/pi-session-mail");
    expect(boxesOf(BOB).ledger).toBe(`/elsewhere/pi-session-mail/${BOB}/ledger.json`);
    expect(runningFolder()).toBe("/elsewhere/pi-session-mail/running");
    expect(first).toBe(state.at(BOB, "ledger.json"));
  });
});

describe("S1.2 addresses", () => {
  test("are one safe path segment", () => {
    for (const good of [BOB, "a", "A_b-9", "-", "_", "x".repeat(200), "runnings"]) {
      expect(isAddress(good)).toBe(true);
      expect(boxesOf(good).folder).toBe(state.at(good));
    }
  });

  test.each([
    "",
    ".",
    "..",
    "../up",
    "a/b",
    "a\\b",
    "a b",
    "a.b",
    "/etc",
    "a\n",
    "a\u0000",
    "ä",
    "running",
    "Running",
    "RUNNING",
  ])("%j is refused before a path is built from it", (bad) => {
    expect(isAddress(bad)).toBe(false);
    expect(() => boxesOf(bad)).toThrow(MailboxOff);
    expect(() => makeBoxes(bad)).toThrow(MailboxOff);
    expect(namesIn(state.home)).toEqual([]);
  });

  test("has four boxes", () => {
    expect(makeBoxes(BOB)).toEqual({
      folder: state.at(BOB),
      tmp: state.at(BOB, "tmp"),
      new: state.at(BOB, "new"),
      cur: state.at(BOB, "cur"),
      sent: state.at(BOB, "sent"),
      ledger: state.at(BOB, "ledger.json"),
    });
    expect(namesIn(state.at(BOB))).toEqual(["cur", "new", "sent", "tmp"]);
  });

  test("makes only what is missing", () => {
    makeBoxes(BOB);
    rmSync(state.at(BOB, "cur"), { recursive: true });
    const kept = statSync(state.at(BOB, "new")).ino;
    makeBoxes(BOB, true);
    expect(namesIn(state.at(BOB))).toEqual(["cur", "new", "sent", "tmp"]);
    expect(statSync(state.at(BOB, "new")).ino).toBe(kept);
  });
});

describe("S1.3 modes", () => {
  test("folders are 0700 whatever the umask lets through", () => {
    withUmask(0, () => {
      openRoot();
      makeBoxes(BOB);
    });
    for (const path of [
      "",
      "running",
      BOB,
      `${BOB}/tmp`,
      `${BOB}/new`,
      `${BOB}/cur`,
      `${BOB}/sent`,
    ]) {
      expect([path, modeOf(state.at(path))]).toEqual([path, 0o700]);
    }
  });

  test("a root that is there is closed to others", () => {
    mkdirSync(state.root);
    chmodSync(state.root, 0o755);
    openRoot();
    expect(modeOf(state.root)).toBe(0o700);
  });

  test("tells a folder that is open to group or others from one that is not", () => {
    const { folder } = makeBoxes(BOB);
    for (const [mode, open] of [
      [0o700, false],
      [0o500, false],
      [0o710, true],
      [0o740, true],
      [0o720, true],
      [0o701, true],
      [0o704, true],
    ] as const) {
      chmodSync(folder, mode);
      expect([mode, isOpenToOthers(folder)]).toEqual([mode, open]);
    }
  });

  test("an address folder that is open to others is left alone", () => {
    const { folder } = makeBoxes(BOB);
    chmodSync(folder, 0o755);
    openRoot();
    makeBoxes(BOB);
    expect(modeOf(folder)).toBe(0o755);
  });
});

describe("S1.4 a root of another user", () => {
  const other = 12_345;
  // Only root can give a folder away.
  const asRoot = test.skipIf(!isRoot);

  asRoot("is refused, and its mode is left alone", () => {
    mkdirSync(state.root, { mode: 0o755 });
    chmodSync(state.root, 0o755);
    lchownSync(state.root, other, other);
    expect(openRoot).toThrow(MailboxOff);
    expect(openRoot).toThrow(state.root);
    expect(modeOf(state.root)).toBe(0o755);
    expect(namesIn(state.root)).toEqual([]);
  });

  asRoot("is refused behind a link of our own", () => {
    const target = join(state.home, "theirs");
    mkdirSync(target);
    lchownSync(target, other, other);
    symlinkSync(target, state.root);
    expect(openRoot).toThrow(MailboxOff);
    expect(namesIn(target)).toEqual([]);
  });

  asRoot("is refused when the link is another user's, even to a folder of ours", () => {
    const target = join(state.home, "ours");
    mkdirSync(target);
    symlinkSync(target, state.root);
    lchownSync(state.root, other, other);
    expect(openRoot).toThrow(MailboxOff);
    expect(namesIn(target)).toEqual([]);
  });

  test("a link of our own to a folder of our own is good", () => {
    const target = join(state.home, "ours");
    mkdirSync(target);
    symlinkSync(target, state.root);
    openRoot();
    expect(lstatSync(state.root).isSymbolicLink()).toBe(true);
    expect(namesIn(target)).toEqual(["running"]);
  });
});

describe("S1.5 a root that cannot be made", () => {
  test("throws the reason: below a device, behind a dangling link, and where a file is", () => {
    symlinkSync(join(state.home, "nowhere", "else"), state.root);
    expect(openRoot).toThrow(state.root);
    process.env["XDG_STATE_HOME"] = "/dev/null";
    expect(openRoot).toThrow("ENOTDIR");
  });
});
