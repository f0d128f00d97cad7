/** What mail that is kept adds to a start and to the next mail. Nothing, it should be. */
import { execFileSync } from "node:child_process";
import { linkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../src/clock.ts";
import { type Envelope, envelopeName } from "../../src/mail/envelope.ts";
import { emptyLedger, saveLedger } from "../../src/mail/ledger.ts";
import { makeBoxes } from "../../src/mail/root.ts";
import { send } from "../../src/mail/store.ts";
import { ENTRY_TYPE, type HostEntry } from "../../src/mailbox/host.ts";
import type { Mailbox } from "../../src/mailbox/mailbox.ts";
import { ALICE, BOB, CAROL, mail } from "../fixtures/mail.ts";
import { agentFolderIn, BenchHost, openMailbox, runToTheEnd, turn } from "./host.ts";
import { paired, timed } from "./paired.ts";
import { type Part, withState } from "./part.ts";
import { ratioRow, type Row } from "./table.ts";

const KEPT = 100_000;
const SENT = 10_000;

export const kept: Part = {
  name: "kept",
  about: "session start, and one mail in and its footer, with 100,000 kept and 10,000 sent mails",
  run: (folder) =>
    withState(folder, async () => {
      // Without flushes, which cost the same for both and would hide a difference.
      const agent = agentFolderIn(folder, { durable: false });
      makeBoxes(ALICE);
      saveLedger(ALICE, emptyLedger(), false);
      const boxes = makeBoxes(BOB);
      saveLedger(BOB, { ...emptyLedger(), read: KEPT }, false);
      const entries = fill(boxes.cur, KEPT, { from: ALICE, to: BOB });
      fill(boxes.sent, SENT, { from: BOB, to: ALICE });
      if (process.platform !== "win32") execFileSync("sync");
      return { rows: [...(await starts(agent, entries)), await oneMail(agent)] };
    }),
};

/** So many names may a file have on the usual file systems, and some to spare. */
const NAMES = 20_000;

/**
 * Makes mails in a box, and gives the entries that a session has of them. Many names share a
 * file, which makes no difference to a folder and takes a fraction of the time.
 */
function fill(box: string, count: number, change: Partial<Envelope>): HostEntry[] {
  let file = "";
  return Array.from({ length: count }, (_, index) => {
    const envelope = mail(change);
    const path = join(box, envelopeName(envelope));
    if (index % NAMES !== 0) linkSync(file, path);
    else {
      file = path;
      writeFileSync(path, `${JSON.stringify(envelope)}\n`);
    }
    return { type: "custom_message", customType: ENTRY_TYPE, details: { id: envelope.id } };
  });
}

async function starts(agent: string, entries: HostEntry[]): Promise<Row[]> {
  const rounds = { rounds: 400, warmUp: 30 };
  const none = (): number => start(new BenchHost(ALICE, agent));
  const full = (): number => start(new BenchHost(BOB, agent));
  const withEntries = (): number => start(new BenchHost(BOB, agent, entries));
  return [
    ratioRow(
      "session start with 100,000 kept and 10,000 sent mails",
      "with none",
      await paired(rounds, full, none),
      1.05,
    ),
    ratioRow(
      "the same, with the 100,000 entries of them in the session",
      "with none",
      await paired({ rounds: 20, warmUp: 2 }, withEntries, none),
    ),
  ];
}

/** From the opening of a mailbox until its first look into `new/` is done, and what it tidies up. */
function start(host: BenchHost): number {
  const soon: (() => void)[] = [];
  const clock = {
    ...systemClock,
    soon: (run: () => void) => {
      soon.push(run);
      return () => undefined;
    },
  };
  let mailbox: Mailbox | undefined;
  const time = timed(() => {
    mailbox = openMailbox(host, clock);
    for (const run of soon) run();
  });
  mailbox?.close();
  return time;
}

/** A mail that waits is claimed, enters, and is read when the run on it ends; the footer says so. */
async function oneMail(agent: string): Promise<Row> {
  const sessions = [ALICE, BOB].map((address) => {
    const host = new BenchHost(address, agent);
    return { host, mailbox: openMailbox(host) };
  });
  await turn();
  const [none, full] = sessions.map(({ host, mailbox }) => async () => {
    send(mail({ from: CAROL, to: host.address, kind: "message" }), false);
    const shown: (string | undefined)[] = [host.status];
    const time = timed(() => {
      mailbox.scan();
      shown.push(host.status);
      runToTheEnd(host, mailbox);
      shown.push(host.status);
    });
    if (new Set(shown).size < 3) throw new Error(`the footer went ${shown.join(" → ")}`);
    await turn();
    return time;
  });
  try {
    return ratioRow(
      "one mail in and its footer with 100,000 kept",
      "with none kept",
      await paired({ rounds: 200, warmUp: 30 }, full!, none!),
      1.1,
    );
  } finally {
    for (const { mailbox } of sessions) mailbox.close();
  }
}
