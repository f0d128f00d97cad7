import { existsSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { envelopeName } from "../../src/mail/envelope.ts";
import { send } from "../../src/mail/store.ts";
import type { Inbound } from "../../src/mailbox/arrivals.ts";
import { useStateFolder } from "../fixtures/folder.ts";
import { ALICE, BOB, CAROL, mail, replyTo } from "../fixtures/mail.ts";
import { FakeHost, Life, mailsIn, useLives } from "./fake.ts";

const state = useStateFolder();
useLives();

/** A session with a listener that takes over what it is told to. */
function listening(takes: (inbound: Inbound) => boolean): { life: Life; seen: Inbound[] } {
  const seen: Inbound[] = [];
  const life = Life.open(new FakeHost(BOB));
  life.host.listener = (inbound) => {
    seen.push(inbound);
    if (takes(inbound)) inbound.handled = true;
  };
  return { life, seen };
}

describe("S9.2 a listener", () => {
  test("sees every mail once, in cur/, before it enters", () => {
    const { life, seen } = listening(() => false);
    life.host.listener = (inbound) => {
      seen.push(inbound);
      expect(inbound.path).toBe(state.at(BOB, "cur", envelopeName(inbound.envelope)));
      expect(existsSync(inbound.path)).toBe(true);
      expect(inbound.handled).toBe(false);
      expect(life.read).not.toContain(inbound.envelope.id);
    };
    const mails = [mail(), mail({ kind: "ask" }), mail({ kind: "message" }), replyTo(mail())];
    for (const envelope of mails) send({ ...envelope, to: BOB }, false);
    life.mailbox.look();
    expect(seen.map(({ envelope }) => envelope.id)).toEqual(mails.map(({ id }) => id));
    life.mailbox.look();
    life.run({ text: "done" });
    life.clock.advance(10_000);
    expect(seen).toHaveLength(4);
    expect(life.read).toEqual(mails.map(({ id }) => id));
  });

  test("is given what a reply answers, when we sent it to its sender", () => {
    const { life, seen } = listening(() => false);
    const [one, two] = [ALICE, CAROL].map((to) =>
      life.mailbox.send({ to, kind: "request", hops: 0, body: `Do it, ${to}.` }),
    );
    if (!one || !two) throw new Error("not sent");
    send(replyTo(one, { in_reply_to: [one.id, two.id, "unknown"] }), false);
    life.mailbox.look();
    expect(seen[0]?.requests).toEqual([
      { envelope: one, path: state.at(BOB, "sent", envelopeName(one)) },
    ]);
  });

  test("S5.8 is given a copy once, however often the reply names it", () => {
    const { life, seen } = listening(() => false);
    const asked = life.mailbox.send({ to: ALICE, kind: "request", hops: 0, body: "Do it." });
    send(replyTo(asked, { in_reply_to: [asked.id, asked.id, asked.id] }), false);
    life.mailbox.look();
    expect(seen[0]?.requests).toHaveLength(1);
    const [put] = life.host.puts;
    expect(put?.mail.content.match(/Do it\./g)).toHaveLength(1);
  });

  test("S5.12 has it read also where the session takes no entry", () => {
    const { life } = listening(() => true);
    life.host.mark = () => {
      throw new Error("no room for an entry");
    };
    const taken = mail();
    send(taken, false);
    life.mailbox.look();
    expect(life.host.warnings).toEqual([expect.stringContaining("no room for an entry") as string]);
    life.run({ text: "done" });
    expect(mailsIn(ALICE)).toMatchObject([{ in_reply_to: [taken.id], body: "done" }]);
    expect(life.read).toEqual([]);
  });

  test("S5.12 that takes a mail over has it read: it enters no conversation, now or later", () => {
    const { life, seen } = listening(() => true);
    const mails = [mail({ kind: "message" }), replyTo(mail({ from: BOB, to: ALICE }))];
    for (const envelope of mails) send(envelope, false);
    life.mailbox.look();
    expect(life.host.puts).toEqual([]);
    expect(life.host.marked).toEqual(mails.map(({ id }) => id));
    expect(life.host.status).toBe("✉ 2 read");
    life.crash();
    const next = life.next();
    next.clock.advance(10_000);
    expect(next.host.puts).toEqual([]);
    expect(next.host.status).toBe("✉ 2 read");
    expect(seen).toHaveLength(2);
  });

  test("S5.12 that takes a request or an ask over: it is answered by the next run that settles", () => {
    const { life } = listening(() => true);
    const mails = [mail(), mail({ kind: "ask" })];
    for (const envelope of mails) send(envelope, false);
    life.mailbox.look();
    expect(mailsIn(ALICE)).toEqual([]);
    expect(life.mailbox.openAsks().map(({ id }) => id)).toEqual([mails[1]?.id]);
    life.run({ text: "Seen to." });
    expect(mailsIn(ALICE).flatMap(({ in_reply_to }) => in_reply_to)).toEqual(
      mails.map(({ id }) => id),
    );
    expect(life.host.status).toBe("✉ 2 read");
  });

  test("S5.12 S6.7 what it took is owed after a crash, too, and answered once", () => {
    const { life } = listening(() => true);
    const request = mail();
    send(request, false);
    life.mailbox.look();
    life.crash();
    const next = life.next();
    expect(next.host.puts).toEqual([]);
    next.run({ text: "done" });
    next.run({ text: "more" });
    expect(mailsIn(ALICE).map(({ in_reply_to }) => in_reply_to)).toEqual([[request.id]]);
  });

  test("that takes some over leaves the others, in order", () => {
    const mails = [mail(), mail(), mail(), mail()];
    const { life } = listening(({ envelope }) => envelope.id === mails[1]?.id);
    for (const envelope of mails) send(envelope, false);
    life.mailbox.look();
    expect(life.read).toEqual([mails[0]?.id, mails[2]?.id, mails[3]?.id]);
  });

  test("S9.3 has seen all that waits when a scan returns, in a busy session as well", () => {
    const { life, seen } = listening(() => false);
    life.prompt();
    const mails = [mail(), mail()];
    for (const envelope of mails) send(envelope, false);
    life.mailbox.scan();
    expect(seen.map(({ envelope }) => envelope.id)).toEqual(mails.map(({ id }) => id));
    expect(life.waiting).toEqual([]);
  });

  test("that throws costs no mail", () => {
    const { life } = listening(() => false);
    life.host.listener = () => {
      throw new Error("a bug of the listener's");
    };
    const mails = [mail(), mail()];
    for (const envelope of mails) send(envelope, false);
    life.mailbox.look();
    life.clock.advance(10_000);
    expect(life.read.toSorted()).toEqual(mails.map(({ id }) => id).toSorted());
  });
});

describe("S9.1 S9.3 a listener that acts while it is told", () => {
  test("a scan from inside: each mail is seen once, and enters once", () => {
    const { life, seen } = listening(() => false);
    const mails = [mail(), mail(), mail()];
    const late = mail();
    let scanned = false;
    life.host.listener = (inbound) => {
      seen.push(inbound);
      if (scanned) return;
      scanned = true;
      send(late, false);
      life.mailbox.scan();
      expect(seen.map(({ envelope }) => envelope.id)).toContain(late.id);
    };
    for (const envelope of mails) send(envelope, false);
    life.mailbox.look();
    const all = [...mails, late].map(({ id }) => id).toSorted();
    expect(seen.map(({ envelope }) => envelope.id).toSorted()).toEqual(all);
    life.run({ text: "done" });
    life.clock.advance(10_000);
    expect(life.read.toSorted()).toEqual(all);
    expect(
      mailsIn(ALICE)
        .flatMap(({ in_reply_to }) => in_reply_to)
        .toSorted(),
    ).toEqual(all);
  });

  test("a scan from inside before it takes the mail over: it does not enter as well", () => {
    const { life } = listening(() => false);
    life.host.listener = (inbound) => {
      life.mailbox.scan();
      inbound.handled = true;
    };
    const envelope = mail();
    send(envelope, false);
    life.mailbox.look();
    expect(life.read).toEqual([]);
    expect(life.host.marked).toEqual([envelope.id]);
    life.run({ text: "done" });
    expect(mailsIn(ALICE)).toHaveLength(1);
    expect(life.host.status).toBe("✉ 1 read");
  });

  test("a scan from inside does not let a mail enter that it has not been asked about yet", () => {
    const { life, seen } = listening(() => true);
    life.host.listener = (inbound) => {
      seen.push(inbound);
      life.mailbox.scan();
      inbound.handled = true;
    };
    const mails = [mail({ kind: "message" }), mail({ kind: "message" }), mail({ kind: "message" })];
    for (const envelope of mails) send(envelope, false);
    life.mailbox.look();
    expect(life.read).toEqual([]);
    expect(seen).toHaveLength(3);
    expect(life.host.status).toBe("✉ 3 read");
  });

  test("a send from inside goes out, and is awaited", () => {
    const { life } = listening(() => true);
    life.host.listener = (inbound) => {
      inbound.handled = true;
      life.mailbox.send({
        to: CAROL,
        kind: "request",
        hops: life.mailbox.hops,
        body: `From ${inbound.envelope.id}`,
      });
    };
    const mails = [mail({ kind: "message" }), mail({ kind: "message" })];
    for (const envelope of mails) send(envelope, false);
    life.mailbox.look();
    expect(mailsIn(CAROL).map(({ body }) => body)).toEqual(mails.map(({ id }) => `From ${id}`));
    expect(life.ledger).toMatchObject({ unread: [], read: 2 });
    expect(life.ledger.awaiting).toHaveLength(2);
  });

  test("an answer from inside to the request that it takes over is not given twice", () => {
    const { life } = listening(() => true);
    const ask = mail({ kind: "ask" });
    send(ask, false);
    life.mailbox.look();
    life.mailbox.answer(ask.id, "Yes.");
    life.run({ text: "done" });
    expect(mailsIn(ALICE)).toMatchObject([{ body: "Yes." }]);
  });
});
