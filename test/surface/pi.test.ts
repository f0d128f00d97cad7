import { describe, expect, test } from "vitest";
import type { Injection } from "../../src/mailbox/host.ts";
import { asBoundary, endingOf, piIsTooOld, signalOf } from "../../src/surface/pi.ts";

describe("a Pi whose boundaries take no entries in", () => {
  test.each([
    "0.0.1",
    "0.9.99",
    "0.86.0",
    "0.86.9",
    "0.86.99",
    "0.9.0",
    "0.8.70",
    "0.86.1-beta.2",
    "",
    "unknown",
  ])("%j is too old", (version) => {
    expect(piIsTooOld(version)).toBe(true);
  });

  test.each([
    "0.87.0",
    "0.87.1",
    "0.87.0+build",
    "0.88.0",
    "0.100.0",
    "1.0.0",
    "1.0.0-beta.1",
    "1.6.0",
    "10.0.0",
    "1.86.0",
  ])("%j is not", (version) => {
    expect(piIsTooOld(version)).toBe(false);
  });

  test("the one that runs these tests is not", () => {
    expect(piIsTooOld()).toBe(false);
  });
});

describe("S5.7 what a turn_end returns", () => {
  const mail = (id: string): Injection => ({
    content: `the text of ${id}`,
    details: {
      id,
      from: "alice",
      label: "alice",
      kind: "message",
      status: "",
      ts: "",
      body: [0, 0],
      quotes: [],
    },
  });
  const entries = [{ type: "custom" as const, customType: "other", data: 1 }];

  test("nothing where no mail enters", () => {
    expect(asBoundary(entries, undefined)).toBeUndefined();
    expect(asBoundary(entries, { mails: [], wake: false })).toBeUndefined();
  });

  test("each mail as a custom message of type mailbox with its id, behind what is there", () => {
    const result = asBoundary(entries, { mails: [mail("m1"), mail("m2")], wake: false });
    expect(result).toEqual({
      entries: [
        ...entries,
        {
          type: "custom_message",
          customType: "mailbox",
          content: "the text of m1",
          display: true,
          details: mail("m1").details,
        },
        {
          type: "custom_message",
          customType: "mailbox",
          content: "the text of m2",
          display: true,
          details: mail("m2").details,
        },
      ],
    });
  });

  test("S5.3 that a request follows, where any of it wakes", () => {
    expect(asBoundary([], { mails: [mail("m1")], wake: true })).toMatchObject({ continue: true });
    expect(asBoundary([], { mails: [mail("m1")], wake: false })).not.toHaveProperty("continue");
  });
});

describe("S6.1 what a message says of the end of its run", () => {
  const usage = {
    input: 0,
    output: 0,
    cacheRead: 0,
    cacheWrite: 0,
    totalTokens: 0,
    cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
  };
  type Message = Parameters<typeof endingOf>[0];
  const assistant: Extract<Message, { role: "assistant" }> = {
    role: "assistant",
    content: [],
    api: "openai-completions",
    provider: "p",
    model: "m",
    usage,
    stopReason: "stop",
    timestamp: 0,
  };

  test("all its texts, without thoughts and calls, and how it stopped", () => {
    expect(
      endingOf({
        ...assistant,
        content: [
          { type: "thinking", thinking: "hm" },
          { type: "text", text: "one" },
          { type: "toolCall", id: "c", name: "bash", arguments: {} },
          { type: "text", text: "two" },
        ],
      }),
    ).toEqual({ text: "one\ntwo", stopReason: "stop", error: undefined });
  });

  test("S6.3 its error", () => {
    expect(endingOf({ ...assistant, stopReason: "error", errorMessage: "overloaded" })).toEqual({
      text: "",
      stopReason: "error",
      error: "overloaded",
    });
  });

  test("nothing where it is not the model's", () => {
    expect(endingOf({ role: "user", content: "hi", timestamp: 0 })).toBeUndefined();
  });
});

describe("the signal of a run", () => {
  test("is that of the context, when it has one", () => {
    const { signal } = new AbortController();
    expect(signalOf({ signal })).toBe(signal);
    expect(signalOf({ signal: undefined })).toBeUndefined();
  });

  test("is none where the context is stale", () => {
    const stale = {
      get signal(): AbortSignal {
        throw new Error("This extension ctx is stale");
      },
    };
    expect(signalOf(stale)).toBeUndefined();
  });
});
