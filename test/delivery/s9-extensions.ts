/** Extensions as others may write them, for the hooks. */
import { existsSync, readFileSync } from "node:fs";
import type { Envelope } from "../../src/mail/envelope.ts";
import type { PiSession } from "../host/session.ts";
import type { Workplace } from "../host/workplace.ts";

/** What a listener was given on `message:inbound`. */
export interface Heard {
  envelope: Envelope;
  path: string;
  requests: { envelope: Envelope; path: string }[];
  handled: boolean;
}

/** What an emitter found in its payload as soon as `emit` had returned. */
export interface Emitted {
  envelope?: Envelope;
  error?: string;
  scanned?: boolean;
  /** How many mails listeners had heard of by then. */
  heard: number;
}

/** An extension that hears and says what a test wants. */
export interface HookExtension {
  /** For `extensions`, before or after this package. */
  path: string;
  /** What it has heard so far, in all sessions that have it, oldest first. */
  heard: () => Heard[];
}

/**
 * Writes such an extension. It notes all mail it hears, takes over what holds the word `handle`,
 * and has `/emit <channel> <json>`, which shows the payload as it is when `emit` has returned, and
 * a tool `emit` of the same. `/rename-and-scan <from> <to>` moves a file and emits `message:scan`
 * before anything else can happen; `/reload-all` loads all extensions anew.
 *
 * @param more further source for a listener of `message:inbound`, which runs first.
 */
export function hookExtension(
  workplace: Workplace,
  name: string,
  handle = "",
  more = "",
): HookExtension {
  const notes = `${workplace.folder}/${name}.jsonl`;
  const path = workplace.write(
    `${name}.ts`,
    `
import { appendFileSync, renameSync } from "node:fs";
import { Type } from "typebox";

export default function (pi) {
	let heard = 0;
	pi.events.on("message:inbound", (event) => {
		heard += 1;
		${more}
		const handle = ${JSON.stringify(handle)};
		if (handle !== "" && event.envelope.body.includes(handle)) event.handled = true;
		appendFileSync(${JSON.stringify(notes)}, JSON.stringify(event) + "\\n");
	});
	const emit = (channel, payload) => {
		pi.events.emit(channel, payload);
		return JSON.stringify({ ...payload, heard });
	};
	pi.registerCommand("emit", {
		description: "Emits an event",
		handler: async (args, ctx) => {
			const [channel, ...json] = args.split(" ");
			ctx.ui.notify(emit(channel, JSON.parse(json.join(" "))), "info");
		},
	});
	pi.registerCommand("rename-and-scan", {
		description: "Delivers a file and scans",
		handler: async (args, ctx) => {
			const [from, to] = args.split(" ");
			renameSync(from, to);
			ctx.ui.notify(emit("message:scan", {}), "info");
		},
	});
	pi.registerCommand("reload-all", {
		description: "Loads all extensions anew",
		handler: (args, ctx) => ctx.reload(),
	});
	pi.registerTool({
		name: "emit",
		label: "Emit",
		description: "Emits an event",
		parameters: Type.Object({ channel: Type.String(), json: Type.String() }),
		async execute(id, { channel, json }) {
			return { content: [{ type: "text", text: emit(channel, JSON.parse(json)) }], details: {} };
		},
	});
}
`,
  );
  return {
    path,
    heard: () =>
      existsSync(notes)
        ? readFileSync(notes, "utf8")
            .split("\n")
            .filter((line) => line !== "")
            .map((line) => JSON.parse(line) as Heard)
        : [],
  };
}

/** Has a session that has the extension emit an event, and gives what became of the payload. */
export async function emit(
  session: PiSession,
  channel: string,
  payload: Record<string, unknown>,
): Promise<Emitted> {
  const said = await session.command(`/emit ${channel} ${JSON.stringify(payload)}`);
  return JSON.parse(said.at(-1)?.message ?? "") as Emitted;
}
