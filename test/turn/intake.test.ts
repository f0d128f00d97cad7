import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Envelope, Kind } from "../../src/mail/envelope.ts";
import { type Boundary, type Incoming, intake, isOwed, wakes } from "../../src/turn/intake.ts";

const mail = (kind: Kind, late = false, id: string = kind): Incoming => ({
  late,
  envelope: {
    id,
    from: "alice",
    to: "bob",
    kind,
    hops: 0,
    in_reply_to: kind === "reply" ? ["q"] : [],
    status: kind === "reply" ? "done" : "",
    ts: "2026-01-02T03:04:05.000Z",
    body: "",
  },
});

const request = mail("request");
const ask = mail("ask");
const message = mail("message");
const reply = mail("reply");
const late = mail("reply", true, "late");
const all = [reply, request, late, ask, message];

const ids = (mails: readonly Incoming[]): string[] => mails.map(({ envelope }) => envelope.id);

describe("S5.3 what wakes", () => {
  test.each([
    ["a request", request, true],
    ["an ask", ask, true],
    ["a message", message, true],
    ["a late answer to an ask", late, true],
    ["any other reply", reply, false],
  ])("%s: %s", (_what, one, expected) => {
    expect(wakes(one)).toBe(expected);
  });
});

describe("S6.8 what is owed an answer", () => {
  test.each<[Kind, boolean]>([
    ["request", true],
    ["ask", true],
    ["message", false],
    ["reply", false],
  ])("a %s: %s", (kind, expected) => {
    expect(isOwed(mail(kind).envelope)).toBe(expected);
  });
});

describe("what enters at a boundary", () => {
  test("S5.6 in an idle session all of it, in order, and one request follows", () => {
    const { enter, wake } = intake(all, "idle");
    expect(enter).toEqual(all);
    expect(wake).toBe(true);
  });

  test.each([
    ["a request", request],
    ["an ask", ask],
    ["a message", message],
    ["a late answer", late],
  ])("S5.3 %s alone wakes an idle session", (_what, one) => {
    expect(intake([one], "idle")).toEqual({ enter: [one], wake: true });
  });

  test("S5.3 replies alone enter an idle session quietly", () => {
    expect(intake([reply, reply], "idle")).toEqual({ enter: [reply, reply], wake: false });
  });

  test("S5.3 one mail that wakes takes the quiet ones along, wherever it stands", () => {
    expect(intake([reply, message], "idle")).toEqual({ enter: [reply, message], wake: true });
    expect(intake([message, reply], "idle")).toEqual({ enter: [message, reply], wake: true });
  });

  test("S5.3 a busy session takes all of it between its tool calls", () => {
    expect(intake(all, "gap")).toEqual({ enter: all, wake: true });
    expect(intake([reply], "gap")).toEqual({ enter: [reply], wake: false });
  });

  test("S6.9 nothing enters behind a run's last text", () => {
    expect(intake(all, "text")).toEqual({ enter: [], wake: false });
  });

  test("S6.6 after a stop all but requests and asks enter, and nothing starts", () => {
    expect(intake(all, "stopped")).toEqual({ enter: [reply, late, message], wake: false });
  });

  test("a run that is about to start by itself is not started a second time", () => {
    expect(intake(all, "starting")).toEqual({ enter: all, wake: false });
  });

  test.each<Boundary>(["idle", "starting", "gap", "text", "stopped"])(
    "nothing unread, nothing enters or wakes: %s",
    (boundary) => {
      expect(intake([], boundary)).toEqual({ enter: [], wake: false });
    },
  );

  test("whatever waits: order is kept, nothing is doubled or invented, and a wake has a cause", () => {
    const kinds = fc.constantFrom<Kind>("request", "ask", "message", "reply");
    const batch = fc
      .array(fc.tuple(kinds, fc.boolean()))
      .map((list) =>
        list.map(([kind, isLate], place) => mail(kind, isLate && kind === "reply", String(place))),
      );
    const boundaries = fc.constantFrom<Boundary>("idle", "starting", "gap", "text", "stopped");
    fc.assert(
      fc.property(batch, boundaries, (unread, boundary) => {
        const before = ids(unread);
        const { enter, wake } = intake(unread, boundary);
        const asksForAnswer = (envelope: Envelope): boolean =>
          envelope.kind === "request" || envelope.kind === "ask";
        const mayEnter = unread.filter(({ envelope }) => {
          if (boundary === "text") return false;
          return boundary !== "stopped" || !asksForAnswer(envelope);
        });
        expect(ids(enter)).toEqual(ids(mayEnter));
        expect(ids(unread)).toEqual(before);
        const isCause = unread.some(
          ({ envelope, late: isLate }) => envelope.kind !== "reply" || isLate,
        );
        expect(wake).toBe(isCause && (boundary === "idle" || boundary === "gap"));
      }),
      { numRuns: 500 },
    );
  });
});
