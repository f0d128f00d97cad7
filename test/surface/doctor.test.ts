import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { DEFAULTS } from "../../src/config.ts";
import { emptyLedger } from "../../src/mail/ledger.ts";
import type { Findings, OpenFacts, OwnFacts } from "../../src/mailbox/doctor.ts";
import { doctorLines, versions } from "../../src/surface/doctor.ts";
import { problemsIn } from "../../src/surface/problems.ts";
import { ALICE } from "../fixtures/mail.ts";

const NOW = Date.UTC(2026, 10, 30, 12);

const folder = (path: string) =>
  ({ path, kind: "folder", mode: 0o700, isForeign: false, isUsable: true }) as const;

const NOTHING: OpenFacts = { unread: [], owed: [], held: [], awaiting: [], outbox: [] };

const OWN: OwnFacts = {
  watching: { isWatching: true, trust: "good", found: { byWatcher: 3, byPoll: 1 } },
  ledger: emptyLedger(),
  setAside: [],
  isUnsaved: false,
  deferred: [],
};

const HEALTHY: Findings = {
  address: ALICE,
  now: NOW,
  own: OWN,
  root: { is: folder("/root") },
  fileSystem: "ext4",
  networkKind: undefined,
  room: 10 * 1024 ** 3,
  folders: { is: ["/root/a", "/root/a/tmp", "/root/a/new"].map(folder) },
  record: { is: { pid: 7, of: "ours", isStopped: false, updated: NOW - 12_000 } },
  waiting: { is: [] },
  open: { is: NOTHING },
  noMail: { is: [] },
  settings: DEFAULTS,
  settingsProblems: [],
};

const WHERE = { package: "1.2.3", pi: "4.5.6", node: "v24", platform: "linux x64" };

const problems = (change: Partial<Findings>, off?: string): string[] =>
  problemsIn({ ...HEALTHY, ...change }, off);

describe("S18.4 /mailbox doctor", () => {
  test("says each fact in a line, and that nothing is wrong", () => {
    const items = Array.from({ length: 7 }, (_, at) => ({
      id: `m${String(at)}`,
      at: NOW - at * 60_000,
    }));
    const open = { ...NOTHING, unread: items, owed: items.slice(1, 2) };
    expect(doctorLines({ ...HEALTHY, open: { is: open } }, undefined, WHERE)).toEqual([
      "Nothing is wrong, as far as can be told.",
      "",
      `Address: ${ALICE}`,
      "Mailbox: open, served by this process",
      "Root: /root, 0700, file system ext4, 10240 MiB free",
      "Folder: /root/a, 0700",
      "Watcher: works; mail found 3 times by it, once by the poll",
      "Record: of this process, pid 7, written 12 seconds ago",
      "Waiting: 0",
      "Open: 7 unread, 1 owed, 0 held, 0 awaiting, 0 answers not sent yet",
      "  unread: 7, the oldest sent 6 minutes ago: m6, m5, m4, m3, m2 and 2 more",
      "  owed: 1, the oldest sent 1 minute ago: m1",
      "Set aside since the start: 0",
      "Files in cur/ that are no mail: 0",
      "Settings: hopLimit 5, pruneAfterDays 30, durable true",
      "Versions: pi-session-mail 1.2.3, Pi 4.5.6, Node v24, linux x64",
    ]);
  });

  test("says of what cannot be looked up that it cannot, and nothing more", () => {
    const fault = { fault: "EIO; check the disk" };
    const lines = doctorLines({ ...HEALTHY, noMail: fault, waiting: fault }, undefined, WHERE);
    for (const what of ["Waiting", "Files in cur/ that are no mail"]) {
      expect(lines).toContain(`${what}: cannot be told: EIO; check the disk`);
    }
  });

  test("knows what runs here", () => {
    const { package: own, pi, node } = versions();
    expect([own, pi]).toEqual([
      expect.stringMatching(/^\d+\.\d+/),
      expect.stringMatching(/^\d+\./),
    ]);
    expect(node).toBe(process.version);
  });

  const root = (change: object) => ({ root: { is: { ...folder("/root"), ...change } } });
  const own = (change: Partial<OwnFacts>) => ({ own: { ...OWN, ...change } });
  const watching = (change: object) => own({ watching: { ...OWN.watching!, ...change } });
  test.each<[string, Partial<Findings>, RegExp]>([
    ["a root open to others", root({ mode: 0o755 }), /chmod 700 \/root/],
    ["a root of another user", root({ isForeign: true }), /remove it or set XDG_STATE_HOME/],
    ["a root that is a file", root({ kind: "no folder", isUsable: false }), /remove it/],
    ["a root that is gone", root({ kind: "missing", isUsable: false }), /\/reload/],
    ["a root that cannot be written", root({ isUsable: false }), /chmod 700/],
    ["a network", { networkKind: "nfs4" }, /XDG_STATE_HOME to a folder on a local disk/],
    ["a full disk", { room: 1000 }, /make some/],
    [
      "a box that is a link",
      { folders: { is: [folder("/a"), { ...folder("/a/new"), kind: "link" }] } },
      /\/a\/new is no folder; remove it/,
    ],
    [
      "a box that is a link to a folder, even of one's own",
      { folders: { is: [folder("/a"), { ...folder("/a/new"), kind: "link to a folder" }] } },
      /\/a\/new is a link; remove it/,
    ],
    ["an address that is none", { folders: { fault: "use letters" } }, /use letters/],
    [
      "another process",
      {
        ...own({ watching: undefined }),
        record: { is: { pid: 9, of: "another", isStopped: true, updated: NOW } },
      },
      /process 9.*close it there.*kill -CONT 9/,
    ],
    ["a record that is missing", { record: { is: undefined } }, /\/reload/],
    ["no watcher", watching({ isWatching: false }), /max_user_watches/],
    ["a watcher that misses mail", watching({ trust: "missed" }), /XDG_STATE_HOME/],
    [
      "mail that waits too long",
      { waiting: { is: [{ id: "m", at: NOW - 60_000 }] } },
      /check the disk/,
    ],
    ["a damaged ledger", { open: { is: "damaged" } }, /\/reload/],
    ["a ledger that cannot be read", { open: { fault: "EACCES; check" } }, /EACCES; check/],
    [
      "answers that stay",
      { open: { is: { ...NOTHING, outbox: [{ id: "m", at: NOW }] } } },
      /check the disk/,
    ],
    ["a ledger that cannot be written", own({ isUnsaved: true }), /check the disk/],
    ["mail that cannot be read", own({ deferred: ["m.json"] }), /check cur\/m\.json/],
    [
      "what was set aside",
      own({ setAside: [{ path: "/x.json", reason: "it is not JSON" }] }),
      /\/x\.json was set aside: it is not JSON\. Have it sent again/,
    ],
    ["settings", { settingsProblems: ["/s.json: it is not JSON"] }, /Correct that file/],
  ])("says what to do about %s", (_what, change, expected) => {
    expect(problems(change)).toEqual([expect.stringMatching(expected)]);
    const [first, second] = doctorLines({ ...HEALTHY, ...change }, undefined, WHERE);
    expect([first, second]).toEqual(["Problems: 1", expect.stringMatching(/^! /)]);
  });

  test("says why the mailbox is off, first, and does not call it a fault that nothing is there", () => {
    const missing = { ...folder("/root"), kind: "missing", isUsable: false } as const;
    const change = { own: undefined, root: { is: missing }, folders: { is: [missing] } };
    expect(
      problems({ ...change, record: { is: undefined }, open: { is: "missing" } }, "why"),
    ).toEqual([expect.stringMatching(/^The mailbox is off: why\. .*\/reload/)]);
  });

  test("shows nothing that could lead a terminal or a reader astray", () => {
    const hostile = fc.string({
      unit: fc.constantFrom("a", "\n", "\u001b[2J", "\u202e", "[mailbox] "),
    });
    fc.assert(
      fc.property(hostile, (text) => {
        const item = { id: text, at: NOW };
        const change: Partial<Findings> = {
          noMail: { is: [text] },
          waiting: { is: [item] },
          record: { fault: text },
          ...own({ setAside: [{ path: text, reason: text }], deferred: [text] }),
          settingsProblems: [text],
        };
        for (const line of doctorLines({ ...HEALTHY, ...change }, text, WHERE)) {
          // eslint-disable-next-line no-control-regex -- control characters are what this is about
          expect(line).not.toMatch(/[\u0000-\u001f\u202e]/);
        }
      }),
    );
  });
});
