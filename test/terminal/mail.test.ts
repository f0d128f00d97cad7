/** What a person sees of mail, in real terminals: it arrives, it is answered, Esc loses none of it. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { call, say, stall, type ModelRequest } from "../host/model.ts";
import { Workplace } from "../host/workplace.ts";
import { plantMail, recordOf } from "../delivery/s2-disk.ts";
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
    const terminal = await Terminal.open(workplace, { columns: 120, rows: 50 });
    [alice, bob] = await terminal.pair();
  });
  afterAll(() => workplace.close());

  /** Starts a run of bob's and waits until it is in the middle of a text. */
  async function midway(half: string): Promise<ReturnType<typeof stall>> {
    const step = stall(half);
    workplace.model.script("bob", step);
    await bob.enter("write something");
    await bob.shows(half);
    return step;
  }

  /** How often a text stands in what the model was last shown. */
  function timesIn(request: ModelRequest | undefined, text: string): number {
    return (request?.text ?? "").split(text).length - 1;
  }

  test("S8.1 S5.3 S6.1 a request is typed in one and answered in the other, by itself", async () => {
    const work = stall("Running them.");
    workplace.model.script("bob", work);
    await alice.enter("/mailbox bob please run the tests");
    await alice.shows(new RegExp(`Sent [\\w-]+ to ${bob.id}`));
    await alice.shows("✉ 1 awaiting");
    await bob.shows("please run the tests");
    await bob.shows("Running them.");
    await bob.shows("✉ 1 pending");

    work.release(" 12 passed, 0 failed.");
    await alice.shows("12 passed, 0 failed.");
    // S8.2: shown, and with her model only when she next asks it something.
    await alice.shows("✉ 1 pending");
    await alice.hides("awaiting");
    await bob.shows("✉ 1 read");
    expect(workplace.model.requests("alice")).toEqual([]);
    expect(workplace.model.requests("bob")).toHaveLength(1);
  });

  test("S5.4 S5.5 Esc in the middle of a run keeps a message, which enters once", async () => {
    const step = await midway("The first half");
    const news = "the port is 8080 now";
    plantMail(workplace, { to: bob.id, from: alice.id, body: news });
    await bob.shows("✉ 1 pending");
    const before = workplace.model.requests("bob").length;
    await bob.press("Escape");
    await step.abandoned;
    await bob.shows(news);

    workplace.model.script("bob", say("I know of the port."));
    await bob.enter("which port is it?");
    await bob.shows("I know of the port.");
    await bob.shows(/✉ \d+ read$/);
    const requests = workplace.model.requests("bob");
    expect(requests).toHaveLength(before + 1);
    expect(timesIn(requests.at(-1), news)).toBe(1);
  });

  test("S6.6 Esc before a request was read tells its sender that nothing was done", async () => {
    const step = await midway("Another half");
    await alice.enter("/mailbox bob rename old to fresh");
    await bob.shows("✉ 1 pending");
    const before = workplace.model.requests("bob").length;
    await bob.press("Escape");
    await step.abandoned;
    await alice.shows(/nothing was done/i);
    await alice.hides("awaiting");
    await bob.hides("pending");
    workplace.model.script("bob", say("Nothing else was asked."));
    await bob.enter("go on");
    await bob.shows("Nothing else was asked.");
    const requests = workplace.model.requests("bob");
    expect(requests).toHaveLength(before + 1);
    expect(timesIn(requests.at(-1), "rename old to fresh")).toBe(0);
  });

  test("S7.4 S7.6 an ask says what it waits for, Esc ends it, and its answer comes later", async () => {
    const step = await midway("Deep in work");
    workplace.model.script(
      "alice",
      call("session_mail_ask", { to: "bob", message: "Which branch is it?" }),
    );
    await alice.enter("find out which branch");
    await alice.shows(/waiting on bob · \d+s · not read yet/);
    expect(recordOf(workplace, alice.id)?.waitingOn).toBe(bob.id);
    await alice.press("Escape");
    await alice.shows("The user stopped the wait for bob");
    expect(recordOf(workplace, alice.id)?.waitingOn).toBe("");

    workplace.model.script("bob", say("It is the branch named spring."));
    workplace.model.script("alice", say("Good to know."));
    step.release(" and done.");
    await alice.shows("It is the branch named spring.");
    await alice.shows("Good to know.");
    await alice.hides("awaiting");
  });
});
