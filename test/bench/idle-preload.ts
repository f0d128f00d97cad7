/**
 * Loaded into a Pi process before anything else: counts how often code of this package is woken,
 * by a timer or a watcher, and what it then does on the disk. What Pi itself does is not counted.
 */
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";

/** What was counted. */
export interface Idling {
  /** Timers that fired and watchers that told something. */
  readonly wakeUps: number;
  /** Files whose content was read. */
  readonly reads: number;
  /** All operations, by the name of the function. */
  readonly operations: Record<string, number>;
}

/** For the extension. */
export interface Woken {
  /** Counts a wake-up whenever `run` is called. */
  readonly woken: (run: () => void) => () => void;
  /** Gives what was counted, and begins anew. */
  readonly take: () => Idling;
}

const KEY = Symbol.for("pi-session-mail bench: idling");

const shared = globalThis as typeof globalThis & { [KEY]?: Woken };

/** The counter of this process. The extension is loaded apart from the preload, and shares it. */
export function idling(): Woken {
  const known = shared[KEY];
  if (known) return known;
  return (shared[KEY] = count());
}

const READS: readonly string[] = ["readFileSync", "readSync", "readvSync", "readFile", "read"];

const OPERATIONS = [
  ...READS,
  "accessSync",
  "existsSync",
  "fstatSync",
  "lstatSync",
  "mkdirSync",
  "openSync",
  "opendirSync",
  "readdirSync",
  "renameSync",
  "stat",
  "statSync",
  "statfsSync",
  "unlinkSync",
  "utimesSync",
  "writeFileSync",
  "writeSync",
];

type Operation = (...args: unknown[]) => unknown;

function count(): Woken {
  let counts = { wakeUps: 0, reads: 0, operations: {} as Record<string, number> };
  let inside = 0;
  let operating = false;
  const during = <T>(run: () => T): T => {
    inside += 1;
    try {
      return run();
    } finally {
      inside -= 1;
    }
  };

  const functions = fs as unknown as Record<string, Operation>;
  for (const call of OPERATIONS) {
    const operation = functions[call]!;
    functions[call] = (...args) => {
      // One operation of Node's may be made of others.
      if (inside === 0 || operating) return operation(...args);
      counts.operations[call] = (counts.operations[call] ?? 0) + 1;
      if (READS.includes(call)) counts.reads += 1;
      operating = true;
      try {
        return operation(...args);
      } finally {
        operating = false;
      }
    };
  }
  const watch = functions["watch"]!;
  functions["watch"] = (path, ...rest) => {
    if (!String(path).includes("pi-session-mail")) return watch(path, ...rest);
    const listener = rest.pop() as Operation;
    return watch(path, ...rest, (...args: unknown[]) => {
      counts.wakeUps += 1;
      during(() => listener(...args));
    });
  };
  syncBuiltinESMExports();

  return {
    woken: (run) => () => {
      counts.wakeUps += 1;
      during(run);
    },
    take: () => {
      const taken = counts;
      counts = { wakeUps: 0, reads: 0, operations: {} };
      return taken;
    },
  };
}

idling();
