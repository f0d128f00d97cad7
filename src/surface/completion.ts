import { isFullId, labelsOf } from "../sessions/addressing.ts";
import { type RunningSession, stateOf } from "../sessions/record.ts";
import { cleanValue } from "../text.ts";
import { cleanPath } from "./path.ts";
import { SUBCOMMANDS } from "./subcommands.ts";

/** What the first word behind `/mailbox` may be. */
export interface Choices {
  /** The address of this session. */
  readonly self: string;
  readonly running: readonly RunningSession[];
  /** Addresses of closed sessions that have a mailbox, the newest activity first. */
  readonly closed: readonly string[];
  /** When this was so, in ms since 1970. */
  readonly now: number;
}

/** One way to complete what was typed, as Pi's editor takes it. */
export interface Completion {
  /** It stands in the place of all that was typed behind the command. */
  readonly value: string;
  readonly label: string;
  readonly description: string;
}

/** How many closed sessions are offered. */
const MAX_CLOSED = 20;

/** A first word that is not complete: it has no blanks, or they are in a quote that is open. */
const FIRST_WORD = /^(")?([^"]*)$/;

/**
 * How what was typed behind `/mailbox` can go on: subcommands, other running sessions, then closed
 * ones (S18.3). Recipients end with a blank, for the text to follow, and names with blanks are
 * quoted. A session that has no name which can be typed and means it alone goes by its short id.
 *
 * @returns none behind the first word, and when the only way on is what was typed, so that Enter
 * runs it.
 */
export function completions(typed: string, choices: Choices): Completion[] {
  const [, quote, word] = FIRST_WORD.exec(typed.trimStart()) ?? [];
  if (word === undefined || (quote === undefined && /\s/.test(word))) return [];
  const prefix = word.toLowerCase();
  const begins = (text: string | undefined): boolean =>
    text?.toLowerCase().startsWith(prefix) === true;
  const subcommands = Object.entries(SUBCOMMANDS)
    .filter(([name]) => quote === undefined && begins(name))
    .map(([name, description]) => ({ value: name, label: name, description }));
  const others = choices.running.filter(({ address }) => address !== choices.self);
  const recipients = namesOf(choices);
  const running = others
    .filter(({ address, name }) => begins(name) || begins(address))
    .map((session) => {
      const to = recipients.get(session.address) ?? session.address;
      const description = `${stateOf(session, choices.now)}, ${cleanPath(session.cwd)}`;
      return { value: `${to} `, label: to, description };
    });
  const closed = choices.closed
    .filter(begins)
    .slice(0, MAX_CLOSED)
    .map((address) => ({ value: `${address} `, label: address, description: "closed" }));
  const all = [...subcommands, ...running, ...closed];
  return all.length === 1 && all[0]?.value === typed ? [] : all;
}

/** By address, what to type for a running session: its name, or what else means it alone. */
function namesOf({ running, self }: Choices): Map<string, string> {
  const short = labelsOf(running.map(({ address }) => ({ address })));
  const addresses = new Set(running.map(({ address }) => address));
  const sharedBy = new Map<string, number>();
  for (const { address, name } of running) {
    if (name !== undefined && address !== self) sharedBy.set(name, (sharedBy.get(name) ?? 0) + 1);
  }
  return new Map(
    running.map(({ address, name }) => {
      const typed = typeable(name);
      const means = name !== undefined && sharedBy.get(name) === 1;
      // What reads as an id is taken for one (S4.1).
      const isId = name !== undefined && (addresses.has(name) || isFullId(name));
      if (typed !== undefined && means && !isId) return [address, typed];
      const id = short.get(address) ?? address;
      return [address, sharedBy.has(id) ? address : id];
    }),
  );
}

/** How a name is typed behind `/mailbox` (S4.6); `undefined` for one that cannot be. */
function typeable(name: string | undefined): string | undefined {
  if (name === undefined || name === "" || name !== cleanValue(name)) return undefined;
  if (/\s/.test(name)) return name.includes('"') ? undefined : `"${name}"`;
  return name.startsWith('"') ? undefined : name;
}
