/** What the package can reach at all, by what its code imports and reads of its environment. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { packageFolder } from "../host/pi.ts";

const sources = readdirSync(join(packageFolder, "src"), { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".ts"))
  .map((name) => ({ name, code: readFileSync(join(packageFolder, "src", name), "utf8") }));

function matches(pattern: RegExp): string[] {
  return sources.flatMap(({ name, code }) =>
    [...code.matchAll(pattern)].map((match) => `${name}: ${match[1] ?? match[0]}`),
  );
}

test("it opens no network port and no connection: nothing that could is imported", () => {
  const imported = new Set(
    matches(/(?:from|import\(|require\() ?"([a-z@][^"\s]*)"/g).map((line) => line.split(": ")[1]),
  );
  expect([...imported].sort()).toEqual([
    "@earendil-works/pi-coding-agent",
    "@earendil-works/pi-tui",
    "node:child_process",
    "node:crypto",
    "node:fs",
    "node:os",
    "node:path",
    "typebox",
    "typebox/compile",
    "typebox/value",
  ]);
  expect(matches(/\b(?:fetch|WebSocket|EventSource|eval|Function)\(/g)).toEqual([]);
});

test("S3.2 S1.7 it starts no program but `ps` and `mount` on macOS, by their full paths and without a shell", () => {
  expect(matches(/import \{(.*)\} from "node:child_process"/g)).toEqual([
    "mail/filesystem.ts:  execFileSync ",
    "sessions/process.ts:  execFileSync ",
  ]);
  expect(matches(/execFileSync\(([^,]*),/g)).toEqual([
    'mail/filesystem.ts: "/sbin/mount"',
    'sessions/process.ts: "/bin/ps"',
  ]);
});

test("S3.2 it sends no signal to any process", () => {
  expect(matches(/process\.kill\(([^)]*)\)/g)).toEqual(["sessions/process.ts: pid, 0"]);
});

test("S12.2 it reads one variable of the environment, to find the mail root", () => {
  expect(matches(/process\.env(\S*)/g)).toEqual(['mail/root.ts: ["XDG_STATE_HOME"];']);
});
