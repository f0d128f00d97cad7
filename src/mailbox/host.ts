import type { Span } from "../turn/label.ts";

/** An entry of the session file, as far as this package looks at it. */
export interface HostEntry {
  readonly type: string;
  readonly customType?: string;
  /** Of a custom message. */
  readonly details?: unknown;
  /** Of a custom entry. */
  readonly data?: unknown;
  /** Of a message. */
  readonly message?: unknown;
}

/** A mail as it enters the conversation: a custom message of type `mailbox` (S5.7). */
export interface Injection {
  readonly content: string;
  readonly details: InjectionDetails;
}

/** What is kept beside the text, for renderers and for telling what was read. */
export interface InjectionDetails {
  readonly id: string;
  readonly from: string;
  readonly label: string;
  readonly kind: string;
  readonly status: string;
  readonly ts: string;
  /** Where in the text the body is, and each mail that it answers. */
  readonly body: Span;
  readonly quotes: readonly Span[];
}

/** The type of our entries in the session file, messages and others (S5.7). */
export const ENTRY_TYPE = "mailbox";

/** All that a mailbox needs of the program around it. `pi-host.md` tells what Pi really does. */
export interface Host {
  /** The session's id. */
  readonly address: string;
  readonly cwd: string;
  /** Whether a run may be started. In print mode Pi ends after the user's own prompt. */
  readonly canWake: boolean;
  /** Where `session-mail.json` lies. */
  readonly agentFolder: string;
  name(): string | undefined;
  /** No run, retry or compaction is on. */
  isIdle(): boolean;
  /** Entries are on disk as soon as they are made, or will never be. */
  isOnDisk(): boolean;
  /**
   * Makes the entries that there are survive a power cut.
   *
   * @throws the system's error.
   */
  flush(): void;
  /** All entries of the session, in the order they were made. */
  entries(): readonly HostEntry[];
  /** Puts a mail into the idle session at once, starting nothing. */
  append(mail: Injection): void;
  /** Puts a mail into the idle session by starting a run with it. */
  wake(mail: Injection): void;
  /** Writes an entry that no model sees: the mail with this id counts as read, or as answered. */
  mark(id: string, answered: boolean): void;
  emit(channel: string, payload: object): void;
  /** Tells the user something to act on. */
  warn(text: string): void;
  showStatus(text: string | undefined): void;
}
