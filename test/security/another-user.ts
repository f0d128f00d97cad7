/** Another user of the machine, who tries what a shell can. */
import { spawnSync } from "node:child_process";
import { chownSync, lstatSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** The user and the group `nobody`. */
export const NOBODY = 65_534;

/** Only root can become another user. */
export const canBecomeAnother = process.getuid?.() === 0;

/** Runs a shell script as another user, and gives what it printed. */
export function asAnother(script: string, ...args: string[]): string {
  const { stdout, error } = spawnSync("/bin/sh", ["-c", script, "sh", ...args], {
    uid: NOBODY,
    gid: NOBODY,
    cwd: "/",
    env: { PATH: "/usr/bin:/bin" },
    encoding: "utf8",
  });
  if (error) throw error;
  return stdout;
}

/** A folder of the other user, which all may use. */
export function makeTheirs(path: string, mode = 0o777): string {
  mkdirSync(path);
  chownSync(path, NOBODY, NOBODY);
  asAnother(`chmod ${mode.toString(8)} "$1"`, path);
  return path;
}

/** What can be tried on a path: each succeeds where the other user may. */
const ATTEMPTS: readonly string[] = [
  'ls "$1/"',
  'cat "$1"',
  'cd "$1"',
  'echo forged >> "$1"',
  'echo forged > "$1/planted.json"',
  'ln -s /etc/passwd "$1/planted-link"',
  'mkdir "$1/planted-folder"',
  'ln "$1" "$2/hard-link"',
  'chmod 777 "$1"',
  'mv "$1" "$2/moved"',
  'rm -rf "$1"',
];

/** Tries everything on each path, and lists what worked; `theirs` is a folder they may write to. */
export function whatAnotherCanDo(paths: readonly string[], theirs: string): string[] {
  const tries = ATTEMPTS.map(
    (attempt) => `(${attempt}) >/dev/null 2>&1 && printf '%s\\n' '${attempt}'" on $1"`,
  );
  return paths.flatMap((path) =>
    asAnother([...tries, "true"].join("\n"), path, theirs)
      .split("\n")
      .filter((line) => line !== ""),
  );
}

/**
 * All that lies below a folder, by path: kind, mode, owner and, of files, what is in them, but for
 * when a session last showed itself.
 */
export function lookBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((path) => !path.startsWith("running/."))
    .sort()
    .map((path) => {
      const found = lstatSync(join(folder, path));
      const content = found.isFile() ? readFileSync(join(folder, path), "utf8") : "";
      const shown = content.replace(/"updated":"[^"]*"/, "");
      return `${path} ${found.mode.toString(8)} ${found.uid} ${shown}`;
    });
}
