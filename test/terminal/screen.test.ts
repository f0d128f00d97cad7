/** The `/mailbox` screen in real terminals: completed, sent, opened and answered, with a run below it. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseEnvelope } from "../../src/mail/envelope.ts";
import { say, stall } from "../host/model.ts";
import { Workplace } from "../host/workplace.ts";
import type { Pane } from "./pane.ts";
import { Terminal } from "./terminal.ts";
import { haveTmux } from "./tmux.ts";

const tmux = haveTmux();

describe.skipIf(!tmux)("in a terminal", () => {
  let workplace: Workplace;
  let alice: Pane;
  let bob: Pane;
  beforeAll(async () => {
    workplace = await Workplace.open();
    const terminal = await Terminal.open(workplace, { columns: 110, rows: 40 });
    [alice, bob] = await terminal.pair();
  });
  afterAll(() => workplace.close());

  /** The bodies of the answers that a session got. */
  function answersTo(pane: Pane): string[] {
    const { cur } = workplace.mailbox(pane.id);
    return readdirSync(cur)
      .sort()
      .map((name) => parseEnvelope(readFileSync(join(cur, name), "utf8")))
      .filter(({ kind }) => kind === "reply")
      .map(({ body }) => body);
  }

  test("S18.3 S18.2 a request is completed, sent, opened and answered by hand, once", async () => {
    const work = stall("Looking for it.");
    workplace.model.script("bob", work);
    await alice.type("/mailbox bo");
    await alice.shows("idle,");
    await alice.press("Tab");
    await alice.shows(/\/mailbox bob(?! ?→)/);
    await alice.enter("which port do you use?");
    await alice.shows(/Sent [\w-]+ to/);
    await bob.shows("Looking for it.");

    await bob.enter("/mailbox");
    await bob.shows(`Mailbox of bob ${bob.id}`);
    await bob.press("Right");
    await bob.shows(/alice request to answer which port do you use\?/);
    await bob.press("Enter");
    await bob.shows(`From alice (${alice.id})`);
    await bob.press("r");
    await bob.shows("Your answer to the request of alice");
    await bob.enter("It is 8080.");
    await bob.shows(/Sent [\w-]+ to alice/);
    await alice.shows("It is 8080.");
    await alice.hides("awaiting");

    await bob.press("Escape");
    await bob.shows(/alice request answered/);
    await bob.press("Escape");
    await bob.hides("Mailbox of bob");
    // Esc was the screen's, and the run goes on.
    work.release(" Found it, too.");
    await bob.shows("Found it, too.");
    await bob.shows("✉ 1 read");
    expect(answersTo(alice)).toEqual(["It is 8080."]);
  });

  test("S18.2 mail comes while the screen is open, and a new request is written there", async () => {
    await bob.enter("/mailbox");
    await bob.shows("Mailbox of bob");
    await bob.press("Right");
    workplace.model.script("bob", say("The tests pass."));
    await alice.enter("/mailbox bob run the tests");
    await bob.shows(/alice request answered run the tests/);
    workplace.model.script("alice", say("Resting now."));
    await bob.press("n");
    await bob.shows("New request: to whom?");
    await bob.press("Enter");
    await bob.shows("New request to alice");
    await bob.type("take a rest");
    await bob.press("Escape");
    await bob.hides("New request to alice");
    await bob.press("n", "Enter");
    // What was left with Esc is there again.
    await bob.shows("take a rest");
    await bob.press("Enter");
    await bob.shows(/Sent [\w-]+ to alice/);
    await alice.shows("Resting now.");
    await bob.press("Right");
    await bob.shows(/alice request answered done take a rest/);
    await bob.press("Escape");
    await bob.hides("Mailbox of bob");
    await bob.shows("Resting now.");
  });

  test("S18.1 S18.4 the same facts are there as lines", async () => {
    await bob.enter("/mailbox sent");
    await bob.shows(/Sent: \d\d:\d\d → alice request answered done take a rest/);
    await bob.enter("/mailbox doctor");
    await bob.shows("Nothing is wrong, as far as can be told.");
    await bob.enter("/mailbox nonsense");
    await bob.shows("/mailbox has no subcommand");
  });

  test("a mail is drawn without its frame, and with ids once it is expanded", async () => {
    await alice.enter("/mailbox bob\u0020**bold** words");
    await bob.shows(/← alice · request · \d\d:\d\d/);
    const folded = await bob.text();
    expect(folded).not.toContain("[mailbox]");
    expect(folded).not.toContain("**bold**");
    expect(folded).not.toContain(alice.id);
    await bob.press("C-o");
    await bob.shows(alice.id);
    expect(await bob.text()).not.toContain("[mailbox]");
  });
});
