/**
 * The process of `memory.ts`, with `--expose-gc`: lets mail pass through a session and prints how
 * many bytes are held afterwards that were not held before, the host's entries not counted.
 */
import { envelopeName } from "../../src/mail/envelope.ts";
import { boxesOf, makeBoxes } from "../../src/mail/root.ts";
import type { Mailbox } from "../../src/mailbox/mailbox.ts";
import { writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { ALICE, BOB, mail } from "../fixtures/mail.ts";
import { agentFolderIn, BenchHost, openMailbox, runToTheEnd, turn } from "./host.ts";

const COUNT = 10_000;
const AT_ONCE = 50;

const [folder = ""] = process.argv.slice(2);
const host = new BenchHost(BOB, agentFolderIn(folder, { durable: false }));
const open = [openMailbox(host)];
await turn();

// What is made once, and code that gets compiled, is there after this.
await pass(open[0]!, 2000);
const entriesBefore = host.session.length;
const before = await heapUsed();
await pass(open[0]!, COUNT);
const after = await heapUsed();

// How much of it is the host's: what goes when, with the mailbox gone, its entries go.
open.pop()?.close();
const withEntries = await heapUsed();
host.session.length = entriesBefore;
const withoutEntries = await heapUsed();
console.log(after - before - (withEntries - withoutEntries));

/** Requests come, enter, are answered, and the session settles; none stays open. */
async function pass(through: Mailbox, count: number): Promise<void> {
  const box = makeBoxes(BOB).new;
  for (let passed = 0; passed < count; passed += AT_ONCE) {
    for (let index = 0; index < AT_ONCE; index++) {
      const envelope = mail();
      writeFileSync(join(box, envelopeName(envelope)), JSON.stringify(envelope));
    }
    through.scan();
    if (host.idle) throw new Error("the mail has not woken the session");
    runToTheEnd(host, through);
    await turn();
  }
  if (!/^✉ \d+ read$/.test(host.status ?? "")) throw new Error(`something is open: ${host.status}`);
  await rm(boxesOf(ALICE).folder, { recursive: true, force: true });
}

async function heapUsed(): Promise<number> {
  for (let times = 0; times < 4; times++) {
    await delay(20);
    globalThis.gc?.();
  }
  return process.memoryUsage().heapUsed;
}
