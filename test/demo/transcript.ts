/** Prints what happens in the demo so that a person can follow it. */

const colours = process.stdout.isTTY && process.env["NO_COLOR"] === undefined;
const style = (code: string, text: string): string =>
  colours ? `\u001b[${code}m${text}\u001b[0m` : text;

/** A heading for a part of the demo, and what to look for in it. */
export function part(title: string, about: string): void {
  print(`\n${style("1", title)}\n${style("2", about)}\n`);
}

/** One thing that somebody did or saw, with the text of it indented below. */
export function line(who: string, what: string, text = ""): void {
  const indented = text.split("\n").map((each) => `            ${each}`.trimEnd());
  print(`${style("36", who.padEnd(8))} ${what}${text === "" ? "" : `\n${indented.join("\n")}`}`);
}

/** A sentence of its own. */
export function print(text: string): void {
  process.stdout.write(`${text}\n`);
}
