/**
 * The least code that lets one session wake another: a tool that moves a file into the other's
 * folder, and a watcher that moves it on and gives it to the model. Nothing is kept safe by it.
 */
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { mkdirSync, readFileSync, renameSync, watch, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Type } from "typebox";

export default function floor(pi: ExtensionAPI): void {
  const root = join(process.env["XDG_STATE_HOME"] ?? "", "floor");
  let sent = 0;
  pi.registerTool({
    name: "move_file",
    label: "Move a file",
    description: "Moves a file into the folder of another session",
    parameters: Type.Object({ to: Type.String(), message: Type.String() }),
    execute: (_call, { to, message }) => {
      sent += 1;
      const name = `${process.pid}-${sent}`;
      writeFileSync(join(root, name), message);
      renameSync(join(root, name), join(root, to, "new", name));
      return Promise.resolve({ content: [{ type: "text", text: `Sent to ${to}` }], details: {} });
    },
  });
  pi.on("session_start", () => {
    const box = join(root, pi.getSessionName() ?? "");
    mkdirSync(join(box, "new"), { recursive: true });
    mkdirSync(join(box, "cur"), { recursive: true });
    watch(join(box, "new"), { persistent: false }, (_event, name) => {
      const path = join(box, "cur", name ?? "");
      try {
        renameSync(join(box, "new", name ?? ""), path);
      } catch {
        return;
      }
      const content = readFileSync(path, "utf8");
      const message = { customType: "floor", content, display: true, details: {} };
      pi.sendMessage(message, { triggerTurn: true, deliverAs: "steer" });
    });
  });
}
