/** `/mailbox`, on real Pi: what it reports, to the letter where that is fixed, and what it refuses. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { say, stall } from "../host/model.ts";
import { newSessionId, textOf, type Notification, type PiSession } from "../host/session.ts";
import { Workplace } from "../host/workplace.ts";
import { allMail, filesIn, mailIn, plantMail } from "./s2-disk.ts";
import { mailsIn } from "./s7-tools.ts";

let workplace: Workplace;
let alice: PiSession;
let bob: PiSession;
let spaced: PiSession;
beforeAll(async () => {
  workplace = await Workplace.open();
  [alice, bob, spaced] = await Promise.all([
    workplace.session({ name: "alice" }),
    workplace.session({ name: "bob" }),
    workplace.session({ name: "dashboard work", model: "carol" }),
  ]);
});
afterAll(() => workplace.close());

/** What one command told the user, which must be one thing. */
async function run(command: string, session = alice): Promise<Notification> {
  const said = await session.command(command);
  expect(said).toHaveLength(1);
  return said[0] ?? { message: "", level: "" };
}

/** Runs a command that sends, and waits for the run it starts in the session it goes to. */
async function sends(command: string, to: PiSession): Promise<void> {
  const mark = to.mark();
  const { message, level } = await run(command);
  expect(level).toBe("info");
  const [, id, address] = /^Sent (\S+) to (\S+)$/.exec(message) ?? [];
  expect(address).toBe(to.id);
  expect(mailIn(workplace, alice.id, "sent").at(-1)?.id).toBe(id);
  await to.settled(mark);
}

describe("S8.1 /mailbox alone", () => {
  test("tells this session's address and name", async () => {
    expect(await run("/mailbox")).toEqual({
      message: expect.stringMatching(/alice/) as string,
      level: "info",
    });
    expect((await run("/mailbox   ")).message).toContain(alice.id);
  });

  test("follows a new name, and does without one", async () => {
    const nameless = await workplace.session({ model: "dave" });
    expect((await run("/mailbox", nameless)).message).toContain("no name");
    await nameless.setName("now it has");
    expect((await run("/mailbox", nameless)).message).toContain("now it has");
    expect((await run("/mailbox", nameless)).message).toContain(nameless.id);
    await nameless.quit();
  });
});

describe("S8.1 /mailbox <to> <text>", () => {
  test("typed twice before what it does is loaded is done twice", async () => {
    const [eager, busy] = await Promise.all([
      workplace.session({ name: "eager", model: "dave" }),
      workplace.session({ name: "busy", model: "erin" }),
    ]);
    const texts = ["first", "second", "third"];
    await Promise.all(texts.map((text) => eager.command(`/mailbox busy ${text}`)));
    const sent = mailIn(workplace, eager.id, "sent").map(({ body }) => body);
    expect(sent.sort()).toEqual([...texts].sort());
    await Promise.all([eager.quit(), busy.quit()]);
  });

  test("sends a request with hops 0 and reports it to the letter", async () => {
    workplace.model.script("bob", say("All pass."));
    await sends("/mailbox bob run the tests", bob);
    expect(mailIn(workplace, alice.id, "sent").at(-1)).toMatchObject({
      kind: "request",
      from: alice.id,
      to: bob.id,
      hops: 0,
      status: "",
      in_reply_to: [],
      body: "run the tests",
    });
    await alice.waitForEntry((entry) => textOf(entry).includes("All pass."), "of the answer");
  });

  test("S4.6 takes a name with spaces in quotes", async () => {
    await sends('/mailbox "dashboard work" hello there', spaced);
    expect(mailIn(workplace, spaced.id, "cur").at(-1)?.body).toBe("hello there");
    await sends('/mailbox "bob" quotes around a plain name', bob);
  });

  test("sends a text of several lines as it is", async () => {
    const text = 'first line\n\n  indented "second"\n\tthird';
    await sends(`/mailbox bob ${text}`, bob);
    expect(mailIn(workplace, bob.id, "cur").at(-1)?.body).toBe(text);
    await sends(`/mailbox bob\n${text}`, bob);
    expect(mailIn(workplace, bob.id, "cur").at(-1)?.body).toBe(text);
    await sends(`/mailbox "dashboard work"\n${text}`, spaced);
    expect(mailIn(workplace, spaced.id, "cur").at(-1)?.body).toBe(text);
  });

  test("a session named like a subcommand gets mail, and is no subcommand", async () => {
    const prune = await workplace.session({ name: "prune", model: "erin" });
    await sends("/mailbox prune your files", prune);
    expect(mailIn(workplace, prune.id, "cur").at(-1)?.body).toBe("your files");
    expect((await run("/mailbox prune")).message).toMatch(
      /^Removed \d+ mailbox folders of closed sessions$/,
    );
    expect(mailIn(workplace, prune.id, "new")).toEqual([]);
    await prune.quit();
  });

  test("S4.1 reaches a closed session by its full id; the mail waits", async () => {
    const id = newSessionId();
    const { message } = await run(`/mailbox ${id} later`);
    const [waiting] = mailIn(workplace, id, "new");
    expect(message).toBe(`Sent ${String(waiting?.id)} to ${id}`);
  });

  test("carries 0 and is never refused, also in a run that comes from a long chain of mails", async () => {
    workplace.settings({ hopLimit: 1 });
    const thinking = stall("busy ");
    workplace.model.script("alice", thinking);
    const mark = alice.mark();
    plantMail(workplace, { to: alice.id, from: bob.id, hops: 7 });
    await thinking.started;
    await sends("/mailbox bob and again", bob);
    expect(mailIn(workplace, bob.id, "cur").at(-1)?.hops).toBe(0);
    thinking.release();
    await alice.settled(mark);
    workplace.settings({});
  });

  test("works the other way round as well", async () => {
    await bob.command("/mailbox alice are you there?");
    await bob.waitForEntry(
      (entry) => textOf(entry).includes("are you there?"),
      "of the answer to it",
    );
    expect((await mailsIn(alice)).map(textOf).join()).toContain("are you there?");
  });
});

describe("S8.1 /mailbox is refused, with an error, writing nothing,", () => {
  async function refused(command: string): Promise<string> {
    const before = allMail(workplace);
    const { message, level } = await run(command);
    expect(level).toBe("error");
    expect(allMail(workplace)).toEqual(before);
    return message;
  }

  test("for a lone word that is no subcommand, even when a session is named so", async () => {
    for (const word of ["hello", "bob", '"dashboard work"']) {
      expect(await refused(`/mailbox ${word}`)).toContain("/mailbox <to> <text>");
    }
  });

  test("S4.3 S4.8 for a name that nobody has, naming a near one", async () => {
    expect(await refused("/mailbox bobb hello")).toMatch(/Did you mean "bob"/);
    expect(await refused('/mailbox "dashbord work" hello')).toMatch(
      /Did you mean "dashboard work"/,
    );
    expect(await refused("/mailbox dashboard hello")).toMatch(/Did you mean "dashboard work"/);
    const far = await refused("/mailbox xylophone hello");
    expect(far).not.toContain("Did you mean");
    expect(far).toContain("full id");
  });

  test("S4.6 for a quote before the name that is not closed", async () => {
    const message = await refused('/mailbox "dashboard work hello');
    expect(message).toContain("the quote before the name is not closed");
    expect(message).toContain("/mailbox <to> <text>");
  });

  test("S4.3 for a name that two sessions have, naming both", async () => {
    const twin = await workplace.session({ name: "bob", model: "dave" });
    const message = await refused("/mailbox bob hello");
    expect(message).toContain(`bob ${bob.id}`);
    expect(message).toContain(`bob ${twin.id}`);
    await twin.quit();
    await sends("/mailbox bob just you now", bob);
  });

  test("S4.4 for this session itself", async () => {
    for (const to of ["alice", alice.id]) {
      expect(await refused(`/mailbox ${to} hello`)).toContain("cannot mail itself");
    }
  });

  test("for what would lead out of the mail root", async () => {
    const before = filesIn(workplace.root);
    for (const to of ["../../x", "..", "running", "/etc/passwd-and-more"]) {
      expect(await refused(`/mailbox ${to} hello`)).toContain("No running session");
    }
    expect(filesIn(workplace.root)).toEqual(before);
  });
});
