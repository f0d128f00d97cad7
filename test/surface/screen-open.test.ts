import type { ExtensionUIContext } from "@earendil-works/pi-coding-agent";
import { type Component, getKeybindings, type TUI } from "@earendil-works/pi-tui";
import { describe, expect, test } from "vitest";
import { openScreen } from "../../src/surface/screen/open.ts";
import { FakeClock } from "../mailbox/fake.ts";
import { FakeSource, KEYS } from "./screen-support.ts";

type Custom = ExtensionUIContext["custom"];
type Factory = Parameters<Custom>[0];

const tui = { terminal: { rows: 24 }, requestRender: () => undefined } as unknown as TUI;
const theme = { fg: (_: string, text: string) => text, bold: (text: string) => text };

describe("S18.2 opening the screen", () => {
  test("it lies over all of the terminal until the user closes it", async () => {
    const clock = new FakeClock();
    let shown: Component | undefined;
    let options: Parameters<Custom>[1];
    const custom = async (factory: Factory, given: Parameters<Custom>[1]): Promise<unknown> => {
      options = given;
      return new Promise((resolve) => {
        shown = factory(tui, theme as never, getKeybindings() as never, resolve) as Component;
      });
    };
    const ui = { custom } as unknown as ExtensionUIContext;
    const closed = openScreen({ ui }, new FakeSource(), clock);
    expect(options).toMatchObject({
      overlay: true,
      overlayOptions: { width: "100%", maxHeight: "100%", anchor: "top-left" },
    });
    expect(clock.pending).toBe(1);
    shown?.handleInput?.(KEYS.escape);
    await expect(closed).resolves.toBeUndefined();
    expect(clock.pending).toBe(0);
  });

  test("what keeps Pi from showing it is thrown, to be told", async () => {
    const custom = (): Promise<never> => Promise.reject(new Error("no terminal"));
    const ui = { custom } as unknown as ExtensionUIContext;
    await expect(openScreen({ ui }, new FakeSource(), new FakeClock())).rejects.toThrow(
      "no terminal",
    );
  });
});
