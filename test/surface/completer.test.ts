import { utimesSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { boxesOf, makeBoxes } from "../../src/mail/root.ts";
import { completerFor } from "../../src/surface/completer.ts";
import { Session } from "../../src/surface/session.ts";
import { useStateFolder } from "../fixtures/folder.ts";
import { ALICE, BOB, CAROL } from "../fixtures/mail.ts";
import { FakeHost, Life, useLives } from "../mailbox/fake.ts";

useStateFolder();
useLives();

function opened(address: string, name: string): Life {
  const host = new FakeHost(address);
  host.sessionName = name;
  return Life.open(host);
}

/** What a completer offers. */
const values = (complete: ReturnType<typeof completerFor>, typed = ""): string[] | undefined =>
  complete(typed)?.map(({ value }) => value);

/** Sets when a mailbox last changed. */
function touch(address: string, seconds: number): void {
  const { folder, tmp, new: box, cur, sent } = makeBoxes(address);
  for (const path of [folder, tmp, box, cur, sent]) utimesSync(path, seconds, seconds);
}

describe("S18.3 what there is to choose from", () => {
  test("is who runs, and the closed sessions that have a mailbox, the newest activity first", () => {
    const session = new Session();
    session.open(opened(ALICE, "alice").mailbox);
    opened(BOB, "bob");
    touch("old", 1000);
    touch("older", 2000);
    utimesSync(boxesOf("old").cur, 3000, 3000);
    expect(values(completerFor(session))).toEqual([
      "inbox",
      "sent",
      "doctor",
      "prune",
      "bob ",
      "old ",
      "older ",
    ]);
  });

  test("is looked up again after a second", () => {
    const session = new Session();
    const life = opened(ALICE, "alice");
    session.open(life.mailbox);
    const complete = completerFor(session);
    expect(values(complete, "b")).toBeUndefined();
    opened(BOB, "bob");
    life.clock.advance(500);
    expect(values(complete, "b")).toBeUndefined();
    life.clock.advance(600);
    expect(values(complete, "b")).toEqual(["bob "]);
  });

  test("is the subcommands alone without a mailbox, also of one that was open", () => {
    const session = new Session();
    const complete = completerFor(session);
    expect(values(complete)).toEqual(["inbox", "sent", "doctor", "prune"]);
    session.open(opened(ALICE, "alice").mailbox);
    makeBoxes(CAROL);
    expect(values(complete, CAROL.slice(0, 4))).toEqual([`${CAROL} `]);
    session.close("the disk is gone");
    expect(values(complete, CAROL.slice(0, 4))).toBeUndefined();
  });
});
