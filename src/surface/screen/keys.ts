import {
  type Keybinding,
  type KeyId,
  type KeybindingsManager,
  matchesKey,
} from "@earendil-works/pi-tui";
import type { Key } from "./state.ts";

/** Keys that the user may have set otherwise. */
const BOUND: readonly (readonly [Keybinding, Key])[] = [
  ["tui.select.up", "up"],
  ["tui.select.down", "down"],
  ["tui.select.pageUp", "pageUp"],
  ["tui.select.pageDown", "pageDown"],
  ["tui.select.confirm", "confirm"],
  ["tui.select.cancel", "cancel"],
  ["tui.input.tab", "right"],
];

const PLAIN: readonly (readonly [KeyId, Key])[] = [
  ["left", "left"],
  ["right", "right"],
  ["shift+tab", "left"],
  ["home", "first"],
  ["end", "last"],
  ["r", "answer"],
  ["n", "new"],
  ["c", "new"],
];

/** What a key means on the screen, its composer aside. */
export function keyOf(data: string, keybindings: KeybindingsManager): Key | undefined {
  const bound = BOUND.find(([binding]) => keybindings.matches(data, binding));
  return (bound ?? PLAIN.find(([key]) => matchesKey(data, key)))?.[1];
}

/** Whether a key leaves the composer; a letter never does, whatever it is bound to. */
export function leavesComposer(data: string, keybindings: KeybindingsManager): boolean {
  const isLetter = data.length === 1 && data >= " " && data !== "\u007f";
  return !isLetter && keybindings.matches(data, "tui.select.cancel");
}

/** The first key of a binding, for the line of help. */
export function nameOf(keybindings: KeybindingsManager, binding: Keybinding): string {
  const [key = "unbound"] = keybindings.getKeys(binding);
  return key === "escape" ? "esc" : key;
}
