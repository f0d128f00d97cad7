import { describe, expect, test } from "vitest";
import type { HostEntry } from "../../src/mailbox/host.ts";
import { Marks } from "../../src/mailbox/marks.ts";

const mail = (id: unknown): HostEntry => ({
  type: "custom_message",
  customType: "mailbox",
  details: { id },
});
const mark = (id: unknown): HostEntry => ({ type: "custom", customType: "mailbox", data: { id } });
const answer = (id: unknown, toolName = "session_mail_ask"): HostEntry => ({
  type: "message",
  message: { role: "toolResult", toolName, details: { ask: "a1", answer: id } },
});
const model = (stopReason: string): HostEntry => ({
  type: "message",
  message: { role: "assistant", stopReason, content: [] },
});
const user: HostEntry = { type: "message", message: { role: "user", content: "hi" } };

function marksOf(...entries: HostEntry[]): Marks {
  const marks = new Marks(() => entries);
  marks.refresh();
  return marks;
}

describe("S5.5 mail is read when an entry of the session has its id", () => {
  test("the custom message that it entered as", () => {
    expect(marksOf(user, mail("m1")).isRead("m1")).toBe(true);
  });

  test("S5.12 the mark of mail that a listener took over", () => {
    expect(marksOf(mark("m1")).isRead("m1")).toBe(true);
  });

  test("S7.5 the result of the ask that it answered", () => {
    const marks = marksOf(answer("m1"));
    expect(marks.isRead("m1")).toBe(true);
    expect(marks.isRead("a1")).toBe(false);
  });

  test.each<[string, HostEntry]>([
    ["no entry", user],
    ["another mail", mail("m2")],
    [
      "another extension's message",
      { type: "custom_message", customType: "x", details: { id: "m1" } },
    ],
    ["another extension's entry", { type: "custom", customType: "x", data: { id: "m1" } }],
    [
      "a custom message that has it as data",
      { type: "custom_message", customType: "mailbox", data: { id: "m1" } },
    ],
    [
      "a custom entry that has it as details",
      { type: "custom", customType: "mailbox", details: { id: "m1" } },
    ],
    ["another tool's result", answer("m1", "bash")],
    [
      "a message that is no tool result",
      {
        type: "message",
        message: { role: "user", toolName: "session_mail_ask", details: { answer: "m1" } },
      },
    ],
    [
      "an entry that is no message",
      {
        type: "x",
        message: { role: "toolResult", toolName: "session_mail_ask", details: { answer: "m1" } },
      },
    ],
    ["an ask's result without an answer", answer(undefined)],
    ["an id that is no text", mail(["m1"])],
    ["no details", { type: "custom_message", customType: "mailbox" }],
    [
      "details that are no object",
      { type: "custom_message", customType: "mailbox", details: "m1" },
    ],
    ["details of null", { type: "custom_message", customType: "mailbox", details: null }],
    ["a message of null", { type: "message", message: null }],
    ["no message", { type: "message" }],
  ])("but not: %s", (_what, entry) => {
    expect(marksOf(entry).isRead("m1")).toBe(false);
  });

  test("a look takes in what is new", () => {
    const entries = [mail("m1")];
    const marks = new Marks(() => entries);
    expect(marks.isRead("m1")).toBe(false);
    marks.refresh();
    expect(marks.isRead("m1")).toBe(true);
    entries.push(user, mail("m2"));
    expect(marks.isRead("m2")).toBe(false);
    marks.refresh();
    expect(marks.isRead("m1")).toBe(true);
    expect(marks.isRead("m2")).toBe(true);
  });

  test("a look costs what is new, not what is kept", () => {
    let looked = 0;
    const counted = (id: string): HostEntry =>
      Object.defineProperty({ ...mail(id) }, "customType", {
        get: () => {
          looked += 1;
          return "mailbox";
        },
      });
    const entries = Array.from({ length: 1000 }, (_, place) => counted(`m${String(place)}`));
    const marks = new Marks(() => entries);
    marks.refresh();
    entries.push(counted("last"));
    looked = 0;
    marks.refresh();
    expect(marks.isRead("last")).toBe(true);
    expect(looked).toBeLessThan(10);
    looked = 0;
    marks.refresh();
    expect(looked).toBe(0);
  });

  test("a shorter list is another session's: what was read in the first is not read in it", () => {
    let entries = [mail("m1"), model("stop"), mail("m2"), model("stop")];
    const marks = new Marks(() => entries);
    marks.refresh();
    entries = [mail("m3")];
    marks.refresh();
    expect(marks.isRead("m1")).toBe(false);
    expect(marks.isRead("m3")).toBe(true);
    expect(marks.isAnswered("m3")).toBe(false);
  });

  test("an id that is a word of the language is an id like any other", () => {
    const marks = marksOf(mail("constructor"));
    expect(marks.isRead("constructor")).toBe(true);
    expect(marks.isRead("toString")).toBe(false);
  });
});

describe("S6.7 mail is answered when a run ended after it had entered", () => {
  test.each(["stop", "length", "error"])("on %s", (stopReason) => {
    expect(marksOf(mail("m1"), model(stopReason)).isAnswered("m1")).toBe(true);
  });

  test.each(["toolUse", "aborted"])(
    "but not on %s, behind which it is still owed",
    (stopReason) => {
      expect(marksOf(mail("m1"), model(stopReason)).isAnswered("m1")).toBe(false);
    },
  );

  test("a stopped run does not undo an end before it", () => {
    expect(marksOf(mail("m1"), model("stop"), model("aborted")).isAnswered("m1")).toBe(true);
  });

  test("not when the run ended before it", () => {
    expect(marksOf(model("stop"), mail("m1")).isAnswered("m1")).toBe(false);
    expect(marksOf(model("stop")).isAnswered("m1")).toBe(false);
    expect(marksOf().isAnswered("m1")).toBe(false);
  });

  test("not when it never entered", () => {
    expect(marksOf(mail("m1"), model("stop")).isAnswered("m2")).toBe(false);
  });

  test("each by its own place", () => {
    const marks = marksOf(
      mail("m1"),
      mark("m2"),
      model("toolUse"),
      answer("m3"),
      model("stop"),
      mail("m4"),
    );
    expect(["m1", "m2", "m3", "m4"].map((id) => marks.isAnswered(id))).toEqual([
      true,
      true,
      true,
      false,
    ]);
  });

  test("a message of the user ends nothing", () => {
    const odd: HostEntry = { type: "message", message: { role: "user", stopReason: "stop" } };
    expect(marksOf(mail("m1"), user, odd).isAnswered("m1")).toBe(false);
  });

  test("an entry that is no message ends nothing", () => {
    const odd: HostEntry = { type: "x", message: { role: "assistant", stopReason: "stop" } };
    expect(marksOf(mail("m1"), odd).isAnswered("m1")).toBe(false);
  });
});
