/** Which Pi the tests run, `PI_UNDER_TEST` or the one in node_modules, and with which arguments. */
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { PiEvent } from "./records.ts";

/** An installed `@earendil-works/pi-coding-agent`. */
export interface InstalledPi {
  folder: string;
  version: string;
  /** The script Node runs for the `pi` command. */
  entry: string;
}

/** This package's folder. */
export const packageFolder = fileURLToPath(new URL("../..", import.meta.url));

/**
 * The Pi under test. `PI_UNDER_TEST` names its package folder.
 * @throws when that folder holds no Pi
 */
export function piUnderTest(): InstalledPi {
  const folder = resolve(
    process.env["PI_UNDER_TEST"] ??
      resolve(packageFolder, "node_modules/@earendil-works/pi-coding-agent"),
  );
  const manifest = JSON.parse(readFileSync(resolve(folder, "package.json"), "utf8")) as {
    version: string;
    bin: { pi: string };
  };
  return { folder, version: manifest.version, entry: resolve(folder, manifest.bin.pi) };
}

/** Whether the Pi under test is at least a version such as "1.1.0". */
export function piIsAtLeast(version: string): boolean {
  return piUnderTest().version.localeCompare(version, "en", { numeric: true }) >= 0;
}

/** What `PiSession.start` needs to know. */
export interface PiSessionOptions {
  /** The session's display name; none when absent, and not given again on `resume`. */
  name?: string;
  /** The session id; a new UUIDv7 when absent. */
  id?: string;
  /** `provider/model` as Pi's `--model` takes it. */
  model: string;
  /** Extension files, each loaded with `-e`. No other extension is loaded. */
  extensions: string[];
  /** Further arguments of Pi. */
  args?: string[];
  /** The whole environment of the process. */
  env: Record<string, string>;
  cwd: string;
  /** `false`: the session is not stored (`--no-session`, and no `--session-id`). */
  session?: boolean;
  /** The session of `id` exists already: keep the name it has. */
  resume?: boolean;
  /** Answers a dialog of an extension (select, confirm, input, editor); absent: dialogs are cancelled. */
  dialog?: (request: PiEvent) => Record<string, unknown>;
}

/** The flags that keep Pi from reading or fetching anything the test did not give it. */
export const isolationFlags: readonly string[] = [
  "--offline",
  "--no-extensions",
  "--no-skills",
  "--no-prompt-templates",
  "--no-themes",
  "--no-context-files",
  "--no-approve",
];

/** Pi's arguments for a session, without the mode. */
export function sessionFlags(
  options: Pick<PiSessionOptions, "name" | "model" | "extensions" | "args" | "session" | "resume">,
  id: string,
): string[] {
  return [
    ...isolationFlags,
    ...options.extensions.flatMap((extension) => ["-e", extension]),
    "--model",
    options.model,
    ...(options.session === false ? ["--no-session"] : ["--session-id", id]),
    ...(options.name === undefined || options.resume === true ? [] : ["--name", options.name]),
    ...(options.args ?? []),
  ];
}

/** A new session id, made as Pi makes them: a UUIDv7. */
export function newSessionId(): string {
  const bytes = randomBytes(16);
  bytes.writeUIntBE(Date.now(), 0, 6);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x70, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
