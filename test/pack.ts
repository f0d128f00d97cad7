// Checks what `npm pack` would publish. Run it with `npm run check:pack`.

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { join, posix } from "node:path";
import ts from "typescript";

const root = join(import.meta.dirname, "..");
const read = (file: string): string => readFileSync(join(root, file), "utf8");

interface Manifest {
  readonly dependencies?: Record<string, string>;
  readonly bundleDependencies?: unknown;
  readonly bundledDependencies?: unknown;
  readonly optionalDependencies?: Record<string, string>;
  readonly peerDependencies?: Record<string, string>;
  readonly pi?: { readonly extensions?: readonly string[] };
}

interface Packed {
  readonly files: readonly { readonly path: string }[];
}

/** npm has printed a list of packages, and an object of them by name. */
function packedFiles(): string[] {
  const output = execFileSync("npm", ["pack", "--dry-run", "--json"], {
    cwd: root,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  });
  const packages = Object.values(JSON.parse(output) as Packed[] | Record<string, Packed>);
  const [only] = packages;
  if (only === undefined || packages.length > 1) {
    throw new Error(`npm pack listed ${packages.length} packages instead of one.`);
  }
  return only.files.map((file) => file.path).sort();
}

/** Checks one promise: prints it, or each problem as a sentence that says what to do. */
function check(promise: string, problems: readonly string[]): void {
  if (problems.length === 0) {
    console.log(`ok    ${promise}`);
    return;
  }
  process.exitCode = 1;
  for (const problem of problems) console.log(`FAIL  ${promise}: ${problem}`);
}

const manifest = JSON.parse(read("package.json")) as Manifest;
const peers = manifest.peerDependencies ?? {};
const files = packedFiles();
const sources = files.filter((file) => /^src\/.+\.ts$/.test(file) && !file.endsWith(".test.ts"));

const documents = ["package.json", "README.md", "LICENSE", "CHANGELOG.md"];
/** What the README shows. */
const pictures = [...read("README.md").matchAll(/\]\((pictures\/[^)]+)\)/g)].map(
  ([, file]) => file!,
);
const wanted = [...documents, ...pictures];
check(
  `the package holds src/**/*.ts, ${wanted.join(", ")} and nothing else (${files.length} files)`,
  files
    .filter((file) => !sources.includes(file) && !wanted.includes(file))
    .map((file) => `${file} would be published; move it out of src, or mend "files".`),
);

const entries = (manifest.pi?.extensions ?? []).map((entry) => posix.normalize(entry));
check(`the package has all of these and src/index.ts, which Pi loads`, [
  ...[...wanted, "src/index.ts", ...entries]
    .filter((file, at, all) => !files.includes(file) && all.indexOf(file) === at)
    .map((file) => `${file} is missing from the package; add it, or mend "files".`),
  ...(entries.includes("src/index.ts")
    ? []
    : ['name "./src/index.ts" in "pi.extensions" of package.json.']),
]);

check("nothing is installed beside it at run time", [
  ...Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies }).map(
    (name) => `${name} is a dependency; do without it, or use what Pi provides as a peer.`,
  ),
  ...(manifest.bundleDependencies === undefined && manifest.bundledDependencies === undefined
    ? []
    : ["remove bundleDependencies from package.json."]),
]);

check(
  `every peer is "*", so that Pi's own copy serves (${Object.keys(peers).join(", ")})`,
  Object.entries(peers)
    .filter(([, range]) => range !== "*")
    .map(([name, range]) => `${name} is "${range}"; make it "*".`),
);

const packageOf = (specifier: string): string =>
  specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/");

/** What is wrong with one import of a published file, if anything. */
function importProblem(file: string, specifier: string): string | undefined {
  if (specifier.startsWith(".")) {
    const target = posix.join(posix.dirname(file), specifier);
    if (files.includes(target)) return undefined;
    return `${file} imports ${specifier}, which is not published; keep what src needs in src.`;
  }
  if (isBuiltin(specifier)) {
    if (specifier.startsWith("node:")) return undefined;
    return `${file} imports ${specifier}; write node:${specifier}.`;
  }
  if (Object.hasOwn(peers, packageOf(specifier))) return undefined;
  return `${file} imports ${specifier}, which is no peer; do without it, or add the peer.`;
}

const imports = sources.flatMap((file) =>
  ts.preProcessFile(read(file)).importedFiles.map(({ fileName }) => ({ file, fileName })),
);
check(
  `every import in src is a published file, a peer or a node: builtin (${imports.length} imports)`,
  imports.flatMap(({ file, fileName }) => importProblem(file, fileName) ?? []),
);

const lock = JSON.parse(read("package-lock.json")) as {
  packages: Record<string, { resolved?: string }>;
};
check(
  "package-lock.json names no registry",
  Object.entries(lock.packages)
    .filter(([, entry]) => /^(?:git\+)?https?:/.test(entry.resolved ?? ""))
    .map(
      ([path]) => `${path} has a "resolved" URL; run npm install again with this folder's .npmrc.`,
    ),
);

if (process.exitCode === 1) console.log("\nThe package is not fit to publish: see FAIL above.");
