/** Somebody sets the clock of the machine while a session runs: what is due comes all the same. */
import { describe, expect, test } from "vitest";
import { send } from "../../src/mail/store.ts";
import { runningRecord } from "../../src/sessions/record.ts";
import { useStateFolder } from "../fixtures/folder.ts";
import { ALICE, BOB, mail } from "../fixtures/mail.ts";
import { FakeHost, Life, mailsIn, useLives } from "./fake.ts";

useStateFolder();
useLives();

const DAY = 24 * 60 * 60_000;

describe.each([
  ["back a day", -DAY],
  ["ahead a day", DAY],
])("a clock that jumps %s", (_how, jump) => {
  test("S5.3 does not hold back mail behind a prompt that came to nothing", () => {
    const life = Life.open(new FakeHost(BOB));
    life.mailbox.conversation.userSpoke();
    life.clock.jump(jump);
    const waiting = mail();
    send(waiting, false);
    life.clock.advance(10_000);
    expect(life.read).toEqual([waiting.id]);
  });

  test("S5.5 does not hold back mail that Pi has lost", () => {
    const life = Life.open(new FakeHost(BOB));
    life.host.messages = "lost";
    const lost = mail();
    send(lost, false);
    life.mailbox.look();
    life.host.idle = true;
    life.host.messages = "enter";
    life.clock.jump(jump);
    life.clock.advance(10_000);
    expect(life.read).toEqual([lost.id]);
  });

  test("S3.5 does not keep the session from showing that it responds", () => {
    const life = Life.open(new FakeHost(BOB));
    life.clock.jump(jump);
    const before = runningRecord(BOB)?.updated;
    life.clock.advance(60_000);
    expect(runningRecord(BOB)?.updated).not.toBe(before);
  });

  test("S2.1 S5.6 does not change the order of what one session sends", () => {
    const life = Life.open(new FakeHost(BOB));
    const sent = [0, jump, 0, -jump, 0].map((step, position) => {
      life.clock.jump(step);
      return life.mailbox.send({ to: ALICE, kind: "message", hops: 0, body: String(position) });
    });
    expect(mailsIn(ALICE)).toEqual(sent);
  });
});
