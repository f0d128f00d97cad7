import type { Static, TSchema } from "typebox";
import { Compile } from "typebox/compile";
import { Value } from "typebox/value";

/** How many checks cost about as much as to compile a schema: 0.6 ms, where Pi has compiled others. */
const WORTH_COMPILING = 5;

/**
 * A check by a schema. It is compiled once it has been used a few times: a compiled check takes a
 * hundredth of the time, but a start that makes a few checks is better off without.
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
