import { randomUUID } from "node:crypto";
import { lstatSync, readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { isAddress } from "./address.ts";
import { isThere } from "./disk.ts";
import { whenThere } from "./errors.ts";
import { loadLedger } from "./ledger.ts";
import { boxesOf, makeBoxes, ownRoot } from "./root.ts";
import { waiting } from "./store.ts";

/** Which folders to leave alone, and how long the others must have lain still. */
export interface PruneOptions {
  /** Whether a session of this address runs, or the folder is not to be touched for any reason. */
  readonly isInUse: (address: string) => boolean;
  /** In ms; -Infinity for whatever the age (S11.3). */
  readonly olderThan: number;
  /** In ms since 1970. */
  readonly now: number;
}

/** A folder that was moved aside to be removed; no address begins with a dot. */
const ASIDE = /^\.pruned-([A-Za-z0-9_-]+)\.[0-9a-f-]{36}$/;

/**
 * Removes the mailbox folders of closed sessions in which nothing waits, nothing is unread and
 * nothing has happened for long enough (S11.1), and returns how many. Only real folders named
 * like an address (S11.2). A folder is moved aside first; mail that arrives at that moment is
 * put back. One that cannot be removed is left and does not stop the rest.
 *
 * @throws MailboxOff for a root that is another user's (S1.4).
 */
export function prune(options: PruneOptions): number {
  let removed = 0;
  const root = ownRoot();
  for (const found of whenThere(() => readdirSync(root, { withFileTypes: true }), [])) {
    if (!found.isDirectory()) continue;
    const left = ASIDE.exec(found.name)?.[1];
    try {
      if (left !== undefined) {
        // A prune was cut off between its two steps.
        const aside = join(root, found.name);
        if (options.isInUse(left)) putBack(left, aside);
        else remove(left, aside);
      } else if (isAddress(found.name) && isPrunable(found.name, options)) {
        const aside = join(root, `.pruned-${found.name}.${randomUUID()}`);
        renameSync(boxesOf(found.name).folder, aside);
        if (options.isInUse(found.name)) putBack(found.name, aside);
        else if (remove(found.name, aside)) removed += 1;
      }
    } catch {
      // Somebody else removes it, or it is not ours to remove.
    }
  }
  return removed;
}

function isPrunable(address: string, { isInUse, olderThan, now }: PruneOptions): boolean {
  if (isInUse(address) || waiting(address).length > 0) return false;
  const ledger = loadLedger(address);
  if (ledger === "damaged") return false;
  if (ledger !== "missing" && ledger.unread.length + ledger.outbox.length > 0) return false;
  return now - lastActivity(address) > olderThan;
}

/** When something last changed in the folder of an address or its boxes, in ms since 1970. */
export function lastActivity(address: string): number {
  const boxes = boxesOf(address);
  return Math.max(
    ...[boxes.folder, boxes.tmp, boxes.new, boxes.cur, boxes.sent].map(
      (path) => lstatSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0,
    ),
  );
}

/** Undoes the move for a session that started at that moment, and may have made its folder anew. */
function putBack(address: string, aside: string): void {
  const boxes = makeBoxes(address);
  for (const box of ["new", "cur", "sent"] as const) {
    for (const name of whenThere(() => readdirSync(join(aside, box)), [])) {
      if (!isThere(join(boxes[box], name)))
        renameSync(join(aside, box, name), join(boxes[box], name));
    }
  }
  if (!isThere(boxes.ledger)) {
    whenThere(() => {
      renameSync(join(aside, "ledger.json"), boxes.ledger);
    }, undefined);
  }
  rmSync(aside, { recursive: true, force: true });
}

/** Removes a folder that was moved aside, and puts back the mail in it; whether none was there. */
function remove(address: string, aside: string): boolean {
  const box = join(aside, "new");
  const arrived = whenThere(() => readdirSync(box, { withFileTypes: true }), []).filter(
    (found) => found.isFile() && found.name.endsWith(".json"),
  );
  if (arrived.length > 0) {
    const boxes = makeBoxes(address);
    for (const { name } of arrived) renameSync(join(box, name), join(boxes.new, name));
  }
  rmSync(aside, { recursive: true, force: true });
  return arrived.length === 0;
}
