import type { Clock } from "../clock.ts";
import {
  ownStartToken,
  recordMark,
  removeOwnRecord,
  runningRecord,
  type SessionRecord,
  takeRecord,
  writeRecord,
} from "../sessions/record.ts";
import type { Host } from "./host.ts";

/** How often a record is written again though nothing in it has changed. */
const BEAT = 30_000;

/** The running record of an open mailbox: what other sessions know of this one (S3.1). */
export class Presence {
  readonly #host: Host;
  readonly #clock: Clock;
  #started: string | undefined;
  #written = 0;
  /** Of the record that we have written last. */
  #mark: string | undefined;
  #state: SessionRecord["state"] = "idle";
  #waitingOn = "";

  constructor(host: Host, clock: Clock) {
    this.#host = host;
    this.#clock = clock;
  }

  /** The address whose answer the session waits for, or empty. */
  get waitingOn(): string {
    return this.#waitingOn;
  }

  /** The pid of another process that serves this address, if one does (S3.4). */
  otherProcess(): number | undefined {
    // As long as the record is the one that we have written, nothing need be read.
    if (this.#mark !== undefined && recordMark(this.#host.address) === this.#mark) return undefined;
    const pid = runningRecord(this.#host.address)?.pid;
    return pid === process.pid ? undefined : pid;
  }

  /** Writes the first record, unless another process serves the address; whether it did (S3.4). */
  take(state: SessionRecord["state"]): boolean {
    this.#state = state;
    this.#mark = takeRecord(this.#record());
    return this.#mark !== undefined;
  }

  /** Writes the record, with what has changed; another process's record stays (S3.3). */
  show(change: Partial<Pick<SessionRecord, "state" | "waitingOn">> = {}): void {
    this.#state = change.state ?? this.#state;
    this.#waitingOn = change.waitingOn ?? this.#waitingOn;
    if (this.otherProcess() !== undefined) return;
    this.#mark = writeRecord(this.#record());
  }

  #record(): SessionRecord {
    this.#started ??= ownStartToken();
    this.#written = this.#clock.elapsed();
    const name = this.#host.name();
    return {
      address: this.#host.address,
      ...(name === undefined ? {} : { name }),
      cwd: this.#host.cwd,
      pid: process.pid,
      started: this.#started,
      state: this.#state,
      waitingOn: this.#waitingOn,
      updated: new Date(this.#clock.now()).toISOString(),
    };
  }

  /**
   * Writes the record again when it is gone, and when it has been a while, so that others see
   * that we respond (S3.5).
   */
  beat(): void {
    const isDue = this.#clock.elapsed() - this.#written >= BEAT;
    if (isDue || recordMark(this.#host.address) === undefined) this.show();
  }

  /** Removes the record; another process's stays (S3.3). */
  hide(): void {
    removeOwnRecord(this.#host.address);
  }
}
