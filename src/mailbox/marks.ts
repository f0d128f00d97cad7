import { ENTRY_TYPE, type HostEntry } from "./host.ts";
import type { ReadMarks } from "../mail/ledger.ts";

/** The tool whose results hold the answers to asks. */
export const ASK_TOOL = "session_mail_ask";

/** Stop reasons of a model's message behind which a run goes on, or which answered nobody. */
const NOT_FINAL: readonly unknown[] = ["toolUse", "aborted"];

/**
 * What the session file tells about mail. An entry with a mail's id is the one thing that decides
 * whether it was read (S5.5): the custom message that it entered as, the result of the ask that
 * it answered, or the mark left for one that a listener took over.
 */
export class Marks implements ReadMarks {
  readonly #entries: () => readonly HostEntry[];
  readonly #readAt = new Map<string, number>();
  readonly #answered = new Set<string>();
  #seen = 0;
  #lastFinal = -1;

  constructor(entries: () => readonly HostEntry[]) {
    this.#entries = entries;
  }

  /** Takes in the entries that have been made since the last look. */
  refresh(): void {
    const entries = this.#entries();
    // Entries are only ever added; a shorter list is another session's.
    if (entries.length < this.#seen) {
      this.#seen = 0;
      this.#lastFinal = -1;
      this.#readAt.clear();
      this.#answered.clear();
    }
    for (; this.#seen < entries.length; this.#seen++) {
      const entry = entries[this.#seen];
      if (!entry) continue;
      const id = mailId(entry);
      if (id !== undefined) {
        this.#readAt.set(id, this.#seen);
        if (field(entry.data, "answered") === true) this.#answered.add(id);
      } else if (isFinal(entry)) this.#lastFinal = this.#seen;
    }
  }

  isRead(id: string): boolean {
    return this.#readAt.has(id);
  }

  isAnswered(id: string): boolean {
    return (
      this.#answered.has(id) || (this.#readAt.get(id) ?? Number.POSITIVE_INFINITY) < this.#lastFinal
    );
  }
}

function mailId(entry: HostEntry): string | undefined {
  if (entry.customType === ENTRY_TYPE) {
    return text(entry.type === "custom" ? entry.data : entry.details, "id");
  }
  const message = entry.type === "message" ? entry.message : undefined;
  if (text(message, "role") !== "toolResult" || text(message, "toolName") !== ASK_TOOL) {
    return undefined;
  }
  return text(field(message, "details"), "answer");
}

function isFinal(entry: HostEntry): boolean {
  return (
    entry.type === "message" &&
    text(entry.message, "role") === "assistant" &&
    !NOT_FINAL.includes(text(entry.message, "stopReason"))
  );
}

function field(value: unknown, key: string): unknown {
  return typeof value === "object" && value !== null
    ? Object.getOwnPropertyDescriptor(value, key)?.value
    : undefined;
}

function text(value: unknown, key: string): string | undefined {
  const found = field(value, key);
  return typeof found === "string" ? found : undefined;
}
