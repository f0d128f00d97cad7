/** Files outside the mail root, to which links lead: none may be shown, read or changed. */
import {
  constants,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { mail } from "../fixtures/mail.ts";

/** Stands in every file that a link leads to. */
export const SENTINEL = "SENTINEL-7f3a9c";

/** The files, below the folder. */
export const CANARIES = {
  /** A mail, which would be delivered if the link to it were followed. */
  mail: "secret.json",
  /** A text that is hard-linked. */
  text: "secret.txt",
  /** In a folder that is linked. */
  inFolder: "folder/000000000000000-secret.json",
} as const;

/** Makes the folder and the files in it. */
export function makeOutside(folder: string): void {
  for (const canary of Object.values(CANARIES)) {
    const path = join(folder, canary);
    mkdirSync(dirname(path), { recursive: true });
    const secret = JSON.stringify(mail({ body: SENTINEL }));
    writeFileSync(path, canary === CANARIES.text ? SENTINEL : secret, { mode: 0o640 });
    // Read longer ago than written: whoever reads it now leaves a trace, unless the file system
    // keeps no such times.
    utimesSync(path, 1_000_000_000, 1_100_000_000);
  }
}

/** All that can be seen of the files outside; what is hard-linked may be read. */
export function lookOutside(folder: string): object[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .sort()
    .map((path) => {
      const { mode, nlink, uid, size, mtimeMs, atimeMs } = lstatSync(join(folder, path));
      const isFile = (mode & constants.S_IFMT) === constants.S_IFREG;
      const content = isFile ? readUnseen(join(folder, path)) : "";
      return {
        path,
        mode,
        nlink,
        uid,
        size,
        mtimeMs,
        content,
        ...(isFile && nlink === 1 ? { atimeMs } : {}),
      };
    });
}

function readUnseen(path: string): string {
  // Only Linux can read without leaving a trace.
  const flag = constants.O_RDONLY | ((constants.O_NOATIME as number | undefined) ?? 0);
  return readFileSync(path, { encoding: "utf8", flag });
}
