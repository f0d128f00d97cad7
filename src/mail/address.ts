/**
 * An address is one safe path segment, so that no address can lead out of the mail root (S1.2).
 * `running` is the folder of the running records and therefore nobody's address, in any case of
 * letters, since some file systems do not tell them apart. No file system holds much longer names.
 */
const ADDRESS = /^[A-Za-z0-9_-]{1,200}$/;

/** Whether `value` may be used as an address (S1.2). */
export function isAddress(value: string): boolean {
  return ADDRESS.test(value) && value.toLowerCase() !== "running";
}
