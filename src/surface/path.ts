import { homedir } from "node:os";
import { sep } from "node:path";
import { cleanValue } from "../text.ts";

/** A path as people know it, in one clean line: `~` stands for the home folder. */
export function cleanPath(path: string): string {
  const home = homedir();
  const isBelow = path === home || path.startsWith(home + sep);
  return cleanValue(home !== "" && isBelow ? `~${path.slice(home.length)}` : path);
}
