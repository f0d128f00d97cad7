/**
 * Real Pi sessions in their interactive mode, each in a terminal of its own: a private tmux
 * server whose socket lies in the workplace. Nothing of the user's tmux is seen or changed.
 */
import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { findProcesses, isRunning } from "../../src/sessions/process.ts";
import { eventually } from "../host/eventually.ts";
import type { Workplace, WorkplaceSessionOptions } from "../host/workplace.ts";
import { Pane } from "./pane.ts";
import { Tmux } from "./tmux.ts";

/** What `Terminal.open` takes. */
export interface TerminalOptions {
  /** The size of every pane. */
  columns?: number;
  rows?: number;
}

/** What every terminal and the programs in it have, beside the workplace's environment. */
const ENVIRONMENT = { COLORTERM: "truecolor", LC_ALL: "C.UTF-8", TZ: "UTC" };

/** How long a Pi may take to start on a machine that is busy, in ms. */
const START_PATIENCE = 60_000;

/** Terminals with Pi sessions, all of one size. Closing the workplace closes them. */
export class Terminal {
  readonly #workplace: Workplace;
  readonly #folder: string;
  readonly #size: Required<TerminalOptions>;
  readonly #socket: string;
  readonly #tmux: Tmux;
  readonly #panes: Pane[] = [];
  readonly #kill = (): void => {
    this.#killAll();
  };
  #server: number | undefined;

  private constructor(workplace: Workplace, options: TerminalOptions) {
    this.#workplace = workplace;
    this.#folder = mkdtempSync(join(workplace.folder, "tmux-"));
    this.#size = { columns: 100, rows: 40, ...options };
    this.#socket = join(this.#folder, "socket");
    this.#tmux = new Tmux(this.#socket, workplace.environment(ENVIRONMENT));
    // Pi warns of programs it cannot find, in lines that only some machines would have.
    for (const tool of ["fd", "rg"]) chmodSync(workplace.write(`agent/bin/${tool}`, ""), 0o700);
    process.once("exit", this.#kill);
    workplace.beforeClose(() => this.close());
  }

  /** Starts the tmux server. No session runs yet. */
  static async open(workplace: Workplace, options: TerminalOptions = {}): Promise<Terminal> {
    const terminal = new Terminal(workplace, options);
    await terminal.#configure();
    return terminal;
  }

  /** Starts Pi and waits until it takes input and, when it loads this package, has its mailbox. */
  async session(options: WorkplaceSessionOptions = {}): Promise<Pane> {
    const { columns, rows } = this.#size;
    const { id, program, args, cwd, env } = this.#workplace.invocation(options);
    const target = `${options.name ?? "pi"}-${this.#panes.length}`.replace(/[^\w-]/g, "_");
    const size = ["-x", String(columns), "-y", String(rows)];
    const variables = Object.entries({ ...env, ...ENVIRONMENT }).flatMap(([name, value]) => [
      "-e",
      `${name}=${value}`,
    ]);
    const pid = await this.#tmux.command(
      ...["new-session", "-d", "-P", "-F", "#{pane_pid}", "-s", target],
      ...[...size, "-c", cwd, ...variables, "--", program, ...args],
    );
    const pane = new Pane(this.#tmux, `=${target}:`, id, Number(pid));
    this.#panes.push(pane);
    // The two lines around the editor.
    await pane.shows(new RegExp(`─{${columns}}.*─{${columns}}`), START_PATIENCE);
    if (options.extensions === undefined)
      await eventually(
        () => existsSync(this.#workplace.runningRecord(id)),
        `the running record of ${target}`,
        START_PATIENCE,
      );
    return pane;
  }

  /** Two sessions, alice and bob. */
  async pair(): Promise<[alice: Pane, bob: Pane]> {
    return Promise.all([this.session({ name: "alice" }), this.session({ name: "bob" })]);
  }

  /** Ends every Pi it started and the server, by their ids, and removes its folder. Safe to call twice. */
  async close(): Promise<void> {
    const pids = this.#killAll();
    this.#server = undefined;
    process.off("exit", this.#kill);
    const left = (): number[] => {
      const processes = findProcesses(pids);
      return pids.filter((pid) => isRunning(pid, "", processes));
    };
    await eventually(() => left().length === 0, `processes ${pids.join(", ")} to be gone`);
    await rm(this.#folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
  }

  /** `await using` closes the terminals. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #configure(): Promise<void> {
    const options = [
      // The server waits for its first session.
      ["-s", "exit-empty", "off"],
      // Pi recommends it, and warns otherwise.
      ["-s", "extended-keys", "on"],
      ["-g", "default-terminal", "tmux-256color"],
      ["-g", "status", "off"],
      // What a Pi that crashed showed last can still be read.
      ["-g", "remain-on-exit", "on"],
    ];
    const commands = options.flatMap((option) => [";", "set-option", ...option]);
    const pid = await this.#tmux.command(
      ...["start-server", ...commands, ";", "display-message", "-p", "#{pid}"],
    );
    this.#server = Number(pid);
    // The last resort, for a test process that is killed: the server ends after it, and with the
    // server every Pi.
    const ended = `while kill -0 ${process.pid}; do sleep 2; done 2>/dev/null`;
    await this.#tmux.command(
      ...["run-shell", "-b", `${ended}; tmux -S '${this.#socket}' kill-server`],
    );
  }

  /** Kills the server and all that it runs; gives back the ids. */
  #killAll(): number[] {
    if (this.#server === undefined) return [];
    // The server first, so that nothing new is started below it.
    const panes = this.#panes.map(({ pid }) => pid);
    const pids = [...new Set([this.#server, ...panes, ...descendantsOf(this.#server)])];
    for (const pid of pids) {
      try {
        process.kill(pid, "SIGKILL");
      } catch {
        // It has ended already.
      }
    }
    return pids;
  }
}

/** The ids of the processes below one, the nearest first. */
function descendantsOf(pid: number): number[] {
  const children = new Map<number, number[]>();
  for (const line of processList().trim().split("\n")) {
    const [child = 0, parent = 0] = line.trim().split(/\s+/).map(Number);
    children.set(parent, [...(children.get(parent) ?? []), child]);
  }
  const found = [...(children.get(pid) ?? [])];
  for (const each of found) found.push(...(children.get(each) ?? []));
  return found;
}

/** Every process and its parent, a line each; nothing where there is no `ps` to ask. */
function processList(): string {
  try {
    return execFileSync("ps", ["-A", "-o", "pid=,ppid="], { encoding: "utf8" });
  } catch {
    return "";
  }
}
