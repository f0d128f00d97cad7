/** The user who comes back to a session that owes answers, or has not looked at its mail. */
import { setTimeout as delay } from "node:timers/promises";
import type { Participant } from "./participant.ts";

/** How often it is looked whether a session needs a run. */
const LOOK = 50;

/** Whether nothing is open anywhere: all is read and answered, and no run is on that could send more. */
export async function isCalm(participants: readonly Participant[]): Promise<boolean> {
  if (!participants.every(isClear)) return false;
  for (const participant of participants) {
    const session = await participant.session;
    if ((await session.state()).isStreaming) return false;
    // A process that has just started, or is about to take over, shows its counts a little later.
    if (session.status("mailbox") === undefined && (participant.ledger?.read ?? 0) > 0)
      return false;
  }
  return participants.every(isClear);
}

/** Whether nothing is open in a mailbox, and a run has ended since the last mail entered. */
function isClear(participant: Participant): boolean {
  // First what waits: a claim writes it into the ledger before it moves it.
  if (participant.waiting > 0) return false;
  const { ledger } = participant;
  if (ledger === undefined) return true;
  const { unread, owed, outbox, awaiting, entered } = ledger;
  return unread.length + owed.length + outbox.length + awaiting.length + entered === 0;
}

/**
 * Prompts a session whenever it owes answers, since only a run that completes gives those that
 * are held (S6.5, S6.7), or has mail that entered quietly.
 */
export async function tend(participant: Participant, until: AbortSignal): Promise<void> {
  while (!until.aborted) {
    await delay(LOOK);
    const { ledger } = participant;
    if (ledger === undefined || ledger.owed.length + ledger.entered === 0) continue;
    try {
      const session = await participant.session;
      const mark = session.mark();
      // One prompt at a time: of two in the same moment Pi 1.6.0 starts both, and one fails.
      const prompted = await participant.exclusively(async () => {
        if ((await session.state()).isStreaming) return false;
        await session.prompt("Anything else?");
        return true;
      });
      if (prompted) await session.settled(mark);
    } catch {
      // Stopped, killed, compacting or gone: it is tried again.
    }
  }
}
