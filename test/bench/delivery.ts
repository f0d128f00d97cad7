/** How long a mail takes from one process to another. */
import { type ChildProcess, fork } from "node:child_process";
import { randomUUID } from "node:crypto";
import { closeSync, fsyncSync, mkdirSync, openSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { makeBoxes, openRoot } from "../../src/mail/root.ts";
import { claim, send } from "../../src/mail/store.ts";
import { ALICE, mail } from "../fixtures/mail.ts";
import { newSessionId } from "../host/pi.ts";
import { agentFolderIn, BenchHost, openMailbox } from "./host.ts";
import { paired, type Run, timed } from "./paired.ts";
import { type Part, withState } from "./part.ts";
import { type Arrival, LANES } from "./lanes.ts";
import { loadRelay, RELAY_ADDRESS, type Relay } from "./relay.ts";
import { ratioRow, type Row } from "./table.ts";

const BODY = "Please run the tests and tell me which of them fail, and why. ".repeat(4);

const WHAT = "send until claimed and parsed in another process";

/** Who gets mail in this process. */
const SELF = newSessionId();

const ROUNDS = { rounds: 200, warmUp: 50 };

export const delivery: Part = {
  name: "delivery",
  about: `${WHAT}, durable and not`,
  run: (folder) =>
    withState(folder, async () => {
      const relay = await loadRelay();
      const receiver = await Receiver.start(folder);
      try {
        const rows = [
          await store(receiver, folder, false),
          await store(receiver, folder, true),
          ...(relay ? [await peer(folder, relay)] : []),
          await whole(receiver, folder, false),
          await whole(receiver, folder, true),
        ];
        const missing = "pi-relay is not installed: npm install --prefix test/bench adds its row.";
        return { rows, notes: relay ? [] : [missing] };
      } finally {
        await receiver.end();
      }
    }),
};

/** The sending and claiming alone. */
async function store(receiver: Receiver, folder: string, durable: boolean): Promise<Row> {
  const pair = await paired(
    ROUNDS,
    viaStore(receiver, durable),
    receiver.timed((id) => {
      sendBare(folder, id, durable);
    }),
  );
  return ratioRow(`${WHAT}, ${how(durable)}`, floor(durable), pair, durable ? 1.3 : 1.5);
}

/** With an open mailbox at both ends, whose ledger is written before mail is claimed. */
async function whole(receiver: Receiver, folder: string, durable: boolean): Promise<Row> {
  const host = new BenchHost(newSessionId(), agentFolderIn(folder, { durable }));
  const sender = openMailbox(host);
  try {
    const pair = await paired(
      ROUNDS,
      receiver.timed(() => {
        const { id } = sender.send({ to: LANES.mailbox, kind: "message", hops: 0, body: BODY });
        return id;
      }),
      receiver.timed((id) => {
        sendBare(folder, id, durable);
      }),
    );
    return ratioRow(`the same between open mailboxes, ${how(durable)}`, floor(durable), pair);
  } finally {
    sender.close();
  }
}

/**
 * A package of the same kind, which flushes, too. In one process: what it has to notice mail with
 * looks every 250 ms and, on Linux, sees no more than the first.
 */
async function peer(folder: string, relay: Relay): Promise<Row> {
  const root = join(folder, "relay");
  const from = { addr: "ba9876543210", name: "alice", cwd: "/work" };
  const pair = await paired(
    ROUNDS,
    () =>
      timed(() => {
        send(mail({ from: ALICE, to: SELF, kind: "message", body: BODY }), true);
        const { mails } = claim(
          SELF,
          () => false,
          () => undefined,
        );
        if (mails.length !== 1) throw new Error(`${mails.length} mails were claimed`);
      }),
    () =>
      timed(() => {
        const letter = {
          id: randomUUID(),
          from,
          kind: "message",
          body: BODY,
          ts: Date.now(),
        } as const;
        relay.deposit(root, RELAY_ADDRESS, letter);
        const { claimToken = "", fileTokens = [] } = relay.claimInbox(root, RELAY_ADDRESS) ?? {};
        const token = fileTokens[0] ?? "";
        const read = relay.readClaimedLetter(root, RELAY_ADDRESS, claimToken, token);
        if (read?.id !== letter.id) throw new Error("the letter was not claimed");
      }),
  );
  return ratioRow("send, claim and parse in one process, durable", "pi-relay 0.3.4", pair);
}

function viaStore(receiver: Receiver, durable: boolean): Run {
  return receiver.timed((id) => {
    send(mail({ id, from: ALICE, to: LANES.ours, kind: "message", body: BODY }), durable);
  });
}

function how(durable: boolean): string {
  return durable ? "durable" : "not durable";
}

function floor(durable: boolean): string {
  return durable ? "write, flushes, rename, watch" : "write, rename, watch";
}

/** The least that moves a file whole into another folder. */
function sendBare(folder: string, id: string, durable: boolean): void {
  const text = JSON.stringify(
    mail({ id, from: ALICE, to: LANES.ours, kind: "message", body: BODY }),
  );
  const [written, sent] = [join(folder, "bare/tmp", id), join(folder, "bare/new", id)];
  if (!durable) writeFileSync(written, text);
  else {
    const file = openSync(written, "wx");
    writeFileSync(file, text);
    fsyncSync(file);
    closeSync(file);
  }
  renameSync(written, sent);
  if (!durable) return;
  const box = openSync(join(folder, "bare/new"), "r");
  fsyncSync(box);
  closeSync(box);
}

/** The other process. */
class Receiver {
  readonly #child: ChildProcess;
  readonly #arrived = new Map<string, bigint>();
  #look: () => void = () => undefined;

  private constructor(child: ChildProcess) {
    this.#child = child;
    child.on("message", (message) => {
      const { id, at } = message as Arrival;
      this.#arrived.set(id, BigInt(at));
      this.#look();
    });
  }

  static async start(folder: string): Promise<Receiver> {
    openRoot();
    for (const address of Object.values(LANES)) makeBoxes(address);
    for (const box of ["tmp", "new", "cur"])
      mkdirSync(join(folder, "bare", box), { recursive: true });
    const child = fork(join(import.meta.dirname, "receiver.ts"), [folder]);
    const receiver = new Receiver(child);
    await receiver.#arrival("ready");
    return receiver;
  }

  /**
   * A run that sends a mail, and gives the ms until the other process had it.
   *
   * @param sendOne sends one with the id that it is given, or gives the one that it had instead.
   */
  timed(sendOne: (id: string) => string | undefined): Run {
    return async () => {
      const given = randomUUID();
      const start = process.hrtime.bigint();
      const id = sendOne(given) ?? given;
      const at = await this.#arrival(id);
      // What the watcher says of the move to `cur/` is over before the next one is sent.
      await delay(2);
      return Number(at - start) / 1e6;
    };
  }

  #arrival(id: string): Promise<bigint> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        reject(new Error(`the mail ${id} did not arrive within 10 s`));
      }, 10_000);
      this.#look = () => {
        const at = this.#arrived.get(id);
        if (at === undefined) return;
        clearTimeout(timer);
        this.#arrived.delete(id);
        resolve(at);
      };
      this.#look();
    });
  }

  async end(): Promise<void> {
    if (!this.#child.connected) return;
    const ended = new Promise((resolve) => this.#child.once("exit", resolve));
    this.#child.disconnect();
    await ended;
  }
}
