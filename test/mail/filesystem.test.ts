import type * as Fs from "node:fs";
import { mkdirSync } from "node:fs";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { networkFileSystem, parseMount } from "../../src/mail/filesystem.ts";
import { useStateFolder } from "../fixtures/folder.ts";
import { BOB } from "../fixtures/mail.ts";
import { FakeHost, Life, useLives } from "../mailbox/fake.ts";

/** What the system says of its mounts; absent: the truth. */
const system = vi.hoisted(() => ({ mountinfo: undefined as string | undefined }));

vi.mock("node:fs", async (original) => {
  const fs = await original<typeof Fs>();
  return {
    ...fs,
    readFileSync: (...args: Parameters<typeof fs.readFileSync>) =>
      args[0] === "/proc/self/mountinfo" && system.mountinfo !== undefined
        ? system.mountinfo
        : fs.readFileSync(...args),
  };
});

const state = useStateFolder();
useLives();
beforeEach(() => {
  system.mountinfo = undefined;
  mkdirSync(state.root, { recursive: true });
});

const ROOT = "27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw";

/** A line of mountinfo, with or without optional fields. */
function mount(at: string, kind: string, optional = "shared:7 master:2 "): string {
  const escaped = at.replaceAll(" ", "\\040");
  return `50 27 0:44 / ${escaped} rw,relatime ${optional}- ${kind} server:/home rw,vers=4.2`;
}

function mounted(...lines: string[]): string | undefined {
  system.mountinfo = [ROOT, ...lines, ""].join("\n");
  return networkFileSystem(state.root);
}

// Elsewhere mounts are told otherwise, and in a form that only that system gives.
describe.runIf(process.platform === "linux")("S1.7 a root on a network file system", () => {
  test.each(["nfs", "nfs4", "cifs", "smb3", "9p", "fuse.sshfs", "ceph", "afs"])(
    "%s is told",
    (kind) => {
      expect(mounted(mount(state.home, kind))).toBe(kind);
      expect(mounted(mount(state.home, kind, ""))).toBe(kind);
    },
  );

  test.each(["ext4", "btrfs", "xfs", "tmpfs", "overlay", "fuse.gocryptfs", "notnfs", "nfsd"])(
    "%s is none",
    (kind) => {
      expect(mounted(mount(state.home, kind))).toBeUndefined();
    },
  );

  test("is judged by the innermost mount, and of two at one place by the later", () => {
    const [outer, inner] = [state.home, state.root];
    expect(mounted(mount(outer, "nfs4"), mount(inner, "ext4"))).toBeUndefined();
    expect(mounted(mount(inner, "nfs4"), mount(outer, "ext4"))).toBe("nfs4");
    expect(mounted(mount(outer, "ext4"), mount(outer, "cifs"))).toBe("cifs");
    expect(mounted(mount(outer, "cifs"), mount(outer, "ext4"))).toBeUndefined();
  });

  test("is not one beside which it lies, nor one whose name begins the same", () => {
    expect(mounted(mount(`${state.home}/other`, "nfs4"))).toBeUndefined();
    expect(mounted(mount(state.home.slice(0, -1), "nfs4"))).toBeUndefined();
  });

  test("a blank in its path is read as one", () => {
    const folder = `${state.home}/a share/mail`;
    mkdirSync(folder, { recursive: true });
    system.mountinfo = [ROOT, mount(`${state.home}/a share`, "nfs4")].join("\n");
    expect(networkFileSystem(folder)).toBe("nfs4");
  });

  test("where the system does not tell, none is", () => {
    expect(mounted("nonsense", "")).toBeUndefined();
    system.mountinfo = "";
    expect(networkFileSystem(state.root)).toBeUndefined();
    expect(networkFileSystem(state.at("not", "there"))).toBeUndefined();
  });

  test("this machine's own is told apart", () => {
    expect(networkFileSystem("/proc")).toBeUndefined();
  });

  test("gets one warning, and its mailbox is open", () => {
    system.mountinfo = [ROOT, mount(state.home, "nfs4")].join("\n");
    const life = Life.open(new FakeHost(BOB));
    life.clock.advance(60_000);
    expect(life.host.warnings).toEqual([
      expect.stringMatching(/^mailbox: .* is on a network file system \(nfs4\).*XDG_STATE_HOME/),
    ]);
    expect(life.mailbox.address).toBe(BOB);
  });

  test("one that is local gets none", () => {
    system.mountinfo = [ROOT, mount(state.home, "ext4")].join("\n");
    const life = Life.open(new FakeHost(BOB));
    life.clock.advance(60_000);
    expect(life.host.warnings).toEqual([]);
  });
});

test("S1.7 what `mount` lists on macOS", () => {
  const listing = [
    "/dev/disk3s1s1 on / (apfs, sealed, local, read-only, journaled)",
    "//me@server/share on /Volumes/my (old) share (smbfs, nodev, nosuid, mounted by me)",
    "server:/home on /net/home (nfs)",
    "",
  ].join("\n");
  expect(parseMount(listing)).toEqual([
    { at: "/", kind: "apfs" },
    { at: "/Volumes/my (old) share", kind: "smbfs" },
    { at: "/net/home", kind: "nfs" },
  ]);
});
