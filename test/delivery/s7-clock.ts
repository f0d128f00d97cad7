/** A session whose clock the test moves, so that ten minutes need not pass. */
import { join } from "node:path";
import { renameSync, writeFileSync } from "node:fs";
import { packageFolder } from "../host/pi.ts";
import type { Workplace } from "../host/workplace.ts";

/** An extension that is this package with a clock of its own, and the way to move that clock. */
export interface ClockedExtension {
  /** For `extensions`. */
  path: string;
  /** Lets time pass for every session that was started with it, and for those started later. */
  pass: (milliseconds: number) => void;
}

/**
 * Writes such an extension into a workplace. The clock is the system's plus what a file says; what
 * was to happen in the time that has passed happens within a few ms.
 */
export function clockedExtension(workplace: Workplace, name = "clocked"): ClockedExtension {
  const offset = workplace.write(`${name}.offset`, "0");
  const path = workplace.write(
    `${name}.ts`,
    `
import { readFileSync } from "node:fs";
import sessionMail from ${JSON.stringify(join(packageFolder, "src/index.ts"))};

const now = () => Date.now() + Number(readFileSync(${JSON.stringify(offset)}, "utf8"));

function repeat(run) {
	const timer = setInterval(run, 5).unref();
	return () => clearInterval(timer);
}

const clock = {
	now,
	elapsed: now,
	after(milliseconds, run) {
		const due = now() + milliseconds;
		const cancel = repeat(() => {
			if (now() < due) return;
			cancel();
			run();
		});
		return cancel;
	},
	every(milliseconds, run) {
		let due = now() + milliseconds;
		return repeat(() => {
			if (now() < due) return;
			due = now() + milliseconds;
			run();
		});
	},
	soon(run) {
		const immediate = setImmediate(run);
		return () => clearImmediate(immediate);
	},
};

export default function (pi) {
	sessionMail(pi, clock);
}
`,
  );
  let passed = 0;
  return {
    path,
    pass: (milliseconds) => {
      passed += milliseconds;
      // Replaced whole: a session may be reading it.
      writeFileSync(`${offset}.next`, String(passed));
      renameSync(`${offset}.next`, offset);
    },
  };
}
