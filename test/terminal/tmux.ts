/** tmux: whether it is here, and a server of it that no one else uses. */
import { execFile, spawnSync } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** How long one command of tmux may take, in ms. */
const COMMAND_TIMEOUT = 30_000;

/** How long the system's packages may take, in ms. */
const INSTALL_TIMEOUT = 180_000;

/**
 * Whether there is a tmux to run. When there is none and the system's packages can be installed
 * (root, `apt-get`), it is installed first, once however many test files ask.
 *
 * Without it, this says so in one line and the tests that need it are skipped.
 *
 * @throws in CI instead: there a skipped test would hide what it is for.
 */
export function haveTmux(): boolean {
  if (isThere("tmux", "-V")) return true;
  if (process.getuid?.() === 0 && isThere("apt-get", "--version")) install();
  if (isThere("tmux", "-V")) return true;
  const missing = "tmux is missing and could not be installed";
  if (process.env["CI"]) throw new Error(`${missing}. Install it: the terminal tests need it.`);
  process.stderr.write(`${missing}: what needs a terminal is skipped.\n`);
  return false;
}

/** A private tmux server. It starts with its first command; `Terminal.close` ends it. */
export class Tmux {
  readonly #socket: string;
  readonly #environment: Record<string, string>;

  /** @param socket a path that no server uses; its folder exists */
  constructor(socket: string, environment: Record<string, string>) {
    this.#socket = socket;
    this.#environment = environment;
  }

  /**
   * Runs one command and resolves with what it printed.
   *
   * @throws what tmux said when it failed
   */
  async command(...args: string[]): Promise<string> {
    // -u: UTF-8, whatever the locale says. The configuration of the user is not read.
    const { stdout } = await run("tmux", ["-u", "-S", this.#socket, "-f", "/dev/null", ...args], {
      env: this.#environment,
      timeout: COMMAND_TIMEOUT,
      maxBuffer: 16 * 1024 * 1024,
    });
    return stdout;
  }
}

function isThere(program: string, question: string): boolean {
  return spawnSync(program, [question], { stdio: "ignore" }).status === 0;
}

function install(): void {
  const apt = "apt-get -qq -y --no-install-recommends install tmux";
  // Test files that run beside this one come here too: one installs, the others wait for it.
  const script = `command -v tmux || ${apt} || { apt-get -qq update && ${apt}; }`;
  spawnSync("flock", [join(tmpdir(), "pi-session-mail-apt.lock"), "sh", "-c", script], {
    stdio: "ignore",
    timeout: INSTALL_TIMEOUT,
    env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
  });
}
