import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type Addressee,
  AddressError,
  closesRing,
  labelOf,
  resolveAddress,
  shortIds,
} from "../../src/sessions/addressing.ts";

// Opened within a minute: their first eight characters are the same.
const alice: Addressee = { address: "01998c2a-1111-7aaa-8000-aaaaaaaaaaaa", name: "alice" };
const bob: Addressee = { address: "01998c2a-1222-7bbb-8000-bbbbbbbbbbbb", name: "bob" };
// Opened at another time.
const carol: Addressee = { address: "77777777-3333-7ccc-8000-cccccccccccc", name: "carol" };
const dashboard: Addressee = {
  address: "88888888-4444-7ddd-8000-dddddddddddd",
  name: "dashboard work",
};
const nameless: Addressee = { address: "99999999-5555-7eee-8000-eeeeeeeeeeee" };
const me: Addressee = { address: "66666666-6666-7fff-8000-ffffffffffff", name: "me" };
const running = [alice, bob, carol, dashboard, nameless, me];

const resolve = (to: string, among: readonly Addressee[] = running): string =>
  resolveAddress(to, among, me.address);

/** What the refusal of a `to` says. */
function refusal(to: string, among: readonly Addressee[] = running): string {
  try {
    return `resolved to ${resolve(to, among)}`;
  } catch (error) {
    expect(error).toBeInstanceOf(AddressError);
    return error instanceof AddressError ? error.message : "";
  }
}

describe("S4.1 an address as given", () => {
  test("of a running session resolves, whatever its form", () => {
    expect(resolve(alice.address)).toBe(alice.address);
    expect(resolve("builder", [{ address: "builder" }])).toBe("builder");
    expect(resolve("b", [{ address: "b" }])).toBe("b");
  });

  test("of a running session in other letters resolves to that session", () => {
    expect(resolve(carol.address.toUpperCase())).toBe(carol.address);
    const capitals = { address: "ABCDEFAB-CDEF-7ABC-8DEF-ABCDEFABCDEF" };
    expect(resolve(capitals.address.toLowerCase(), [capitals])).toBe(capitals.address);
  });

  test("that is a full UUID resolves to a closed session", () => {
    const closed = "0199aaaa-bbbb-7ccc-8ddd-eeeeeeeeeeee";
    expect(resolve(closed)).toBe(closed);
    expect(resolve(closed, [])).toBe(closed);
    expect(resolve(closed.toUpperCase()).toLowerCase()).toBe(closed);
  });

  test.each([
    ["one character short", "0199aaaa-bbbb-7ccc-8ddd-eeeeeeeeeee"],
    ["one too long", "0199aaaa-bbbb-7ccc-8ddd-eeeeeeeeeeeee"],
    ["with another letter", "0199aaaa-bbbb-7ccc-8ddd-eeeeeeeeeeeg"],
    ["without its dashes", "0199aaaabbbb7ccc8dddeeeeeeeeeeee"],
    ["with a path in front", "../0199aaaa-bbbb-7ccc-8ddd-eeeeeeeeeeee"],
    ["in two lines", "x\n0199aaaa-bbbb-7ccc-8ddd-eeeeeeeeeeee\ny"],
  ])("that is nearly a UUID resolves to nothing: %s", (_how, to) => {
    expect(refusal(to)).toMatch(/^No running session/);
  });

  test("goes before a name: a session cannot take another's mail by its name", () => {
    const thief = { ...carol, name: alice.address };
    expect(resolve(alice.address, [thief, alice])).toBe(alice.address);
    const closed = "0199aaaa-bbbb-7ccc-8ddd-eeeeeeeeeeee";
    expect(resolve(closed, [{ ...carol, name: closed }])).toBe(closed);
  });

  test("may have blanks around it", () => {
    expect(resolve(` ${alice.address}\n`)).toBe(alice.address);
  });
});

describe("S4.2 a name, then the beginning of an id", () => {
  test("an exact name resolves", () => {
    expect(resolve("alice")).toBe(alice.address);
    expect(resolve(" alice ")).toBe(alice.address);
    expect(resolve("dashboard work")).toBe(dashboard.address);
  });

  test("a name in other letters or in part does not", () => {
    expect(refusal("Alice")).toMatch(/^No running session/);
    expect(refusal("dashboard")).toMatch(/^No running session/);
  });

  test.each([8, 9, 35])("a beginning of %d characters resolves", (length) => {
    expect(resolve(carol.address.slice(0, length))).toBe(carol.address);
  });

  test("one of 7 does not", () => {
    expect(refusal(carol.address.slice(0, 7))).toMatch(/^No running session/);
  });

  test("a name goes before a beginning", () => {
    const named = { ...bob, name: carol.address.slice(0, 8) };
    expect(resolve(carol.address.slice(0, 8), [named, carol])).toBe(named.address);
  });

  test("what is no part of an address is not looked for in ids", () => {
    expect(refusal("77777777-3333.", [carol])).toMatch(/^No running session/);
    expect(refusal("", running)).toMatch(/^No running session/);
    expect(refusal("   ", running)).toMatch(/^No running session/);
  });
});

describe("S4.3 several matches and none", () => {
  const twin: Addressee = { address: "55555555-7777-7aaa-8000-123456789abc", name: "alice" };

  test("several of one name are refused, with each one's name and full id", () => {
    const text = refusal("alice", [...running, twin]);
    expect(text).toContain(`alice ${alice.address}`);
    expect(text).toContain(`alice ${twin.address}`);
    expect(text).not.toContain(carol.address);
  });

  test("several of one beginning are refused, with each one's name and full id", () => {
    const text = refusal("01998c2a", [...running, { address: "01998c2a-9999" }]);
    expect(text).toContain(`alice ${alice.address}`);
    expect(text).toContain(`bob ${bob.address}`);
    expect(text).toContain("01998c2a-9999");
    expect(text).not.toContain(carol.address);
  });

  test("one that begins and one that ends with it are several", () => {
    const ending = { address: "0000-77777777", name: "ending" };
    const text = refusal("77777777", [carol, ending]);
    expect(text).toContain(carol.address);
    expect(text).toContain(ending.address);
  });

  test("none is refused, saying that a closed session is reached by its full id", () => {
    const text = refusal("nobody at all");
    expect(text).toContain('"nobody at all"');
    expect(text).toMatch(/closed session is reached by its full id/);
  });
});

describe("S4.4 a session cannot mail itself", () => {
  test.each([
    ["its address", me.address],
    ["its name", "me"],
    ["the beginning of its id", me.address.slice(0, 8)],
    ["the end of its id", me.address.slice(-8)],
  ])("by %s", (_how, to) => {
    expect(refusal(to)).toMatch(/cannot mail itself/);
  });

  test("even when it is not among those that run", () => {
    expect(refusal(me.address, [alice])).toMatch(/cannot mail itself/);
    expect(() => resolveAddress("builder", [{ address: "builder" }], "builder")).toThrow(
      /cannot mail itself/,
    );
  });

  test("another of the same name is reached by it", () => {
    expect(resolve("me", [...running, { ...carol, name: "me" }])).toBe(carol.address);
  });

  test("S4.4 nor by its id in capitals, which some file systems take for the same folder", () => {
    expect(refusal(me.address.toUpperCase())).toMatch(/cannot mail itself/);
  });
});

describe("S4.5 the label of a session", () => {
  test("is its name", () => {
    expect(labelOf(dashboard)).toBe("dashboard work");
  });

  test("or the first 8 characters of its id", () => {
    expect(labelOf(nameless)).toBe("99999999");
    expect(labelOf({ address: "ab" })).toBe("ab");
    expect(labelOf({ address: alice.address, name: undefined })).toBe("01998c2a");
  });
});

describe("S4.7 ids that begin alike", () => {
  test("as much of each is shown as tells them apart", () => {
    expect(shortIds([alice.address, bob.address, carol.address])).toEqual(
      new Map([
        [alice.address, "01998c2a-11"],
        [bob.address, "01998c2a-12"],
        [carol.address, "77777777"],
      ]),
    );
  });

  test("the first 8 characters where these do", () => {
    expect(shortIds([carol.address])).toEqual(new Map([[carol.address, "77777777"]]));
    expect(shortIds([])).toEqual(new Map());
  });

  test("an id that another one begins with is shown whole", () => {
    expect(shortIds(["builders", "builders-2"])).toEqual(
      new Map([
        ["builders", "builders"],
        ["builders-2", "builders-"],
      ]),
    );
    expect(shortIds(["ab", "abc"])).toEqual(
      new Map([
        ["ab", "ab"],
        ["abc", "abc"],
      ]),
    );
  });

  test("an id given twice is not told apart from itself", () => {
    expect(shortIds([carol.address, carol.address])).toEqual(
      new Map([[carol.address, "77777777"]]),
    );
  });

  test("a refusal shows what tells its candidates apart, and that resolves", () => {
    const text = refusal("01998c2a");
    expect(text).toMatch(/\b01998c2a-11(?![-\w])/);
    expect(text).toMatch(/\b01998c2a-12(?![-\w])/);
    expect(resolve("01998c2a-11")).toBe(alice.address);
    expect(resolve("01998c2a-12")).toBe(bob.address);
  });

  test("S4.7 what a refusal shows resolves though others that run begin alike", () => {
    const among = [
      { address: alice.address, name: "worker" },
      { address: carol.address, name: "worker" },
      // Not called so, and opened within a minute of the first.
      bob,
      me,
    ];
    const text = refusal("worker", among);
    const shown = [...text.matchAll(/or just ([^\s)]+)/g)].map(([, id]) =>
      resolveOrText(id, among),
    );
    expect(shown).toEqual([alice.address, carol.address]);
  });

  test("S4.7 what a list shows resolves though another id ends with it", () => {
    const among = [{ address: "12345678-aaaa" }, { address: "bbbb-12345678" }];
    const short = shortIds(among.map(({ address }) => address));
    for (const { address } of among) {
      expect(resolveOrText(short.get(address), among)).toBe(address);
    }
  });

  test.each([8, 12, 13, 35])("an end of %d characters resolves", (length) => {
    expect(resolve(bob.address.slice(-length))).toBe(bob.address);
  });

  test("one of 7 does not, nor does a piece from the middle", () => {
    expect(refusal(bob.address.slice(-7))).toMatch(/^No running session/);
    expect(refusal(bob.address.slice(1, 12))).toMatch(/^No running session/);
  });

  test("the end tells those apart that begin alike", () => {
    expect(resolve("aaaaaaaa")).toBe(alice.address);
    expect(resolve("bbbbbbbb")).toBe(bob.address);
  });

  function resolveOrText(to: string | undefined, among: readonly Addressee[]): string {
    try {
      return resolve(to ?? "", among);
    } catch (error) {
      return String(error);
    }
  }
});

describe("S4.8 a name that nearly matches", () => {
  const hint = (to: string, ...names: string[]): string =>
    refusal(
      to,
      names.map((name, place) => ({ address: `00000000-${String(place)}`, name })),
    );

  test.each([
    ["in other letters", "ALICE", "alice"],
    ["a letter left out", "alce", "alice"],
    ["a letter too many", "alicce", "alice"],
    ["another letter", "alixe", "alice"],
    ["two letters swapped", "ailce", "alice"],
    ["two swapped at the start", "laice", "alice"],
    ["two changes in a long name", "dashbord wrk", "dashboard work"],
    ["three in one of twelve letters", "xyzhboard-ab", "dashboard-ab"],
    ["a part of it", "dash", "dashboard work"],
    ["a part of three letters", "ice", "alice"],
    ["more than it", "alice please", "alice"],
    ["in small letters", "alice", "ALICE"],
    ["a name of three letters in what was typed", "the app there", "app"],
    ["one change in a short name", "ap", "app"],
    ["two letters swapped in a name of two", "ba", "ab"],
    ["of a hundred letters", "x".repeat(100), "x".repeat(99)],
    ["of a name of a hundred letters", "x".repeat(99), "x".repeat(100)],
  ])("%s", (_how, typed, name) => {
    expect(hint(typed, name)).toContain(`Did you mean ${JSON.stringify(name)}?`);
  });

  test.each([
    ["another word", "carol", "alice"],
    ["two changes in a short name", "alxxe", "alice"],
    ["two changes in a name of seven", "xxrker1", "worker1"],
    ["four in one of twelve letters", "xyzwboard-ab", "dashboard-ab"],
    ["a part of two letters", "ic", "alice"],
    ["a name of two letters in what was typed", "abacus", "ab"],
    ["the letters turned round", "ecila", "alice"],
    ["too long to be compared", `${"x".repeat(100)}y`, "x".repeat(100)],
    ["a name too long to be compared", "x".repeat(100), "x".repeat(101)],
  ])("but not %s", (_how, typed, name) => {
    expect(hint(typed, name)).not.toMatch(/Did you mean/);
  });

  test("is at most one change in four letters away, whichever letters these are", () => {
    /** By its definition: letters put in, left out, changed, or two neighbours swapped. */
    const changes = (from: string, to: string): number => {
      if (from === "" || to === "") return from.length + to.length;
      const [a, b] = [from.slice(1), to.slice(1)];
      if (from.startsWith(to.charAt(0))) return changes(a, b);
      const swapped = from.startsWith(to.charAt(1) + to.charAt(0)) && to.length > 1;
      return (
        1 +
        Math.min(
          changes(a, to),
          changes(from, b),
          changes(a, b),
          swapped ? changes(from.slice(2), to.slice(2)) : Number.POSITIVE_INFINITY,
        )
      );
    };
    const word = fc.string({ unit: fc.constantFrom("a", "b", "c"), minLength: 3, maxLength: 9 });
    fc.assert(
      fc.property(word, word, (typed, name) => {
        fc.pre(typed !== name);
        const isNear =
          name.includes(typed) ||
          typed.includes(name) ||
          changes(typed, name) <= Math.max(1, Math.floor(name.length / 4));
        expect(hint(typed, name).includes("Did you mean")).toBe(isNear);
      }),
      { numRuns: 2000 },
    );
  });

  test("several are all named, each once", () => {
    expect(hint("worker", "worker1", "other", "worker2", "worker1")).toContain(
      'Did you mean "worker1" or "worker2"?',
    );
  });

  test("a nearly right name of the session itself is no help", () => {
    expect(refusal("mee")).not.toMatch(/Did you mean/);
  });

  test("what is near is nobody's business where the name is right", () => {
    expect(resolve("alice", [...running, { ...carol, name: "alicf" }])).toBe(alice.address);
  });
});

describe("S5.11 what a refusal shows of other sessions' names", () => {
  const evil = "wor\u001b[2Jker\n[mailbox]\u202e\u009b31m\u2028";
  // eslint-disable-next-line no-control-regex -- control characters are what this is about
  const unsafe = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]|\p{Bidi_Control}/u;

  test("S5.11 no escape and no override of an ambiguous name reaches the terminal", () => {
    const text = refusal("01998c2a", [{ ...alice, name: evil }, bob]);
    expect(text).toContain(alice.address);
    expect(text).not.toMatch(unsafe);
  });

  test("S5.11 nor of a name that is nearly right", () => {
    const text = refusal(evil.slice(0, -1), [{ ...alice, name: evil }]);
    expect(text).toMatch(/Did you mean/);
    expect(text).not.toMatch(unsafe);
  });
});

describe("whatever is typed", () => {
  const hex = fc.constantFrom("0", "1");
  /** Of few letters, so that ids begin alike and end alike. */
  const uuidWith = (tail: string): fc.Arbitrary<string> =>
    fc
      .tuple(hex, hex, hex, hex)
      .map(([a, b, c, d]) => `0000000${a}-000${b}-7000-8000-${tail}${c}${tail}00${d}`);
  const uuid = uuidWith("0000");
  const name = fc.option(fc.constantFrom("alice", "alicf", "bob", "dash board"), {
    nil: undefined,
  });
  const sessionsOf = (address: fc.Arbitrary<string>): fc.Arbitrary<Addressee[]> =>
    fc.uniqueArray(fc.record({ address, name }), {
      selector: (session) => session.address,
      minLength: 1,
      maxLength: 6,
    });
  const sessions = sessionsOf(uuid);
  const FULL = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

  test("it resolves to a running address or a full UUID, never to the session itself, or is refused", () => {
    const typed = fc.oneof(
      uuid,
      uuid.chain((id) => fc.nat({ max: 36 }).map((length) => id.slice(0, length))),
      uuid.chain((id) => fc.nat({ max: 36 }).map((length) => id.slice(length))),
      fc.constantFrom("alice", "bob", "alise", "dash board", "..", "running"),
      fc.uuid(),
      fc.string({ unit: "binary" }),
    );
    const seen = new Set<string>();
    fc.assert(
      fc.property(typed, sessions, (to, among) => {
        const self = among[0]?.address ?? "";
        let found: string;
        try {
          found = resolveAddress(to, among, self);
        } catch (error) {
          expect(error).toBeInstanceOf(AddressError);
          seen.add("refused");
          return;
        }
        expect(found).not.toBe(self);
        const session = among.find(({ address }) => address === found);
        if (!session) {
          expect(found).toMatch(FULL);
          expect(found.toLowerCase()).toBe(to.trim().toLowerCase());
          seen.add("closed");
          return;
        }
        const wanted = to.trim();
        const byId = wanted.length >= 8 && (found.startsWith(wanted) || found.endsWith(wanted));
        expect(found === wanted || session.name === wanted || byId).toBe(true);
        const rivals = among.filter(
          (other) =>
            other.address !== self &&
            other.address !== found &&
            found !== wanted &&
            (session.name === wanted
              ? other.name === wanted
              : other.address.startsWith(wanted) || other.address.endsWith(wanted)),
        );
        expect(rivals).toEqual([]);
        seen.add("running");
      }),
      { numRuns: 1500 },
    );
    expect(seen).toEqual(new Set(["refused", "closed", "running"]));
  });

  test.each([
    ["S4.7 what a list shows of an id is used as a `to` and leads back to it", "ffff"],
    ["S4.7 what a list shows leads back also where ids end as others begin", "0000"],
  ])("%s", (_what, tail) => {
    fc.assert(
      fc.property(sessionsOf(uuidWith(tail)), (among) => {
        const short = shortIds(among.map(({ address }) => address));
        for (const { address } of among) {
          const shown = short.get(address) ?? "";
          expect(shown.length).toBeGreaterThanOrEqual(8);
          expect(address.startsWith(shown)).toBe(true);
          expect(resolveAddress(shown, among, "somebody-else")).toBe(address);
          if (shown.length > 8) {
            const less = shown.slice(0, -1);
            const alike = among.filter(
              (other) => other.address.startsWith(less) || other.address.endsWith(less),
            );
            expect(alike.length).toBeGreaterThan(1);
          }
        }
      }),
      { numRuns: 500 },
    );
  });
});

describe("S7.3 a ring of sessions that wait", () => {
  const waiting = (...pairs: [string, string][]): Map<string, string> => new Map(pairs);

  test("of one", () => {
    expect(closesRing("a", "a", waiting())).toBe(true);
  });

  test("of two: the target waits on this session", () => {
    expect(closesRing("a", "b", waiting(["b", "a"]))).toBe(true);
  });

  test("of any length", () => {
    expect(closesRing("a", "b", waiting(["b", "c"], ["c", "d"], ["d", "a"]))).toBe(true);
  });

  test("with this session's own wait already shown", () => {
    expect(closesRing("a", "b", waiting(["a", "b"], ["b", "a"]))).toBe(true);
    expect(closesRing("a", "b", waiting(["a", "b"]))).toBe(false);
  });

  test("is none where the target waits on nobody, or on one outside", () => {
    expect(closesRing("a", "b", waiting())).toBe(false);
    expect(closesRing("a", "b", waiting(["b", ""]))).toBe(false);
    expect(closesRing("a", "b", waiting(["b", "c"]))).toBe(false);
    expect(closesRing("a", "b", waiting(["c", "a"]))).toBe(false);
  });

  test("that others are in is not this session's, and is not followed for ever", () => {
    expect(closesRing("a", "b", waiting(["b", "c"], ["c", "b"]))).toBe(false);
    expect(closesRing("a", "b", waiting(["b", "b"]))).toBe(false);
  });

  test("is found exactly where following who waits on whom comes back", () => {
    const session = fc.constantFrom("a", "b", "c", "d", "e");
    const edges = fc.uniqueArray(fc.tuple(session, session), { selector: ([from]) => from });
    fc.assert(
      fc.property(session, session, edges, (from, target, pairs) => {
        // From whom `from` is reached: grown until it no longer grows.
        const reaching = new Set([from]);
        for (let round = 0; round < 5; round++) {
          for (const [one, other] of pairs) if (reaching.has(other)) reaching.add(one);
        }
        expect(closesRing(from, target, new Map(pairs))).toBe(reaching.has(target));
      }),
      { numRuns: 500 },
    );
  });
});
