/** A package of the same kind, as far as it is measured: `npm install --prefix test/bench`. */

/** A letter of it. */
export interface RelayLetter {
  readonly id: string;
  readonly from: { readonly addr: string; readonly name: string; readonly cwd: string };
  readonly kind: "message";
  readonly body: string;
  readonly ts: number;
}

/** What is used of `@nicknisi/pi-relay/core`. */
export interface Relay {
  deposit(root: string, to: string, letter: RelayLetter): void;
  claimInbox(
    root: string,
    address: string,
  ): { readonly claimToken: string; readonly fileTokens: readonly string[] } | null;
  readClaimedLetter(
    root: string,
    address: string,
    claimToken: string,
    fileToken: string,
  ): RelayLetter | null;
}

/** An address as it has them. */
export const RELAY_ADDRESS = "0123456789ab";

/** The package, or `undefined` where it is not installed. */
export async function loadRelay(): Promise<Relay | undefined> {
  // Not a literal in the call, for which the compiler would look, too.
  const name = "@nicknisi/pi-relay/core";
  try {
    return (await import(name)) as Relay;
  } catch {
    return undefined;
  }
}
