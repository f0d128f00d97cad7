/** The transcript of a terminal, drawn by Pi's own components in its own themes. */
import {
  CustomMessageComponent,
  type ExtensionAPI,
  initTheme,
  type MessageRenderer,
  type Theme,
  ToolExecutionComponent,
  type ToolDefinition,
} from "@earendil-works/pi-coding-agent";
import {
  KeybindingsManager,
  setKeybindings,
  TUI_KEYBINDINGS,
  type TUI,
  visibleWidth,
} from "@earendil-works/pi-tui";
import { expect } from "vitest";
import sessionMail from "../../src/index.ts";
import { FakeClock } from "../mailbox/fake.ts";
import { BIDIRECTIONAL, ESCAPES } from "../turn/reader.ts";

export const THEMES = ["dark", "light"] as const;

export const WIDTHS = [20, 60, 200] as const;

/** An entry as a session file may have it. */
export interface Entry {
  readonly content: unknown;
  readonly details?: unknown;
}

/** Binds Pi's keys as they are by default, or as somebody has bound them. */
export function bindKeys(bound: Record<string, string | string[]> = {}): void {
  const keys = { "app.interrupt": "escape", "app.tools.expand": "ctrl+o", ...bound };
  const definitions = Object.entries(keys).map(([key, defaultKeys]) => [key, { defaultKeys }]);
  setKeybindings(
    new KeybindingsManager({
      ...TUI_KEYBINDINGS,
      ...(Object.fromEntries(definitions) as Record<string, never>),
    }),
  );
}

/** A theme of Pi, which is from then on the one it draws in. */
export function themeOf(name: string): Theme {
  initTheme(name);
  let theme: Theme | undefined;
  new CustomMessageComponent(messageOf({ content: "" }), (_message, _options, now) => {
    theme = now;
    return undefined;
  });
  return theme!;
}

/** What the extension registers for mail. */
export function mailRenderer(now: number): MessageRenderer {
  const found = new Map<string, MessageRenderer>();
  const pi = {
    on: () => undefined,
    events: { on: () => () => undefined },
    registerTool: () => undefined,
    registerCommand: () => undefined,
    registerMessageRenderer: (type: string, renderer: MessageRenderer) => {
      found.set(type, renderer);
    },
  };
  sessionMail(pi as unknown as ExtensionAPI, new FakeClock(now));
  return found.get("mailbox")!;
}

/** The lines of a mail as Pi draws it, and a check that none goes too far. */
export function drawnMail(entry: Entry, width: number, now: number, expanded = false): string[] {
  const component = new CustomMessageComponent(messageOf(entry), mailRenderer(now));
  component.setExpanded(expanded);
  return seen(component.render(width), width);
}

/** A tool call with its result, as Pi draws it. */
export interface Call {
  readonly args?: unknown;
  readonly result?: Entry;
  readonly isPartial?: boolean;
  readonly isError?: boolean;
  readonly expanded?: boolean;
}

/** The lines of a tool call as Pi draws it. */
export function drawnCall(tool: ToolDefinition, call: Call, width: number): string[] {
  const tui = { requestRender: () => undefined } as unknown as TUI;
  const component = new ToolExecutionComponent(tool.name, "1", call.args, {}, tool, tui, "/");
  if (call.result) {
    const result = { ...call.result, isError: call.isError === true };
    component.updateResult(result as never, call.isPartial === true);
  }
  component.setExpanded(call.expanded === true);
  return seen(component.render(width), width);
}

/** Lines without their colours; fails for one that is too wide, could move the cursor or turns the text around. */
export function seen(lines: readonly string[], width: number): string[] {
  expect(lines.filter((line) => visibleWidth(line) > width)).toEqual([]);
  const plain = lines.map((line) => line.replace(STYLES, ""));
  expect(plain.filter((line) => ESCAPES.test(line) || BIDIRECTIONAL.test(line))).toEqual([]);
  return plain.map((line) => line.trimEnd());
}

/** Colours and links as Pi writes them. */
// eslint-disable-next-line no-control-regex -- they begin with one
const STYLES = /\u001b\[[\d;:]*m|\u001b\]8;[^\u0007\u001b]*(?:\u0007|\u001b\\)/g;

function messageOf({ content, details }: Entry): never {
  return {
    role: "custom",
    customType: "mailbox",
    display: true,
    timestamp: 0,
    content,
    details,
  } as never;
}
