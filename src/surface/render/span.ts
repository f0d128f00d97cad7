import { Type } from "typebox";
import type { Span } from "../../turn/label.ts";

/** Where a part of a text is, as a session file says it. */
export const SpanSchema = Type.Tuple([Type.Integer({ minimum: 0 }), Type.Integer({ minimum: 0 })]);

/** A part of a text, not cleaned; `undefined` where the text has no such part. */
export function partOf(text: string, [start, end]: Span): string | undefined {
  return start <= end && end <= text.length ? text.slice(start, end) : undefined;
}
