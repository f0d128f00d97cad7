import type * as Fs from "node:fs";
import { rmSync } from "node:fs";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { envelopeName } from "../../src/mail/envelope.ts";
import { emptyLedger, saveLedger } from "../../src/mail/ledger.ts";
import { makeBoxes } from "../../src/mail/root.ts";
import { claim, isDelivered, send, SendError } from "../../src/mail/store.ts";
import { filesBelow, useStateFolder } from "../fixtures/folder.ts";
import { ALICE, BOB, mail, replyTo } from "../fixtures/mail.ts";

/** What the code has done to the disk, in order, by the last two names of each path. */
const trace = vi.hoisted(() => ({
  calls: new Array<string>(),
  failing: "",
  /** Called once, before the step that begins with the first. */
  meanwhile: ["", () => undefined] as [step: string, run: () => void],
  paths: new Map<number, string>(),
}));

vi.mock("node:fs", async (original) => {
  const fs = await original<typeof Fs>();
  // What a file is called while it is written is the sender's own affair.
  const short = (path: unknown): string =>
    String(path)
      .split("/")
      .slice(-2)
      .join("/")
      .replace(/^tmp\/.*/, "tmp/*");
  const note = (call: string): void => {
    trace.calls.push(call);
    const [step, run] = trace.meanwhile;
    if (step !== "" && call.startsWith(step)) {
      trace.meanwhile = ["", () => undefined];
      run();
    }
    if (trace.failing !== "" && call.startsWith(trace.failing)) {
      throw Object.assign(new Error("EIO: i/o error"), { code: "EIO" });
    }
  };
  return {
    ...fs,
    openSync: (...args: Parameters<typeof fs.openSync>) => {
      if (typeof args[1] === "string") note(`write ${short(args[0])}`);
      const file = fs.openSync(...args);
      trace.paths.set(file, short(args[0]));
      return file;
    },
    fsyncSync: (file: number) => {
      note(`flush ${trace.paths.get(file) ?? "?"}`);
      fs.fsyncSync(file);
    },
    renameSync: (from: string, to: string) => {
      note(`rename ${short(from)} ${short(to)}`);
      fs.renameSync(from, to);
    },
  };
});

const state = useStateFolder();
beforeEach(() => {
  trace.failing = "";
  makeBoxes(ALICE);
  makeBoxes(BOB);
  trace.calls.length = 0;
});

describe("S1.6 S2.5 the order of a send", () => {
  test("copy, tmp/, flush, new/, flush of the folder", () => {
    const envelope = mail();
    const name = envelopeName(envelope);
    send(envelope, true);
    expect(trace.calls).toEqual([
      "write tmp/*",
      "flush tmp/*",
      `rename tmp/* sent/${name}`,
      `rename tmp/* new/${name}`,
      `flush ${BOB}/new`,
    ]);
  });

  test("a reply has no copy", () => {
    const reply = replyTo(mail());
    const name = envelopeName(reply);
    send(reply, true);
    expect(trace.calls).toEqual([
      "write tmp/*",
      "flush tmp/*",
      `rename tmp/* new/${name}`,
      `flush ${ALICE}/new`,
    ]);
  });

  test("S12.1 nothing is flushed when it need not be durable", () => {
    send(mail(), false);
    saveLedger(BOB, emptyLedger(), false);
    expect(trace.calls.filter((call) => call.startsWith("flush"))).toEqual([]);
  });

  test("the folders of a mailbox that is made for it are flushed too", () => {
    const to = "0195d000-0000-7000-8000-00000000000d";
    send(mail({ to }), true);
    const folders = trace.calls.filter((call) => call.startsWith("flush"));
    expect(folders).toContain(`flush pi-session-mail/${to}`);
    expect(folders).toContain(`flush ${state.root.split("/").slice(-2).join("/")}`);
  });
});

describe("S2.5 a step that fails", () => {
  test.each([
    "write tmp/",
    "rename tmp/* sent/",
    "flush tmp/",
    "rename tmp/* new/",
    `flush ${BOB}/new`,
  ])("%s: nothing was delivered and nothing is left", (step) => {
    trace.failing = step;
    expect(() => {
      send(mail(), true);
    }).toThrow(SendError);
    trace.failing = "";
    expect(trace.calls.some((call) => call.startsWith(step))).toBe(true);
    expect(filesBelow(state.root)).toEqual([]);
  });
});

describe("what others do during a send", () => {
  test("S2.5 a mail that was claimed before its folder failed to be flushed has arrived", () => {
    const envelope = mail();
    trace.failing = `flush ${BOB}/new`;
    trace.meanwhile = [
      trace.failing,
      () => {
        claim(
          BOB,
          () => false,
          () => undefined,
        );
      },
    ];
    send(envelope, true);
    expect(isDelivered(envelope)).toBe(true);
    expect(filesBelow(state.root)).toHaveLength(2);
  });

  test.each(["write tmp/", "rename tmp/"])(
    "S11.2 a mailbox that is pruned before %s is made again",
    (step) => {
      const envelope = mail();
      trace.meanwhile = [
        step,
        () => {
          rmSync(makeBoxes(BOB).folder, { recursive: true });
        },
      ];
      send(envelope, true);
      expect(isDelivered(envelope)).toBe(true);
      expect(filesBelow(state.root)).toHaveLength(2);
    },
  );
});

describe("the ledger", () => {
  test("is flushed before it takes its place, and its folder after", () => {
    saveLedger(BOB, emptyLedger(), true);
    expect(trace.calls).toEqual([
      expect.stringMatching(/^write .*\.ledger\.json\./),
      expect.stringMatching(/^flush .*\.ledger\.json\./),
      expect.stringMatching(/^rename .* .*\/ledger\.json$/),
      expect.stringMatching(new RegExp(`^flush .*${BOB}$`)),
    ]);
  });

  test.each(["flush", "rename"])("leaves no temporary file when %s fails", (step) => {
    trace.failing = step;
    expect(() => {
      saveLedger(BOB, emptyLedger(), true);
    }).toThrow("EIO");
    expect(filesBelow(state.root)).toEqual([]);
  });
});
