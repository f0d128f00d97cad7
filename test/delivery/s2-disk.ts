/** What lies in the mailboxes of a workplace, and mail that no session wrote. */
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import type { Envelope } from "../../src/mail/envelope.ts";
import type { Ledger } from "../../src/mail/ledger.ts";
import type { SessionRecord } from "../../src/sessions/record.ts";
import type { Workplace } from "../host/workplace.ts";

/** The envelopes in one box of an address, in order of their names. */
export function mailIn(
  workplace: Workplace,
  address: string,
  box: "new" | "cur" | "sent",
): Envelope[] {
  const folder = workplace.mailbox(address)[box];
  return filesIn(folder)
    .filter((name) => name.endsWith(".json"))
    .flatMap((name) => {
      const text = textIn(join(folder, name));
      return text === undefined ? [] : [JSON.parse(text) as Envelope];
    });
}

/** What a file holds, or undefined when it has been moved meanwhile. */
export function textIn(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
}

/** The names in a folder, sorted; none when there is no folder. */
export function filesIn(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder).sort() : [];
}

/** All mail below the mail root, claimed or not, so that two looks tell whether any was written. */
export function allMail(workplace: Workplace): string[] {
  if (!existsSync(workplace.root)) return [];
  return readdirSync(workplace.root, { recursive: true, encoding: "utf8" })
    .filter((path) => /\/(tmp|new|cur|sent)\/./.test(path))
    .map((path) => path.replace(/\/(new|cur)\//, "/received/"))
    .sort();
}

/** The running record of an address, or undefined when there is none. */
export function recordOf(workplace: Workplace, address: string): SessionRecord | undefined {
  const path = workplace.runningRecord(address);
  return existsSync(path) ? (JSON.parse(readFileSync(path, "utf8")) as SessionRecord) : undefined;
}

/** The ledger of an address. */
export function ledgerOf(workplace: Workplace, address: string): Ledger {
  const lines = readFileSync(workplace.mailbox(address).ledger, "utf8").trimEnd().split("\n");
  return JSON.parse(lines.at(-1) ?? "") as Ledger;
}

/** A mail as another program may write it. */
export function envelope(fields: Partial<Envelope> & { to: string }): Envelope {
  return {
    id: crypto.randomUUID(),
    from: "planter",
    kind: "message",
    hops: 0,
    in_reply_to: [],
    status: "",
    ts: new Date().toISOString(),
    body: "planted",
    ...fields,
  };
}

/** The name an envelope's file has in every box. */
export function nameOf({ ts, id }: Envelope): string {
  return `${String(Date.parse(ts)).padStart(15, "0")}-${id}.json`;
}

/** Delivers a mail as another program may: through `tmp/`, renamed into `new/`. Gives it back. */
export function plantMail(
  workplace: Workplace,
  fields: Partial<Envelope> & { to: string },
): Envelope {
  const mail = envelope(fields);
  plant(workplace, mail.to, nameOf(mail), JSON.stringify(mail));
  return mail;
}

/** Delivers a file of any name and content. */
export function plant(
  workplace: Workplace,
  address: string,
  name: string,
  content: string | Uint8Array,
): void {
  const boxes = workplace.mailbox(address);
  mkdirSync(boxes.tmp, { recursive: true, mode: 0o700 });
  mkdirSync(boxes.new, { recursive: true, mode: 0o700 });
  writeFileSync(join(boxes.tmp, name), content, { mode: 0o600 });
  renameSync(join(boxes.tmp, name), join(boxes.new, name));
}
