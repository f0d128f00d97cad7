import { accessSync, constants, lstatSync, statfsSync, statSync } from "node:fs";
import { join } from "node:path";
import { readSettings, type Settings } from "../config.ts";
import { sentAt } from "../mail/envelope.ts";
import { errorText } from "../mail/errors.ts";
import { fileSystemOf, networkFileSystem } from "../mail/filesystem.ts";
import { type Ledger, loadLedger } from "../mail/ledger.ts";
import { boxesOf, mailRoot } from "../mail/root.ts";
import { namesIn, readMail, type SetAside, waiting } from "../mail/store.ts";
import type { WatchReport } from "../mail/watcher.ts";
import { recordAsIs } from "../sessions/record.ts";

/** Something that was looked up, or why it could not be. */
export type Found<T> = { readonly is: T } | { readonly fault: string };

/** A folder as it is. */
export interface FolderFacts {
  readonly path: string;
  readonly kind: "folder" | "missing" | "link" | "link to a folder" | "no folder";
  /** Its permissions, and whether another user owns it; not told on Windows. */
  readonly mode: number | undefined;
  readonly isForeign: boolean;
  /** Whether this user may list it and make files in it. */
  readonly isUsable: boolean;
}

/** Something that is open, by the id of its mail. */
export interface OpenItem {
  readonly id: string;
  /** When the mail was sent, in ms since 1970, where it says so. */
  readonly at: number | undefined;
}

/** What a session has open (S18.4). */
export interface OpenFacts {
  readonly unread: readonly OpenItem[];
  /** Without what is held. */
  readonly owed: readonly OpenItem[];
  readonly held: readonly OpenItem[];
  readonly awaiting: readonly OpenItem[];
  /** Answers that could not be delivered yet. */
  readonly outbox: readonly OpenItem[];
}

/** The running record of an address. */
export interface RecordFacts {
  readonly pid: number;
  /** Of this process, of another that runs, or of one that is gone. */
  readonly of: "ours" | "another" | "gone";
  readonly isStopped: boolean;
  /** When it was last written, in ms since 1970, or NaN. */
  readonly updated: number;
}

/** What only the open mailbox itself knows. */
export interface OwnFacts {
  /** `undefined` while another process serves the address. */
  readonly watching: WatchReport | undefined;
  /** What is open, once it is known. */
  readonly ledger: Ledger | undefined;
  readonly setAside: readonly SetAside[];
  /** The ledger could not be written, and is tried again. */
  readonly isUnsaved: boolean;
  /** Names in `cur/` of unread mail that cannot be read for now. */
  readonly deferred: readonly string[];
}

/** All that there is to know when mail does not come (S18.4). */
export interface Findings {
  readonly address: string;
  /** When this was so, in ms since 1970. */
  readonly now: number;
  readonly own: OwnFacts | undefined;
  readonly root: Found<FolderFacts>;
  readonly fileSystem: string | undefined;
  readonly networkKind: string | undefined;
  /** In bytes, where the platform tells. */
  readonly room: number | undefined;
  /** The folder of the address and its boxes. */
  readonly folders: Found<readonly FolderFacts[]>;
  readonly record: Found<RecordFacts | undefined>;
  readonly waiting: Found<readonly OpenItem[]>;
  readonly open: Found<OpenFacts | "missing" | "damaged">;
  /** Names in `cur/` of what is no mail, as far as was looked. */
  readonly noMail: Found<readonly string[]>;
  readonly settings: Settings;
  readonly settingsProblems: readonly string[];
}

/** How many of the newest files in `cur/` are read to tell whether they are mail. */
const MAX_READ = 100;

/** How much text of theirs is read. */
const MAX_TEXT = 16 * 1024 * 1024;

/** What {@link examine} looks at. */
export interface ExamineOptions {
  /** Whose mailbox. */
  readonly address: string;
  readonly agentFolder: string;
  /** In ms since 1970. */
  readonly now: number;
  /** What the open mailbox knows; the session may have none. */
  readonly own?: OwnFacts;
}

/**
 * Looks at everything that mail depends on. It changes nothing and never throws: what cannot be
 * looked up says why.
 */
export function examine({ address, agentFolder, now, own }: ExamineOptions): Findings {
  const root = mailRoot();
  const { settings, problems } = readSettings(agentFolder);
  return {
    address,
    now,
    own,
    root: found(() => folderFacts(root)),
    fileSystem: fileSystemOf(root),
    networkKind: networkFileSystem(root),
    room: roomAt(root),
    folders: found(() => {
      const boxes = boxesOf(address);
      return [boxes.folder, boxes.tmp, boxes.new, boxes.cur, boxes.sent].map(folderFacts);
    }),
    record: found(() => recordFacts(address)),
    waiting: found(() => waiting(address).map(itemOfName)),
    open: own?.ledger ? { is: openFacts(own.ledger) } : found(() => openByLedger(address)),
    noMail: found(() => noMailIn(boxesOf(address).cur)),
    settings,
    settingsProblems: problems,
  };
}

function openFacts(ledger: Ledger): OpenFacts {
  const items = (mails: readonly { id: string; ts: string }[]): OpenItem[] =>
    mails.map((mail) => ({ id: mail.id, at: sentAt(mail) }));
  return {
    unread: ledger.unread.map(itemOfName),
    owed: items(ledger.owed.filter(({ held }) => !held)),
    held: items(ledger.owed.filter(({ held }) => held)),
    awaiting: items(ledger.awaiting),
    outbox: items(ledger.outbox),
  };
}

function openByLedger(address: string): OpenFacts | "missing" | "damaged" {
  const ledger = loadLedger(address);
  return typeof ledger === "string" ? ledger : openFacts(ledger);
}

/** The name of a mail's file: `<15-digit ms>-<id>.json`. */
const MAIL_NAME = /^(\d{15})-(.+)\.json$/;

function itemOfName(name: string): OpenItem {
  const [, stamp, id] = MAIL_NAME.exec(name) ?? [];
  return { id: id ?? name, at: stamp === undefined ? undefined : Number(stamp) };
}

function noMailIn(cur: string): string[] {
  const names = namesIn(cur).sort();
  const odd = names.filter((name) => !MAIL_NAME.test(name));
  const newest = names.filter((name) => MAIL_NAME.test(name)).slice(-MAX_READ);
  let text = 0;
  const wrong = newest.reverse().filter((name) => {
    if (text > MAX_TEXT) return false;
    const mail = readMail(join(cur, name));
    text += mail?.envelope.body.length ?? 0;
    return mail === undefined;
  });
  return [...odd, ...wrong.reverse()];
}

function recordFacts(address: string): RecordFacts | undefined {
  const as = recordAsIs(address);
  if (!as) return undefined;
  const { pid, updated } = as.record;
  const of = !as.runs ? "gone" : pid === process.pid ? "ours" : "another";
  return { pid, of, isStopped: as.stopped, updated: Date.parse(updated) };
}

function folderFacts(path: string): FolderFacts {
  const there = lstatSync(path, { throwIfNoEntry: false });
  const isLink = there?.isSymbolicLink() === true;
  const target = isLink ? statSync(path, { throwIfNoEntry: false }) : there;
  const isFolder = target?.isDirectory() === true;
  const user = process.getuid?.();
  return {
    path,
    kind: !there
      ? "missing"
      : isLink
        ? isFolder
          ? "link to a folder"
          : "link"
        : isFolder
          ? "folder"
          : "no folder",
    mode: user === undefined || !target ? undefined : target.mode & 0o777,
    isForeign:
      user !== undefined && [there, target].some((at) => at !== undefined && at.uid !== user),
    isUsable: isFolder && mayUse(path),
  };
}

function mayUse(path: string): boolean {
  try {
    accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function roomAt(path: string): number | undefined {
  try {
    const { bavail, bsize } = statfsSync(path);
    return bavail * bsize;
  } catch {
    return undefined;
  }
}

function found<T>(look: () => T): Found<T> {
  try {
    return { is: look() };
  } catch (error) {
    return { fault: errorText(error) };
  }
}
