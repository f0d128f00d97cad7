/**
 * What the hop count of a run is counted from: a loop guard, so that two models that keep waking
 * each other stop (S10). It is no security boundary (S10.3).
 */
export interface Hops {
  /** The user started or steered the run. */
  readonly user: boolean;
  /** The highest count among the mail that started or steered it; -1 when there was none. */
  readonly highest: number;
}

/** Where every run starts afresh (S10.1). */
export const NO_HOPS: Hops = { user: false, highest: -1 };

/** The count of a run: 0 for the user's, else one more than the highest among its mail (S10.1). */
export function hopCount(hops: Hops): number {
  return hops.user ? 0 : Math.min(hops.highest + 1, Number.MAX_SAFE_INTEGER);
}

/** After mail with this count has started or steered the run. */
export function withMail(hops: Hops, count: number): Hops {
  return { ...hops, highest: Math.max(hops.highest, count) };
}

/** After the user has started or steered the run. */
export function withUser(hops: Hops): Hops {
  return { ...hops, user: true };
}
