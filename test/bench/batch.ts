/** What many mails that wait cost in model requests. */
import { envelopeName } from "../../src/mail/envelope.ts";
import { mail } from "../fixtures/mail.ts";
import { newSessionId } from "../host/pi.ts";
import { Workplace } from "../host/workplace.ts";
import type { Part } from "./part.ts";
import { valueRow } from "./table.ts";

const COUNT = 50;

export const batch: Part = {
  name: "batch",
  about: "model requests for 50 waiting mails",
  async run() {
    await using workplace = await Workplace.open();
    const id = newSessionId();
    const bodies = Array.from({ length: COUNT }, (_, index) => `Mail number ${index}.`);
    for (const body of bodies) {
      const letter = mail({ to: id, body });
      const box = `state/pi-session-mail/${id}/new`;
      workplace.write(`${box}/${envelopeName(letter)}`, JSON.stringify(letter));
    }
    const bob = await workplace.session({ name: "bob", id });
    await bob.settled(0);
    // What would come late comes before the answer to this, or with it.
    await bob.ask("Anything else?");
    const requests = workplace.model.requests("bob");
    const missing = bodies.filter((body) => requests[0]?.text.includes(body) !== true);
    if (missing.length > 0) throw new Error(`${missing.length} mails are not in the first request`);
    return {
      rows: [valueRow("model requests for 50 waiting mails", requests.length - 1, "", "=", 1)],
    };
  },
};
