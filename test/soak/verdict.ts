/** Whether a soak is as promised: what is wrong, with the story of each mail, and a table. */
import type { Evidence, Witness } from "./evidence.ts";
import { accountsOf, faultsOf, timesRead, wasRefused, type Account } from "./tally.ts";
import { tokensIn } from "./plan.ts";

/** What a user may be told in a soak: that a second process waits, and why something was refused. */
const EXPECTED = [
  /^mailbox: process \d+ has this session open/,
  /^mailbox: the next run that completes answers /,
  /^Another process has this session open/,
  /^No running session is called/,
  /^This session has no mailbox: /,
];

/** What Pi says of itself: it reloads nothing during a run, and keeps nothing of one that `/new` cuts off. */
const EXPECTED_ERRORS = [
  /^command: Wait for (the current response|compaction) to finish before reloading/,
  /^turn_end: turn_end could not resolve the persisted assistant entry ID$/,
];

/** All that is wrong, each with what is known of it. */
export function complaintsOf(evidence: Evidence): string[] {
  const accounts = accountsOf(evidence);
  const tokens = Map.groupBy(
    [...accounts.values()].filter(({ envelope }) => envelope.kind !== "reply"),
    ({ envelope }) => tokensIn(envelope.body)[0],
  );
  return [
    ...[...accounts.values()].flatMap((account) =>
      faultsOf(account, accounts, evidence).map((fault) => `${fault}: ${story(account, evidence)}`),
    ),
    ...[...evidence.confirmed]
      .filter((id) => !accounts.has(id))
      .map((id) => `confirmed and without a trace: ${id}`),
    ...evidence.readings
      .filter(({ id }) => !accounts.has(id))
      .map(({ session, id }) => `read and never sent: ${id} in ${session}`),
    ...[...tokens]
      .filter(([, sent]) => sent.length > 1)
      .flatMap(([, sent]) => sent.map((account) => `sent twice: ${story(account, evidence)}`)),
    ...evidence.witnesses.flatMap((witness) => complaintsAbout(witness, accounts)),
  ];
}

function complaintsAbout(
  { participant, mind, footer, trouble, errors }: Witness,
  accounts: ReadonlyMap<string, Account>,
): string[] {
  const { name, address, ledger } = participant;
  const read = [...accounts.values()]
    .filter(({ envelope }) => envelope.to === address)
    .reduce((sum, account) => sum + timesRead(account), 0);
  const expected = read === 0 ? undefined : `✉ ${read} read`;
  const open = Object.entries(ledger ?? {}).filter(
    ([part, value]) => part !== "read" && (Array.isArray(value) ? value.length : value) !== 0,
  );
  return [
    ...(footer === expected ? [] : [`${name} shows ${String(footer)} and not ${String(expected)}`]),
    ...open.map(([part, value]) => `${name} is left with ${part} ${JSON.stringify(value)}`),
    ...trouble
      .filter((text) => !EXPECTED.some((pattern) => pattern.test(text)))
      .map((text) => `${name} was told: ${text}`),
    ...errors
      .filter((error) => !EXPECTED_ERRORS.some((pattern) => pattern.test(error)))
      .map((error) => `${name} had an error in an extension: ${error}`),
    ...mind.complaints,
  ];
}

/** What is known of a mail. */
function story(account: Account, { witnesses }: Evidence): string {
  const { envelope, confirmed, delivered, copies, readings, replies } = account;
  const sides = witnesses.filter(({ participant: { address } }) =>
    [envelope.from, envelope.to].includes(address),
  );
  const named = (address: string): string =>
    sides.find(({ participant }) => participant.address === address)?.participant.name ?? address;
  return [
    JSON.stringify(envelope),
    `from ${named(envelope.from)} to ${named(envelope.to)}, ${confirmed ? "confirmed" : "not confirmed"}`,
    ...[...delivered, ...copies].map(({ path }) => `lies in ${path}`),
    ...readings.map(({ session, as }) => `entry in ${named(session)} as ${as}`),
    ...replies.map((reply) => `reply ${JSON.stringify(reply)}`),
    ...sides.flatMap(({ participant: { name, ledger, blows } }) => [
      `ledger of ${name}: ${JSON.stringify(ledger)}`,
      `${name} suffered: ${blows.join("; ")}`,
    ]),
  ].join("\n    ");
}

/** How many mails there were and what became of them. */
export function tableOf(evidence: Evidence): Record<string, Record<string, number>> {
  const accounts = [...accountsOf(evidence).values()];
  const rows = (["request", "ask", "message", "reply"] as const).map((kind) => {
    const of = accounts.filter(({ envelope }) => envelope.kind === kind);
    const count = (holds: (account: Account) => boolean): number => of.filter(holds).length;
    const answered = (status: string): number =>
      count(({ replies }) => replies.some((reply) => reply.status === status));
    return [
      kind,
      {
        delivered: count(({ delivered }) => delivered.length > 0),
        confirmed: count(({ confirmed }) => confirmed),
        read: count((account) => timesRead(account) > 0),
        "refused unread": count(wasRefused),
        done: answered("done"),
        failed: answered("failed"),
        stopped: answered("stopped"),
      },
    ] as const;
  });
  return Object.fromEntries(rows);
}
