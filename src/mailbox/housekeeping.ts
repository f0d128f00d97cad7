import { networkFileSystem } from "../mail/filesystem.ts";
import { removeLeftovers } from "../mail/leftovers.ts";
import { prune } from "../mail/prune.ts";
import { mailRoot } from "../mail/root.ts";
import { runningRecord } from "../sessions/record.ts";
import { type MailboxState, tell } from "./state.ts";

const DAY = 24 * 60 * 60_000;

/** What a session does for the mail root beside its own mail. */
export class Housekeeping {
  readonly #state: MailboxState;
  #fileSystem: { readonly networkKind: string | undefined } | undefined;

  constructor(state: MailboxState) {
    this.#state = state;
  }

  /** The kind of the file system of the mail root when it is a network's (S1.7); looked up once. */
  get networkKind(): string | undefined {
    this.#fileSystem ??= { networkKind: networkFileSystem(mailRoot()) };
    return this.#fileSystem.networkKind;
  }

  /** What a start does that nobody waits for (S1.7, S11.1). */
  tidyUp(): void {
    const { host, clock, settings } = this.#state;
    const kind = this.networkKind;
    if (kind !== undefined) {
      const where = `mailbox: ${mailRoot()} is on a network file system (${kind})`;
      tell(
        this.#state,
        `${where}, where mail may come late or twice; set XDG_STATE_HOME to a folder on a local disk.`,
      );
    }
    removeLeftovers(host.address, clock.now());
    this.prune(settings().pruneAfterDays * DAY);
  }

  /**
   * Removes the folders of closed sessions in which nothing has happened for so many ms, and
   * returns how many; without an age, whatever it is (S11.3).
   */
  prune(olderThan = Number.NEGATIVE_INFINITY): number {
    const { host, clock } = this.#state;
    return prune({
      isInUse: (address) => address === host.address || runningRecord(address) !== undefined,
      olderThan,
      now: clock.now(),
    });
  }
}
