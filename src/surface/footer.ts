import type { Counts } from "../mailbox/state.ts";

/** The footer text (S8.2): the counts that are not zero, or `undefined` when all are. */
export function footerText({ pending, read, awaiting }: Counts): string | undefined {
  const parts = [
    ...(pending > 0 ? [`${String(pending)} pending`] : []),
    ...(read > 0 ? [`${String(read)} read`] : []),
    ...(awaiting > 0 ? [`${String(awaiting)} awaiting`] : []),
  ];
  return parts.length > 0 ? `✉ ${parts.join(" · ")}` : undefined;
}
