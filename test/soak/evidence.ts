/** What a soak leaves behind: on disk, in the session files, and in what its sessions said. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Envelope } from "../../src/mail/envelope.ts";
import type { Workplace } from "../host/workplace.ts";
import type { SessionEntry } from "../host/session.ts";
import type { Mind } from "./mind.ts";
import type { Participant } from "./participant.ts";
import type { Plan } from "./plan.ts";
import { receiptsIn } from "./receipts.ts";

/** A mail in a box. */
export interface Filed {
  readonly envelope: Envelope;
  readonly path: string;
  readonly box: "new" | "cur" | "sent";
}

/** What an entry of a session says of a mail: it was read, its ask was answered with it, or it is marked. */
export interface Reading {
  readonly session: string;
  readonly id: string;
  readonly as: "mail" | "result" | "taken over" | "answered";
}

/** One session at the end. */
export interface Witness {
  readonly participant: Participant;
  readonly mind: Mind;
  readonly footer: string | undefined;
  /** What every process of it told the user as a warning or an error. */
  readonly trouble: readonly string[];
  /** Errors that its extensions threw. */
  readonly errors: readonly string[];
}

export interface Evidence {
  readonly plan: Plan;
  readonly witnesses: readonly Witness[];
  readonly filed: readonly Filed[];
  readonly readings: readonly Reading[];
  /** The ids of mails that their senders were told were sent. */
  readonly confirmed: ReadonlySet<string>;
}

/** The footers as they are now, and what was said so far; to be asked while the sessions run. */
export async function witnessOf(participant: Participant, mind: Mind): Promise<Witness> {
  const session = await participant.session;
  return {
    participant,
    mind,
    footer: session.status("mailbox"),
    trouble: participant.lives.flatMap(({ notifications }) =>
      notifications.filter(({ level }) => level !== "info").map(({ message }) => message),
    ),
    errors: participant.lives.flatMap(({ extensionErrors }) => extensionErrors),
  };
}

/** The ids of the mails that any process of a session told its user or model were sent. */
export function confirmedBy(participants: readonly Participant[]): Set<string> {
  return new Set(
    participants.flatMap(({ lives }) => lives.flatMap(({ events }) => receiptsIn(events))),
  );
}

/** Every mail in every mailbox there is. */
export function filedIn(workplace: Workplace): Filed[] {
  return readdirSync(workplace.root)
    .filter((address) => address !== "running")
    .flatMap((address) =>
      (["new", "cur", "sent"] as const).flatMap((box) => {
        const folder = workplace.mailbox(address)[box];
        return readdirSync(folder).map((name) => {
          const path = join(folder, name);
          return { envelope: JSON.parse(readFileSync(path, "utf8")) as Envelope, path, box };
        });
      }),
    );
}

/**
 * What a session file says of mail. A process that took over begins a branch of its own, and reads on
 * it what it has to answer: that counts once, however many branches have it.
 */
export function readingsIn(session: string, file: string): Reading[] {
  const entries = readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as SessionEntry);
  const byId = new Map(entries.map((entry) => [entry.id, entry]));
  const readings = entries.flatMap((entry) => {
    const reading = readingOf(session, entry);
    return reading === undefined ? [] : [{ entry, reading }];
  });
  const isAbove = (one: SessionEntry, other: SessionEntry): boolean => {
    for (let at = other.parentId; at !== null; at = byId.get(at)?.parentId ?? null)
      if (at === one.id) return true;
    return false;
  };
  return readings
    .filter(
      ({ entry, reading }, position) =>
        !readings
          .slice(0, position)
          .some((earlier) => earlier.reading.id === reading.id && !isAbove(earlier.entry, entry)),
    )
    .map(({ reading }) => reading);
}

function readingOf(session: string, entry: SessionEntry): Reading | undefined {
  if (entry.type === "custom_message" && entry.customType === "mailbox")
    return { session, id: String(entry.details?.["id"]), as: "mail" };
  if (entry.type === "custom" && entry.customType === "mailbox") {
    const { id, answered } = entry["data"] as { id: string; answered: boolean };
    return { session, id, as: answered ? "answered" : "taken over" };
  }
  const { message } = entry;
  if (message?.role !== "toolResult" || message.toolName !== "session_mail_ask") return undefined;
  const answer = message.details?.["answer"];
  return typeof answer === "string" ? { session, id: answer, as: "result" } : undefined;
}
