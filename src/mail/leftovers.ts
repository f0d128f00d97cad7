import { lstatSync } from "node:fs";
import { join } from "node:path";
import { removeQuietly } from "./disk.ts";
import { boxesOf, runningFolder } from "./root.ts";
import { namesIn } from "./store.ts";
import { isProbe } from "./watcher.ts";

/** How old a file is that its writer will not finish any more, in ms. */
const LEFT_BEHIND = 24 * 60 * 60_000;

/** A file that is being written, to be moved to its own name then. */
const UNFINISHED = /^\..+\.json\.[0-9a-f-]{36}$/;

/**
 * Removes what processes that were killed have left in an address's folder and among the running
 * records. Nothing reads such files. What is younger than a day may still be written, and stays.
 *
 * @param now in ms since 1970.
 */
export function removeLeftovers(address: string, now: number): void {
  const { tmp, new: newBox, folder } = boxesOf(address);
  const unfinished = (name: string): boolean => UNFINISHED.test(name);
  for (const [place, isLeft] of [
    [tmp, () => true],
    [newBox, isProbe],
    [folder, unfinished],
    [runningFolder(), unfinished],
  ] as const) {
    for (const name of namesIn(place).filter(isLeft)) {
      const path = join(place, name);
      const found = lstatSync(path, { throwIfNoEntry: false });
      if (found?.isFile() && now - found.mtimeMs > LEFT_BEHIND) removeQuietly(path);
    }
  }
}
