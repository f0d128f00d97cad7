import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Cancel } from "../../src/clock.ts";
import type * as Disk from "../../src/mail/disk.ts";
import { watchFolder } from "../../src/mail/watcher.ts";
import { useStateFolder } from "../fixtures/folder.ts";
import { eventually } from "../host/eventually.ts";
import { FakeClock } from "../mailbox/fake.ts";

/** Whether the system refuses to say what is in a folder. */
let refuses = false;

vi.mock("../../src/mail/disk.ts", async (original) => {
  const disk = await original<typeof Disk>();
  return {
    ...disk,
    isThere: (path: string) => {
      if (refuses) throw Object.assign(new Error("EACCES: permission denied"), { code: "EACCES" });
      return disk.isThere(path);
    },
  };
});

const state = useStateFolder();
const tellsWatches = process.platform === "linux";
const cancels: Cancel[] = [];
let clock: FakeClock;
let folder = "";
/** How often the folder was looked at, and what the next look finds. */
let looks = 0;
let finds = false;
/** Whether the system's watchers can be relied on there. */
let reliable = true;

beforeEach(() => {
  clock = new FakeClock();
  folder = join(state.home, "new");
  mkdirSync(folder);
  looks = 0;
  finds = false;
  reliable = true;
  refuses = false;
});
afterEach(() => {
  for (const cancel of cancels.splice(0)) cancel();
});

function watch(look: () => boolean = () => finds): Cancel {
  const { cancel } = watchFolder(folder, {
    clock,
    isReliable: () => reliable,
    look: () => {
      looks += 1;
      return look();
    },
  });
  cancels.push(cancel);
  return cancel;
}

/** Makes a change in the folder, and waits until the watcher has told of it. */
async function change(name: string): Promise<void> {
  const before = looks;
  writeFileSync(join(state.home, name), "");
  renameSync(join(state.home, name), join(folder, name));
  await eventually(() => looks > before, "the watcher to tell");
  // A rename may be told of more than once.
  await delay(20);
}

/** How many folders and files this process watches, as the system says; Linux alone tells. */
function watches(): number {
  let count = 0;
  for (const file of readdirSync("/proc/self/fdinfo")) {
    // One that was closed meanwhile tells nothing.
    if (!existsSync(`/proc/self/fdinfo/${file}`)) continue;
    count += readFileSync(`/proc/self/fdinfo/${file}`, "utf8").split("inotify wd:").length - 1;
  }
  return count;
}

/** How many looks the poll takes in so many ms. */
function polls(milliseconds: number): number {
  const before = looks;
  clock.advance(milliseconds);
  return looks - before;
}

describe("S5.1 the watcher", () => {
  test("looks when something comes into the folder, long before the poll", async () => {
    watch();
    await change("a.json");
    expect(looks).toBeGreaterThan(0);
  });

  test("does nothing at first: what waits is the opener's to claim", () => {
    watch();
    expect(looks).toBe(0);
  });

  test("does not look when what came has been moved on, as by a claim", async () => {
    watch();
    writeFileSync(join(folder, "a.json"), "");
    rmSync(join(folder, "a.json"));
    await delay(50);
    expect(looks).toBe(0);
    await change("b.json");
    expect(looks).toBeGreaterThan(0);
  });

  test("looks, and throws nothing, when the system does not say whether that is there", async () => {
    watch();
    refuses = true;
    await change("a.json");
    expect(looks).toBeGreaterThan(0);
  });

  test("says nothing any more once it is cancelled", async () => {
    const cancel = watch();
    await change("a.json");
    cancel();
    const before = looks;
    writeFileSync(join(folder, "b.json"), "");
    await delay(50);
    expect(polls(60_000)).toBe(0);
    expect(looks).toBe(before);
    expect(clock.pending).toBe(0);
    cancel();
  });
});

describe("S1.5 what is left of it", () => {
  test.skipIf(!tellsWatches)("once it is cancelled, the system watches nothing any more", () => {
    const before = watches();
    const cancel = watch();
    expect(watches()).toBe(before + 1);
    cancel();
    expect(watches()).toBe(before);
  });

  test.skipIf(!tellsWatches)(
    "the system watches the folder once, however often it is looked at",
    () => {
      const before = watches();
      watch();
      finds = true;
      clock.advance(60_000);
      expect(watches()).toBe(before + 1);
    },
  );
});

describe("S5.1 the poll", () => {
  test("looks every second until the watcher has proved itself", () => {
    watch();
    expect(polls(999)).toBe(0);
    expect(polls(1)).toBe(1);
    expect(polls(10_000)).toBe(10);
  });

  test("becomes rarer when the watcher tells of the file that is made to try it", async () => {
    watch();
    clock.advance(500);
    await eventually(() => clock.waits[0] === 5000, "the poll to become rarer");
    expect(looks).toBe(0);
    expect(readdirSync(folder)).toEqual([]);
  });

  test("stays frequent where watchers cannot be relied on, whatever the watcher tells", async () => {
    reliable = false;
    watch();
    clock.advance(500);
    finds = true;
    await change("a.json");
    expect(clock.waits).toEqual([1000]);
    expect(readdirSync(folder)).toEqual(["a.json"]);
  });

  test("that found what the watcher has missed stays frequent until that tells of mail", async () => {
    watch();
    clock.advance(500);
    await eventually(() => clock.waits[0] === 5000, "the poll to become rarer");
    finds = true;
    clock.advance(5000);
    finds = false;
    clock.advance(1000);
    await change("a.json");
    expect(clock.waits).toEqual([1000]);
    finds = true;
    await change("b.json");
    expect(clock.waits).toEqual([5000]);
  });

  test("becomes rarer when the watcher finds mail", async () => {
    watch();
    finds = true;
    await change("a.json");
    finds = false;
    expect(polls(4999)).toBe(0);
    expect(polls(1)).toBe(1);
    expect(polls(20_000)).toBe(4);
  });

  test("does not become rarer when the watcher tells of changes and finds no mail", async () => {
    watch();
    await change("a.json");
    expect(polls(5000)).toBe(5);
  });

  test("becomes frequent again when it finds what the watcher has missed", async () => {
    watch();
    finds = true;
    await change("a.json");
    expect(polls(5000)).toBe(1);
    finds = false;
    expect(polls(5000)).toBe(5);
  });

  test("there is one poll, however often the watcher tells", async () => {
    watch();
    clock.advance(500);
    finds = true;
    for (const name of ["a.json", "b.json", "c.json"]) await change(name);
    expect(clock.pending).toBe(1);
    clock.advance(5000);
    expect(clock.pending).toBe(1);
  });

  test("goes on after a look that throws", () => {
    let fails = true;
    watch(() => {
      if (!fails) return false;
      throw new Error("the disk is gone");
    });
    expect(() => {
      clock.advance(1000);
    }).toThrow("the disk is gone");
    fails = false;
    expect(polls(3000)).toBe(3);
  });
});

describe("S5.1 a folder that is not there", () => {
  test("is polled, and watched once it is made", async () => {
    rmSync(folder, { recursive: true });
    watch();
    expect(polls(3000)).toBe(3);
    mkdirSync(folder);
    expect(polls(1000)).toBe(1);
    await change("a.json");
  });

  test("and is made again while watched: mail is found, and the watcher is good again", async () => {
    watch();
    finds = true;
    await change("a.json");
    rmSync(folder, { recursive: true });
    mkdirSync(folder);
    await delay(50);
    // The system's watcher hangs on the folder that is gone; the poll, frequent again, finds the mail.
    writeFileSync(join(folder, "b.json"), "");
    expect(polls(5000)).toBe(5);
    finds = false;
    await change("c.json");
  });
});

describe("a look that ends it all", () => {
  test("in the poll: no timer is left", () => {
    const cancel = watch(() => {
      cancel();
      return true;
    });
    clock.advance(1000);
    expect(clock.pending).toBe(0);
    expect(polls(60_000)).toBe(0);
  });

  test("in the rare poll: no timer is left", async () => {
    let ends = false;
    const cancel = watch(() => {
      if (ends) cancel();
      return true;
    });
    await change("a.json");
    ends = true;
    clock.advance(5000);
    expect(clock.pending).toBe(0);
    expect(polls(60_000)).toBe(0);
  });

  test.skipIf(!tellsWatches)("in the poll: no watcher is left", () => {
    const before = watches();
    const cancel = watch(() => {
      cancel();
      return true;
    });
    clock.advance(1000);
    expect(watches()).toBe(before);
  });

  test("in the poll: the watcher says nothing more", async () => {
    const cancel = watch(() => {
      cancel();
      return true;
    });
    clock.advance(1000);
    writeFileSync(join(folder, "a.json"), "");
    await delay(50);
    expect(looks).toBe(1);
  });

  test("in the watcher: no timer is left", async () => {
    const cancel = watch(() => {
      cancel();
      return true;
    });
    await change("a.json");
    expect(clock.pending).toBe(0);
    expect(polls(60_000)).toBe(0);
  });
});
