/** What a person sees of a session that is opened again, in a real terminal. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { say } from "../host/model.ts";
import { Workplace } from "../host/workplace.ts";
import { Terminal } from "./terminal.ts";
import { haveTmux } from "./tmux.ts";

const tmux = haveTmux();

describe.skipIf(!tmux)("in a terminal", () => {
  let workplace: Workplace;
  beforeAll(async () => {
    workplace = await Workplace.open();
  });
  afterAll(() => workplace.close());

  test("S3.4 a second process says that it is one below the conversation, which may be long", async () => {
    const first = await workplace.session({ name: "bob" });
    const poem = Array.from({ length: 60 }, (_, line) => `Line ${line} of a poem.`).join("\n\n");
    workplace.model.script("bob", say(poem));
    await first.ask("write a poem");
    const terminal = await Terminal.open(workplace, { columns: 100, rows: 30 });
    const second = await terminal.session({ name: "bob", id: first.id, resume: true });
    await second.shows("has this session open and gets its mail");
    expect(await second.text()).toContain("Line 59 of a poem.");
  });
});
