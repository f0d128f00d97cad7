import { type FSWatcher, watch } from "node:fs";
import { basename } from "node:path";
import type { Cancel, Clock } from "../clock.ts";

/** How often `new/` is looked at when the watcher has not proved itself. */
const POLL = 1000;

/** How often once it has: only a change that the watcher missed is found by this. */
const SLOW_POLL = 5000;

/**
 * Calls `look` whenever there may be new mail in a folder: at once through the system's watcher
 * and, in case that says nothing, from time to time (S5.1). `look` returns whether it found
 * mail. Finding mail by the watcher makes the poll rarer; finding it by the poll alone makes it
 * frequent again, as does a folder that is removed. Neither keeps the process alive.
 */
export function watchFolder(folder: string, clock: Clock, look: () => boolean): Cancel {
  let watcher: FSWatcher | undefined;
  let cancelPoll: Cancel;
  let closed = false;

  const listen = (): void => {
    try {
      watcher = watch(folder, { persistent: false }, (_event, name) => {
        tell(name);
      });
      watcher.on("error", unlisten);
    } catch {
      // The folder is gone or the system has no watchers left: the poll goes on and tries again.
    }
  };
  const unlisten = (): void => {
    watcher?.close();
    watcher = undefined;
  };
  const tell = (name: string | null): void => {
    if (closed) return;
    const found = look();
    if (name === basename(folder)) {
      // It was removed, most likely; of one that is made in its place this watcher says nothing.
      unlisten();
      poll(POLL);
    } else if (found) poll(SLOW_POLL);
  };
  const poll = (interval: number): void => {
    cancelPoll();
    if (closed) return;
    cancelPoll = clock.every(interval, () => {
      const found = look();
      if (closed) return;
      if (found) unlisten();
      if (!watcher) listen();
      if (found && interval !== POLL) poll(POLL);
    });
  };

  cancelPoll = () => undefined;
  listen();
  poll(POLL);
  return () => {
    closed = true;
    unlisten();
    cancelPoll();
  };
}
