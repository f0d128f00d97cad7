import type { KeybindingsManager } from "@earendil-works/pi-tui";
import { isToAnswer } from "./content.ts";
import { nameOf } from "./keys.ts";
import type { Hint } from "./paint.ts";
import { mailAt, type State, viewOf } from "./state.ts";

/** The keys that do something on what is shown, the most needed first. */
export function hints(state: State, keybindings: KeybindingsManager): Hint[] {
  const enter = nameOf(keybindings, "tui.select.confirm");
  const escape = nameOf(keybindings, "tui.select.cancel");
  switch (viewOf(state).at) {
    case "lists":
      return [
        [escape, "close"],
        [enter, state.list === "sessions" ? "write" : "open"],
        ["n", "new"],
        ...(state.list === "sessions" ? [] : [responseHint(state)]),
        ["↑↓←→", "move"],
      ];
    case "reader":
      return [
        [escape, "back"],
        responseHint(state),
        ["n", "new"],
        ["↑↓", "scroll"],
        ["pgup/pgdn", "page"],
      ];
    case "recipients":
      return [
        [escape, "back"],
        [enter, "write"],
        ["↑↓", "move"],
      ];
    case "composer":
      return [
        [escape, "back, keeps the text"],
        [nameOf(keybindings, "tui.input.submit"), "send"],
        [nameOf(keybindings, "tui.input.newLine"), "new line"],
      ];
  }
}

/** What goes back to the other session of a mail: its answer, or something new. */
function responseHint(state: State): Hint {
  const mail = mailAt(state);
  return ["r", mail && isToAnswer(mail) ? "answer" : "write back"];
}
