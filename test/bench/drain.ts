/** What it costs to take in mail that has piled up. */
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../src/clock.ts";
import { envelopeName } from "../../src/mail/envelope.ts";
import { makeBoxes } from "../../src/mail/root.ts";
import { BOB, mail } from "../fixtures/mail.ts";
import { agentFolderIn, BenchHost, openMailbox } from "./host.ts";
import { paired, timed } from "./paired.ts";
import { type Part, withState } from "./part.ts";
import { ratioRow } from "./table.ts";

const COUNT = 10_000;

const WHAT = "drain 10,000 waiting mails into a claimed, parsed, ledgered inbox";

export const drain: Part = {
  name: "drain",
  about: WHAT,
  async run(folder) {
    const mails = join(folder, "mails");
    mkdirSync(mails);
    for (let count = 0; count < COUNT; count++) {
      const envelope = mail();
      writeFileSync(join(mails, envelopeName(envelope)), `${JSON.stringify(envelope)}\n`);
    }
    let runs = 0;
    /** Drains them in a place of its own. They are the same each time, and go back afterwards. */
    const draining = (run: (place: string, mails: string) => number | Promise<number>) => () => {
      runs += 1;
      return run(join(folder, String(runs)), mails);
    };
    const pair = await paired({ rounds: 7, warmUp: 1 }, draining(drainOurs), draining(drainBare));
    return { rows: [ratioRow(WHAT, "rename, read, JSON.parse", pair, 1.6)] };
  },
};

/** Into a session that is busy, so that they stay in its inbox, by the default settings. */
function drainOurs(place: string, mails: string): Promise<number> {
  return withState(place, () => {
    const boxes = makeBoxes(BOB);
    rmdirSync(boxes.new);
    renameSync(mails, boxes.new);
    const host = new BenchHost(BOB, agentFolderIn(place, { durable: true }));
    host.idle = false;
    let shown = 0;
    host.listener = () => {
      shown += 1;
    };
    const mailbox = openMailbox(host, { ...systemClock, soon: () => () => undefined });
    const time = timed(() => {
      mailbox.scan();
    });
    const footer = host.status;
    mailbox.close();
    if (shown !== COUNT || footer !== `✉ ${COUNT} pending`) {
      throw new Error(`${shown} of ${COUNT} mails were taken in; the footer says ${footer ?? ""}`);
    }
    renameSync(boxes.cur, mails);
    return time;
  });
}

function drainBare(place: string, mails: string): number {
  const [from, to] = [join(place, "new"), join(place, "cur")];
  mkdirSync(to, { recursive: true });
  renameSync(mails, from);
  const taken: unknown[] = [];
  const time = timed(() => {
    for (const name of readdirSync(from).sort()) {
      renameSync(join(from, name), join(to, name));
      taken.push(JSON.parse(readFileSync(join(to, name), "utf8")));
    }
  });
  if (taken.length !== COUNT) throw new Error(`${taken.length} of ${COUNT} files were taken in`);
  renameSync(to, mails);
  return time;
}
