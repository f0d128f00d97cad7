import { randomUUID } from "node:crypto";
import { type FSWatcher, unlinkSync, watch } from "node:fs";
import { basename, join } from "node:path";
import type { Cancel, Clock } from "../clock.ts";
import { isThere, writeNewFile } from "./disk.ts";

/** How often `new/` is looked at while the watcher is not known to be good, in ms. */
const POLL = 1000;

/** How often once it is, in ms: only a change that the watcher missed is found by this. */
const SLOW_POLL = 5000;

/** How long after it was set up a watcher is tried, in ms: a start is over by then. */
const PROBE_AFTER = 500;

const PROBE = /^\.probe-[0-9a-f-]{36}$/;

/** Whether a file of this name was made for a watcher to tell of it; it is no mail. */
export function isProbe(name: string): boolean {
  return PROBE.test(name);
}

/** How a folder is watched. */
export interface WatchOptions {
  readonly clock: Clock;
  /** Whether a watcher can be relied on there; asked on a later turn of the event loop. */
  readonly isReliable: () => boolean;
  /** Looks into the folder, and returns whether it found mail. */
  readonly look: () => boolean;
}

/** How well a folder is watched, for whoever asks why mail came late (S18.4). */
export interface WatchReport {
  /** Whether the system watches the folder now. */
  readonly isWatching: boolean;
  /**
   * `untried`: the watcher has told of nothing yet; `good`: it has; `missed`: the poll found mail
   * that it had not told of; `none`: it is not relied on.
   */
  readonly trust: "untried" | "good" | "missed" | "none";
  /** How many times it was the watcher that led to mail, and how many the poll. */
  readonly found: { readonly byWatcher: number; readonly byPoll: number };
}

/** A folder that is watched. */
export interface Watch {
  readonly cancel: Cancel;
  readonly report: () => WatchReport;
}

/**
 * Calls `look` whenever there may be new mail in a folder: at once through the system's watcher
 * and, in case that says nothing, from time to time (S5.1). The poll is rare while the watcher is
 * good: it has told of a file that was made to try it, or of mail, and since then mail was not
 * found by the poll alone. Neither keeps the process alive, but for the wait until it is tried.
 */
export function watchFolder(folder: string, { clock, isReliable, look }: WatchOptions): Watch {
  let watcher: FSWatcher | undefined;
  let trust: WatchReport["trust"] = "untried";
  let byWatcher = 0;
  let byPoll = 0;
  let cancelPoll: Cancel = () => undefined;
  let cancelProbe: Cancel = () => undefined;
  let closed = false;

  const listen = (): void => {
    try {
      watcher = watch(folder, { persistent: false }, (_event, name) => {
        if (!closed) told(name ?? "");
      });
      watcher.on("error", unlisten);
      if (trust === "untried") cancelProbe = clock.after(PROBE_AFTER, probe);
    } catch {
      // The folder is gone or the system has no watchers left: the poll goes on and tries again.
    }
  };
  const unlisten = (): void => {
    cancelProbe();
    watcher?.close();
    watcher = undefined;
  };
  const probe = (): void => {
    if (!isReliable()) {
      setTrust("none");
      return;
    }
    try {
      const path = join(folder, `.probe-${randomUUID()}`);
      writeNewFile(path, "", false);
      unlinkSync(path);
    } catch {
      // Mail will show it.
    }
  };
  const setTrust = (now: typeof trust): void => {
    if (closed || trust === now || trust === "none") return;
    trust = now;
    poll();
  };
  const told = (name: string): void => {
    if (isProbe(name)) {
      if (trust === "untried") setTrust("good");
      return;
    }
    // It was moved on, most likely by ourselves just now: there is nothing new.
    if (name !== basename(folder) && name !== "" && isGone(join(folder, name))) return;
    if (look()) {
      byWatcher += 1;
      setTrust("good");
    }
    if (name !== basename(folder)) return;
    // It was removed, most likely; of one that is made in its place this watcher says nothing.
    unlisten();
    setTrust("untried");
  };
  const poll = (): void => {
    cancelPoll();
    cancelPoll = clock.every(trust === "good" ? SLOW_POLL : POLL, () => {
      const found = look();
      if (closed) return;
      if (found) {
        byPoll += 1;
        unlisten();
        setTrust("missed");
      }
      if (!watcher) listen();
    });
  };

  listen();
  poll();
  return {
    cancel: () => {
      closed = true;
      unlisten();
      cancelPoll();
    },
    report: () => ({ isWatching: watcher !== undefined, trust, found: { byWatcher, byPoll } }),
  };
}

/** Whether a file is certainly not there; never throws, for nobody catches what a watcher's call throws. */
function isGone(path: string): boolean {
  try {
    return !isThere(path);
  } catch {
    return false;
  }
}
