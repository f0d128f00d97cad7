import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { say } from "../host/model.ts";
import { Workplace } from "../host/workplace.ts";

let workplace: Workplace;
beforeEach(async () => {
  workplace = await Workplace.open();
});
afterEach(() => workplace.close());

describe("a request and its answer", () => {
  test("S5.3 S6.1 wakes an idle session, whose final text comes back quietly", async () => {
    const [alice, bob] = await Promise.all([
      workplace.session({ name: "alice" }),
      workplace.session({ name: "bob" }),
    ]);
    workplace.model.script("bob", say("All 12 tests pass."));

    const said = await alice.command("/mailbox bob please run the tests");
    expect(said[0]?.message).toMatch(new RegExp(`^Sent \\S+ to ${bob.id}$`));
    await bob.settled();
    const [asked] = workplace.model.requests("bob");
    console.log(asked?.last);
    const entry = await alice.waitForEntry((e) => e.type === "custom_message", "the reply");
    console.log(
      JSON.stringify(entry, null, 1),
      alice.status("mailbox"),
      bob.status("mailbox"),
      alice.notifications,
      alice.stderr,
      bob.stderr,
    );
    expect(workplace.model.requests("alice")).toHaveLength(0);
  });
});
