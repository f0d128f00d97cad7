import type { Settings } from "../../config.ts";
import { errorText } from "../../mail/errors.ts";
import type { Mailbox } from "../../mailbox/mailbox.ts";
import { labelOf, resolveAddress } from "../../sessions/addressing.ts";
import { type RunningSession, runningRecords } from "../../sessions/record.ts";
import { cleanValue } from "../../text.ts";

/** Who a mail goes to: an address, how to call it, and its record when it runs. */
export interface Recipient {
  readonly address: string;
  readonly label: string;
  readonly record: RunningSession | undefined;
}

/**
 * The recipient that `to` means, among the sessions that run now.
 *
 * @throws AddressError when it means none, several, or this session (S4).
 */
export function findRecipient(
  mailbox: Mailbox,
  to: string,
  running: readonly RunningSession[] = readRunning(mailbox.record),
): Recipient {
  const address = resolveAddress(to, running, mailbox.address);
  const record = running.find((other) => other.address === address);
  return { address, label: cleanValue(labelOf(record ?? { address })), record };
}

function readRunning(own: RunningSession): RunningSession[] {
  try {
    return runningRecords(own);
  } catch (error) {
    throw new Error(`Nothing was sent: ${errorText(error)}`, { cause: error });
  }
}

/** @throws when there is nothing in a text. */
export function refuseEmpty(text: string): void {
  if (text.trim() === "") throw new Error("Nothing was sent: the message is empty. Write one.");
}

/**
 * The settings that a tool sends by, read anew (S12.1).
 *
 * @throws when the run was set off by mail that has passed through too many models (S10.2).
 */
export function refuseHops(mailbox: Mailbox): Settings {
  const settings = mailbox.settings();
  const { hopLimit } = settings;
  if (mailbox.hops < hopLimit) return settings;
  throw new Error(
    `Nothing was sent: this run comes from a chain of ${String(mailbox.hops)} mails between models, ` +
      `and hopLimit is ${String(hopLimit)}. ` +
      "End your turn; a person typing in either session starts the count again.",
  );
}
