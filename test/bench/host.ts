/** A session without Pi, for measuring what a mailbox costs by itself. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Inbound, INBOUND } from "../../src/mailbox/arrivals.ts";
import { ENTRY_TYPE, type Host, type HostEntry, type Injection } from "../../src/mailbox/host.ts";
import { Mailbox } from "../../src/mailbox/mailbox.ts";
import { footerText } from "../../src/surface/footer.ts";
import { type Clock, systemClock } from "../../src/clock.ts";

/** A session that is idle whenever no run is on, and takes in every mail at once. */
export class BenchHost implements Host {
  readonly address: string;
  readonly cwd = "/work";
  readonly canWake = true;
  readonly agentFolder: string;
  idle = true;
  readonly session: HostEntry[];
  status: string | undefined;
  listener: (inbound: Inbound) => void = () => undefined;

  constructor(address: string, agentFolder: string, session: HostEntry[] = []) {
    this.address = address;
    this.agentFolder = agentFolder;
    this.session = session;
  }

  name(): undefined {
    return undefined;
  }

  isIdle(): boolean {
    return this.idle;
  }

  isOnDisk(): boolean {
    return true;
  }

  flush(): void {
    // Its entries are nowhere else.
  }

  entries(): readonly HostEntry[] {
    return this.session;
  }

  append({ content, details }: Injection): void {
    const entry = { type: "custom_message", customType: ENTRY_TYPE, content, details };
    this.session.push(entry);
  }

  wake(mail: Injection): void {
    this.append(mail);
    this.idle = false;
  }

  mark(id: string, answered: boolean): void {
    this.session.push({ type: "custom", customType: ENTRY_TYPE, data: { id, answered } });
  }

  emit(channel: string, payload: object): void {
    if (channel === INBOUND) this.listener(payload as Inbound);
  }

  warn(text: string): void {
    throw new Error(`the mailbox warns: ${text}`);
  }

  showStatus(text: string | undefined): void {
    this.status = text;
  }
}

/** Opens the mailbox of a session. */
export function openMailbox(host: BenchHost, clock: Clock = systemClock): Mailbox {
  return new Mailbox(host, { clock, closed: true, running: false, footer: footerText });
}

/** The run that a mail has woken, to its end. */
export function runToTheEnd(host: BenchHost, { conversation }: Mailbox): void {
  conversation.runStarted();
  conversation.turnStarted();
  conversation.messageEnded({ text: "Done.", stopReason: "stop", error: undefined });
  host.session.push({ type: "message", message: { role: "assistant", stopReason: "stop" } });
  conversation.turnEnded(false);
  conversation.runEnded(false);
  host.idle = true;
  conversation.settled(false);
}

/** An agent directory with these settings. */
export function agentFolderIn(folder: string, settings: { durable: boolean }): string {
  const agent = join(folder, "agent");
  mkdirSync(agent, { recursive: true });
  writeFileSync(join(agent, "session-mail.json"), JSON.stringify(settings));
  return agent;
}

/** The event loop turns, so that what was put off until later is done. */
export function turn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
