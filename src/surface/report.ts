import { errorText } from "../mail/errors.ts";
import type { Mailbox } from "../mailbox/mailbox.ts";
import { inboxOf, sentOf } from "../mailbox/overview.ts";
import { runningRecords } from "../sessions/record.ts";
import { cleanValue } from "../text.ts";
import { mailLines, sessionLines } from "./lists.ts";

/** The line that says which session this is; other programs read the address from it (S8.1). */
function identityLine(mailbox: Mailbox, name: string | undefined): string {
  const called = name === undefined ? "has no name" : `is called ${cleanValue(name)}`;
  return `This session ${called}; its address is ${mailbox.address}`;
}

/** All that the screen shows, as plain lines: this session, those that run, inbox and sent (S18.2). */
export function everything(mailbox: Mailbox, name: string | undefined): string {
  const now = mailbox.clock.now();
  return [
    identityLine(mailbox, name),
    ...section("Sessions", () => sessionLines(runningRecords(), mailbox.address, now)),
    ...section("Inbox", () => mailLines(inboxOf(mailbox), now)),
    ...section("Sent", () => mailLines(sentOf(mailbox), now)),
  ].join("\n");
}

/** The newest mail that the session received (S18.1). @throws when a folder cannot be read. */
export function inboxText(mailbox: Mailbox): string {
  const lines = mailLines(inboxOf(mailbox), mailbox.clock.now());
  return lines.length === 0 ? "The inbox is empty." : ["Inbox:", ...lines].join("\n");
}

/** The newest mail that the session sent (S18.1). @throws when a folder cannot be read. */
export function sentText(mailbox: Mailbox): string {
  const lines = mailLines(sentOf(mailbox), mailbox.clock.now());
  return lines.length === 0 ? "Nothing was sent yet." : ["Sent:", ...lines].join("\n");
}

/** Lines under a heading; what cannot be read for now does not keep the rest from being shown. */
function section(heading: string, read: () => string[]): string[] {
  let lines: string[];
  try {
    lines = read();
  } catch (error) {
    lines = [`(This cannot be read: ${errorText(error)})`];
  }
  return ["", `${heading}:`, ...(lines.length === 0 ? ["(none)"] : lines)];
}
