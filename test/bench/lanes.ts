/** The ways by which mail goes from `delivery.ts` to `receiver.ts`. */
import { BOB, CAROL } from "../fixtures/mail.ts";

/** Whom mail is for: `ours` is watched and claimed, `mailbox` is a whole mailbox with its ledger. */
export const LANES = { ours: BOB, mailbox: CAROL } as const;

/** A mail that was claimed and parsed, and when, by `process.hrtime.bigint()`. */
export interface Arrival {
  readonly id: string;
  readonly at: string;
}
