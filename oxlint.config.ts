import { defineConfig } from "oxlint";
import { impureGlobals, layers } from "./tools/lint/layers.ts";

/** Sources by purity. A later override replaces the options of a rule, so each rule is set by one override only. */
const names = Object.keys(layers);
const sourcesOf = (chosen: readonly string[]): string[] => chosen.map((name) => `packages/${name}/src/**/*.{ts,tsx}`);
const pureSources = sourcesOf(names.filter((name) => layers[name]?.purity !== "shell"));
const deterministicSources = sourcesOf(names.filter((name) => layers[name]?.purity === "deterministic"));
const tests = ["**/*.{test,bench}.{ts,tsx}", "**/testing/**", "packages/*/{test,bench}/**"];

export default defineConfig({
  plugins: ["eslint", "typescript", "unicorn", "oxc", "import", "promise", "react", "jsx-a11y", "vitest"],
  jsPlugins: ["./tools/lint/plugin.ts"],
  categories: { correctness: "error" },
  ignorePatterns: ["**/dist/**", ".build/**"],
  rules: {
    "house/layers": "error",

    eqeqeq: ["error", "always", { null: "ignore" }],
    "no-var": "error",
    "prefer-const": "error",
    "max-params": ["error", { max: 5 }],
    "max-depth": ["error", { max: 4 }],
    "max-lines-per-function": ["error", { max: 70, skipBlankLines: true, skipComments: true }],
    "import/no-default-export": "error",
    "import/no-cycle": ["error", { ignoreTypes: true }],

    "typescript/no-explicit-any": "error",
    "typescript/no-floating-promises": "error",
    "typescript/no-misused-promises": ["error", { checksVoidReturn: { attributes: false } }],
    "typescript/only-throw-error": "error",
    "typescript/prefer-promise-reject-errors": ["error", { allowThrowingAny: true, allowThrowingUnknown: true }],
    "typescript/switch-exhaustiveness-check": [
      "error",
      { considerDefaultExhaustiveForUnions: true, allowDefaultCaseForExhaustiveSwitch: true },
    ],
    "typescript/no-unnecessary-type-assertion": "error",
    "typescript/require-array-sort-compare": ["error", { ignoreStringArrays: true }],
    "typescript/restrict-template-expressions": ["error", { allowNumber: true, allowBoolean: true }],

    // Objects made of closures have no `this` to lose, and interfaces cannot say which kind they are.
    "typescript/unbound-method": "off",

    // Lists that are virtual, and the combobox of the ARIA Authoring Practices, need roles on plain elements.
    "jsx-a11y/prefer-tag-over-role": "off",
    "jsx-a11y/no-noninteractive-element-to-interactive-role": "off",
    "jsx-a11y/no-interactive-element-to-noninteractive-role": "off",
    // A scrollable region must be reachable by keyboard (axe: scrollable-region-focusable).
    "jsx-a11y/no-noninteractive-tabindex": "off",
    // For the React compiler, which is not used here.
    "react/incompatible-library": "off",
    "react/use-memo": "off",
    "react/set-state-in-effect": "off",
    // TypeScript reports the same, and knows that `??=` reads.
    "no-unused-private-class-members": "off",
    "unicorn/no-new-array": "off",

    "vitest/no-focused-tests": "error",
    "vitest/valid-expect": ["error", { maxArgs: 2 }],
    "vitest/valid-title": ["error", { ignoreTypeOfTestName: true }],
    // A function that several tests share may well assert.
    "vitest/no-standalone-expect": "off",
    "vitest/no-conditional-expect": "off",
    "vitest/expect-expect": [
      "error",
      { assertFunctionNames: ["expect*", "assert*", "fc.assert", "check*", "verify*"] },
    ],
  },
  overrides: [
    {
      files: pureSources,
      excludeFiles: tests,
      rules: { "house/exactness": "error", "no-restricted-globals": ["error", ...impureGlobals] },
    },
    { files: deterministicSources, excludeFiles: tests, rules: { "house/determinism": "error" } },
    { files: tests, rules: { "max-lines-per-function": "off", "max-params": "off" } },
    // Numeric kernels take shapes and strides.
    {
      files: ["examples/quickstart/{elementwise,kernel,model}.mjs", "examples/serving/builtin-engine.mjs"],
      rules: { "max-params": "off" },
    },
    // JavaScript has no type information, so the rule would report every callback as code in a string.
    { files: ["**/*.mjs"], rules: { "typescript/no-implied-eval": "off" } },
    {
      files: ["**/*.config.ts", "tools/lint/plugin.ts"],
      rules: { "import/no-default-export": "off" },
    },
  ],
});
