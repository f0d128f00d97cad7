import { homedir } from "node:os";
import { describe, expect, test } from "vitest";
import { cleanPath } from "../../src/surface/path.ts";
import { cleanValue } from "../../src/text.ts";

describe("cleanPath", () => {
  test("writes the home folder as people do, and nothing else", () => {
    const home = homedir();
    expect(cleanPath(home)).toBe("~");
    expect(cleanPath(`${home}/shop`)).toBe("~/shop");
    expect(cleanPath(`${home}shop`)).toBe(`${home}shop`);
    expect(cleanPath(`/work${home}/shop`)).toBe(`/work${home}/shop`);
  });

  test("is one clean line, whatever is in the path", () => {
    expect(cleanPath("/work/\u001b[2Ja\nb")).toBe(cleanValue("/work/\u001b[2Ja\nb"));
  });
});
