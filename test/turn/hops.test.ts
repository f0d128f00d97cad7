import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { hopCount, type Hops, NO_HOPS, withMail, withUser } from "../../src/turn/hops.ts";

describe("S10.1 the hop count of a turn", () => {
  test("is 0 where nothing has started it yet", () => {
    expect(hopCount(NO_HOPS)).toBe(0);
  });

  test("is 0 once the user starts it", () => {
    expect(hopCount(withUser(NO_HOPS))).toBe(0);
  });

  test("is one more than that of the mail that started it", () => {
    expect(hopCount(withMail(NO_HOPS, 0))).toBe(1);
    expect(hopCount(withMail(NO_HOPS, 4))).toBe(5);
  });

  test("is one more than the highest among the mail that started or steered it", () => {
    expect(hopCount([2, 4, 0].reduce(withMail, NO_HOPS))).toBe(5);
  });

  test("is 0 once the user steers a run that mail had started", () => {
    expect(hopCount(withUser(withMail(NO_HOPS, 3)))).toBe(0);
  });

  test("stays 0 when mail steers a run that the user had started", () => {
    expect(hopCount(withMail(withUser(NO_HOPS), 3))).toBe(0);
  });

  test("S2.3 S6.8 is one that an envelope can carry, so that an answer is never set aside", () => {
    expect(hopCount(withMail(NO_HOPS, Number.MAX_SAFE_INTEGER))).toBeLessThanOrEqual(
      Number.MAX_SAFE_INTEGER,
    );
  });

  test("starts afresh with NO_HOPS, which nothing changes", () => {
    withMail(NO_HOPS, 3);
    withUser(NO_HOPS);
    expect(NO_HOPS).toEqual({ user: false, highest: -1 });
  });

  test("whatever happens in a run: 0 if the user spoke, else the highest and one", () => {
    const event = fc.oneof(fc.constant("user" as const), fc.nat({ max: 20 }));
    fc.assert(
      fc.property(fc.array(event), (events) => {
        const hops = events.reduce<Hops>(
          (before, now) => (now === "user" ? withUser(before) : withMail(before, now)),
          NO_HOPS,
        );
        const counts = events.filter((now) => now !== "user");
        const expected =
          counts.length === 0 || events.includes("user") ? 0 : Math.max(...counts) + 1;
        expect(hopCount(hops)).toBe(expected);
      }),
    );
  });
});

describe("S10.2 a chain of models that mail each other", () => {
  test("reaches the limit after as many mails, whatever other mail they get between", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 12 }),
        fc.array(fc.array(fc.nat({ max: 30 })), { minLength: 40, maxLength: 40 }),
        (limit, others) => {
          let hops = withUser(NO_HOPS);
          let sent = 0;
          for (const between of others) {
            const count = hopCount(hops);
            if (count >= limit) break;
            sent += 1;
            hops = withMail(NO_HOPS, count);
            // Mail that has come further brings the end nearer; none puts it off.
            for (const other of between) hops = withMail(hops, other);
          }
          expect(hopCount(hops)).toBeGreaterThanOrEqual(limit);
          expect(sent).toBeLessThanOrEqual(limit);
          if (others.every((between) => between.length === 0)) expect(sent).toBe(limit);
        },
      ),
    );
  });

  test("is exactly five mails long by default", () => {
    let hops = withUser(NO_HOPS);
    const counts: number[] = [];
    while (hopCount(hops) < 5) {
      counts.push(hopCount(hops));
      hops = withMail(NO_HOPS, hopCount(hops));
    }
    expect(counts).toEqual([0, 1, 2, 3, 4]);
  });
});
