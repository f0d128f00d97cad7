import { getMarkdownTheme } from "@earendil-works/pi-coding-agent";
import { Markdown } from "@earendil-works/pi-tui";
import { plainLines } from "./drawing.ts";

/** Below this width a nested list or quote has no room, and takes some Pis very long. */
const LEAST_WIDTH = 12;

/** Lists and quotes within each other on one line: the time that they take may double with each. */
const NESTED = /^(?:[ \t]*(?:>|[-*+](?=[ \t])|\d{1,9}[.)](?=[ \t]))){7}/m;

/** What may begin or end a mark within a line. */
const MARKS = /[*_~`[\]<$\\]/g;

/** The most work that marks may make: each is held against the others of its paragraph. */
const MOST_WORK = 1_000_000;

/**
 * Draws a cleaned text as Markdown, in some colour. A text on which Pi's Markdown fails, or that is
 * made to keep it busy (32 KiB of `*a ` take it ten seconds, during which Pi stands still), is drawn
 * as it is. What Markdown would leave out as a comment is shown: the model has read it.
 */
export function markdown(
  text: string,
  color: (text: string) => string,
): (width: number) => readonly string[] {
  const asItIs = (width: number): string[] => plainLines(text, width, color);
  if (!isTame(text)) return asItIs;
  let component: Markdown | undefined;
  return (width) => {
    if (width < LEAST_WIDTH) return asItIs(width);
    try {
      component ??= new Markdown(text.replaceAll("<!--", "<\\!--"), 0, 0, getMarkdownTheme(), {
        color,
      });
      const lines = component.render(width);
      return lines.length > 0 ? lines : asItIs(width);
    } catch {
      return asItIs(width);
    }
  };
}

/** A word without an end, in which the parser looks for addresses at each of its characters. */
const LONG_WORD = /\S{1000}/;

/** Whether Markdown has little work with a text. */
export function isTame(text: string): boolean {
  if (NESTED.test(text) || LONG_WORD.test(text)) return false;
  let work = 0;
  for (const paragraph of text.split(/\n[ \t]*\n/)) {
    work += (paragraph.match(MARKS)?.length ?? 0) ** 2;
  }
  return work <= MOST_WORK;
}
