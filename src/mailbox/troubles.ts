import { errorText } from "../mail/errors.ts";
import { type MailboxState, tell } from "./state.ts";

/** What keeps a mailbox from its work: each is told once, until a look gets all of it done. */
export class Troubles {
  readonly #state: MailboxState;
  readonly #told = new Set<string>();

  constructor(state: MailboxState) {
    this.#state = state;
  }

  tell(error: unknown): void {
    const text = errorText(error);
    // The system may name a temporary file, another each time.
    const trouble = text.replace(/'.*'/, "");
    this.#told.add(trouble);
    tell(this.#state, `mailbox: ${text}`, trouble);
  }

  /** They are over: one that comes again is told again. */
  forget(): void {
    for (const trouble of this.#told) this.#state.told.delete(trouble);
    this.#told.clear();
  }
}
