/** A soak: sessions that mail one another while chaos strikes them, and the check at the end. */
import { cpSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { hookExtension } from "../delivery/s9-extensions.ts";
import { eventually } from "../host/eventually.ts";
import { mailExtension, Workplace } from "../host/workplace.ts";
import { strike } from "./chaos.ts";
import { confirmedBy, filedIn, readingsIn, witnessOf, type Evidence } from "./evidence.ts";
import { Mind, nameOf } from "./mind.ts";
import { Participant } from "./participant.ts";
import { planSoak, type Plan, type SoakOptions } from "./plan.ts";
import { Progress } from "./progress.ts";
import { sendPlanned } from "./sender.ts";
import { isCalm, tend } from "./tend.ts";
import { complaintsOf, tableOf } from "./verdict.ts";

/** What came of a soak. */
export interface SoakReport {
  readonly plan: Plan;
  /** Empty when every mail was read and answered as promised. */
  readonly complaints: readonly string[];
  readonly table: Record<string, Record<string, number>>;
  readonly blows: Record<string, number>;
  readonly milliseconds: number;
}

/** What `soak` may be told beside its options. */
export interface SoakSurroundings {
  /** Told now and then how many of the mails have been tried. */
  readonly onProgress?: (tried: number, of: number) => void;
  /** When there are complaints, all files are copied here. */
  readonly keep?: string;
}

/** How long it may take until nothing is open once the chaos is over. */
const CALM_WITHIN = 60_000;

/** Runs a soak to its end. */
export async function soak(
  options: SoakOptions,
  { onProgress, keep }: SoakSurroundings = {},
): Promise<SoakReport> {
  const started = performance.now();
  const plan = planSoak(options);
  await using workplace = await Workplace.open();
  const evidence = await carryOut(plan, workplace, onProgress);
  const complaints = complaintsOf(evidence);
  if (complaints.length > 0 && keep !== undefined)
    cpSync(workplace.folder, keep, { recursive: true });
  const blows = evidence.plan.blows.map(({ blow }) => blow);
  return {
    plan,
    complaints,
    table: tableOf(evidence),
    blows: Object.fromEntries(
      [...Map.groupBy(blows, (blow) => blow)].map(([blow, all]) => [blow, all.length]),
    ),
    milliseconds: performance.now() - started,
  };
}

async function carryOut(
  plan: Plan,
  workplace: Workplace,
  onProgress: SoakSurroundings["onProgress"],
): Promise<Evidence> {
  const extensions = [
    process.env["MAIL_UNDER_TEST"] ?? mailExtension,
    hookExtension(workplace, "hook").path,
  ];
  const participants = Array.from(
    { length: plan.sessions },
    (_, number) => new Participant(workplace, nameOf(number), extensions),
  );
  const addresses = participants.map(({ address }) => address);
  const minds = participants.map(({ name }, number) => {
    const mind = new Mind(name, number, plan, addresses);
    workplace.model.answer(name, (request) => mind.answer(request));
    return mind;
  });
  await Promise.all(participants.map(({ session }) => session));

  await exchange(plan, participants, addresses, onProgress);

  const witnesses = await Promise.all(
    participants.map((participant, number) => witnessOf(participant, minds[number]!)),
  );
  const readings = await Promise.all(
    participants.map(async ({ address, session }) => {
      const { sessionFile } = await (await session).state();
      await (await session).quit();
      return readingsIn(address, sessionFile ?? "");
    }),
  );
  return {
    plan,
    witnesses,
    filed: filedIn(workplace),
    readings: readings.flat(),
    confirmed: confirmedBy(participants),
  };
}

/** Sends all mails while the blows fall, and waits until nothing is open. */
async function exchange(
  plan: Plan,
  participants: readonly Participant[],
  addresses: readonly string[],
  onProgress: SoakSurroundings["onProgress"],
): Promise<void> {
  const tending = new AbortController();
  const tended = participants.map((participant) => tend(participant, tending.signal));
  const progress = new Progress(plan.mails, onProgress);
  try {
    await Promise.all([
      ...participants.map(async (participant, number) => {
        for (const mail of plan.mailsToSend.filter(({ by }) => by === number))
          await sendPlanned(participant, addresses, mail, () => progress.step());
      }),
      ...participants.map(async (participant, number) => {
        for (const blow of plan.blows.filter(({ session }) => session === number)) {
          await progress.reached(blow.at);
          await delay(blow.delay);
          await strike(participant, blow);
        }
      }),
    ]);
    await eventually(() => isCalm(participants), "all mail to be answered", CALM_WITHIN).catch(
      // What is still open then is told by the verdict.
      () => undefined,
    );
  } catch (error) {
    throw new Error(`the soak of seed ${plan.seed} broke off: ${String(error)}`, { cause: error });
  } finally {
    tending.abort();
  }
  await Promise.all(tended);
}
