/**
 * A temporary place in which real Pi sessions work: a home, an agent directory, a
 * state directory, a session directory, and a scripted model. Nothing of the user's
 * is read, nothing outside is written, and `close` leaves nothing behind.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { ScriptedModel } from "./model.ts";
import {
  newSessionId,
  packageFolder,
  piUnderTest,
  sessionFlags,
  type PiSessionOptions,
} from "./pi.ts";
import { PiSession } from "./session.ts";

/** A value of a JSON file. */
export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };

/** An object of a JSON file. */
export type JsonObject = Record<string, Json>;

/** What `Workplace.open` takes. */
export interface WorkplaceOptions {
  /** Merged into Pi's settings.json, e.g. `{ retry: { enabled: true, maxRetries: 1, baseDelayMs: 1 } }`. */
  settings?: JsonObject;
  /** The extensions of every session; default: this package. */
  extensions?: string[];
  /** The state directory of another workplace, to share its mail root. */
  stateDirectory?: string;
}

/** What `Workplace.session` takes: what `PiSession` does, the surroundings aside. */
export interface WorkplaceSessionOptions extends Omit<
  PiSessionOptions,
  "model" | "extensions" | "env" | "cwd"
> {
  /** The model id, which is the name of its script; default: the name, else "worker". */
  model?: string;
  /** Use a provider whose API key is missing, so that no run can start. */
  keyless?: boolean;
  /** Instead of the workplace's extensions. */
  extensions?: string[];
  /** Added to the environment. */
  env?: Record<string, string>;
  /** Default: the workplace's `cwd`. It is created when missing. */
  cwd?: string;
}

/** What `Workplace.print` takes. */
export interface PrintOptions extends WorkplaceSessionOptions {
  /** Default 30 s, after which it is killed. */
  timeoutMs?: number;
}

/** How a Pi process is started. */
export interface Invocation {
  /** The session id it is given. */
  id: string;
  program: string;
  args: string[];
  cwd: string;
  /** The whole environment. */
  env: Record<string, string>;
}

/** What a `pi -p` run left. */
export interface PrintResult {
  stdout: string;
  stderr: string;
  code: number | null;
}

/** The folders and files of one mailbox. */
export interface MailboxPaths {
  folder: string;
  tmp: string;
  new: string;
  cur: string;
  sent: string;
  ledger: string;
}

/** The extension this package is. */
export const mailExtension = join(packageFolder, "src/index.ts");

const provider = "scripted";
const keylessProvider = "keyless";

const defaultSettings: JsonObject = {
  enableInstallTelemetry: false,
  enableAnalytics: false,
  quietStartup: true,
  cacheWarming: "off",
  defaultProjectTrust: "never",
  retry: { enabled: false, maxRetries: 0, baseDelayMs: 1 },
  // Keep next to nothing, so that even a short conversation can be compacted.
  compaction: { keepRecentTokens: 1 },
};

/** A temporary place for Pi sessions. Open one per test or test file, and close it. */
export class Workplace {
  /** The folder that holds everything. */
  readonly folder: string;
  readonly agentDirectory: string;
  readonly stateDirectory: string;
  readonly sessionsDirectory: string;
  readonly cwd: string;
  /** The mail root. */
  readonly root: string;
  readonly model: ScriptedModel;
  readonly #extensions: string[];
  readonly #modelIds = new Set(["alice", "bob", "carol", "dave", "erin", "worker"]);
  readonly #sessions: PiSession[] = [];
  readonly #children = new Set<ChildProcess>();
  readonly #closers: (() => Promise<void>)[] = [];

  private constructor(folder: string, model: ScriptedModel, options: WorkplaceOptions) {
    this.folder = folder;
    this.model = model;
    this.agentDirectory = join(folder, "agent");
    this.stateDirectory = options.stateDirectory ?? join(folder, "state");
    this.sessionsDirectory = join(folder, "sessions");
    this.cwd = join(folder, "project");
    this.root = join(this.stateDirectory, "pi-session-mail");
    this.#extensions = options.extensions ?? [mailExtension];
    for (const path of [
      this.agentDirectory,
      this.stateDirectory,
      this.sessionsDirectory,
      this.cwd,
      join(folder, "home"),
    ])
      mkdirSync(path, { recursive: true });
    writeJson(
      join(this.agentDirectory, "settings.json"),
      merged(defaultSettings, options.settings ?? {}),
    );
    this.#writeModels();
  }

  /** Makes the folders and starts the model. No session runs yet. */
  static async open(options: WorkplaceOptions = {}): Promise<Workplace> {
    const model = await ScriptedModel.start();
    const folder = realpathSync(mkdtempSync(join(tmpdir(), "pi-session-mail-test-")));
    return new Workplace(folder, model, options);
  }

  /** Starts a session and waits until it answers. */
  async session(options: WorkplaceSessionOptions = {}): Promise<PiSession> {
    const session = this.launch(options);
    await session.state();
    return session;
  }

  /** Starts a session without waiting for it. */
  launch(options: WorkplaceSessionOptions = {}): PiSession {
    const session = PiSession.launch(this.#completed(options));
    this.#sessions.push(session);
    return session;
  }

  /** Runs `pi -p` with a prompt to its end. */
  async print(prompt: string, options: PrintOptions = {}): Promise<PrintResult> {
    const { program, args, cwd, env } = this.invocation(options);
    const child = spawn(program, [...args, "-p", "--", prompt], {
      cwd,
      env,
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#children.add(child);
    const result: PrintResult = { stdout: "", stderr: "", code: null };
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      result.stdout += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      result.stderr += text;
    });
    const timer = setTimeout(() => child.kill("SIGKILL"), options.timeoutMs ?? 30_000);
    result.code = await new Promise<number | null>((resolve, reject) => {
      child.once("error", reject);
      child.once("close", resolve);
    }).finally(() => {
      clearTimeout(timer);
      this.#children.delete(child);
    });
    return result;
  }

  /** How Pi is started in its interactive mode, for what gives it a terminal. */
  invocation(options: WorkplaceSessionOptions = {}): Invocation {
    const { cwd, env, ...completed } = this.#completed(options);
    const id = completed.id ?? newSessionId();
    const args = [piUnderTest().entry, ...sessionFlags(completed, id)];
    return { id, program: process.execPath, args, cwd, env };
  }

  /** The paths of an address's mailbox. */
  mailbox(address: string): MailboxPaths {
    const folder = join(this.root, address);
    return {
      folder,
      tmp: join(folder, "tmp"),
      new: join(folder, "new"),
      cur: join(folder, "cur"),
      sent: join(folder, "sent"),
      ledger: join(folder, "ledger.json"),
    };
  }

  /** The path of an address's running record. */
  runningRecord(address: string): string {
    return join(this.root, "running", `${address}.json`);
  }

  /** Writes this package's settings, `session-mail.json` of the agent directory. */
  settings(settings: JsonObject): void {
    writeJson(join(this.agentDirectory, "session-mail.json"), settings);
  }

  /** Writes a file below the workplace and returns its path. */
  write(relativePath: string, text: string): string {
    const path = join(this.folder, relativePath);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    return path;
  }

  /** Has `close` call this first, for what lives in the workplace and has processes of its own. */
  beforeClose(close: () => Promise<void>): void {
    this.#closers.push(close);
  }

  /** Ends every process it started, by its id, closes the model, and removes the folder. Safe to call twice. */
  async close(): Promise<void> {
    const ended = this.#sessions.map(async (session) => {
      if (!session.running) return;
      session.resume();
      await session.kill("SIGKILL");
    });
    for (const child of this.#children) child.kill("SIGKILL");
    const closed = await Promise.allSettled(this.#closers.map((close) => close()));
    await Promise.allSettled(ended);
    await this.model.close();
    await rm(this.folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
    for (const result of closed) if (result.status === "rejected") throw result.reason;
  }

  /** `await using` closes the workplace. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** The environment of a Pi process: small, and with nothing of the user's. */
  environment(added: Record<string, string> = {}): Record<string, string> {
    return {
      PATH: `${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`,
      HOME: join(this.folder, "home"),
      // Shared on purpose: Pi and jiti keep compiled code there, which makes a start faster.
      TMPDIR: tmpdir(),
      LANG: "C.UTF-8",
      XDG_STATE_HOME: this.stateDirectory,
      PI_CODING_AGENT_DIR: this.agentDirectory,
      PI_CODING_AGENT_SESSION_DIR: this.sessionsDirectory,
      PI_OFFLINE: "1",
      PI_SKIP_VERSION_CHECK: "1",
      PI_TELEMETRY: "0",
      ...added,
    };
  }

  #completed(options: WorkplaceSessionOptions): PiSessionOptions {
    const model = options.model ?? options.name ?? "worker";
    if (!this.#modelIds.has(model)) {
      this.#modelIds.add(model);
      this.#writeModels();
    }
    const cwd = options.cwd ?? this.cwd;
    mkdirSync(cwd, { recursive: true });
    return {
      ...options,
      model: `${options.keyless === true ? keylessProvider : provider}/${model}`,
      extensions: options.extensions ?? this.#extensions,
      env: this.environment(options.env),
      cwd,
    };
  }

  #writeModels(): void {
    const models = [...this.#modelIds].map((id) => ({
      id,
      contextWindow: 200_000,
      maxTokens: 8_000,
      cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
    }));
    const served = { baseUrl: this.model.url, api: "openai-completions", models };
    writeJson(join(this.agentDirectory, "models.json"), {
      providers: { [provider]: { ...served, apiKey: "none" }, [keylessProvider]: served },
    });
  }
}

function writeJson(path: string, value: Json): void {
  writeFileSync(path, `${JSON.stringify(value, null, "\t")}\n`);
}

/** `added` over `base`, object by object. */
function merged(base: JsonObject, added: JsonObject): JsonObject {
  const result: JsonObject = { ...base };
  for (const [key, value] of Object.entries(added)) {
    const present = result[key];
    result[key] = isObject(present) && isObject(value) ? merged(present, value) : value;
  }
  return result;
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
