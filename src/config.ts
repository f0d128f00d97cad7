import { lstatSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { type Static, Type, type TSchema } from "typebox";
import { Value } from "typebox/value";
import { readRegularFile } from "./mail/disk.ts";
import { errorText } from "./mail/errors.ts";

/** The settings of `session-mail.json` (S12.1). */
export interface Settings {
  /** The hop count from which mail from tools is refused (S10.2). */
  readonly hopLimit: number;
  /** How many days a mailbox of a closed session lies still before it is removed (S11.1). */
  readonly pruneAfterDays: number;
  /** Whether mail is flushed to disk before a send returns (S1.6). */
  readonly durable: boolean;
}

/** What holds where the file says nothing. */
export const DEFAULTS: Settings = { hopLimit: 5, pruneAfterDays: 30, durable: true };

const MAX_SETTINGS_BYTES = 1024 * 1024;

const Count = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER });

/** Settings, and what was wrong with what was written; each problem is one sentence. */
export interface Parsed {
  readonly settings: Settings;
  readonly problems: readonly string[];
}

/**
 * Settings from the text of the file. Never throws: what is invalid has its default and a
 * problem, and unknown keys are ignored (S12.1).
 */
export function parseSettings(text: string): Parsed {
  let written: unknown;
  try {
    written = JSON.parse(text);
  } catch {
    return { settings: DEFAULTS, problems: ["it is not JSON, so the defaults hold"] };
  }
  if (typeof written !== "object" || written === null || Array.isArray(written)) {
    return { settings: DEFAULTS, problems: ["it is not an object, so the defaults hold"] };
  }
  const fields: Partial<Record<keyof Settings, unknown>> = written;
  const problems: string[] = [];
  const read = <T extends TSchema>(key: keyof Settings, schema: T, wants: string): Static<T> => {
    const value = fields[key];
    if (Value.Check(schema, value)) return value;
    if (value !== undefined) {
      problems.push(`${key} must be ${wants}, so ${String(DEFAULTS[key])} holds`);
    }
    return DEFAULTS[key] as Static<T>;
  };
  const settings = {
    hopLimit: read("hopLimit", Count, "a whole number from 1"),
    pruneAfterDays: read("pruneAfterDays", Count, "a whole number from 1"),
    durable: read("durable", Type.Boolean(), "true or false"),
  };
  return { settings, problems };
}

/**
 * The settings in an agent directory, read anew. Each problem names the file; an absent file has
 * none (S12.1).
 */
export function readSettings(agentFolder: string): Parsed {
  const path = join(agentFolder, "session-mail.json");
  const inFile = (problem: string): string => `${path}: ${problem}`;
  try {
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (!found) return { settings: DEFAULTS, problems: [] };
    // Some keep their settings elsewhere, and a link here.
    const file = found.isSymbolicLink() ? realpathSync(path) : path;
    const { settings, problems } = parseSettings(readRegularFile(file, MAX_SETTINGS_BYTES));
    return { settings, problems: problems.map(inFile) };
  } catch (error) {
    return {
      settings: DEFAULTS,
      problems: [inFile(`it cannot be read (${errorText(error)}), so the defaults hold`)],
    };
  }
}
