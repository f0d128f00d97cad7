import type { Clock } from "../clock.ts";
import {
  ownStartToken,
  recordVersion,
  removeRecord,
  runningRecord,
  type SessionRecord,
  takeRecord,
  writeRecord,
} from "../sessions/record.ts";
import type { Host } from "./host.ts";

/** How often a record is written again though nothing in it has changed, in ms. */
const BEAT = 30_000;

/** The running record of an open mailbox: what other sessions know of this one (S3.1). */
export class Presence {
  readonly #host: Host;
  readonly #clock: Clock;
  #started = "";
  #written = { now: 0, elapsed: 0 };
  /** Of the record that we have written last. */
  #version: string | undefined;
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
    if (this.#version !== undefined && recordVersion(this.#host.address) === this.#version)
      return undefined;
    const pid = runningRecord(this.#host.address)?.pid;
    return pid === process.pid ? undefined : pid;
  }

  /** Writes the first record, unless another process serves the address; whether it did (S3.4). */
  take(state: SessionRecord["state"]): boolean {
    this.#state = state;
    this.#touch();
    this.#version = takeRecord(this.record());
    return this.#version !== undefined;
  }

  /** Writes the record, with what has changed; another process's record stays (S3.3). */
  show(change: Partial<Pick<SessionRecord, "state" | "waitingOn">> = {}): void {
    this.#state = change.state ?? this.#state;
    this.#waitingOn = change.waitingOn ?? this.#waitingOn;
    if (this.otherProcess() !== undefined) return;
    this.#touch();
    this.#version = writeRecord(this.record());
  }

  /** Writes the record if it does not say already what the session does. */
  showState(state: SessionRecord["state"]): void {
    if (state !== this.#state) this.show({ state });
  }

  #touch(): void {
    this.#written = { now: this.#clock.now(), elapsed: this.#clock.elapsed() };
  }

  /** What the record says, or would say if it were written now. */
  record(): SessionRecord {
    this.#started ||= ownStartToken();
    const name = this.#host.name();
    return {
      address: this.#host.address,
      ...(name === undefined ? {} : { name }),
      cwd: this.#host.cwd,
      pid: process.pid,
      started: this.#started,
      state: this.#state,
      waitingOn: this.#waitingOn,
      updated: new Date(this.#written.now).toISOString(),
    };
  }

  /**
   * Writes the record again when it is gone, and when it has been a while, so that others see
   * that we respond (S3.5).
   */
  beat(): void {
    const { now, elapsed } = this.#written;
    // By either clock: others judge by the one that can be set, which may have been set meanwhile.
    const isDue =
      this.#clock.elapsed() - elapsed >= BEAT || Math.abs(this.#clock.now() - now) >= BEAT;
    if (isDue || recordVersion(this.#host.address) === undefined) this.show();
  }

  /** The address is another process's now, which says for itself what it does. */
  leave(): void {
    this.#version = undefined;
    this.#waitingOn = "";
  }

  /** Removes the record; another process's stays (S3.3). */
  hide(): void {
    if (this.#version !== undefined) removeRecord(this.#host.address, this.#version);
    this.#version = undefined;
  }
}
