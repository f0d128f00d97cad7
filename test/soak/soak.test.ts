/** The short soak: few sessions and mails, and chaos all the same. `npm run soak` is the long one. */
import { expect, test } from "vitest";
import { soak } from "./soak.ts";

const options = { seed: 9, sessions: 4, mails: 80 };
const again = `node test/soak/run.ts --seed ${options.seed} --sessions ${options.sessions} --mails ${options.mails}`;

test("S5.5 S6 sent = read = answered, none twice, whatever happens to the sessions", async () => {
  console.log(`soak with seed ${options.seed}; the same again: ${again}`);
  const { complaints, table } = await soak(options);
  expect(complaints, `${again}\n${complaints.join("\n")}`).toEqual([]);
  for (const kind of ["request", "ask", "message", "reply"])
    expect(table[kind]?.["read"], `read of kind ${kind}, ${again}`).toBeGreaterThan(0);
}, 150_000);
