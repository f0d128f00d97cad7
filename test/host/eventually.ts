/** Waiting for what no event tells, such as a file. */
import { setTimeout as delay } from "node:timers/promises";

/**
 * Calls `look` every 10 ms until it gives something other than undefined or false, and
 * resolves with that. What `look` throws counts as "not yet".
 * @throws after `timeoutMs` (default 30 s), with the last error of `look` as the cause
 */
export async function eventually<Value>(
  look: () => Value | undefined | false | Promise<Value | undefined | false>,
  what: string,
  timeoutMs = 30_000,
): Promise<Value> {
  const end = performance.now() + timeoutMs;
  let cause: unknown;
  for (;;) {
    try {
      const value = await look();
      if (value !== undefined && value !== false) return value;
      cause = undefined;
    } catch (error) {
      cause = error;
    }
    if (performance.now() > end) throw new Error(`waited ${timeoutMs} ms for ${what}`, { cause });
    await delay(10);
  }
}
