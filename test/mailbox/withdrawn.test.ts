import type * as Fs from "node:fs";
import { rmSync } from "node:fs";
import { expect, test, vi } from "vitest";
import { envelopeName } from "../../src/mail/envelope.ts";
import { boxesOf } from "../../src/mail/root.ts";
import { send } from "../../src/mail/store.ts";
import { useStateFolder } from "../fixtures/folder.ts";
import { BOB, mail } from "../fixtures/mail.ts";
import { FakeHost, Life, useLives } from "./fake.ts";

/** What happens as soon as the ledger is written. */
const behind = vi.hoisted(() => ({ ledger: () => undefined }));

vi.mock("node:fs", async (original) => {
  const fs = await original<typeof Fs>();
  return {
    ...fs,
    renameSync: (from: string, to: string) => {
      fs.renameSync(from, to);
      if (to.endsWith("ledger.json")) behind.ledger();
    },
  };
});

useStateFolder();
useLives();

test("S2.5 mail that its sender took back at the very moment it was claimed is not read", () => {
  const life = Life.open(new FakeHost(BOB));
  const [first, second] = [mail({ kind: "message" }), mail({ kind: "message" })];
  for (const envelope of [first, second]) send(envelope, false);
  let taken = 0;
  behind.ledger = () => {
    taken += 1;
    rmSync(`${boxesOf(BOB).new}/${envelopeName(second)}`, { force: true });
  };
  life.mailbox.look();
  expect(taken).toBeGreaterThan(0);
  life.clock.advance(10_000);
  expect(life.read).toEqual([first.id]);
  expect(life.ledger.unread).toEqual([]);
  life.run({ text: "done" });
  life.clock.advance(10_000);
  expect(life.read).toEqual([first.id]);
  expect(life.host.status).toBe("✉ 1 read");
});
