import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    // A test may start several real Pi processes. Each file gets a process of its
    // own, and few run at once, so that their timing holds on a small machine.
    pool: "forks",
    maxWorkers: Math.min(4, availableParallelism()),
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // A test that forgets to choose a state directory must fail, not write into
    // the user's mailboxes: no folder can be made below a device.
    env: { XDG_STATE_HOME: "/dev/null/choose-a-state-directory-in-the-test" },
  },
});
