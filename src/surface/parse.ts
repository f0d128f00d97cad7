/** What was typed behind `/mailbox`. */
export type Command =
  | { readonly do: "show" }
  | { readonly do: "subcommand"; readonly name: string }
  | { readonly do: "send"; readonly to: string; readonly text: string };

/** A recipient, in quotes when it has blanks (S4.6), and the text behind it, line ends and all. */
const ADDRESSED = /^(?:"([^"]+)"|(\S+))(?:\s+(\S[\s\S]*))?$/;

/** Reads the arguments of `/mailbox`. A lone word is a subcommand, never a recipient (S8.1). */
export function parseCommand(args: string): Command {
  const match = ADDRESSED.exec(args.trim());
  const [, inQuotes, word, text] = match ?? [];
  const to = inQuotes ?? word;
  if (to === undefined) return { do: "show" };
  return text === undefined ? { do: "subcommand", name: to } : { do: "send", to, text };
}
