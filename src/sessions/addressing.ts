import { isAddress } from "../mail/address.ts";
import { cleanValue } from "../text.ts";

/** The fewest characters of an id that stand for the whole of it (S4.2, S4.7). */
const SHORT_ID = 8;

/** Longer names are not compared letter by letter. */
const MAX_NEAR = 100;

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** A session as far as addressing needs to know it. */
export interface Addressee {
  readonly address: string;
  readonly name?: string | undefined;
}

/** Whether a text is a full id, which means a session whether or not it runs (S4.1). */
export function isFullId(text: string): boolean {
  return UUID.test(text);
}

/** Thrown when a `to` leads nowhere; the message says what to do instead (S4.3, S4.4, S4.8). */
export class AddressError extends Error {
  override name = "AddressError";
}

/** How a session is called in text: its name, or the first 8 characters of its id (S4.5). */
export function labelOf(session: Addressee): string {
  return session.name ?? session.address.slice(0, SHORT_ID);
}

/**
 * The address that `to` means, as seen from the session `self`:
 * a running session's address or any full UUID (S4.1), else a running session's exact name, else
 * a leading or trailing fragment of at least 8 characters of its id (S4.2, S4.7).
 *
 * @throws AddressError when it means none, several, or the session itself.
 */
export function resolveAddress(to: string, running: readonly Addressee[], self: string): string {
  const wanted = to.trim();
  const exact = running.find(({ address }) => address === wanted)?.address;
  const found = exact ?? (isFullId(wanted) ? asRunning(wanted, running) : undefined);
  if (found === self) throw new AddressError("A session cannot mail itself.");
  if (found !== undefined) return found;

  for (const candidates of [byName(wanted, running), byFragment(wanted, running)]) {
    const others = candidates.filter(({ address }) => address !== self);
    if (others.length > 1) throw new AddressError(ambiguous(wanted, others, running));
    if (others[0]) return others[0].address;
    if (candidates.length > 0) throw new AddressError("A session cannot mail itself.");
  }
  throw new AddressError(
    unknown(
      wanted,
      running.filter(({ address }) => address !== self),
    ),
  );
}

function byName(wanted: string, running: readonly Addressee[]): Addressee[] {
  return running.filter(({ name }) => name === wanted);
}

function byFragment(wanted: string, running: readonly Addressee[]): Addressee[] {
  if (wanted.length < SHORT_ID || !isAddress(wanted)) return [];
  return running.filter(({ address }) => address.startsWith(wanted) || address.endsWith(wanted));
}

function ambiguous(
  wanted: string,
  candidates: readonly Addressee[],
  running: readonly Addressee[],
): string {
  const short = shortIds(running.map(({ address }) => address));
  const list = candidates.map(({ address, name }) => {
    const called = name === undefined ? "(no name)" : cleanValue(name);
    return `${called} ${address} (or just ${short.get(address) ?? address})`;
  });
  return `${quote(wanted)} means several running sessions; use one of their ids instead: ${list.join("; ")}.`;
}

function unknown(wanted: string, others: readonly Addressee[]): string {
  const near = others
    .map(({ name }) => name)
    .filter((name) => name !== undefined && isNear(wanted, name));
  const hint =
    near.length > 0
      ? ` Did you mean ${[...new Set(near)].map((name) => quote(name ?? "")).join(" or ")}?`
      : "";
  return (
    `No running session is called ${quote(wanted)} or has that id.${hint} ` +
    "A closed session is reached by its full id."
  );
}

function quote(text: string): string {
  return JSON.stringify(cleanValue(text));
}

/** A UUID means the same in capitals; one that runs decides how it is written, or Pi, in small. */
function asRunning(uuid: string, running: readonly Addressee[]): string {
  const same = running.find(({ address }) => address.toLowerCase() === uuid.toLowerCase());
  return same?.address ?? uuid.toLowerCase();
}

/**
 * For each id the shortest of its beginnings, of at least 8 characters, with which no other id in
 * the list begins or ends, so that what is shown can be used as a `to` (S4.7).
 */
export function shortIds(ids: readonly string[]): Map<string, string> {
  const sorted = [...new Set(ids)].sort();
  const endings = new Set(sorted.map((id) => id.slice(-SHORT_ID)));
  return new Map(
    sorted.map((id, at) => {
      // Whoever has the longest beginning in common with it stands beside it.
      const [before = "", after = ""] = [sorted[at - 1], sorted[at + 1]];
      let length = Math.max(SHORT_ID, inCommon(id, before) + 1, inCommon(id, after) + 1);
      const isEnding = (): boolean =>
        endings.has(id.slice(length - SHORT_ID, length)) &&
        sorted.some((other) => other !== id && other.endsWith(id.slice(0, length)));
      while (length < id.length && isEnding()) length += 1;
      return [id, id.slice(0, length)];
    }),
  );
}

/**
 * How each running session, and each other address, is called in a list: by its name, else by as much
 * of its id as tells it from the others (S4.5, S4.7). All of it is clean, also of what is no address.
 */
export function labelsOf(
  running: readonly Addressee[],
  others: readonly string[] = [],
): Map<string, string> {
  const short = shortIds([...running.map(({ address }) => address), ...others]);
  const names = new Map(running.map(({ address, name }) => [address, name]));
  return new Map(
    [...short].map(([address, id]) => [address, cleanValue(names.get(address) ?? id)]),
  );
}

/** How many characters two texts begin with alike. */
function inCommon(one: string, other: string): number {
  let length = 0;
  while (length < one.length && one[length] === other[length]) length += 1;
  return length;
}

/** Whether a name is what someone who typed `wanted` may have meant (S4.8). */
export function isNear(wanted: string, name: string): boolean {
  if (wanted.length > MAX_NEAR || name.length > MAX_NEAR) return false;
  const [typed, known] = [wanted.toLowerCase(), name.toLowerCase()];
  if (typed.length >= 3 && known.includes(typed)) return true;
  if (known.length >= 3 && typed.includes(known)) return true;
  return distance(typed, known) <= Math.max(1, Math.floor(known.length / 4));
}

/** How many letters must be put in, left out, changed or swapped to turn one word into another. */
function distance(from: string, to: string): number {
  const width = to.length + 1;
  const cells = new Uint16Array((from.length + 1) * width);
  const at = (row: number, column: number): number => cells[row * width + column] ?? 0;
  for (let row = 0; row <= from.length; row++) {
    for (let column = 0; column <= to.length; column++) {
      cells[row * width + column] = cost(row, column);
    }
  }
  return at(from.length, to.length);

  function cost(row: number, column: number): number {
    if (row === 0 || column === 0) return row + column;
    const same = from[row - 1] === to[column - 1];
    const swapped =
      row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
    return Math.min(
      at(row - 1, column) + 1,
      at(row, column - 1) + 1,
      at(row - 1, column - 1) + (same ? 0 : 1),
      swapped ? at(row - 2, column - 2) + 1 : Number.POSITIVE_INFINITY,
    );
  }
}

/**
 * Whether `from`, were it to wait on `target`, would wait on itself through any chain of
 * sessions that each wait on the next (S7.3).
 */
export function closesRing(
  from: string,
  target: string,
  waitingOn: ReadonlyMap<string, string>,
): boolean {
  const passed = new Set<string>();
  for (let next: string | undefined = target; next; next = waitingOn.get(next)) {
    if (next === from) return true;
    if (passed.has(next)) return false;
    passed.add(next);
  }
  return false;
}
