/** An extension that does nothing: what any costs at a start. */
export default function nothing(): void {
  // Loading it is all.
}
