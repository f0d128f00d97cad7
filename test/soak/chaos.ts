/** What the chaos does to a session: stops, kills, suspends, reloads and resumes it. */
import { existsSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import type { Participant } from "./participant.ts";
import type { PlannedBlow } from "./plan.ts";

/** Deals a blow, and resolves when the session is there again. */
export async function strike(participant: Participant, planned: PlannedBlow): Promise<void> {
  const { blow, milliseconds } = planned;
  participant.blows.push(`${blow} after ${planned.at} tries, in life ${participant.lives.length}`);
  const session = await participant.session;
  switch (blow) {
    case "escape":
      return session.escape();
    case "abort":
      return session.abort();
    case "pause":
      session.pause();
      await delay(milliseconds);
      session.resume();
      return;
    case "compact":
      return unlessRefused(() => session.compact());
    case "reload":
      return unlessRefused(() => session.command("/reload-all"));
    case "leave":
      return participant.exclusively(() => leaveAndReturn(participant));
    case "quit":
      return participant.restart((old) => old.quit(), milliseconds);
    case "kill":
      participant.wasKilled = true;
      return participant.restart((old) => old.kill(), milliseconds);
    case "succeed":
      return participant.succeed((first) => first.quit(), milliseconds);
    case "inherit":
      participant.wasKilled = true;
      return participant.succeed((first) => first.kill(), milliseconds);
  }
}

/** `/new`, and back by `/resume`. A session that is not on disk yet cannot be gone back to. */
async function leaveAndReturn(participant: Participant): Promise<void> {
  const session = await participant.session;
  const { sessionFile } = await session.state();
  if (sessionFile === undefined || !existsSync(sessionFile)) return;
  await session.newSession();
  await session.switchSession(sessionFile);
}

/** Pi compacts no short conversation, and reloads nothing during a run. */
async function unlessRefused(run: () => Promise<unknown>): Promise<void> {
  try {
    await run();
  } catch (error) {
    if (!String(error).includes("was refused")) throw error;
  }
}
