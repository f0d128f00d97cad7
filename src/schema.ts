import type { Static, TSchema } from "typebox";
import { Compile } from "typebox/compile";
import { Value } from "typebox/value";

/** How many checks cost about as much as to compile a schema. */
const WORTH_COMPILING = 200;

/**
 * A check by a schema. It is compiled once it has been used a lot: a compiled check takes a hundredth
 * of the time, but a session that reads a few mails is better off without.
 */
export function checkOf<T extends TSchema>(schema: T): (value: unknown) => value is Static<T> {
  let checks = 0;
  let compiled: { Check(value: unknown): boolean } | undefined;
  return (value): value is Static<T> => {
    checks += 1;
    if (checks < WORTH_COMPILING) return Value.Check(schema, value);
    compiled ??= Compile(schema);
    return compiled.Check(value);
  };
}
