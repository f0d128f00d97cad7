/** One session of a soak, through all the processes that serve it one after another. */
import { readdirSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import type { Ledger } from "../../src/mail/ledger.ts";
import { ledgerOf } from "../delivery/s2-disk.ts";
import { newSessionId, type PiSession } from "../host/session.ts";
import type { Workplace } from "../host/workplace.ts";

/** A session that is mailed to, stopped, killed and resumed. */
export class Participant {
  readonly name: string;
  readonly address = newSessionId();
  /** Every process so far, oldest first. */
  readonly lives: PiSession[] = [];
  /** What the chaos did to it, in order. */
  readonly blows: string[] = [];
  /** Whether a process of it was killed, so that it could not write down what it had just done. */
  wasKilled = false;
  readonly #workplace: Workplace;
  readonly #extensions: string[];
  #current: Promise<PiSession>;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(workplace: Workplace, name: string, extensions: string[]) {
    this.name = name;
    this.#workplace = workplace;
    this.#extensions = extensions;
    this.#current = this.#open();
  }

  /** The process that serves it, once there is one. */
  get session(): Promise<PiSession> {
    return this.#current;
  }

  /** The ledger as it is on disk; undefined before the first. */
  get ledger(): Ledger | undefined {
    try {
      return ledgerOf(this.#workplace, this.address);
    } catch {
      return undefined;
    }
  }

  /** How many mails wait to be claimed. */
  get waiting(): number {
    return readdirSync(this.#workplace.mailbox(this.address).new).length;
  }

  /** Runs one thing at a time of those that may not meet. */
  exclusively<Value>(run: () => Promise<Value>): Promise<Value> {
    const turn = this.#turn.then(run, run);
    this.#turn = turn.catch(() => undefined);
    return turn;
  }

  /** Ends its process and, after a while, opens it again. */
  async restart(
    stop: (session: PiSession) => Promise<unknown>,
    milliseconds: number,
  ): Promise<void> {
    const old = await this.#current;
    this.#current = stop(old).then(async () => {
      await delay(milliseconds);
      return this.#open();
    });
    await this.#current;
  }

  /** Opens it in a second process, which takes over when the first has ended (S3.4). */
  async succeed(end: (first: PiSession) => Promise<unknown>, milliseconds: number): Promise<void> {
    const old = await this.#current;
    const heir = await this.#open();
    await delay(milliseconds);
    this.#current = Promise.resolve(heir);
    await end(old);
  }

  async #open(): Promise<PiSession> {
    const session = this.#workplace.launch({
      name: this.name,
      id: this.address,
      extensions: this.#extensions,
    });
    this.lives.push(session);
    await session.state();
    return session;
  }
}
