import { inboxOf, type ListedMail, sentOf } from "../../mailbox/overview.ts";
import { labelsOf } from "../../sessions/addressing.ts";
import { runningRecords, stateOf } from "../../sessions/record.ts";
import { cleanValue } from "../../text.ts";
import type { Session } from "../session.ts";
import { refuseEmpty } from "../tools/checks.ts";
import type { ScreenSource, SessionRow } from "./content.ts";

/**
 * What the screen shows and does, for the session that is open.
 *
 * @param name of this session.
 * @throws an error when it has no mailbox.
 */
export function sourceOf(session: Session, name: string | undefined): ScreenSource {
  const { mailbox } = session;
  const { address } = mailbox;
  return {
    name,
    address,
    isOpen: () => session.off === undefined && session.mailbox === mailbox,
    sessions: () => sessionRows(address, mailbox.clock.now()),
    inbox: () => inboxOf(mailbox),
    sent: () => sentOf(mailbox),
    send: (to, text) => {
      refuseEmpty(text);
      // As of /mailbox: it is the user's, whatever run is on (S10.2).
      const { id } = mailbox.send({ to, kind: "request", hops: 0, body: text });
      return `Sent ${id} to ${labelOf(to)}`;
    },
    answer: ({ envelope, other }: ListedMail, text) => {
      refuseEmpty(text);
      const { id } = mailbox.answer(envelope.id, text);
      return `Sent ${id} to ${cleanValue(other)}`;
    },
  };
}

function sessionRows(self: string, now: number): SessionRow[] {
  const running = runningRecords();
  const labels = labelsOf(running);
  const ids = labelsOf(running.map(({ address }) => ({ address })));
  const label = (address: string): string => {
    const called = labels.get(address) ?? cleanValue(address);
    const isShared = [...labels.values()].filter((other) => other === called).length > 1;
    return isShared ? `${called} ${ids.get(address) ?? ""}` : called;
  };
  // Nobody opens the screen to write to this session.
  running.sort((one, other) => Number(one.address === self) - Number(other.address === self));
  return running.map((record) => ({
    address: record.address,
    label: label(record.address),
    cwd: record.cwd,
    state: stateOf(record, now),
    waitingOn: record.waitingOn === "" ? "" : label(record.waitingOn),
    isSelf: record.address === self,
  }));
}

/** How to call a session in what is said of a mail that went to it. */
function labelOf(address: string): string {
  try {
    return labelsOf(runningRecords(), [address]).get(address) ?? address;
  } catch {
    // It was sent all the same.
    return address;
  }
}
