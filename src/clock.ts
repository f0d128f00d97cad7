/** Stops what it was given for; safe to call again. */
export type Cancel = () => void;

/** Time as this package sees it, so that a test need not wait for it to pass. */
export interface Clock {
  /** In ms since 1970; it may jump, when somebody sets the clock of the machine. */
  now(): number;
  /** In ms since some moment; it never jumps, so that it can tell how long something took. */
  elapsed(): number;
  /** Once, after so many ms; the process stays alive until then: `pi -p` ends when nothing does that. */
  after(milliseconds: number, run: () => void): Cancel;
  /** Again and again, every so many ms; it does not keep the process alive. */
  every(milliseconds: number, run: () => void): Cancel;
  /** Once, on a later turn of the event loop (S5.2). */
  soon(run: () => void): Cancel;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
  after: (milliseconds, run) => {
    const timer = setTimeout(run, milliseconds);
    return () => {
      clearTimeout(timer);
    };
  },
  every: (milliseconds, run) => {
    const timer = setInterval(run, milliseconds).unref();
    return () => {
      clearInterval(timer);
    };
  },
  soon: (run) => {
    const immediate = setImmediate(run);
    return () => {
      clearImmediate(immediate);
    };
  },
};
