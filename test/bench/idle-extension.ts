/** This package with a clock that tells `idle-preload.ts` whenever it wakes us, and `/idling`. */
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { type Clock, systemClock } from "../../src/clock.ts";
import sessionMail from "../../src/index.ts";
import { idling, type Woken } from "./idle-preload.ts";

const { woken, take }: Woken = idling();

const clock: Clock = {
  ...systemClock,
  after: (milliseconds, run) => systemClock.after(milliseconds, woken(run)),
  every: (milliseconds, run) => systemClock.every(milliseconds, woken(run)),
  soon: (run) => systemClock.soon(woken(run)),
};

export default function counted(pi: ExtensionAPI): void {
  sessionMail(pi, clock);
  pi.registerCommand("idling", {
    description: "What the mailbox did since this was asked last",
    handler: (_args, context) => {
      context.ui.notify(JSON.stringify(take()), "info");
      return Promise.resolve();
    },
  });
}
