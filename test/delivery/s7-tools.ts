/** What a test needs to have a session's model call a tool, and to see what became of the call. */
import { call, say, type ModelRequest, type ScriptStep } from "../host/model.ts";
import { textOf, type PiEvent, type PiMessage, type PiSession } from "../host/session.ts";
import type { Workplace } from "../host/workplace.ts";

/** What a call came to. */
export interface ToolResult {
  text: string;
  isError: boolean;
  details: Record<string, unknown>;
}

/** What a call said while it ran. */
export interface Progress {
  text: string;
  details: Record<string, unknown>;
}

/** Has the model of a session, whose script bears its name, make one call in a run of its own. */
export async function useTool(
  workplace: Workplace,
  session: PiSession,
  name: string,
  args: Record<string, unknown> = {},
): Promise<ToolResult> {
  const mark = session.mark();
  workplace.model.script(session.label, call(name, args), say("noted"));
  await session.ask(`use ${name}`);
  return lastResult(session, name, mark);
}

/** The results of a tool since a mark, oldest first. */
export function toolResults(session: PiSession, name: string, since = 0): ToolResult[] {
  return session.events
    .slice(since)
    .filter((event) => event.type === "tool_execution_end" && event["toolName"] === name)
    .map(resultOf);
}

/** The newest result of a tool since a mark. */
export function lastResult(session: PiSession, name: string, since = 0): ToolResult {
  const result = toolResults(session, name, since).at(-1);
  if (!result) throw new Error(`${session.label} had no result of ${name}`);
  return result;
}

/** Waits for the end of a call, with what it came to. */
export async function waitForResult(
  session: PiSession,
  name: string,
  since: number,
): Promise<ToolResult> {
  return resultOf(
    await session.waitFor(
      (event) => event.type === "tool_execution_end" && event["toolName"] === name,
      `end of ${name}`,
      { since },
    ),
  );
}

/** Waits until a running call says something that matches. */
export async function waitForProgress(
  session: PiSession,
  pattern: RegExp,
  since: number,
): Promise<Progress> {
  return progressOf(
    await session.waitFor(
      (event) => event.type === "tool_execution_update" && pattern.test(progressOf(event).text),
      `progress ${String(pattern)}`,
      { since },
    ),
  );
}

/** All that running calls said since a mark. */
export function progressSince(session: PiSession, since: number): Progress[] {
  return session.events
    .slice(since)
    .filter((event) => event.type === "tool_execution_update")
    .map(progressOf);
}

/** A step of a model that has just read an ask: it answers that ask. */
export function answerAsk(message: string): ScriptStep {
  return (request) => call("session_mail_reply", { ask: askIn(request), message });
}

/** The id of the newest ask in what a model was given. */
export function askIn(request: ModelRequest): string {
  const id = [...request.text.matchAll(/answer it with session_mail_reply, ask id (\S+)\./g)].at(
    -1,
  )?.[1];
  if (id === undefined) throw new Error(`there is no ask in ${request.text.slice(-2000)}`);
  return id;
}

/** The mails in a conversation, as the model sees them, oldest first. */
export async function mailsIn(session: PiSession): Promise<PiMessage[]> {
  return (await session.messages()).filter(({ customType }) => customType === "mailbox");
}

function resultOf(event: PiEvent): ToolResult {
  const { text, details } = contentOf(event["result"]);
  return { text, details, isError: event["isError"] === true };
}

function progressOf(event: PiEvent): Progress {
  return contentOf(event["partialResult"]);
}

function contentOf(result: unknown): Progress {
  const found = (result ?? {}) as { content?: unknown; details?: Record<string, unknown> };
  return { text: textOf({ role: "tool", content: found.content }), details: found.details ?? {} };
}
