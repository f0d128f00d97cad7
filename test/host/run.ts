/**
 * Runs the tests that need a real Pi against one version of it:
 *
 *     npm run test:host -- 1.3.0 [arguments of vitest]
 *
 * The version is installed once, into a folder of its own outside the repository.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { packageFolder } from "./pi.ts";

const packageName = "@earendil-works/pi-coding-agent";
const testFolders = [
  "test/host/",
  "test/delivery/",
  "test/hostile/corpus-host",
  "test/security/",
  "test/soak/",
  "test/terminal/mail",
];

/** Runs a program with our output and stops on failure with its exit code. */
function run(
  program: string,
  args: string[],
  cwd: string,
  env: NodeJS.ProcessEnv = process.env,
): void {
  const { status, error } = spawnSync(program, args, { cwd, env, stdio: "inherit" });
  if (error !== undefined) throw error;
  if (status !== 0) process.exit(status ?? 1);
}

/** Installs a version of Pi unless it is there, and returns its package folder. */
function install(version: string): string {
  const folder = join(tmpdir(), `pi-session-mail-host-${version}`);
  const installed = join(folder, "node_modules", packageName);
  // npm writes this file last, so a run that was cut short is repeated.
  if (existsSync(join(folder, "node_modules/.package-lock.json")) && existsSync(installed))
    return installed;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), `${JSON.stringify({ private: true })}\n`);
  const npm = process.platform === "win32" ? "npm.cmd" : "npm";
  run(
    npm,
    ["install", "--no-audit", "--no-fund", "--ignore-scripts", `${packageName}@${version}`],
    folder,
  );
  return installed;
}

const [version, ...vitestArguments] = process.argv.slice(2);
if (version === undefined || !/^\d[\w.+-]*$/.test(version)) {
  console.error(
    "Usage: npm run test:host -- <version of Pi> [arguments of vitest]\nExample: npm run test:host -- 1.3.0",
  );
  process.exit(2);
}
const vitest = join(packageFolder, "node_modules/vitest/vitest.mjs");
run(process.execPath, [vitest, "run", ...testFolders, ...vitestArguments], packageFolder, {
  ...process.env,
  PI_UNDER_TEST: install(version),
});
