/** Measuring two things so that a noisy machine does not decide: by turns, and by the median. */

/** Two things that were measured by turns. */
export interface Pair {
  /** The median of ours. */
  readonly ours: number;
  /** The median of the other. */
  readonly other: number;
  /** The median of the quotients of the rounds, each of two runs that were neighbours in time. */
  readonly ratio: number;
  readonly rounds: number;
}

/** A run, which gives what was measured in it. */
export type Run = () => number | Promise<number>;

/** How often two things are measured. */
export interface Rounds {
  readonly rounds: number;
  /** Rounds before those, which do not count. */
  readonly warmUp: number;
}

/** Measures ours and the other by turns; which goes first changes with each round. */
export async function paired({ rounds, warmUp }: Rounds, ours: Run, other: Run): Promise<Pair> {
  const measured: { ours: number; other: number }[] = [];
  for (let round = -warmUp; round < rounds; round++) {
    const values = { ours: 0, other: 0 };
    const isTurned = round % 2 !== 0;
    if (isTurned) values.other = await other();
    values.ours = await ours();
    if (!isTurned) values.other = await other();
    if (round >= 0) measured.push(values);
  }
  return {
    ours: median(measured.map((values) => values.ours)),
    other: median(measured.map((values) => values.other)),
    ratio: median(measured.map((values) => values.ours / values.other)),
    rounds,
  };
}

/** The middle value, or the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((one, next) => one - next);
  const [low, high] = [Math.floor((sorted.length - 1) / 2), Math.ceil((sorted.length - 1) / 2)];
  return (sorted[low]! + sorted[high]!) / 2;
}

/** How many ms a call takes. */
export function timed(run: () => void): number {
  const start = performance.now();
  run();
  return performance.now() - start;
}
