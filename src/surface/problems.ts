import type { Findings, FolderFacts } from "../mailbox/doctor.ts";
import { cleanValue } from "../text.ts";

/** How long mail may wait before something must be in its way, in ms: several polls. */
const TOO_LONG = 20_000;

/** So little room, in bytes, that the next mail may not fit. */
const LITTLE_ROOM = 16 * 1024 * 1024;

/**
 * What is wrong with a mailbox, each in one line that says what to do (S18.4).
 *
 * @param off why it is off, when it is.
 */
export function problemsIn(facts: Findings, off: string | undefined): string[] {
  return [
    ...(off === undefined
      ? []
      : [`The mailbox is off: ${off}. Mend that, then run /reload or open the session again.`]),
    ...rootProblems(facts),
    ...folderProblems(facts),
    ...serviceProblems(facts),
    ...mailProblems(facts),
    ...facts.settingsProblems.map((problem) => `${problem}. Correct that file, or remove it.`),
  ].map(cleanValue);
}

function rootProblems({ root, networkKind, room, own }: Findings): string[] {
  if ("fault" in root) return [`The mail root cannot be looked at: ${root.fault}.`];
  const { path } = root.is;
  return [
    ...faultsOf(root.is, own !== undefined),
    ...(networkKind === undefined
      ? []
      : [
          `${path} is on a network file system (${networkKind}), where mail may come late or twice; ` +
            "set XDG_STATE_HOME to a folder on a local disk.",
        ]),
    ...(room === undefined || room >= LITTLE_ROOM
      ? []
      : [`There is hardly any room on the disk of ${path}; make some, or mail cannot be sent.`]),
  ];
}

function folderProblems({ folders, own }: Findings): string[] {
  if ("fault" in folders)
    return [`The folder of this session cannot be looked at: ${folders.fault}.`];
  const [folder, ...boxes] = folders.is;
  if (!folder) return [];
  const faultsWithin = (found: FolderFacts): string[] =>
    // A link is followed to the root, and nowhere within it.
    found.kind === "link to a folder"
      ? [`${found.path} is a link; remove it.`]
      : faultsOf(found, own !== undefined);
  // Where the folder itself is at fault, its boxes are as well.
  const faults = faultsWithin(folder);
  return faults.length > 0 ? faults : boxes.flatMap(faultsWithin);
}

function faultsOf(
  { path, kind, mode, isForeign, isUsable }: FolderFacts,
  isOpen: boolean,
): string[] {
  if (kind === "missing") {
    return isOpen
      ? [`${path} is gone, and is made again for the next mail; /reload does it now.`]
      : [];
  }
  if (isForeign) return [`${path} belongs to another user; remove it or set XDG_STATE_HOME.`];
  if (kind === "link" || kind === "no folder") return [`${path} is no folder; remove it.`];
  return [
    ...(isUsable ? [] : [`${path} cannot be read and written; run chmod 700 ${path}.`]),
    ...(mode !== undefined && (mode & 0o077) !== 0
      ? [`${path} is open to other users; run chmod 700 ${path}.`]
      : []),
  ];
}

function serviceProblems({ own, record }: Findings): string[] {
  if (own === undefined) return [];
  const problems: string[] = [];
  const is = "fault" in record ? undefined : record.is;
  if ("fault" in record) problems.push(`The running record cannot be read: ${record.fault}.`);
  const { watching } = own;
  if (!watching) {
    const other = is?.of === "another" ? `process ${String(is.pid)}` : "another process";
    const stopped =
      is?.isStopped === true ? ` It is stopped; kill -CONT ${String(is.pid)} lets it go on.` : "";
    problems.push(
      `The mail of this session goes to ${other}, which has it open too; close it there.${stopped}`,
    );
    return problems;
  }
  if (!("fault" in record) && is?.of !== "ours") {
    problems.push(
      "Other sessions do not see this one, whose running record is not there; it is written again " +
        "within half a minute, and /reload does it now.",
    );
  }
  if (!watching.isWatching) {
    problems.push(
      "The system does not watch the folder, so mail is found by a poll each second; close some programs, " +
        "or raise fs.inotify.max_user_watches and max_user_instances on Linux.",
    );
  } else if (watching.trust === "missed") {
    problems.push(
      "The watcher missed mail that the poll found, so mail may come some seconds late; if that " +
        "goes on, set XDG_STATE_HOME to a folder on a local disk.",
    );
  }
  return problems;
}

function mailProblems({ own, open, waiting, folders, now }: Findings): string[] {
  const problems: string[] = [];
  const served = own?.watching !== undefined;
  if ("fault" in waiting) {
    if (!("fault" in folders)) problems.push(`New mail cannot be listed: ${waiting.fault}.`);
  } else if (served && waiting.is.some(({ at = 0 }) => now - at > TOO_LONG)) {
    problems.push(
      `Mail waits though this session is open (${String(waiting.is.length)}): something keeps it from ` +
        "being claimed; check the disk and the permissions of the folder, then run /reload.",
    );
  }
  if ("fault" in open) {
    if (!("fault" in folders)) problems.push(`The ledger cannot be read: ${open.fault}.`);
  } else if (open.is === "damaged") {
    problems.push("The ledger is damaged; /reload makes it anew from the mail.");
  } else if (open.is !== "missing" && open.is.outbox.length > 0) {
    problems.push(
      `Answers cannot be delivered (${String(open.is.outbox.length)}) and are tried again each second; ` +
        "check the disk and the permissions of the recipients' folders.",
    );
  }
  if (own?.isUnsaved === true) {
    problems.push("The ledger cannot be written, and is tried again; check the disk.");
  }
  for (const name of own?.deferred ?? []) {
    problems.push(`Unread mail cannot be read, and is tried again: check cur/${name}.`);
  }
  for (const { path, reason } of own?.setAside ?? []) {
    problems.push(`${path} was set aside: ${reason}. Have it sent again as mail, or remove it.`);
  }
  return problems;
}
