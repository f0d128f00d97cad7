/** What a `to` means, through `/mailbox`, on real Pi. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { newSessionId, textOf, type PiSession } from "../host/session.ts";
import { Workplace } from "../host/workplace.ts";
import { filesIn } from "./s2-disk.ts";
import { mailsIn } from "./s7-tools.ts";

const IDS = {
  alice: "0199cccc-aaaa-7000-8000-00000000000a",
  bob: "0199cccc-bbbb-7000-8000-0000feedbbbb",
  carol: "0199cccc-bbcc-7000-8000-0000feedcccc",
  odd: "build_server-1",
} as const;

let workplace: Workplace;
let alice: PiSession;
let bob: PiSession;
let carol: PiSession;
let odd: PiSession;
beforeAll(async () => {
  workplace = await Workplace.open();
  [alice, bob, carol, odd] = await Promise.all([
    workplace.session({ name: "alice", id: IDS.alice }),
    workplace.session({ name: "bob", id: IDS.bob }),
    // A name that is the beginning of another's id: names come first.
    workplace.session({ name: "0199cccc-bbbb", id: IDS.carol, model: "carol" }),
    workplace.session({ id: IDS.odd, model: "dave" }),
  ]);
});
afterAll(() => workplace.close());

/** Where Alice's mail to this goes. */
async function goesTo(to: string): Promise<string | undefined> {
  const [said] = await alice.command(`/mailbox ${to} hello`);
  return /^Sent \S+ to (\S+)$/.exec(said?.message ?? "")?.[1];
}

/** Why Alice's mail to this goes nowhere. */
async function refused(to: string): Promise<string> {
  const written = (): string[][] => [
    filesIn(workplace.root),
    filesIn(workplace.mailbox(alice.id).sent),
  ];
  const before = written();
  const [said] = await alice.command(`/mailbox ${to} hello`);
  expect(said?.level).toBe("error");
  expect(written()).toEqual(before);
  return said?.message ?? "";
}

describe("S4.1 S4.2 S4.7 a session is reached", () => {
  test("by its address, also by one that is no UUID", async () => {
    expect(await goesTo(IDS.bob)).toBe(IDS.bob);
    expect(await goesTo(IDS.odd)).toBe(IDS.odd);
  });

  test("by its exact name", async () => {
    expect(await goesTo("bob")).toBe(IDS.bob);
    expect(await goesTo("0199cccc-bbbb")).toBe(IDS.carol);
  });

  test("by 8 or more characters from the beginning of its id", async () => {
    expect(await goesTo("0199cccc-bbbb-7")).toBe(IDS.bob);
    expect(await goesTo("0199cccc-bbc")).toBe(IDS.carol);
    expect(await goesTo("build_se")).toBe(IDS.odd);
  });

  test("by 8 or more characters from the end of its id", async () => {
    expect(await goesTo("feedbbbb")).toBe(IDS.bob);
    expect(await goesTo("0000feedcccc")).toBe(IDS.carol);
    expect(await goesTo("server-1")).toBe(IDS.odd);
  });

  test("by its full id when it is closed, and only so", async () => {
    const id = newSessionId();
    expect(await goesTo(id)).toBe(id);
    expect(await refused(id.slice(0, 20))).toContain("full id");
    expect(await refused("build_server-2")).toContain("full id");
  });

  test("by its new name once it was renamed, and no more by the old one", async () => {
    await odd.setName("builds");
    await expect.poll(() => goesTo("builds"), { timeout: 20_000 }).toBe(IDS.odd);
    await odd.setName("the build server");
    await expect.poll(() => goesTo('"the build server"'), { timeout: 20_000 }).toBe(IDS.odd);
    expect(await refused("builds")).toContain("full id");
  });
});

describe("S4.2 S4.3 S4.7 S4.8 it is refused,", () => {
  test("by a beginning that several ids share, showing what tells them apart and can be used", async () => {
    const message = await refused("0199cccc-bb");
    for (const id of [IDS.bob, IDS.carol]) expect(message).toContain(id);
    expect(message).not.toContain(IDS.alice);
    expect(message).toContain("bob");
    const shown = [...message.matchAll(/or just (\S+?)\)/g)].map(([, short = ""]) => short);
    expect(shown).toHaveLength(2);
    expect([await goesTo(shown[0] ?? ""), await goesTo(shown[1] ?? "")]).toEqual([
      IDS.bob,
      IDS.carol,
    ]);
  });

  test("by fewer than 8 characters, by letters of another case, and by the middle of an id", async () => {
    for (const to of ["0199ccc", "eedbbbb", "FEEDBBBB", "bbbb-7000-8000"]) {
      expect(await refused(to)).toContain("full id");
    }
  });

  test("by a name that nearly matches, naming the one it may have meant", async () => {
    for (const to of ["Bob", "bobb", "bo", "obb"]) {
      expect(await refused(to)).toContain('"bob"');
    }
  });
});

test("S4.5 a session without a name is called by the first 8 characters of its id", async () => {
  const nameless = await workplace.session({ id: "0199ffff-1234-7000-8000-00000000000f" });
  const mark = bob.mark();
  await nameless.command("/mailbox bob hello from nobody");
  await bob.waitForEntry((entry) => textOf(entry).includes("hello from nobody"), "of the mail");
  await bob.settled(mark);
  const text = (await mailsIn(bob)).map(textOf).find((mail) => mail.includes("from nobody"));
  expect(text).toMatch(/^\[mailbox\] From 0199ffff \(0199ffff-1234-7000-8000-00000000000f, /);
  expect(carol.running).toBe(true);
});
