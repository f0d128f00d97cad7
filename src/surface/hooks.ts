import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import type { Cancel } from "../clock.ts";
import { isAddress } from "../mail/address.ts";
import { errorText } from "../mail/errors.ts";
import type { Envelope } from "../mail/envelope.ts";
import type { Session } from "./session.ts";

/** `message:send`: an extension sends a request in the user's name (S9.1). */
interface SendEvent {
  readonly to?: unknown;
  readonly body?: unknown;
  envelope?: Envelope;
  error?: string;
}

/** `message:scan`: an extension wants to have seen all mail that is there (S9.3). */
interface ScanEvent {
  scanned?: boolean;
}

/**
 * Answers the events of other extensions on `pi.events` (S9). All of it is synchronous: the
 * emitter reads what was set as soon as `emit` returns.
 *
 * @returns what stops it.
 */
export function registerHooks(pi: ExtensionAPI, session: Session): Cancel {
  const cancels = [
    pi.events.on("message:send", (event) => {
      if (!isObject(event)) return;
      const sending: SendEvent = event;
      try {
        sending.envelope = sendFor(session, sending);
      } catch (error) {
        sending.error = errorText(error);
      }
    }),
    pi.events.on("message:scan", (event) => {
      if (!isObject(event)) return;
      const scan: ScanEvent = event;
      try {
        session.mailbox.scan();
        scan.scanned = true;
      } catch {
        // Not scanned; what keeps mail from being claimed is told by the mailbox itself.
      }
    }),
  ];
  return () => {
    for (const cancel of cancels) cancel();
  };
}

function sendFor({ mailbox }: Session, { to, body }: SendEvent): Envelope {
  if (typeof to !== "string" || !isAddress(to)) {
    throw new Error("Nothing was sent: `to` must be the address of a session, its full id.");
  }
  if (typeof body !== "string" || body.trim() === "") {
    throw new Error("Nothing was sent: `body` must be a text.");
  }
  return mailbox.send({ to, kind: "request", hops: mailbox.hops, body });
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
