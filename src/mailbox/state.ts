import { basename } from "node:path";
import type { Clock } from "../clock.ts";
import type { Settings } from "../config.ts";
import type { Host } from "./host.ts";
import { errorCode, errorText } from "../mail/errors.ts";
import type { Envelope, Kind, ReplyStatus } from "../mail/envelope.ts";
import { emptyLedger, type Ledger, saveLedger } from "../mail/ledger.ts";
import { makeBoxes } from "../mail/root.ts";
import { nextStamp } from "../mail/stamp.ts";
import type { SetAside } from "../mail/store.ts";
import { Marks } from "./marks.ts";
import { type Hops, NO_HOPS } from "../turn/hops.ts";
import type { Incoming } from "../turn/intake.ts";
import type { Answered } from "../turn/label.ts";
import { type Ending, NO_ENDING } from "../turn/run.ts";

/** How a mail is on its way into the session, until an entry shows that it has entered. */
export interface Handed {
  readonly by: "message" | "gap" | "tool";
  /** By {@link Clock.elapsed}. */
  readonly at: number;
}

/** A mail that is claimed and not known to be read for good. */
export interface Unread extends Incoming {
  /** In `cur/`. */
  readonly path: string;
  readonly answered: readonly Answered[];
  /** Whether listeners have seen it and left it to us (S9.2). */
  offered: "no" | "now" | "yes";
  handed: Handed | undefined;
  /** It is in the session, which is not on disk yet: a crash would take it back (S5.5). */
  entered: boolean;
}

/** A tool call that waits for the answer to an ask. */
export interface Wait {
  readonly target: string;
  readonly answer: (reply: Envelope, path: string) => void;
  /** The mailbox is closed, so no answer comes. */
  readonly abandon: () => void;
}

/** All that changes in an open mailbox. */
export interface MailboxState {
  readonly host: Host;
  readonly clock: Clock;
  readonly marks: Marks;
  /** Read anew, as for each send (S12.1). */
  readonly settings: () => Settings;
  /** As they were last read, for what is done many times between two sends. */
  readonly lastSettings: () => Settings;
  /** What is open, but for `unread`, which is kept below with its mail. */
  ledger: Omit<Ledger, "unread">;
  /** By id, in order of sending. */
  unread: Map<string, Unread>;
  /** By the id of the ask. */
  readonly waits: Map<string, Wait>;
  /** A run is on: it has started, and its settling has not been seen to yet. */
  running: boolean;
  /** Until when a prompt that the user has typed is about to start a run, by {@link Clock.elapsed}. */
  promptUntil: number;
  /** Names in `cur/` of unread mail that cannot be read for now. */
  readonly deferred: Set<string>;
  /** How many mails listeners are being shown right now; they may act on the mailbox meanwhile. */
  offering: number;
  hops: Hops;
  ending: Ending;
  /** When the last run settled, by {@link Clock.elapsed}; 0 before the first. */
  settledAt: number;
  /** The ledger's file is as this process has last written it. */
  saved: boolean;
  /** The ledger could not be written; it is tried again. */
  unsaved: boolean;
  /** The latest files that were no mail, for whoever asks (S18.4). */
  setAside: readonly SetAside[];
  /** The problems that were told and are not over, so that each is told once. */
  readonly told: Set<string>;
}

/** The state of a mailbox that has just been opened. */
export function newState(host: Host, clock: Clock, read: () => Settings): MailboxState {
  let last: Settings | undefined;
  return {
    host,
    clock,
    settings: () => (last = read()),
    lastSettings: () => (last ??= read()),
    marks: new Marks(() => host.entries()),
    ledger: emptyLedger(),
    unread: new Map(),
    waits: new Map(),
    running: false,
    promptUntil: 0,
    deferred: new Set(),
    offering: 0,
    hops: NO_HOPS,
    ending: NO_ENDING,
    settledAt: 0,
    saved: false,
    unsaved: false,
    setAside: [],
    told: new Set(),
  };
}

/** What the footer counts (S8.2); each number is kept, none is recounted (S8.3). */
export interface Counts {
  /** Not yet in the conversation, or entered since the last settle. */
  readonly pending: number;
  /** Read before the last settle, ever. */
  readonly read: number;
  /** Requests and asks of ours without an answer yet. */
  readonly awaiting: number;
}

/** The counts of a mailbox. */
export function countsOf({ unread, ledger }: MailboxState): Counts {
  return {
    pending: unread.size + ledger.entered,
    read: ledger.read,
    awaiting: ledger.awaiting.length,
  };
}

/** What is open; what is in the session already counts as read. */
export function ledgerOf({ ledger, unread, deferred }: MailboxState): Ledger {
  const names = [...unread.values()].filter(({ entered }) => !entered);
  return { ...ledger, unread: [...names.map(({ path }) => basename(path)), ...deferred] };
}

/**
 * Writes the ledger.
 *
 * @throws the system's error; what is on disk is then the ledger before.
 */
export function save(state: MailboxState): void {
  const { address } = state.host;
  const names = [...state.unread.values()].map(({ path }) => basename(path));
  const unread = [...names, ...state.deferred];
  const write = (): void => {
    const { saved } = state;
    state.saved = false;
    saveLedger(address, { ...state.ledger, unread }, state.lastSettings().durable, saved);
    state.saved = true;
  };
  try {
    write();
  } catch (error) {
    // The folder was removed under a running session: it is made again.
    if (errorCode(error) !== "ENOENT") throw error;
    makeBoxes(address, state.lastSettings().durable);
    write();
  }
  state.unsaved = false;
  state.told.delete(UNSAVED);
}

const UNSAVED = "unsaved ledger";

/** Writes the ledger or, where that cannot be done for now, says so and leaves it for later. */
export function trySave(state: MailboxState): boolean {
  try {
    save(state);
    return true;
  } catch (error) {
    state.unsaved = true;
    const text = `mailbox: the ledger cannot be written, and is tried again: ${errorText(error)}`;
    tell(state, text, UNSAVED);
    return false;
  }
}

/** From now on the session owes an answer to a request or ask that it has read. */
export function owe(
  { ledger }: MailboxState,
  { id, ts, from, kind }: Envelope & { kind: "request" | "ask" },
  closed = false,
): void {
  if (ledger.owed.some((debt) => debt.id === id)) return;
  ledger.owed.push({ id, ts, from, kind, held: false, closed });
}

/**
 * Warns the user, once for each problem.
 *
 * @param problem names it where the text differs from one time to the next.
 */
export function tell(state: MailboxState, text: string, problem = text): void {
  if (state.told.has(problem)) return;
  state.told.add(problem);
  state.host.warn(text);
}

/**
 * Leaves a mark in the session that a mail was read, or answered. The ledger says so, too; the
 * mark is for when that has to be made anew, so a session that takes none is no failure.
 */
export function mark(state: MailboxState, id: string, answered: boolean): void {
  try {
    state.host.mark(id, answered);
  } catch (error) {
    tell(state, `mailbox: the session takes no entry: ${errorText(error)}`);
  }
}

/** What a new mail of this session says beside its sender, id and time. */
export interface Draft {
  readonly to: string;
  readonly kind: Kind;
  readonly hops: number;
  readonly in_reply_to: readonly string[];
  readonly status: ReplyStatus | "";
  readonly body: string;
}

/** An envelope of this session. Its time is later than that of any before it (S2.1). */
export function newEnvelope(state: MailboxState, draft: Draft): Envelope {
  return {
    id: crypto.randomUUID(),
    from: state.host.address,
    to: draft.to,
    kind: draft.kind,
    hops: draft.hops,
    in_reply_to: [...draft.in_reply_to],
    status: draft.status,
    ts: new Date(nextStamp(state.clock.now())).toISOString(),
    body: draft.body,
  };
}
