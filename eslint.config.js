import js from "@eslint/js";
import { defineConfig } from "eslint/config";
import tseslint from "typescript-eslint";

// Imports point one way: index → surface → mailbox → turn, sessions → mail.
// Each pattern matches the path as an import writes it.
const index = { regex: "/index(\\.ts)?$", message: "src/index.ts is the top: nothing imports it." };
const surface = { regex: "/surface/", message: "src/surface is above this module." };
const mailbox = { regex: "/mailbox/", message: "src/mailbox is above this module." };
const turn = { regex: "/turn/", message: "src/turn is not below this module." };
const sessions = { regex: "/sessions/", message: "src/sessions is not below this module." };
const config = { regex: "/config(\\.ts)?$", message: "Take the setting as a parameter." };
const pi = { regex: "^@earendil-works/", message: "This module knows nothing of Pi." };
const outside = {
  regex: "^(?!\\.)(?!(?:node:)?(?:buffer|path|util)$|@earendil-works/|typebox(?:/|$))",
  message: "src/turn decides on plain data: let the caller touch the outside.",
};
const disk = {
  regex: "/mail/(?!envelope\\.ts$)",
  message: "Of src/mail, src/turn knows the envelope and nothing that touches the disk.",
};

/**
 * @param {string[]} files
 * @param {{ regex: string, message: string }[]} patterns
 * @returns {import("eslint").Linter.Config}
 */
const mayNotImport = (files, ...patterns) => ({
  files,
  rules: { "@typescript-eslint/no-restricted-imports": ["error", { patterns }] },
});

export default defineConfig(
  { linterOptions: { reportUnusedDisableDirectives: "error" } },
  js.configs.recommended,
  tseslint.configs.strictTypeChecked,
  tseslint.configs.stylisticTypeChecked,
  {
    languageOptions: {
      parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname },
    },
    rules: {
      eqeqeq: "error",
      "@typescript-eslint/switch-exhaustiveness-check": "error",
      // Type imports are erased, so they cannot pull a layer in at run time.
      "@typescript-eslint/consistent-type-imports": "error",
      // Numbers read well in templates; every other type should say how it is shown.
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      // `() => stop()` as a handler is clear; a void value anywhere else is a mistake.
      "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }],
      // Pi's tools, commands and handlers are async whether or not they wait for something.
      "@typescript-eslint/require-await": "off",
      // A leading underscore marks a parameter that only holds a place.
      "@typescript-eslint/no-unused-vars": ["error", { argsIgnorePattern: "^_" }],
    },
  },
  {
    files: ["src/**"],
    // Standard output is Pi's: its screen, the answer of `pi -p`, its RPC stream. A command that
    // finds no interface to speak through has standard error.
    rules: { "no-console": ["error", { allow: ["error"] }] },
  },
  {
    files: ["test/**"],
    rules: {
      // In a test, an element that is not there fails the test, as it should.
      "@typescript-eslint/no-non-null-assertion": "off",
    },
  },

  mayNotImport(["src/surface/**"], index),
  mayNotImport(["src/mailbox/**"], index, surface),
  mayNotImport(["src/sessions/**"], index, surface, mailbox, turn),
  mayNotImport(["src/config.ts"], index, surface, mailbox, turn, sessions),
  mayNotImport(["src/mail/**"], index, surface, mailbox, turn, sessions, config, pi),
  mayNotImport(["src/turn/**"], index, surface, mailbox, sessions, disk, outside, pi),
);
