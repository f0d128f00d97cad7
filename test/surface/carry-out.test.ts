import { describe, expect, test } from "vitest";
import { carryOut } from "../../src/surface/carry-out.ts";
import { Session } from "../../src/surface/session.ts";
import { useStateFolder } from "../fixtures/folder.ts";
import { ALICE, BOB } from "../fixtures/mail.ts";
import { FakeHost, Life, useLives } from "../mailbox/fake.ts";

useStateFolder();
useLives();

describe("S8.1 a lone word", () => {
  test.each([
    ["bob", "/mailbox bob needs a text for that session: /mailbox <to> <text>."],
    [
      '"dashboard work"',
      '/mailbox "dashboard work" needs a text for that session: /mailbox <to> <text>.',
    ],
    ["inbx", "Did you mean /mailbox inbox?"],
  ])("that is no subcommand says what to type: %s", async (typed, said) => {
    const bob = new FakeHost(BOB);
    bob.sessionName = typed.replaceAll('"', "");
    if (typed !== "inbx") Life.open(bob);
    const alice = Life.open(new FakeHost(ALICE));
    const session = new Session();
    session.open(alice.mailbox);
    const at = { session, name: undefined, context: {} as never, clock: alice.clock };
    await expect(carryOut(typed, at)).rejects.toThrow(said);
  });
});
