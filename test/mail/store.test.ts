import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { type Envelope, envelopeName, parseEnvelope } from "../../src/mail/envelope.ts";
import { makeBoxes } from "../../src/mail/root.ts";
import { findMail, isDelivered, readMail, send, SendError, waiting } from "../../src/mail/store.ts";
import { filesBelow, namesIn, useStateFolder } from "../fixtures/folder.ts";
import { ALICE, BOB, drop, mail, replyTo } from "../fixtures/mail.ts";
import { makeFifo } from "../fixtures/process.ts";

const state = useStateFolder();

/** Sends, and expects that it fails and leaves no file behind but those that were there. */
function expectNothingSent(envelope: Envelope): void {
  const before = filesBelow(state.root);
  expect(() => {
    send(envelope, true);
  }).toThrow(SendError);
  expect(filesBelow(state.root)).toEqual(before);
}

describe("S2.1 S2.5 a send", () => {
  test.each(["request", "ask", "message"] as const)("of a %s is kept and delivered", (kind) => {
    const envelope = mail({ kind });
    send(envelope, true);
    const name = envelopeName(envelope);
    expect(name).toMatch(/^\d{15}-[0-9a-f-]{36}\.json$/);
    expect(filesBelow(state.root)).toEqual([`${ALICE}/sent/${name}`, `${BOB}/new/${name}`]);
    for (const path of filesBelow(state.root)) {
      expect(parseEnvelope(readFileSync(state.at(path), "utf8"))).toEqual(envelope);
      expect(statSync(state.at(path)).mode & 0o777).toBe(0o600);
    }
  });

  test("of a reply keeps no copy, and makes no mailbox of its sender", () => {
    const reply = replyTo(mail());
    send(reply, false);
    expect(filesBelow(state.root)).toEqual([`${ALICE}/new/${envelopeName(reply)}`]);
    expect(namesIn(state.root)).toEqual([ALICE]);
  });

  test("to an address without a mailbox makes it, 0700", () => {
    send(mail(), true);
    for (const box of ["", "tmp", "new", "cur", "sent"]) {
      expect(statSync(state.at(BOB, box)).mode & 0o777).toBe(0o700);
    }
  });

  test("is whole: every field and every character comes back", () => {
    const envelope = mail({ hops: 3, body: 'a "b"\n\t\u0000\u2028 😀 \ud800 end' });
    send(envelope, false);
    // A lone surrogate is escaped, so that the file is UTF-8 all the same.
    expect(readMail(state.at(BOB, "new", envelopeName(envelope)))?.envelope).toEqual(envelope);
  });
});

describe("S2.5 a send that throws has delivered nothing and left nothing", () => {
  test("the recipient's folder is a file", () => {
    mkdirSync(state.root);
    writeFileSync(state.at(BOB), "");
    expectNothingSent(mail());
  });

  test("the recipient's folder is a link that leads nowhere", () => {
    mkdirSync(state.root);
    symlinkSync(join(state.home, "nowhere", "else"), state.at(BOB));
    expectNothingSent(mail());
  });

  test.each(["tmp", "new"] as const)("the recipient's %s is a file", (box) => {
    mkdirSync(state.at(BOB), { recursive: true });
    writeFileSync(state.at(BOB, box), "");
    expectNothingSent(mail());
  });

  test("the recipient's address is too long for a name", () => {
    expectNothingSent(mail({ to: "a".repeat(300) }));
  });

  test("the recipient's address is none", () => {
    expectNothingSent(mail({ to: "../up" }));
    expectNothingSent(mail({ to: "running" }));
  });

  test("the file cannot be moved into new/", () => {
    const envelope = mail();
    mkdirSync(join(makeBoxes(BOB).new, envelopeName(envelope)));
    expectNothingSent(envelope);
    expectNothingSent(replyTo(mail({ from: BOB }), { id: envelope.id, ts: envelope.ts, to: BOB }));
  });

  test("the sender's copy cannot be written: nothing reaches the recipient", () => {
    mkdirSync(state.at(ALICE), { recursive: true });
    writeFileSync(state.at(ALICE, "sent"), "");
    expectNothingSent(mail());
    expect(namesIn(state.at(BOB))).toEqual([]);
  });

  test("it says so, and why", () => {
    mkdirSync(state.root);
    writeFileSync(state.at(BOB), "");
    const failing = (): void => {
      send(mail(), true);
    };
    expect(failing).toThrow(/^Nothing was sent: E/);
    expect(failing).toThrow(expect.objectContaining({ cause: expect.any(Error) as unknown }));
  });

  test("it can be sent once what was in the way is gone", () => {
    mkdirSync(state.root);
    writeFileSync(state.at(BOB), "");
    const envelope = mail();
    expectNothingSent(envelope);
    rmSync(state.at(BOB));
    send(envelope, true);
    expect(waiting(BOB)).toEqual([envelopeName(envelope)]);
  });

  test("it can be sent again after a crash that left it half written in tmp/", () => {
    // As an answer is that a killed process kept in its outbox (S6.7).
    const reply = replyTo(mail({ from: BOB, to: ALICE }));
    drop(BOB, '{"id":"', envelopeName(reply), "tmp");
    send(reply, true);
    expect(waiting(BOB)).toEqual([envelopeName(reply)]);
  });
});

describe("S11.2 a sender and a pruner at the same moment", () => {
  test("no mail is lost", async () => {
    const script = fileURLToPath(new URL("../fixtures/pruner.ts", import.meta.url));
    const pruner = spawn(process.execPath, [script, BOB], { stdio: ["pipe", "pipe", "inherit"] });
    try {
      await once(pruner.stdout, "data");
      const wrong: string[] = [];
      const refused: Envelope[] = [];
      const end = Date.now() + 2000;
      while (Date.now() < end) {
        const reply = replyTo(mail({ from: ALICE, to: BOB }), { to: BOB });
        try {
          send(reply, true);
        } catch {
          // Made again once, and removed again at once: it may say so.
          refused.push(reply);
          continue;
        }
        // It may be in a folder that is being put back, so it is looked for, for a while.
        if (!appears(reply)) wrong.push(`${reply.id} is lost`);
        rmSync(state.at(BOB, "new", envelopeName(reply)), { force: true });
      }
      for (const reply of refused) if (isDelivered(reply)) wrong.push(`${reply.id} was delivered`);
      expect(wrong).toEqual([]);
      pruner.stdin.end();
      const [removed] = (await once(pruner.stdout, "data")) as [Buffer];
      // Else the two have never met.
      expect(Number(removed.toString())).toBeGreaterThan(10);
    } finally {
      pruner.kill("SIGKILL");
    }
  });

  function appears(reply: Envelope): boolean {
    for (let attempt = 0; attempt < 2000; attempt++) {
      if (isDelivered(reply)) return true;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
    }
    return false;
  }
});

describe("whether a mail was delivered", () => {
  test("it was when it waits or is claimed, and not when it lies in tmp/", () => {
    const [one, two, three] = [mail(), mail(), mail()];
    drop(BOB, one, envelopeName(one), "new");
    drop(BOB, two, envelopeName(two), "cur");
    drop(BOB, three, envelopeName(three), "tmp");
    expect([one, two, three].map(isDelivered)).toEqual([true, true, false]);
  });

  test("it was not when the recipient's folder is gone, or is a file", () => {
    expect(isDelivered(mail())).toBe(false);
    mkdirSync(state.root);
    writeFileSync(state.at(BOB), "");
    expect(isDelivered(mail())).toBe(false);
  });
});

describe("finding a mail by its id", () => {
  test("by its name, or by a search", () => {
    const envelope = mail();
    const path = drop(BOB, envelope, envelopeName(envelope), "cur");
    const { cur } = makeBoxes(BOB);
    expect(findMail(cur, envelope.id)).toEqual({ envelope, path });
    expect(findMail(cur, envelope.id, envelopeName(envelope))).toEqual({ envelope, path });
    expect(findMail(cur, envelope.id, "000000000000000-wrong.json")).toEqual({ envelope, path });
    expect(findMail(cur, mail().id)).toBeUndefined();
    expect(findMail(join(cur, "none"), envelope.id)).toBeUndefined();
  });

  test("one that is named by another's name is not taken for it", () => {
    const [one, two] = [mail(), mail()];
    drop(BOB, one, envelopeName(one), "cur");
    drop(BOB, two, envelopeName(two), "cur");
    const { cur } = makeBoxes(BOB);
    expect(findMail(cur, two.id, envelopeName(one))?.envelope).toEqual(two);
  });

  test("what is no mail is none", () => {
    const id = "an-id";
    drop(BOB, "not JSON", `000000000000001-${id}.json`, "cur");
    expect(findMail(makeBoxes(BOB).cur, id)).toBeUndefined();
    makeFifo(join(makeBoxes(BOB).cur, "fifo.json"));
    expect(readMail(join(makeBoxes(BOB).cur, "fifo.json"))).toBeUndefined();
  });
});

describe("S2.6 a mail that its recipient would set aside for its size", () => {
  test("is refused by its sender, and leaves nothing", () => {
    const envelope = mail({ body: "\u0001".repeat(2 * 1024 * 1024) });
    expect(() => {
      send(envelope, false);
    }).toThrow(/^Nothing was sent: the mail has \d+ bytes/);
    expect(filesBelow(state.root)).toEqual([]);
  });
});
