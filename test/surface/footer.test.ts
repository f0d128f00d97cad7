import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { footerText } from "../../src/surface/footer.ts";

describe("S8.2 the footer", () => {
  test.each([
    [1, 2, 3, "✉ 1 pending · 2 read · 3 awaiting"],
    [1, 0, 0, "✉ 1 pending"],
    [0, 2, 0, "✉ 2 read"],
    [0, 0, 3, "✉ 3 awaiting"],
    [1, 2, 0, "✉ 1 pending · 2 read"],
    [1, 0, 3, "✉ 1 pending · 3 awaiting"],
    [0, 2, 3, "✉ 2 read · 3 awaiting"],
    [0, 100_000, 0, "✉ 100000 read"],
  ])("for %d pending, %d read and %d awaiting: %s", (pending, read, awaiting, text) => {
    expect(footerText({ pending, read, awaiting })).toBe(text);
  });

  test("is hidden when all are zero", () => {
    expect(footerText({ pending: 0, read: 0, awaiting: 0 })).toBeUndefined();
  });

  test("shows no zero, whatever the counts", () => {
    fc.assert(
      fc.property(
        fc.nat({ max: 3 }),
        fc.nat({ max: 3 }),
        fc.nat({ max: 3 }),
        (pending, read, awaiting) => {
          const text = footerText({ pending, read, awaiting }) ?? "";
          expect(text).not.toMatch(/\b0 /);
          expect(text.split(" · ").filter((part) => part !== "")).toHaveLength(
            [pending, read, awaiting].filter((count) => count > 0).length,
          );
        },
      ),
    );
  });
});
