/**
 * The other process of `delivery.ts`: takes in what comes, each way in a folder of its own, and
 * says when it was claimed and parsed. It ends when nobody listens any more.
 */
import { readFileSync, renameSync, watch } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../src/clock.ts";
import { boxesOf } from "../../src/mail/root.ts";
import { claim } from "../../src/mail/store.ts";
import { watchFolder } from "../../src/mail/watcher.ts";
import { BenchHost, openMailbox } from "./host.ts";
import { type Arrival, LANES } from "./lanes.ts";

const [folder = ""] = process.argv.slice(2);
process.once("disconnect", () => process.exit());
receiveOurs();
receiveBare(join(folder, "bare"));
receiveMailbox(join(folder, "agent"));
arrived("ready");

function arrived(id: string): void {
  const arrival: Arrival = { id, at: String(process.hrtime.bigint()) };
  process.send?.(arrival);
}

function receiveOurs(): void {
  const look = (): boolean => {
    const { mails } = claim(
      LANES.ours,
      () => false,
      () => undefined,
    );
    for (const { envelope } of mails) arrived(envelope.id);
    return mails.length > 0;
  };
  watchFolder(boxesOf(LANES.ours).new, { clock: systemClock, isReliable: () => true, look });
}

function receiveMailbox(agentFolder: string): void {
  const host = new BenchHost(LANES.mailbox, agentFolder);
  // A listener that shows the mail itself, so that none piles up.
  host.listener = (inbound) => {
    arrived(inbound.envelope.id);
    inbound.handled = true;
  };
  openMailbox(host);
}

function receiveBare(bare: string): void {
  watch(join(bare, "new"), (_event, name) => {
    const [from, to] = [join(bare, "new", name ?? ""), join(bare, "cur", name ?? "")];
    try {
      renameSync(from, to);
    } catch {
      // The watcher tells of the move to `cur/`, too.
      return;
    }
    arrived((JSON.parse(readFileSync(to, "utf8")) as { id: string }).id);
  });
}
