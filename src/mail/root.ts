import { chmodSync, lstatSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import { isAddress } from "./address.ts";
import { makeFolders } from "./disk.ts";

/** Why a session has no mailbox; the message completes "mailbox is off: …" (S1.5). */
export class MailboxOff extends Error {
  override name = "MailboxOff";
}

/** The paths of one address (S1.2): its folder, the four boxes in it, and its ledger. */
export interface Boxes {
  readonly folder: string;
  /** Being written, by a sender. */
  readonly tmp: string;
  /** Sent and waiting to be claimed. */
  readonly new: string;
  /** Claimed. */
  readonly cur: string;
  /** Copies of what this address sent. */
  readonly sent: string;
  readonly ledger: string;
}

/** The mail root of this user, read from the environment at every call (S1.1). */
export function mailRoot(): string {
  const state = process.env["XDG_STATE_HOME"];
  const base = state && isAbsolute(state) ? state : join(homedir(), ".local", "state");
  return join(base, "pi-session-mail");
}

/**
 * The mail root, for whoever reads or writes in it: it may have been replaced since it was opened.
 *
 * @throws MailboxOff when it is another user's, or a link that another user owns (S1.4).
 */
export function ownRoot(): string {
  const root = mailRoot();
  const user = process.getuid?.();
  if (user === undefined) return root;
  const found = lstatSync(root, { throwIfNoEntry: false });
  const target = found?.isSymbolicLink() ? statSync(root, { throwIfNoEntry: false }) : found;
  if ((found && found.uid !== user) || (target && target.uid !== user)) {
    throw new MailboxOff(`${root} belongs to another user; remove it or set XDG_STATE_HOME`);
  }
  return root;
}

/**
 * The folder of the running records (S3.1).
 *
 * @throws MailboxOff for a root that is another user's (S1.4).
 */
export function runningFolder(): string {
  return join(ownRoot(), "running");
}

/**
 * The paths of an address, whether or not they exist.
 *
 * @throws MailboxOff when it is not an address, so that no path is built from it (S1.2), and for
 * a root that is another user's (S1.4).
 */
export function boxesOf(address: string): Boxes {
  if (!isAddress(address)) {
    throw new MailboxOff(
      `the session id ${JSON.stringify(address)} cannot be an address; ` +
        "use letters, digits, - and _ in --session-id",
    );
  }
  const folder = join(ownRoot(), address);
  return {
    folder,
    tmp: join(folder, "tmp"),
    new: join(folder, "new"),
    cur: join(folder, "cur"),
    sent: join(folder, "sent"),
    ledger: join(folder, "ledger.json"),
  };
}

/** One of the folders of an address. */
export type Box = "tmp" | "new" | "cur" | "sent";

const BOXES: readonly Box[] = ["tmp", "new", "cur", "sent"];

/**
 * Makes the boxes of an address where they are missing, `0700` (S1.2, S1.3), and gives their
 * paths. With `durable`, folders that were made survive a power cut (S1.6).
 *
 * @param needed only these are looked at; when one of them is missing, all are made.
 * @throws MailboxOff for a root that has become another user's (S1.4), or a folder that is a link or
 * another user's.
 */
export function makeBoxes(address: string, durable = false, needed: readonly Box[] = BOXES): Boxes {
  const boxes = boxesOf(address);
  const isThere = isOwnFolder(boxes.folder);
  if (isThere && needed.every((box) => isOwnFolder(boxes[box]))) return boxes;
  const missing = BOXES.map((box) => boxes[box]).filter((path) => !isOwnFolder(path));
  makeFolders(missing, durable);
  return boxes;
}

/**
 * Makes the mail root and the folder of the running records ready: made when missing, and closed
 * to group and others (S1.3). With `durable`, a root that was made survives a power cut (S1.6).
 *
 * @throws MailboxOff for a root that is another user's (S1.4); the system's error when it cannot
 * be written.
 */
export function openRoot(durable = false): void {
  makeFolders([mailRoot()], durable);
  chmodSync(ownRoot(), 0o700);
  makeRunningFolder();
}

/**
 * Makes the folder of the running records where it is missing (S3.1).
 *
 * @throws MailboxOff for a root that has become another user's (S1.4), or a folder that is a link or
 * another user's.
 */
export function makeRunningFolder(): void {
  const folder = runningFolder();
  if (!isOwnFolder(folder)) makeFolders([folder], false);
}

/**
 * Whether a folder within the mail root is there. Nothing is followed there: a link would lead mail
 * out of it, or other files in. Nor is a folder used that another user made while the root was open
 * (S1.4).
 */
function isOwnFolder(path: string): boolean {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found?.isSymbolicLink() === true) throw new MailboxOff(`${path} is a link; remove it`);
  if (found && found.uid !== (process.getuid?.() ?? found.uid)) {
    throw new MailboxOff(`${path} belongs to another user; remove it`);
  }
  return found?.isDirectory() ?? false;
}

/** Whether a folder is open to group or others (S1.3). */
export function isOpenToOthers(folder: string): boolean {
  return process.platform !== "win32" && (statSync(folder).mode & 0o077) !== 0;
}
