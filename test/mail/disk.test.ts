import {
  closeSync,
  ftruncateSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import {
  flushFolder,
  isThere,
  readRegularFile,
  removeQuietly,
  replaceFile,
  UnreadableFile,
  writeNewFile,
} from "../../src/mail/disk.ts";
import { errorCode, errorText, whenThere } from "../../src/mail/errors.ts";
import { namesIn, useStateFolder } from "../fixtures/folder.ts";
import { makeFifo, makeSocket } from "../fixtures/process.ts";

const state = useStateFolder();
let path = "";
beforeEach(() => {
  path = join(state.home, "file");
});

describe("S2.7 only regular files are read", () => {
  test("a regular file is", () => {
    writeFileSync(path, "grüße");
    expect(readRegularFile(path, 7)).toBe("grüße");
  });

  test("an empty one too", () => {
    writeFileSync(path, "");
    expect(readRegularFile(path, 0)).toBe("");
  });

  test("a FIFO is refused and not waited on", () => {
    makeFifo(path);
    expect(() => readRegularFile(path, 100)).toThrow(UnreadableFile);
  });

  test("a socket is refused", async () => {
    const server = await makeSocket(path);
    try {
      expect(() => readRegularFile(path, 100)).toThrow(UnreadableFile);
    } finally {
      server.close();
    }
  });

  test("a folder is refused", () => {
    mkdirSync(path);
    expect(() => readRegularFile(path, 100)).toThrow(UnreadableFile);
  });

  test("a device is refused", () => {
    expect(() => readRegularFile("/dev/zero", 100)).toThrow(UnreadableFile);
    expect(() => readRegularFile("/dev/null", 100)).toThrow(UnreadableFile);
  });

  test("a symbolic link is refused, wherever it leads", () => {
    const target = join(state.home, "target");
    writeFileSync(target, "secret");
    symlinkSync(target, path);
    expect(() => readRegularFile(path, 100)).toThrow(UnreadableFile);
    symlinkSync("/dev/zero", `${path}-device`);
    expect(() => readRegularFile(`${path}-device`, 100)).toThrow(UnreadableFile);
    symlinkSync(join(state.home, "nowhere"), `${path}-dangling`);
    expect(() => readRegularFile(`${path}-dangling`, 100)).toThrow(UnreadableFile);
  });

  test("one that is not there throws the system's error", () => {
    expect(() => readRegularFile(path, 100)).toThrow(expect.objectContaining({ code: "ENOENT" }));
  });
});

describe("S2.6 bounds of what is read", () => {
  test("a file of the size is read, one byte more is not", () => {
    writeFileSync(path, "x".repeat(2048));
    expect(readRegularFile(path, 2048)).toHaveLength(2048);
    expect(() => readRegularFile(path, 2047)).toThrow(UnreadableFile);
  });

  test("a large file is not read at all", () => {
    const file = openSync(path, "w");
    // More than a string of Node can hold, and no room on disk: reading it would throw otherwise.
    ftruncateSync(file, 64 * 1024 ** 3);
    closeSync(file);
    expect(() => readRegularFile(path, 8 * 1024 * 1024)).toThrow("larger than 8192 KiB");
  });

  test("bytes that are not UTF-8 are refused", () => {
    for (const bytes of [[0xff], [0xc3], [0xed, 0xa0, 0x80], [0x61, 0x80]]) {
      writeFileSync(path, Uint8Array.from(bytes));
      expect(() => readRegularFile(path, 100)).toThrow("not UTF-8");
    }
  });
});

describe("writing a new file", () => {
  test("S1.3 it is 0600 whatever the umask lets through", () => {
    const before = process.umask(0);
    try {
      writeNewFile(path, "text", true);
    } finally {
      process.umask(before);
    }
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(readFileSync(path, "utf8")).toBe("text");
  });

  test("one that is there is neither replaced nor removed", () => {
    writeFileSync(path, "first");
    expect(() => {
      writeNewFile(path, "second", true);
    }).toThrow(expect.objectContaining({ code: "EEXIST" }));
    expect(readFileSync(path, "utf8")).toBe("first");
  });

  test("a link is not written through", () => {
    symlinkSync(join(state.home, "target"), path);
    expect(() => {
      writeNewFile(path, "text", false);
    }).toThrow(expect.objectContaining({ code: "EEXIST" }));
    expect(namesIn(state.home)).toEqual(["file"]);
  });

  test("a write that fails leaves nothing", () => {
    const file = join(state.home, "full");
    // A text that cannot be encoded fails as a full disk does: after the file was made.
    const text = {
      toString: () => {
        throw new Error("no space left");
      },
    } as unknown as string;
    expect(() => {
      writeNewFile(file, text, true);
    }).toThrow();
    expect(namesIn(state.home)).toEqual([]);
  });
});

describe("S3.1 replacing a file", () => {
  test("leaves the new text and no temporary file", () => {
    writeFileSync(path, "old");
    replaceFile(path, "new", true);
    expect(readFileSync(path, "utf8")).toBe("new");
    expect(namesIn(state.home)).toEqual(["file"]);
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  test("makes it where there is none", () => {
    replaceFile(path, "new", false);
    expect(readFileSync(path, "utf8")).toBe("new");
  });

  test("replaces and never writes through: the old file, or a link, is another one afterwards", () => {
    const target = join(state.home, "target");
    writeFileSync(target, "untouched");
    symlinkSync(target, path);
    replaceFile(path, "new", true);
    expect(lstatSync(path).isFile()).toBe(true);
    expect(readFileSync(target, "utf8")).toBe("untouched");
  });

  test("leaves nothing when it fails: a folder in the place, or none to write into", () => {
    mkdirSync(path);
    expect(() => {
      replaceFile(path, "new", true);
    }).toThrow(expect.objectContaining({ code: "EISDIR" }));
    expect(namesIn(state.home)).toEqual(["file"]);
    expect(() => {
      replaceFile(join(state.home, "nowhere", "file"), "new", true);
    }).toThrow(expect.objectContaining({ code: "ENOENT" }));
  });
});

describe("small things", () => {
  test("flushing a folder that is not there throws", () => {
    flushFolder(state.home);
    expect(() => {
      flushFolder(path);
    }).toThrow(expect.objectContaining({ code: "ENOENT" }));
  });

  test("whenThere gives the fallback for what is not there, and throws what else goes wrong", () => {
    writeFileSync(path, "");
    expect(whenThere(() => readFileSync(path, "utf8"), "fallback")).toBe("");
    expect(whenThere(() => readFileSync(`${path}-none`, "utf8"), "fallback")).toBe("fallback");
    expect(whenThere(() => readFileSync(join(path, "below"), "utf8"), "fallback")).toBe("fallback");
    expect(() => whenThere(() => readFileSync(state.home, "utf8"), "fallback")).toThrow("EISDIR");
  });

  test("isThere sees links as such", () => {
    symlinkSync(join(state.home, "nowhere"), path);
    expect(isThere(path)).toBe(true);
    expect(isThere(`${path}-none`)).toBe(false);
  });

  test("isThere says no of a path that leads through a file", () => {
    writeFileSync(path, "");
    expect(isThere(join(path, "below"))).toBe(false);
  });

  test("removeQuietly removes a file and never throws", () => {
    writeFileSync(path, "");
    removeQuietly(path);
    removeQuietly(path);
    removeQuietly(state.home);
    expect(namesIn(state.home)).toEqual([]);
  });

  test("errors in words", () => {
    expect(errorCode(Object.assign(new Error("full"), { code: "ENOSPC" }))).toBe("ENOSPC");
    expect(errorCode(new Error("plain"))).toBeUndefined();
    expect(errorCode(Object.assign(new Error("odd"), { code: 5 }))).toBeUndefined();
    expect(errorCode({ code: "ENOENT" })).toBeUndefined();
    expect(errorText(new Error("full"))).toBe("full");
    expect(errorText("just this")).toBe("just this");
    const full = Object.assign(new Error("ENOSPC: no space left"), { code: "ENOSPC" });
    expect(errorText(full)).toBe("ENOSPC: no space left; make room on the disk");
  });
});
