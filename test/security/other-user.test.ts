/**
 * What another user of the machine cannot do. Needs a second user, and so root: the tests become
 * `nobody`. CI runs as root; elsewhere they are skipped.
 */
import {
  chmodSync,
  chownSync,
  existsSync,
  lchownSync,
  mkdirSync,
  readdirSync,
  renameSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { MailboxOff, makeBoxes, openRoot } from "../../src/mail/root.ts";
import { claimed, framesIn, mailEntries } from "../delivery/life-support.ts";
import { envelope, mailIn, nameOf } from "../delivery/s2-disk.ts";
import { useTool } from "../delivery/s7-tools.ts";
import { useStateFolder } from "../fixtures/folder.ts";
import { ALICE, BOB, drop, mail } from "../fixtures/mail.ts";
import { say } from "../host/model.ts";
import { newSessionId, textOf, type PiSession } from "../host/session.ts";
import { Workplace } from "../host/workplace.ts";
import { FakeClock, FakeHost, Life, useLives } from "../mailbox/fake.ts";
import {
  asAnother,
  canBecomeAnother,
  lookBelow,
  makeTheirs,
  NOBODY,
  whatAnotherCanDo,
} from "./another-user.ts";

/** Waits until nothing is written any more, as some of it is behind what led to it. */
async function quiet(folder: string): Promise<void> {
  let before: string[] = [];
  for (let now = lookBelow(folder); now.join() !== before.join(); now = lookBelow(folder)) {
    before = now;
    await delay(200);
  }
}

const FOREIGN = /belongs to another user/;

describe.skipIf(!canBecomeAnother)("beside two sessions that run with a umask of 000", () => {
  let workplace: Workplace;
  let alice: PiSession;
  let bob: PiSession;
  let theirs: string;
  beforeAll(async () => {
    workplace = await Workplace.open();
    // Up to the mail root the other user may go anywhere.
    chmodSync(workplace.folder, 0o755);
    theirs = makeTheirs(join(workplace.folder, "theirs"));
    const umask = process.umask(0);
    try {
      [alice, bob] = await Promise.all([
        workplace.session({ name: "alice" }),
        workplace.session({ name: "bob" }),
      ]);
    } finally {
      process.umask(umask);
    }
    workplace.model.script("bob", say("a secret answer"));
    await alice.command("/mailbox bob a secret request");
    await bob.settled(0);
    await alice.waitForEntry(({ customType }) => customType === "mailbox", "of the answer");
    await alice.command(`/mailbox ${newSessionId()} a secret that waits`);
    await claimed(workplace, alice.id);
    // What bob had to write down behind his answer is written when he speaks again.
    await bob.state();
    await quiet(workplace.root);
    chmodSync(workplace.stateDirectory, 0o755);
  });
  afterAll(() => workplace.close());

  test("S1.3 another user cannot list, read, write, plant, link, move or delete anything", () => {
    const before = lookBelow(workplace.root);
    expect(before.join("\n")).toMatch(/secret request[^]*secret that waits/);
    const paths = readdirSync(workplace.root, { recursive: true, encoding: "utf8" });
    expect(paths.length).toBeGreaterThan(20);
    const all = ["", ...paths].map((path) => join(workplace.root, path));
    expect(whatAnotherCanDo(all, theirs)).toEqual([]);
    // The folders are closed one by one as well: opening the root gives nobody the mail in it.
    chmodSync(workplace.root, 0o755);
    expect(whatAnotherCanDo(all.slice(1), theirs)).toEqual([]);
    chmodSync(workplace.root, 0o700);
    expect(lookBelow(workplace.root)).toEqual(before);
    expect(readdirSync(theirs)).toEqual([]);

    // They would have, had they been allowed to.
    const open = join(workplace.folder, "open");
    mkdirSync(open);
    writeFileSync(join(open, "file"), "");
    chmodSync(open, 0o777);
    chmodSync(join(open, "file"), 0o666);
    expect(whatAnotherCanDo([join(open, "file")], theirs).length).toBeGreaterThanOrEqual(3);
    expect(whatAnotherCanDo([open], theirs).length).toBeGreaterThanOrEqual(5);
  });

  test("S1.3 nor signal a session", () => {
    const answer = asAnother(
      'kill -TERM "$1" && echo done; kill -0 "$1" && echo there',
      `${bob.pid}`,
    );
    expect(answer).toBe("");
    expect(bob.running).toBe(true);
  });

  test("S1.4 a root that is replaced under them is left alone, and mail goes on when it is back", async () => {
    const id = bob.id;
    const mine = join(workplace.folder, "mine");
    mkdirSync(join(mine, "Documents"), { recursive: true });
    writeFileSync(join(mine, "Documents", "thesis.txt"), "years of work");
    const forged = envelope({ to: id, body: "from another user" });
    const record = {
      ...{ address: newSessionId(), name: "spy", cwd: "/", pid: 1, started: "", state: "idle" },
      ...{ waitingOn: "", updated: new Date().toISOString() },
    };

    // Whoever may write to the state directory can do this.
    chmodSync(workplace.stateDirectory, 0o777);
    const [own, away] = [workplace.root, `${workplace.root}-away`];
    const replaceBy = (path: string): void => {
      renameSync(own, existsSync(away) ? `${own}-gone` : away);
      renameSync(path, own);
    };
    asAnother(
      `umask 0; mkdir -p "$1/running" && cd "$1"
       for box in tmp new cur sent; do mkdir -p "$2/$box" "$3/$box"; done
       printf %s "$4" > "$2/new/$5"; printf %s "$6" > "running/$7.json"`,
      ...[`${own}-theirs`, id, alice.id, JSON.stringify(forged), nameOf(forged)],
      ...[JSON.stringify(record), record.address],
    );
    replaceBy(`${own}-theirs`);
    const planted = lookBelow(own);
    expect(planted.join("\n")).toContain("from another user");

    workplace.model.script("bob", say("bob's own text"));
    expect((await bob.ask("what do you think?")).text).toBe("bob's own text");
    await bob.waitForNotification(FOREIGN);
    expect(await useTool(workplace, alice, "session_mail_list")).toMatchObject({
      isError: true,
      text: expect.stringMatching(FOREIGN) as string,
    });
    for (const command of [`/mailbox ${id} hello`, "/mailbox spy hello", "/mailbox prune"]) {
      expect((await alice.command(command))[0]).toMatchObject({
        level: "error",
        message: expect.stringMatching(FOREIGN) as string,
      });
    }
    expect(lookBelow(own)).toEqual(planted);

    // A link of theirs to a folder of ours must not have that one tidied.
    asAnother('ln -s "$1" "$2"', mine, `${own}-link`);
    replaceBy(`${own}-link`);
    expect((await alice.command("/mailbox prune"))[0]?.message).toMatch(FOREIGN);
    expect(lookBelow(mine).join()).toContain("years of work");

    unlinkSync(own);
    renameSync(away, own);
    chmodSync(workplace.stateDirectory, 0o755);
    const mark = bob.mark();
    expect((await alice.command("/mailbox bob hello again"))[0]?.message).toMatch(/^Sent /);
    await bob.settled(mark);
    const bodies = mailEntries(await bob.entries()).flatMap((entry) => framesIn(textOf(entry)));
    expect(bodies.map(({ text }) => text)).toEqual(["a secret request", "hello again"]);
    expect(mailIn(workplace, id, "cur").map(({ body }) => body)).not.toContain(forged.body);
    expect([...alice.extensionErrors, ...bob.extensionErrors]).toEqual([]);
  });
});

describe.skipIf(!canBecomeAnother)(
  "S1.4 what another user has made before a session starts",
  () => {
    const state = useStateFolder();
    useLives();
    beforeEach(() => {
      chmodSync(state.home, 0o777);
    });

    test.each([0o700, 0o755, 0o777].map((mode) => [mode.toString(8), mode] as const))(
      "a root of mode %s is refused, and nothing is written",
      (_, mode) => {
        makeTheirs(state.root, mode);
        const before = lookBelow(state.home);
        expect(() => new Life(new FakeHost(BOB), new FakeClock())).toThrow(FOREIGN);
        expect(lookBelow(state.root)).toEqual([]);
        expect(lookBelow(state.home).filter((line) => !line.startsWith("agent"))).toEqual(before);
      },
    );

    test.each(["their folder", "a folder of ours", "nowhere"])(
      "a link to %s is refused",
      (target) => {
        const folder = join(state.home, "target");
        if (target === "their folder") makeTheirs(folder);
        if (target === "a folder of ours") mkdirSync(folder, { mode: 0o755 });
        asAnother('ln -s "$1" "$2"', folder, state.root);
        expect(openRoot).toThrow();
        expect(() => makeBoxes(BOB)).toThrow(target === "nowhere" ? /./ : FOREIGN);
        if (target === "nowhere") expect(existsSync(folder)).toBe(false);
        else expect(lookBelow(folder)).toEqual([]);
        if (target === "a folder of ours") expect(statSync(folder).mode & 0o777).toBe(0o755);
      },
    );

    test.each([BOB, `${BOB}/new`, "running"])(
      "the folder %s within a root of ours is refused",
      (name) => {
        mkdirSync(state.at(BOB), { recursive: true, mode: 0o700 });
        mkdirSync(state.at(name), { recursive: true });
        chownSync(state.at(name), NOBODY, NOBODY);
        chmodSync(state.at(name), 0o777);
        expect(() => Life.open(new FakeHost(BOB))).toThrow(MailboxOff);
        expect(lookBelow(state.root).filter((line) => line.includes(".json"))).toEqual([]);
      },
    );

    test("a root that is open with our own folders in it is closed before anything is written", () => {
      mkdirSync(state.root);
      chmodSync(state.root, 0o777);
      Life.open(new FakeHost(BOB));
      expect(asAnother('ls "$1" 2>&1', state.root)).toMatch(/denied/);
    });
  },
);

describe.skipIf(!canBecomeAnother)("S1.4 a root that is replaced while a session runs", () => {
  const state = useStateFolder();
  useLives();

  test("an answer that is due stays out of it, and goes out when the root is back", () => {
    const asked = mail({ from: ALICE, to: BOB, kind: "request" });
    drop(BOB, asked);
    const life = Life.open(new FakeHost(BOB));
    life.start();
    renameSync(state.root, `${state.root}-away`);
    for (const box of ["tmp", "new", "cur", "sent"])
      mkdirSync(state.at(BOB, box), { recursive: true });
    lchownSync(state.root, NOBODY, NOBODY);
    life.end({ text: "a secret answer" });
    life.clock.advance(60_000);
    expect(lookBelow(state.root).filter((line) => line.includes(".json"))).toEqual([]);
    expect(life.host.warnings.join("\n")).toMatch(FOREIGN);

    renameSync(state.root, `${state.root}-theirs`);
    renameSync(`${state.root}-away`, state.root);
    life.clock.advance(60_000);
    expect(lookBelow(state.at(ALICE, "new")).join()).toContain("a secret answer");
    expect(life.ledger).toMatchObject({ owed: [], outbox: [] });
  });

  test("a link of theirs to a folder of ours does not have that one pruned", () => {
    const life = Life.open(new FakeHost(BOB));
    const mine = join(state.home, "mine");
    mkdirSync(join(mine, "Documents"), { recursive: true });
    renameSync(state.root, `${state.root}-away`);
    symlinkSync(mine, state.root);
    lchownSync(state.root, NOBODY, NOBODY);
    expect(() => life.mailbox.prune()).toThrow(FOREIGN);
    expect(readdirSync(mine)).toEqual(["Documents"]);
    renameSync(`${state.root}-away`, `${state.root}-back`);
  });
});
