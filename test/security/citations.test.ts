/** The tests that SECURITY.md cites are there: what it says cannot outlive what shows it. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { packageFolder } from "../host/pi.ts";

const document = readFileSync(join(packageFolder, "SECURITY.md"), "utf8");
const [text = "", list = ""] = document.split("## The tests that show it");
const lines = list.split("\n").filter((line) => line !== "");
const cited = lines.map((line) => {
  const [, mark = line, file = "", title = ""] = /^- (\w+): (\S+), "(.+)"$/.exec(line) ?? [];
  return { mark, file, title };
});

test.each(cited)("$mark: $file has the test that is cited", ({ file, title }) => {
  expect(existsSync(join(packageFolder, file))).toBe(true);
  // A title is the first argument of its test, or of the tests around it.
  expect(readFileSync(join(packageFolder, file), "utf8")).toContain(`"${title}",`);
});

test("each mark in the text is in the list, and each in the list is in the text, once there", () => {
  const used = [...text.matchAll(/\[([A-Z]\d+)\]/g)].map(([, mark = ""]) => mark);
  expect(cited.length).toBeGreaterThan(30);
  expect([...new Set(used)].sort()).toEqual(cited.map(({ mark }) => mark).sort());
});
