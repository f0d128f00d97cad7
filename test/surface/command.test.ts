import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseCommand } from "../../src/surface/parse.ts";

const send = (to: string, text: string): object => ({ do: "send", to, text });
const subcommand = (name: string): object => ({ do: "subcommand", name });

describe("S8.1 what is typed behind /mailbox", () => {
  test.each(["", " ", "\n\t "])("nothing shows this session: %j", (args) => {
    expect(parseCommand(args)).toEqual({ do: "show" });
  });

  test.each(["prune", " prune ", "prune\n"])("a lone word is a subcommand: %j", (args) => {
    expect(parseCommand(args)).toEqual(subcommand("prune"));
  });

  test("a lone word that is none is not mail either", () => {
    expect(parseCommand("alice")).toEqual(subcommand("alice"));
    expect(parseCommand('"dashboard work"')).toEqual(subcommand("dashboard work"));
  });

  test("a word and a text are mail", () => {
    expect(parseCommand("alice hello")).toEqual(send("alice", "hello"));
  });

  test("the word of a subcommand followed by text is mail to a session of that name", () => {
    expect(parseCommand("prune the roses")).toEqual(send("prune", "the roses"));
    expect(parseCommand('"prune" the roses')).toEqual(send("prune", "the roses"));
  });

  test("the text keeps its blanks, quotes and lines, but for those around it", () => {
    expect(parseCommand('  alice \t say  "hi"\n\n  and bye \n')).toEqual(
      send("alice", 'say  "hi"\n\n  and bye'),
    );
    expect(parseCommand("alice\nhello")).toEqual(send("alice", "hello"));
    expect(parseCommand("alice x")).toEqual(send("alice", "x"));
  });
});

describe("S4.6 a name with spaces", () => {
  test("can be typed in quotes", () => {
    expect(parseCommand('"dashboard work" hello')).toEqual(send("dashboard work", "hello"));
    expect(parseCommand(' "dashboard work"\n hello "there"')).toEqual(
      send("dashboard work", 'hello "there"'),
    );
  });

  test("quotes that are not closed, or hold nothing, are letters like any other", () => {
    expect(parseCommand('"dashboard work hello')).toEqual(send('"dashboard', "work hello"));
    expect(parseCommand('"" hello')).toEqual(send('""', "hello"));
    expect(parseCommand('say"hi" hello')).toEqual(send('say"hi"', "hello"));
  });

  test("whatever the name and the text", () => {
    const name = fc.string({ minLength: 1 }).filter((value) => !value.includes('"'));
    const text = fc
      .string({ unit: fc.constantFrom("a", '"', " ", "\n", "é", "😀"), minLength: 1 })
      .map((value) => value.trim())
      .filter((value) => value !== "");
    fc.assert(
      fc.property(name, text, (to, body) => {
        expect(parseCommand(`"${to}" ${body}`)).toEqual(send(to, body));
      }),
    );
  });

  test("nothing that can be typed is too much, and a mail always has a recipient and a text", () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom("a", '"', " ", "\n", "\t", "é") }), (args) => {
        const command = parseCommand(args);
        if (command.do === "show") expect(args.trim()).toBe("");
        if (command.do === "send") {
          expect(command.to).not.toBe("");
          expect(command.text.trim()).not.toBe("");
          expect(command.text).toBe(command.text.trim());
        }
        const letters = (value: string): number => value.replace(/[\s"]/g, "").length;
        const kept =
          command.do === "send"
            ? command.to + command.text
            : command.do === "subcommand"
              ? command.name
              : "";
        expect(letters(kept)).toBe(letters(args));
      }),
      { numRuns: 500 },
    );
  });
});
