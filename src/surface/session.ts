import type { Conversation } from "../mailbox/conversation.ts";
import type { Mailbox } from "../mailbox/mailbox.ts";

/** The mailbox of the session that is on; there is one, or a reason why there is none (S1.5). */
export class Session {
  #mailbox: Mailbox | undefined;
  #off = "no session is open";

  /** The conversation of the open mailbox, or `undefined` while there is none. */
  get conversation(): Conversation | undefined {
    return this.#mailbox?.conversation;
  }

  /**
   * The open mailbox, for whoever cannot do without.
   *
   * @throws an error that says why this session has none.
   */
  get mailbox(): Mailbox {
    if (!this.#mailbox) throw new Error(`This session has no mailbox: ${this.#off}.`);
    return this.#mailbox;
  }

  /** Why there is no open mailbox; `undefined` while there is one. */
  get off(): string | undefined {
    return this.#mailbox ? undefined : this.#off;
  }

  open(mailbox: Mailbox): void {
    this.#mailbox = mailbox;
  }

  /** From now on there is none, for this reason. */
  close(reason: string): void {
    this.#mailbox?.close();
    this.#mailbox = undefined;
    this.#off = reason;
  }
}
