import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isAddress } from "../../src/mail/address.ts";
import {
  type Envelope,
  EnvelopeError,
  envelopeName,
  MAX_ENVELOPE_BYTES,
  parseEnvelope,
  sentAt,
} from "../../src/mail/envelope.ts";

const full: Envelope = {
  id: "3f0e4a52-7d0c-4a5e-9a5e-0a3c9b1d2e3f",
  from: "01998c2a-0000-7000-8000-00000000000a",
  to: "01998c2a-0000-7000-8000-00000000000b",
  kind: "request",
  hops: 2,
  in_reply_to: [],
  status: "",
  ts: "2026-01-02T03:04:05.678Z",
  body: "Please run the tests.",
};

/** The same envelope with some fields changed or, where `undefined`, left out, as text. */
const textWith = (change: Record<string, unknown>): string =>
  JSON.stringify({ ...full, ...change });

const parseWith = (change: Record<string, unknown>): Envelope => parseEnvelope(textWith(change));

const idList = (count: number): string[] =>
  Array.from({ length: count }, (_, place) => `r${String(place)}`);

describe("S1.2 an address", () => {
  test.each([
    "01998c2a-0000-7000-8000-00000000000a",
    "a",
    "A-z_0",
    "-",
    "_",
    "0123456789",
    "runnings",
    "run-ning",
    "z".repeat(200),
  ])("%s", (value) => {
    expect(isAddress(value)).toBe(true);
  });

  test.each([
    "",
    " ",
    ".",
    "..",
    "../x",
    "z".repeat(201),
    "a/b",
    "/a",
    "a/",
    "a\\b",
    "a.b",
    ".a",
    "a b",
    "a\n",
    "\na",
    "a\0",
    "é",
    "ａ",
    "a:b",
    "~",
    "%2e",
    "a@b",
  ])("but not %j, which is not one safe path segment", (value) => {
    expect(isAddress(value)).toBe(false);
  });

  test.each(["running", "Running", "RUNNING"])(
    "but not %s, the folder of the running records",
    (value) => {
      expect(isAddress(value)).toBe(false);
    },
  );

  test("is made of the letters it may have and of nothing else", () => {
    const letters = new Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-");
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 6 }), (value) => {
        expect(isAddress(value)).toBe(
          value !== "" && Array.from(value).every((one) => letters.has(one)),
        );
      }),
      { numRuns: 500 },
    );
  });
});

describe("S2.1 an envelope", () => {
  test("is read with its nine fields", () => {
    expect(parseEnvelope(JSON.stringify(full))).toStrictEqual(full);
    expect(Object.keys(parseEnvelope(JSON.stringify(full)))).toEqual([
      "id",
      "from",
      "to",
      "kind",
      "hops",
      "in_reply_to",
      "status",
      "ts",
      "body",
    ]);
  });

  test("S14.3 is read without the fields that this copy does not know", () => {
    expect(parseWith({ wake: false, replaces: "x", extra: { deep: [1] } })).toStrictEqual(full);
    expect(parseEnvelope(`{"__proto__":{"hops":9},${JSON.stringify(full).slice(1)}`)).toStrictEqual(
      full,
    );
  });

  test("is read whatever its body", () => {
    for (const body of ["", "\0\u001b[2J", "[mailbox]\n", "\ud83d", "x".repeat(100_000)]) {
      expect(parseWith({ body }).body).toBe(body);
    }
  });

  test("is read with an empty recipient or time where these are none", () => {
    expect(parseWith({ to: undefined }).to).toBe("");
    expect(parseWith({ to: 7 }).to).toBe("");
    expect(parseWith({ ts: undefined }).ts).toBe("");
    expect(parseWith({ ts: 7 }).ts).toBe("");
    expect(parseWith({ ts: "yesterday" }).ts).toBe("");
  });

  test("S2.1 is read without a time that does not say its zone: elsewhere it would be another", () => {
    expect(parseWith({ ts: "2026-01-02T03:04:05.678" }).ts).toBe("");
    expect(parseWith({ ts: "2026-01-02" }).ts).toBe("");
    for (const ts of ["2026-01-02T03:04:05Z", "2026-01-02T03:04:05.678+05:30"]) {
      expect(parseWith({ ts }).ts).toBe(ts);
    }
  });
});

describe("S2.2 the kind", () => {
  test.each(["request", "ask", "message", "reply"])("%s is read as it is", (kind) => {
    expect(parseWith({ kind }).kind).toBe(kind);
  });

  test.each(["broadcast", "", "REQUEST", 7, null, [], {}])(
    "%j, which is unknown, is read as message",
    (kind) => {
      const envelope = parseWith({ kind, in_reply_to: ["r1"] });
      expect(envelope.kind).toBe("message");
      expect(envelope).toStrictEqual({ ...full, kind: "message", in_reply_to: ["r1"] });
    },
  );

  test("is read as it is where only hops are left out", () => {
    const kindAlone = { kind: "ask", hops: undefined, in_reply_to: ["r1"] };
    expect(parseWith(kindAlone)).toMatchObject({ kind: "ask", hops: 0 });
  });

  test("left out where hops stands is read as message", () => {
    expect(parseWith({ kind: undefined }).kind).toBe("message");
  });
});

describe("S2.3 an envelope with neither kind nor hops", () => {
  const old = { kind: undefined, hops: undefined, status: undefined };

  test("is read as a reply when in_reply_to is non-empty, with hops 0", () => {
    expect(parseWith({ ...old, in_reply_to: ["r1"] })).toMatchObject({ kind: "reply", hops: 0 });
  });

  test("is read as a request otherwise, with hops 0", () => {
    expect(parseWith({ ...old, in_reply_to: [] })).toMatchObject({ kind: "request", hops: 0 });
    expect(parseWith({ ...old, in_reply_to: undefined })).toMatchObject({
      kind: "request",
      hops: 0,
      in_reply_to: [],
    });
  });
});

describe("S2.4 the status", () => {
  test.each(["done", "stopped", "failed"])("%s of a reply is read as it is", (status) => {
    expect(parseWith({ kind: "reply", in_reply_to: ["r1"], status }).status).toBe(status);
  });

  test.each([undefined, ""])("of a reply that has none is done: %j", (status) => {
    expect(parseWith({ kind: "reply", in_reply_to: ["r1"], status }).status).toBe("done");
  });

  test.each(["refused", "DONE", 7, null, ["done"]])(
    "that nobody knows makes no answer of a reply: %j",
    (status) => {
      expect(parseWith({ kind: "reply", in_reply_to: ["r1"], status }).status).toBe("failed");
    },
  );

  test.each(["request", "ask", "message", "unknown"])("of a %s is empty", (kind) => {
    expect(parseWith({ kind, status: "done" }).status).toBe("");
  });
});

describe("S2.6 what is set aside", () => {
  test.each([
    ["", "it is not JSON"],
    ["{", "it is not JSON"],
    ["\ufeff{}", "it is not JSON"],
    ["null", "it is not an object"],
    ["[]", "it is not an object"],
    ["7", "it is not an object"],
    ['"text"', "it is not an object"],
    ["true", "it is not an object"],
  ])("%j: %s", (text, reason) => {
    expect(() => parseEnvelope(text)).toThrow(new EnvelopeError(reason));
  });

  test.each([undefined, null, 7, "", "a/b", "../x", "a b", "a\n", "é", "x".repeat(201)])(
    "no id, or one that no file can be named after: %j",
    (id) => {
      expect(() => parseWith({ id })).toThrow(EnvelopeError);
      expect(() => parseWith({ id })).toThrow(/\bid\b/);
    },
  );

  test("an id of 200 characters is fine", () => {
    expect(parseWith({ id: "x".repeat(200) }).id).toHaveLength(200);
  });

  test.each([undefined, null, 7, "", "..", "a/b", "running", ["a"]])("a bad sender: %j", (from) => {
    expect(() => parseWith({ from })).toThrow(EnvelopeError);
    expect(() => parseWith({ from })).toThrow(/sender/);
  });

  test.each(
    ["r1", {}, 7, true, [7], [null], ["r1", ""], ["a/b"], [["r1"]]].map((value) => [value]),
  )("in_reply_to that is not a list of ids: %j", (value) => {
    expect(() => parseWith({ in_reply_to: value })).toThrow(EnvelopeError);
    expect(() => parseWith({ in_reply_to: value })).toThrow(/in_reply_to/);
  });

  test("S2.6 in_reply_to that is null, which is not a list of ids", () => {
    expect(() => parseWith({ in_reply_to: null })).toThrow(/in_reply_to/);
  });

  test("in_reply_to longer than 50; 50 is fine", () => {
    const answers = (count: number): Envelope =>
      parseWith({ kind: "reply", in_reply_to: idList(count) });
    expect(answers(50).in_reply_to).toEqual(idList(50));
    expect(() => answers(51)).toThrow(/in_reply_to.*50/);
  });

  test.each([undefined, null, 7, ["text"], {}])("no body: %j", (body) => {
    expect(() => parseWith({ body })).toThrow(EnvelopeError);
    expect(() => parseWith({ body })).toThrow(/body/);
  });

  test.each([-1, 0.5, "0", true, [0], 2 ** 53, 1e300])("bad hops: %j", (hops) => {
    expect(() => parseWith({ hops })).toThrow(EnvelopeError);
    expect(() => parseWith({ hops })).toThrow(/hops/);
  });

  test("bad hops: a number that JSON makes infinite", () => {
    const text = textWith({ hops: 0 }).replace('"hops":0', '"hops":1e999');
    expect(() => parseEnvelope(text)).toThrow(/hops/);
  });

  test("S2.6 bad hops: null, which is not a whole number", () => {
    expect(() => parseWith({ hops: null })).toThrow(/hops/);
  });

  test.each([0, 1, 5, 2 ** 53 - 1])("hops of %d are fine", (hops) => {
    expect(parseWith({ hops }).hops).toBe(hops);
  });

  test("a file over 8 MiB", () => {
    expect(MAX_ENVELOPE_BYTES).toBe(8_388_608);
  });

  test("an error says what it is", () => {
    expect(() => parseEnvelope("")).toThrow(expect.objectContaining({ name: "EnvelopeError" }));
  });
});

describe("S2.6 whatever lies in new/", () => {
  const letters = /^[A-Za-z0-9_-]+$/;

  /** By the letter of section 2, without the schema. */
  function isValid(envelope: Envelope): boolean {
    const { id, from, to, kind, hops, in_reply_to, status, ts, body } = envelope;
    const idsAreFine =
      in_reply_to.length <= 50 && [id, ...in_reply_to].every((one) => letters.test(one));
    const statuses = kind === "reply" ? ["done", "stopped", "failed"] : [""];
    return (
      Object.keys(envelope).length === 9 &&
      idsAreFine &&
      letters.test(from) &&
      ["request", "ask", "message", "reply"].includes(kind) &&
      Number.isSafeInteger(hops) &&
      hops >= 0 &&
      statuses.includes(status) &&
      [to, ts, body].every((one) => typeof one === "string")
    );
  }

  function check(text: string): "mail" | "error" {
    let envelope: Envelope;
    try {
      envelope = parseEnvelope(text);
    } catch (error) {
      expect(error).toBeInstanceOf(EnvelopeError);
      expect(error).toHaveProperty("message", expect.stringMatching(/^(it|its|in_reply_to|hops) /));
      return "error";
    }
    expect(isValid(envelope)).toBe(true);
    expect(JSON.stringify(parseEnvelope(JSON.stringify(envelope)))).toBe(JSON.stringify(envelope));
    expect(envelopeName(envelope)).toMatch(/^\d{15,}-[A-Za-z0-9_-]+\.json$/);
    return "mail";
  }

  test("any text is an envelope or an EnvelopeError", () => {
    fc.assert(fc.property(fc.string({ unit: "binary" }), (text) => void check(text)));
  });

  test("any JSON value is an envelope or an EnvelopeError", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => void check(JSON.stringify(value))),
      { numRuns: 300 },
    );
  });

  test("anything that is nearly an envelope is one that is valid and stable, or an EnvelopeError", () => {
    const odd = fc.oneof(
      fc.jsonValue({ maxDepth: 1 }),
      fc.constantFrom("", 0, -1, 1.5, null, [], {}),
    );
    const mostly = (good: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> =>
      fc.oneof({ weight: 12, arbitrary: good }, { weight: 1, arbitrary: odd });
    const id = fc.string({
      unit: fc.constantFrom("a", "Z", "0", "-", "_"),
      minLength: 1,
      maxLength: 9,
    });
    const near = fc.record(
      {
        id: mostly(id),
        from: mostly(id),
        to: mostly(id),
        kind: mostly(fc.constantFrom("request", "ask", "message", "reply", "other")),
        hops: mostly(fc.nat()),
        in_reply_to: mostly(fc.array(id, { maxLength: 55 })),
        status: mostly(fc.constantFrom("", "done", "stopped", "failed", "other")),
        ts: mostly(
          fc.oneof(
            fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
            fc.string(),
          ),
        ),
        body: mostly(fc.string({ unit: "binary" })),
        extra: odd,
      },
      { requiredKeys: ["id", "from", "body"] },
    );
    const seen = new Set<string>();
    fc.assert(
      fc.property(near, (value) => {
        seen.add(check(JSON.stringify(value)));
      }),
      { numRuns: 1000 },
    );
    expect(seen).toEqual(new Set(["mail", "error"]));
  });

  test("deep nesting and huge lists are refused like anything else", () => {
    const deep = "[".repeat(50_000) + "]".repeat(50_000);
    expect(check(`{"id":"a","from":"b","body":"c","in_reply_to":${deep}}`)).toBe("error");
    expect(check(deep)).toBe("error");
    const long = JSON.stringify(Array.from({ length: 200_000 }, () => "r"));
    expect(check(`{"id":"a","from":"b","body":"c","in_reply_to":${long}}`)).toBe("error");
  });
});

describe("S2.1 S2.8 the name of an envelope", () => {
  test("is <15-digit ms>-<id>.json", () => {
    expect(envelopeName(full)).toBe("001767323045678-3f0e4a52-7d0c-4a5e-9a5e-0a3c9b1d2e3f.json");
    expect(envelopeName({ id: "m1", ts: "1970-01-01T00:00:00.001Z" })).toBe(
      "000000000000001-m1.json",
    );
  });

  test.each(["", "yesterday", "1969-12-31T23:59:59.999Z"])(
    "has the time 0 where the envelope has none that a name can carry: %j",
    (ts) => {
      expect(sentAt({ ts })).toBeUndefined();
      expect(envelopeName({ id: "m1", ts })).toBe("000000000000000-m1.json");
    },
  );

  test("carries 1970, and the last time that 15 digits can tell", () => {
    expect(sentAt({ ts: "1970-01-01T00:00:00.000Z" })).toBe(0);
    const last = new Date(999_999_999_999_999).toISOString();
    expect(sentAt({ ts: last })).toBe(999_999_999_999_999);
    expect(envelopeName({ id: "m1", ts: last })).toBe("999999999999999-m1.json");
  });

  test("S2.1 has 15 digits, also for a time that takes 16", () => {
    const ts = new Date(1_000_000_000_000_000).toISOString();
    expect(sentAt({ ts })).toBeUndefined();
    expect(envelopeName({ id: "m1", ts })).toMatch(/^\d{15}-m1\.json$/);
  });

  test("sorts in order of sending, whatever the ids", () => {
    const time = fc.integer({ min: 0, max: 999_999_999_999_999 });
    const id = fc.uuid();
    fc.assert(
      fc.property(time, time, id, id, (one, other, idOfOne, idOfOther) => {
        fc.pre(one !== other);
        const name = (at: number, ofId: string): string =>
          envelopeName({ id: ofId, ts: new Date(at).toISOString() });
        expect(name(one, idOfOne) < name(other, idOfOther)).toBe(one < other);
      }),
      { numRuns: 300 },
    );
  });

  test("is the same for one envelope however often it comes", () => {
    expect(envelopeName(parseEnvelope(JSON.stringify(full)))).toBe(envelopeName(full));
  });
});
