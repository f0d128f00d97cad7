import type { ExtensionAPI, RegisteredCommand } from "@earendil-works/pi-coding-agent";
import { expect, test, vi } from "vitest";
import { registerCommand } from "../../src/surface/command.ts";
import { Session } from "../../src/surface/session.ts";
import { FakeClock } from "../mailbox/fake.ts";

const gone = vi.hoisted(() => (): never => {
  throw new Error("it is gone");
});
vi.mock("../../src/surface/completer.ts", gone);
vi.mock("../../src/surface/carry-out.ts", gone);

test("S18.3 a package whose files are gone completes nothing, and says so when it is run", async () => {
  let command: Omit<RegisteredCommand, "name" | "sourceInfo"> | undefined;
  const pi = {
    registerCommand: (_name: string, options: typeof command) => {
      command = options;
    },
    getSessionName: () => undefined,
  };
  registerCommand(pi as unknown as ExtensionAPI, new Session(), new FakeClock());
  await expect(command?.getArgumentCompletions?.("i")).resolves.toBeNull();

  const notify = vi.fn();
  const context = { mode: "tui", hasUI: true, ui: { notify } };
  await command?.handler("inbox", context as never);
  expect(notify).toHaveBeenCalledOnce();
});
