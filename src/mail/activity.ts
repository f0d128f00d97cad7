import { readdirSync } from "node:fs";
import { isAddress } from "./address.ts";
import { whenThere } from "./errors.ts";
import { lastActivity } from "./prune.ts";
import { ownRoot } from "./root.ts";

/** The most folders whose age is looked up for a list; ids that are ordered by time sort last. */
const MAX_DATED = 1000;

/**
 * The addresses that have a mailbox folder, but for some, the newest activity first.
 *
 * @throws the system's error when the mail root cannot be read.
 */
export function mailboxesByActivity(isLeftOut: (address: string) => boolean): string[] {
  return whenThere(() => readdirSync(ownRoot(), { withFileTypes: true }), [])
    .filter((found) => found.isDirectory() && isAddress(found.name) && !isLeftOut(found.name))
    .map(({ name }) => name)
    .sort()
    .slice(-MAX_DATED)
    .map((address) => ({ address, at: lastActivity(address) }))
    .sort((one, other) => other.at - one.at)
    .map(({ address }) => address);
}
