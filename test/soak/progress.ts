/** How far a soak has come, for what is due at a certain point of it. */

/** Counts steps, and lets others wait for a count. */
export class Progress {
  readonly #of: number;
  readonly #onStep: ((done: number, of: number) => void) | undefined;
  readonly #waiting: { readonly at: number; readonly resolve: () => void }[] = [];
  #done = 0;

  constructor(of: number, onStep?: (done: number, of: number) => void) {
    this.#of = of;
    this.#onStep = onStep;
  }

  step(): void {
    this.#done += 1;
    this.#onStep?.(this.#done, this.#of);
    for (const waiter of this.#waiting) if (waiter.at <= this.#done) waiter.resolve();
  }

  /** Resolves once so many steps are done. */
  reached(at: number): Promise<void> {
    return new Promise((resolve) => {
      if (at <= this.#done) resolve();
      else this.#waiting.push({ at, resolve });
    });
  }
}
