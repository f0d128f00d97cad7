import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { parseSettings, readSettings } from "../src/config.ts";

const defaults = { hopLimit: 5, pruneAfterDays: 30, durable: true };

describe("S12.1 settings from the text of the file", () => {
  test("are the defaults where the file says nothing", () => {
    expect(parseSettings("{}")).toEqual({ settings: defaults, problems: [] });
  });

  test("are what the file says", () => {
    const written = { hopLimit: 1, pruneAfterDays: 365, durable: false };
    expect(parseSettings(JSON.stringify(written))).toEqual({ settings: written, problems: [] });
  });

  test("have the default of each key that is absent", () => {
    expect(parseSettings('{"hopLimit":9}')).toEqual({
      settings: { ...defaults, hopLimit: 9 },
      problems: [],
    });
  });

  test("ignore keys that nobody knows", () => {
    const text = '{"hopLimits":7,"__proto__":{"hopLimit":7},"constructor":7,"inbound":"quiet"}';
    expect(parseSettings(text)).toEqual({ settings: defaults, problems: [] });
  });

  describe.each(["hopLimit", "pruneAfterDays"] as const)("%s", (key) => {
    test.each([1, 2, 5.0, 1000, 2 ** 53 - 1])("may be %d", (value) => {
      const { settings, problems } = parseSettings(JSON.stringify({ [key]: value }));
      expect(settings).toEqual({ ...defaults, [key]: value });
      expect(problems).toEqual([]);
    });

    test.each([0, -1, 1.5, 2 ** 53, "5", "", true, null, [5], {}])(
      "that is %j has its default and one problem that names it",
      (value) => {
        const { settings, problems } = parseSettings(JSON.stringify({ [key]: value }));
        expect(settings).toEqual(defaults);
        expect(problems).toHaveLength(1);
        expect(problems[0]).toContain(key);
        expect(problems[0]).toContain(String(defaults[key]));
      },
    );

    test("that JSON makes infinite has its default and one problem", () => {
      const { settings, problems } = parseSettings(`{"${key}":1e999}`);
      expect(settings).toEqual(defaults);
      expect(problems).toHaveLength(1);
    });
  });

  test.each([0, 1, "true", null, [], {}])(
    "durable that is %j has its default and one problem that names it",
    (value) => {
      const { settings, problems } = parseSettings(JSON.stringify({ durable: value }));
      expect(settings).toEqual(defaults);
      expect(problems).toEqual([expect.stringMatching(/durable.*true/)]);
    },
  );

  test("an invalid key spoils no other, and each has its own problem", () => {
    const { settings, problems } = parseSettings(
      '{"hopLimit":0,"pruneAfterDays":7,"durable":"no"}',
    );
    expect(settings).toEqual({ ...defaults, pruneAfterDays: 7 });
    expect(problems).toHaveLength(2);
    expect(problems[0]).toContain("hopLimit");
    expect(problems[1]).toContain("durable");
  });

  test.each(["", "{", "hopLimit: 5", "{'hopLimit': 5}", '{"hopLimit": 5,}'])(
    "are the defaults, with one problem, where it is not JSON: %j",
    (text) => {
      const { settings, problems } = parseSettings(text);
      expect(settings).toEqual(defaults);
      expect(problems).toEqual([expect.stringContaining("not JSON")]);
    },
  );

  test.each(["null", "[]", "5", '"x"', "true"])(
    "are the defaults, with one problem, where it is not an object: %s",
    (text) => {
      const { settings, problems } = parseSettings(text);
      expect(settings).toEqual(defaults);
      expect(problems).toEqual([expect.stringContaining("not an object")]);
    },
  );

  test("one mistake is one text, so that it is told once however often it is read", () => {
    expect(parseSettings('{"hopLimit":0}').problems).toEqual(
      parseSettings('{"hopLimit":0}').problems,
    );
  });

  test("never throw and are always valid, whatever the text", () => {
    const value = fc.oneof(fc.jsonValue(), fc.integer(), fc.boolean(), fc.constantFrom(0, 1, -0));
    const near = fc
      .record(
        { hopLimit: value, pruneAfterDays: value, durable: value, other: value },
        { requiredKeys: [] },
      )
      .map((written) => JSON.stringify(written));
    const any = fc.oneof(near, fc.json(), fc.string({ unit: "binary" }));
    fc.assert(
      fc.property(any, (text) => {
        const { settings, problems } = parseSettings(text);
        for (const count of [settings.hopLimit, settings.pruneAfterDays]) {
          expect(Number.isSafeInteger(count) && count > 0).toBe(true);
        }
        expect(typeof settings.durable).toBe("boolean");
        expect(Object.keys(settings).sort()).toEqual(["durable", "hopLimit", "pruneAfterDays"]);
        expect(new Set(problems).size).toBe(problems.length);
        expect(defaults).toEqual({ hopLimit: 5, pruneAfterDays: 30, durable: true });
      }),
      { numRuns: 500 },
    );
  });
});

describe("S12.1 settings of an agent directory", () => {
  let folder: string;
  let file: string;
  beforeEach(() => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), "session-mail-config-")));
    file = join(folder, "session-mail.json");
  });
  afterEach(() => {
    rmSync(folder, { recursive: true });
  });

  test("are the defaults, without a word, where there is no file or no directory", () => {
    expect(readSettings(folder)).toEqual({ settings: defaults, problems: [] });
    expect(readSettings(join(folder, "none"))).toEqual({ settings: defaults, problems: [] });
  });

  test("are read anew each time", () => {
    writeFileSync(file, '{"hopLimit":2}');
    expect(readSettings(folder)).toEqual({ settings: { ...defaults, hopLimit: 2 }, problems: [] });
    writeFileSync(file, '{"hopLimit":3}');
    expect(readSettings(folder).settings.hopLimit).toBe(3);
  });

  test("are read through a link, as people who keep their settings elsewhere have it", () => {
    const kept = join(folder, "kept.json");
    writeFileSync(kept, '{"durable":false}');
    symlinkSync(kept, file);
    expect(readSettings(folder)).toEqual({
      settings: { ...defaults, durable: false },
      problems: [],
    });
  });

  test("may begin with a byte order mark", () => {
    writeFileSync(file, '\ufeff{"hopLimit":2}');
    expect(readSettings(folder).settings.hopLimit).toBe(2);
  });

  test("each problem names the file", () => {
    writeFileSync(file, '{"hopLimit":0,"durable":1}');
    const { problems } = readSettings(folder);
    expect(problems).toHaveLength(2);
    for (const problem of problems) expect(problem.startsWith(`${file}: `)).toBe(true);
  });

  test.each([
    ["a directory", () => mkdirSync(file)],
    ["not UTF-8", () => writeFileSync(file, Buffer.from([0x7b, 0xff, 0x7d]))],
    ["over 1 MiB", () => writeFileSync(file, `{}${" ".repeat(1024 * 1024)}`)],
    ["a link to itself", () => symlinkSync(file, file)],
    ["a link to nothing", () => symlinkSync(join(folder, "gone"), file)],
  ])("are the defaults, with one problem that names the file, where it is %s", (_what, make) => {
    make();
    const { settings, problems } = readSettings(folder);
    expect(settings).toEqual(defaults);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain(file);
  });

  test("a file of just 1 MiB is read", () => {
    const text = '{"hopLimit":2}';
    writeFileSync(file, text + " ".repeat(1024 * 1024 - text.length));
    expect(readSettings(folder)).toEqual({ settings: { ...defaults, hopLimit: 2 }, problems: [] });
  });
});
