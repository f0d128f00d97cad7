/**
 * `npm run pictures`: real Pi sessions play a short story in real terminals, and what is on their
 * screens is saved as pictures/*.svg. Only the model is scripted; what a picture shows has happened.
 */
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { call, say, stall } from "../host/model.ts";
import { packageFolder } from "../host/pi.ts";
import { Workplace } from "../host/workplace.ts";
import { readGrid } from "./grid.ts";
import type { Pane } from "./pane.ts";
import { drawTerminals, type Window } from "./svg.ts";
import { Terminal } from "./terminal.ts";
import { haveTmux } from "./tmux.ts";

/** A home that tells nothing of the machine. It is made for the story and removed after it. */
const HOME = "/tmp/pi-demo";
const PROJECT = join(HOME, "shop");
const COLUMNS = 96;
const ROWS = 26;

/** The ids of the sessions, and those that mails get in the pictures, in order of sending. */
const LEAD = "019b2c40-5b10-7d42-8f6a-2c91e0b4d7a5";
const WORKER = "019b2c41-0c24-7e8b-b3d1-94f7a65c1e08";
const DOCS = "019b2c44-91d3-7a06-a5c2-63b80e17fd29";
const MAILS = [
  "7f0c6a52-3b1e-4d86-9a47-5e2d8c10f6b3",
  "2ad94e17-86c5-4f3b-b0d2-71c8e93a5f40",
  "c51b08e6-f29d-4a74-8e13-0b6d47a2c985",
  "94e7d3a0-1c58-4b2f-a6f9-d8305be1724c",
  "3806bfc9-e47a-4d15-92cb-6af1d05e8b37",
];

/** What the worker's tests print, after a time that Pi shows. */
const TESTS = `#!/bin/sh
sleep 1.5
cat <<'END'
✓ cart.test.ts (31 tests)
✓ prices.test.ts (12 tests)
✗ discount.test.ts (5 tests, 1 failed)
    a second coupon is refused: expected 90, got 81
END
`;

const pictures = join(packageFolder, "pictures");

/** The sessions of the story. */
interface Story {
  readonly workplace: Workplace;
  readonly lead: Pane;
  readonly worker: Pane;
}

async function play(story: Story): Promise<void> {
  await mailArrives(story);
  await askWaits(story);
  await mailboxScreen(story);
}

async function mailArrives({ workplace, lead, worker }: Story): Promise<void> {
  workplace.model.script(
    "worker",
    call("bash", { command: "./run-tests" }),
    say(
      "47 of 48 tests pass. **discount.test.ts** fails: a second coupon is taken off as well (81 instead of 90). " +
        "`applyCoupons` in `src/discount.ts` does not look whether one was used already.",
    ),
  );
  await lead.enter("/mailbox worker please run the tests and say what fails");
  await lead.shows("47 of 48");
  await worker.shows("47 of 48");
  await worker.shows(/✉ 1 read$/);
  await save(workplace, "mail-arriving", "A request is answered by itself in another Pi session.", [
    await windowOf(worker, "worker"),
    await windowOf(lead, "lead"),
  ]);
}

async function askWaits({ workplace, lead }: Story): Promise<void> {
  const repair = stall("I will have the second coupon refused, and keep the first.");
  workplace.model.script("worker", repair);
  workplace.model.script(
    "lead",
    call("session_mail_ask", {
      to: "worker",
      message: "Does your repair of applyCoupons change what a cart without coupons costs?",
    }),
    say("Good: carts without coupons cost what they did."),
  );
  await lead.enter(
    "Ask the worker whether carts without coupons are affected, then plan the release",
  );
  await lead.shows(/waiting on worker · 3s · read/);
  await save(workplace, "ask-waiting", "A session waits for the answer of another one.", [
    await windowOf(lead, "lead"),
  ]);
  repair.release(" No: a cart without coupons never gets there.");
  await lead.shows("Good: carts without");
}

async function mailboxScreen({ workplace, lead, worker }: Story): Promise<void> {
  const work = stall("Writing the notes.");
  workplace.model.script("worker", work);
  await lead.enter("/mailbox worker please write the release notes");
  await worker.shows("Writing the notes.");
  await lead.enter("/mailbox");
  await lead.press("Right", "Right");
  await stillness(lead);
  await save(workplace, "mailbox-screen", "What /mailbox shows.", [await windowOf(lead, "lead")]);
}

/** Waits until a screen has not changed for a second. */
async function stillness(pane: Pane): Promise<void> {
  let before = "";
  for (let looks = 0; looks < 30; looks++) {
    const now = await pane.coloured();
    if (now === before) return;
    before = now;
    await delay(1000);
  }
  throw new Error("The screen goes on changing.");
}

async function windowOf(pane: Pane, name: string): Promise<{ title: string; capture: string }> {
  return { title: `π ${name} · ~/shop`, capture: await pane.coloured() };
}

async function save(
  workplace: Workplace,
  name: string,
  about: string,
  captures: { title: string; capture: string }[],
): Promise<void> {
  const windows: Window[] = [];
  for (const { title, capture } of captures) {
    const text = steady(capture, mailIds(workplace));
    if (text.includes(workplace.folder)) throw new Error(`${name} would show ${workplace.folder}.`);
    windows.push({ title, columns: COLUMNS, rows: await readGrid(text, COLUMNS, ROWS) });
  }
  const svg = drawTerminals(about, windows);
  writeFileSync(join(pictures, `${name}.svg`), svg);
  process.stdout.write(`pictures/${name}.svg  ${(svg.length / 1024).toFixed(0)} KiB\n`);
}

/** The ids of all mail so far, in order of sending. */
function mailIds(workplace: Workplace): string[] {
  const names = readdirSync(workplace.root, { recursive: true, encoding: "utf8" })
    .filter((path) => /\/(new|cur|sent)\/\d{15}-/.test(path))
    .map((path) => path.replace(/^.*\//, ""));
  return [...new Set(names)].sort().map((name) => name.slice(16, -".json".length));
}

/**
 * A capture with what is different in every run put the same (ids of mail, the spinner, times), so
 * that a picture changes only with what it shows. Nothing becomes longer or shorter.
 */
function steady(capture: string, ids: string[]): string {
  let text = capture
    .replace(/[\u2800-\u28ff]/g, "⠹")
    .replace(/(?<!\d)\d\d:\d\d(?!\d)/g, "14:02")
    .replace(/Took \d\.\ds/g, "Took 1.5s");
  ids.forEach((id, index) => {
    const fixed = MAILS[index];
    if (fixed === undefined) throw new Error("MAILS has too few ids for this story.");
    text = text.replaceAll(id, fixed);
    text = text.replaceAll(id.slice(0, 8), fixed.slice(0, 8));
    text = text.replaceAll(id.slice(-8), fixed.slice(-8));
  });
  return text;
}

async function run(): Promise<void> {
  const workplace = await Workplace.open({ settings: { theme: "dark" } });
  const close = (): Promise<void> =>
    workplace.close().finally(() => rmSync(HOME, { recursive: true }));
  for (const signal of ["SIGINT", "SIGTERM"] as const)
    process.once(signal, () => void close().finally(() => process.exit(1)));
  try {
    mkdirSync(PROJECT, { recursive: true });
    mkdirSync(pictures, { recursive: true });
    writeFileSync(join(PROJECT, "run-tests"), TESTS, { mode: 0o755 });
    const terminal = await Terminal.open(workplace, { columns: COLUMNS, rows: ROWS });
    const session = (name: string, id: string, cwd = PROJECT): Promise<Pane> =>
      terminal.session({ name, id, cwd, env: { HOME } });
    const lead = await session("lead", LEAD);
    const worker = await session("worker", WORKER);
    // It has no part in the story; it is there, as others are.
    await session("docs", DOCS, join(HOME, "handbook"));
    await play({ workplace, lead, worker });
  } finally {
    await close();
  }
}

if (!haveTmux()) throw new Error("The pictures are made in tmux. Install it.");
if (existsSync(HOME)) throw new Error(`${HOME} is in the way. Remove it if nobody needs it.`);
await run();
