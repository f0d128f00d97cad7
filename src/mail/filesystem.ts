import { execFileSync } from "node:child_process";
import { readFileSync, realpathSync } from "node:fs";
import { isAbsolute, relative } from "node:path";

/** Kinds of file systems whose files other machines may move, or that are a host's folders in a guest. */
const NETWORK =
  /^(nfs\d?|cifs|smb\w*|afpfs|webdav|davfs\d?|9p|virtiofs|drvfs|afs|coda|ceph|lustre|glusterfs|beegfs|gpfs|vboxsf|prl_fs|fuse\.(sshfs|glusterfs|s3fs|rclone|davfs\d?|curlftpfs|gcsfuse|vmhgfs-fuse|grpcfuse))$/;

/** A file system and the folder that it is seen at. */
export interface Mount {
  readonly at: string;
  readonly kind: string;
}

/** The kind of the file system that holds a folder, where the platform tells. Never throws. */
export function fileSystemOf(folder: string): string | undefined {
  try {
    return process.platform === "win32"
      ? undefined
      : kindAt(realpathSync.native(folder), readMounts());
  } catch {
    return undefined;
  }
}

/**
 * The kind of the network file system that holds a folder (S1.7); `undefined` when it is a local
 * one or the platform does not tell. Never throws.
 */
export function networkFileSystem(folder: string): string | undefined {
  try {
    // The native one resolves the letter of a network drive on Windows.
    const path = realpathSync.native(folder);
    if (process.platform === "win32") return path.startsWith("\\\\") ? "network share" : undefined;
    const kind = kindAt(path, readMounts());
    return kind !== undefined && NETWORK.test(kind) ? kind : undefined;
  } catch {
    return undefined;
  }
}

/** The kind of the file system that a path leads into: of the innermost mount, mounted last. */
function kindAt(path: string, mounts: readonly Mount[]): string | undefined {
  let innermost: Mount | undefined;
  for (const mount of mounts) {
    const below = relative(mount.at, path);
    const holds = !isAbsolute(below) && below !== ".." && !below.startsWith("../");
    if (holds && mount.at.length >= (innermost?.at.length ?? 0)) innermost = mount;
  }
  return innermost?.kind;
}

function readMounts(): Mount[] {
  if (process.platform === "linux") {
    return readFileSync("/proc/self/mountinfo", "utf8").split("\n").flatMap(fromMountinfo);
  }
  if (process.platform === "darwin") {
    return parseMount(execFileSync("/sbin/mount", { encoding: "utf8", timeout: MOUNT_TIMEOUT }));
  }
  return [];
}

/** How long `mount` may take, in ms. */
const MOUNT_TIMEOUT = 2000;

/** `36 35 98:0 / /mnt rw,noatime shared:1 - ext4 /dev/sda1 rw`; blanks in the path are octal. */
function fromMountinfo(line: string): Mount[] {
  const [, at, kind] = /^(?:\S+ ){4}(\S+) .*? - (\S+) /.exec(line) ?? [];
  if (at === undefined || kind === undefined) return [];
  const unescaped = at.replace(/\\([0-7]{3})/g, (_all, code: string) =>
    String.fromCharCode(Number.parseInt(code, 8)),
  );
  return [{ at: unescaped, kind }];
}

/** The lines of `mount`: `//me@server/share on /Volumes/share (smbfs, nodev, nosuid)`. */
export function parseMount(listing: string): Mount[] {
  return listing.split("\n").flatMap((line) => {
    const [, at, kind] = /^.* on (\/.*) \(([^,)]+)/.exec(line) ?? [];
    return at === undefined || kind === undefined ? [] : [{ at, kind }];
  });
}
