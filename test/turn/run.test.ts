import { describe, expect, test } from "vitest";
import { type Ending, NO_ENDING, outcomeOf, withMessage } from "../../src/turn/run.ts";

const ending = (stopReason: string, text = "text", error?: string): Ending => ({
  stopReason,
  text,
  error,
});

describe("S6.1 the last assistant text of a run", () => {
  test("is that of its last message", () => {
    const first = withMessage(NO_ENDING, ending("toolUse", "first"));
    expect(withMessage(first, ending("stop", "second"))).toEqual(ending("stop", "second"));
  });

  test.each(["", " \n\t"])("is the one before where its last message has none: %j", (blank) => {
    const first = withMessage(NO_ENDING, ending("toolUse", "first"));
    expect(withMessage(first, ending("stop", blank))).toEqual(ending("stop", "first"));
  });

  test("S6.3 stays as partial text where the run then fails", () => {
    const first = withMessage(NO_ENDING, ending("toolUse", "first"));
    const failed = withMessage(first, ending("error", "", "overloaded"));
    expect(failed).toEqual(ending("error", "first", "overloaded"));
  });

  test("an error that was retried is forgotten", () => {
    const failed = withMessage(NO_ENDING, ending("error", "", "overloaded"));
    expect(withMessage(failed, ending("stop", "done"))).toEqual(ending("stop", "done"));
  });

  test("is none before the model has said anything", () => {
    expect(NO_ENDING).toEqual({ text: "", stopReason: "", error: undefined });
  });
});

describe("how a run ended", () => {
  test.each(["stop", "length", "toolUse"])("S6.2 done when it completed with %s", (stopReason) => {
    expect(outcomeOf(ending(stopReason), false)).toEqual({ status: "done", text: "text" });
  });

  test("S6.2 done when its last message is whole, though the user stopped what came behind it", () => {
    expect(outcomeOf(ending("stop"), true)).toEqual({ status: "done", text: "text" });
  });

  test("S6.3 failed when it ended on an error, with the error and the partial text", () => {
    expect(outcomeOf(ending("error", "partial", "overloaded"), false)).toEqual({
      status: "failed",
      text: "partial",
      error: "overloaded",
    });
  });

  test("S6.3 failed with some words where the error has none", () => {
    const outcome = outcomeOf(ending("error", ""), false);
    expect(outcome).toMatchObject({ status: "failed", text: "" });
    expect(outcome).toHaveProperty("error", "no reason given");
  });

  test.each([true, false])("S6.4 stopped when its last message was stopped: %s", (aborted) => {
    expect(outcomeOf(ending("aborted"), aborted)).toEqual({ status: "stopped", text: "text" });
  });

  test.each(["toolUse", "length", "error", ""])(
    "S6.4 stopped when the user stopped it behind %j",
    (stopReason) => {
      expect(outcomeOf(ending(stopReason), true)).toEqual({ status: "stopped", text: "text" });
    },
  );
});
