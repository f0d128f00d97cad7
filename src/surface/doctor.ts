import { VERSION } from "@earendil-works/pi-coding-agent";
import { readFileSync } from "node:fs";
import type { Findings, FolderFacts, Found, OpenItem, RecordFacts } from "../mailbox/doctor.ts";
import { duration } from "../turn/label.ts";
import { cleanValue } from "../text.ts";
import { problemsIn } from "./problems.ts";

/** What runs here, by name and version. */
export interface Versions {
  readonly package: string;
  readonly pi: string;
  readonly node: string;
  readonly platform: string;
}

/** How many ids, or names, are listed of what may be many. */
const MAX_LISTED = 5;

/** The versions of this package, Pi and Node. Never throws. */
export function versions(): Versions {
  const platform = `${process.platform} ${process.arch}`;
  return { package: ownVersion(), pi: VERSION, node: process.version, platform };
}

function ownVersion(): string {
  try {
    const text = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
    return String((JSON.parse(text) as { version?: unknown }).version);
  } catch {
    return "unknown";
  }
}

/**
 * What there is to know when mail does not come (S18.4): what is wrong, each with what to do, and
 * then the facts, one a line.
 *
 * @param off why the mailbox is off, when it is.
 */
export function doctorLines(facts: Findings, off: string | undefined, running: Versions): string[] {
  const problems = problemsIn(facts, off);
  const { now } = facts;
  return [
    ...(problems.length === 0
      ? ["Nothing is wrong, as far as can be told."]
      : [`Problems: ${String(problems.length)}`, ...problems.map((problem) => `! ${problem}`)]),
    "",
    `Address: ${cleanValue(facts.address)}`,
    `Mailbox: ${servedBy(facts, off)}`,
    `Root: ${told(facts.root, folderText)}, ${placeText(facts)}`,
    `Folder: ${told(facts.folders, ([folder]) => (folder ? folderText(folder) : "none"))}`,
    `Watcher: ${watcherText(facts)}`,
    `Record: ${told(facts.record, (record) => recordText(record, now))}`,
    `Waiting: ${told(facts.waiting, (items) => itemsText(items, now))}`,
    ...openLines(facts, now),
    ...setAsideLines(facts),
    `Settings: ${Object.entries(facts.settings)
      .map(([key, value]) => `${key} ${String(value)}`)
      .join(", ")}`,
    `Versions: pi-session-mail ${running.package}, Pi ${running.pi}, Node ${running.node}, ${running.platform}`,
  ];
}

function told<T>(found: Found<T>, text: (is: T) => string): string {
  return "fault" in found ? `cannot be told: ${cleanValue(found.fault)}` : text(found.is);
}

function servedBy({ own }: Findings, off: string | undefined): string {
  if (own === undefined || off !== undefined) return "off";
  return own.watching ? "open, served by this process" : "open, served by another process";
}

function folderText({ path, kind, mode }: FolderFacts): string {
  const permissions = mode === undefined ? "" : `, ${mode.toString(8).padStart(4, "0")}`;
  const what = kind === "folder" ? "" : `, ${kind}`;
  return `${cleanValue(path)}${permissions}${what}`;
}

const MEBIBYTE = 1024 * 1024;

function placeText({ fileSystem, networkKind, room }: Findings): string {
  const kind = networkKind === undefined ? fileSystem : `${networkKind} (network)`;
  const parts = [
    `file system ${cleanValue(kind ?? "not known")}`,
    ...(room === undefined ? [] : [`${String(Math.floor(room / MEBIBYTE))} MiB free`]),
  ];
  return parts.join(", ");
}

const TRUST = {
  untried: "not tried yet",
  good: "works",
  missed: "missed mail that the poll found",
  none: "not relied on here",
} as const;

function watcherText({ own }: Findings): string {
  if (!own?.watching) return "none in this process";
  const { isWatching, trust, found } = own.watching;
  const state = isWatching ? TRUST[trust] : "the system gives none, so the poll looks alone";
  return `${state}; mail found ${times(found.byWatcher)} by it, ${times(found.byPoll)} by the poll`;
}

function times(count: number): string {
  return count === 1 ? "once" : `${String(count)} times`;
}

const OWNERS = {
  ours: "of this process",
  another: "of another process",
  gone: "of a process that is gone",
};

function recordText(record: RecordFacts | undefined, now: number): string {
  if (!record) return "none";
  const { pid, of, isStopped, updated } = record;
  const age = Number.isNaN(updated) ? "at a time not known" : `${seconds(now - updated)} ago`;
  return `${OWNERS[of]}, pid ${String(pid)}${isStopped ? ", which is stopped" : ""}, written ${age}`;
}

function seconds(milliseconds: number): string {
  const whole = Math.max(0, Math.floor(milliseconds / 1000));
  if (whole >= 60) return duration(milliseconds);
  return whole === 1 ? "1 second" : `${String(whole)} seconds`;
}

function openLines({ open }: Findings, now: number): string[] {
  if ("fault" in open) return [`Ledger: cannot be told: ${cleanValue(open.fault)}`];
  if (typeof open.is === "string") return [`Ledger: ${open.is}`];
  const { unread, owed, held, awaiting, outbox } = open.is;
  const counted: [string, readonly OpenItem[]][] = [
    ["unread", unread],
    ["owed", owed],
    ["held", held],
    ["awaiting", awaiting],
    ["answers not sent yet", outbox],
  ];
  const counts = counted.map(([name, items]) => `${String(items.length)} ${name}`);
  const some = counted.filter(([, items]) => items.length > 0);
  return [
    `Open: ${counts.join(", ")}`,
    ...some.map(([name, items]) => `  ${name}: ${itemsText(items, now)}`),
  ];
}

/** How many, how old the oldest is, and the ids of the oldest. */
function itemsText(items: readonly OpenItem[], now: number): string {
  if (items.length === 0) return "0";
  const oldest = [...items].sort((one, other) => (one.at ?? 0) - (other.at ?? 0));
  const at = oldest.find((item) => item.at !== undefined)?.at;
  const age = at === undefined ? "" : `, the oldest sent ${seconds(now - at)} ago`;
  return `${String(items.length)}${age}: ${someOf(oldest.map(({ id }) => id))}`;
}

function someOf(values: readonly string[]): string {
  const more = values.length - MAX_LISTED;
  const listed = values.slice(0, MAX_LISTED).map(cleanValue).join(", ");
  return more > 0 ? `${listed} and ${String(more)} more` : listed;
}

function countedNames(names: readonly string[]): string {
  return names.length === 0 ? "0" : `${String(names.length)}: ${someOf(names)}`;
}

function setAsideLines({ own, noMail }: Findings): string[] {
  const setAside = own?.setAside ?? [];
  return [
    `Set aside since the start: ${String(setAside.length)}`,
    ...setAside.map(({ path, reason }) => `  ${cleanValue(path)}: ${cleanValue(reason)}`),
    `Files in cur/ that are no mail: ${told(noMail, countedNames)}`,
  ];
}
