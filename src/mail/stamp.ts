/**
 * The time in the name of the last mail that this process has sent. Pi loads this package anew
 * for each session that it opens, so a variable of a module would not do.
 */
const LAST = Symbol.for("pi-session-mail: time of the last mail sent");

const shared = globalThis as typeof globalThis & { [LAST]?: number };

/** A time for the name of a mail, in ms since 1970, later than any given before (S2.1). */
export function nextStamp(now: number): number {
  const stamp = Math.max(now, (shared[LAST] ?? 0) + 1);
  shared[LAST] = stamp;
  return stamp;
}
