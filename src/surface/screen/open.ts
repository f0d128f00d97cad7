import type { ExtensionCommandContext } from "@earendil-works/pi-coding-agent";
import type { Clock } from "../../clock.ts";
import type { ScreenSource } from "./content.ts";
import { MailScreen } from "./screen.ts";

/**
 * Shows the screen of a mailbox over all of the terminal until the user closes it (S18.2). A run
 * goes on below it, and mail comes. It is an overlay rather than in the place of Pi's editor: what
 * a run writes is then not drawn anew with each word.
 *
 * @throws what keeps Pi from showing it.
 */
export async function openScreen(
  context: Pick<ExtensionCommandContext, "ui">,
  source: ScreenSource,
  clock: Clock,
): Promise<void> {
  await context.ui.custom<undefined>(
    (tui, theme, keybindings, done) =>
      new MailScreen({
        tui,
        paint: theme,
        keybindings,
        source,
        clock,
        close: () => {
          done(undefined);
        },
      }),
    {
      overlay: true,
      overlayOptions: { width: "100%", maxHeight: "100%", anchor: "top-left", margin: 0 },
    },
  );
}
