/**
 * The layer table of ARCHITECTURE.md: the imports that each package may have. The lint rules read it. TypeScript itself
 * does not stop an import of another workspace package, so these rules are the only enforcement.
 */
export interface Layer {
  /** Workspace packages that the package may import in any way. */
  readonly packages: readonly string[];
  /** Workspace packages that may be imported only with `import()`, or for their types, so that start-up stays cheap. */
  readonly lazyPackages: readonly string[];
  /**
   * Third-party packages. Either the named ones, or `declared`: every package in the package's own package.json (knip
   * refuses undeclared imports).
   */
  readonly libraries: readonly string[] | "declared";
  /** `pure`: no I/O, no clock, no Node, no DOM. `deterministic`: pure, and the same bits in every JavaScript engine. */
  readonly purity: "shell" | "pure" | "deterministic";
}

function pure(purity: "pure" | "deterministic", packages: readonly string[], libraries: readonly string[] = []): Layer {
  return { packages, lazyPackages: [], libraries, purity };
}

function shell(
  packages: readonly string[],
  libraries: Layer["libraries"],
  lazyPackages: readonly string[] = [],
): Layer {
  return { packages, lazyPackages, libraries, purity: "shell" };
}

export const layers: Readonly<Record<string, Layer>> = {
  model: pure("deterministic", []),
  pipelines: pure("deterministic", ["model"]),
  engine: pure("deterministic", ["model", "pipelines"]),
  routing: pure("deterministic", []),
  explain: pure("deterministic", ["model", "engine"]),
  "engine-oracle": pure("deterministic", ["model", "engine", "explain"]),
  sim: pure("deterministic", ["model", "engine", "explain", "engine-oracle", "perf", "routing"]),
  perf: pure("pure", []),
  health: pure("pure", ["model"]),
  lineage: pure("pure", ["model"]),
  "model-files": pure("pure", []),
  metrics: pure("pure", [], ["pbf", "zod"]),
  autoscale: pure("pure", ["model", "perf", "protocol", "routing", "sim"]),
  usage: pure("pure", ["model", "engine"], ["zod"]),
  plan: pure("pure", ["model"], ["highs", "zod"]),
  spec: pure("pure", [], ["croner", "zod"]),
  protocol: pure("pure", ["spec"], ["zod"]),
  views: {
    ...pure("pure", ["model", "engine", "explain", "health", "lineage", "pipelines", "protocol"]),
    lazyPackages: ["sim"],
  },
  platform: shell([], []),
  stores: shell(["platform"], ["zod", "@aws-sdk/client-s3"]),
  journal: shell(["model", "engine", "platform"], []),
  executors: shell(["model", "engine", "perf", "platform", "stores"], ["zod", "@kubernetes/client-node"]),
  gateway: shell(["platform", "routing"], "declared"),
  server: shell(
    [
      "model",
      "engine",
      "explain",
      "sim",
      "autoscale",
      "perf",
      "plan",
      "usage",
      "health",
      "views",
      "protocol",
      "platform",
      "journal",
      "metrics",
      "stores",
      "executors",
    ],
    "declared",
  ),
  mcp: shell(["protocol"], "declared"),
  console: shell(["protocol", "views", "model", "engine", "explain", "sim", "autoscale", "perf", "usage"], "declared"),
  benchmark: shell([], []),
  cli: shell(["protocol", "views"], "declared", [
    "autoscale",
    "benchmark",
    "model",
    "engine",
    "explain",
    "sim",
    "spec",
    "perf",
    "plan",
    "health",
    "lineage",
    "model-files",
    "usage",
    "platform",
    "stores",
    "journal",
    "executors",
    "server",
    "gateway",
    "mcp",
  ]),
};

/**
 * The rooms of packages in import order: a file imports only its own room and rooms before it, types included. Files at the root
 * of `src` are the package's exports.
 */
export const rooms: Readonly<Record<string, readonly string[]>> = {
  model: ["base", "resources", "policy", "contract"],
  engine: [
    "state",
    "quota",
    "topology",
    "usage",
    "energy",
    "cluster",
    "apply",
    "batch",
    "ordering",
    "placement",
    "transitions",
    "preemption",
    "strategies",
    "lifecycle",
    "round",
    "engine",
  ],
  explain: ["accounts", "reasons", "changes", "dry-runs"],
  lineage: ["events", "graph", "history"],
  "model-files": ["base", "safetensors", "gguf", "onnx"],
  metrics: ["formats", "mapping", "sources"],
  stores: ["registry", "objects", "transfers", "cache", "testing"],
  usage: ["rows", "prices", "bill", "metered", "energy", "focus", "report", "tco", "feeds", "review"],
};

/**
 * Files of the engine that only some rooms may import, types included: the writable form of the state is for `apply/`, and for `state/`,
 * which restores and copies states.
 */
export const restrictedFiles: Readonly<Record<string, readonly string[]>> = {
  "engine/src/state/mutable-state.ts": ["state", "apply"],
  "engine/src/apply/writable.ts": ["apply"],
};

/** Subpath exports, each with the only packages whose sources may use it. Tests may use all of them. */
export const internalExports: Readonly<Record<string, readonly string[]>> = {
  "@headroom/engine/internals": ["explain", "engine-oracle"],
  "@headroom/engine/testing": [],
  "@headroom/executors/testing": [],
  "@headroom/journal/internals": ["journal"],
  "@headroom/stores/testing": [],
};

/**
 * Subpath exports that every package may import if it may import the whole package. They are parts that load faster.
 */
export const partialExports: readonly string[] = [
  "@headroom/executors/kubernetes-manifest",
  "@headroom/executors/slurm-fleet",
  "@headroom/executors/slurm-provisioner",
  "@headroom/executors/slurm-reading",
  "@headroom/perf/accelerator-types",
  "@headroom/spec/kubernetes",
  "@headroom/spec/slurm",
  "@headroom/views/text",
];

/** Packages that run in a browser. They must not use Node's modules. */
export const browserPackages: readonly string[] = ["console"];

/** Packages that the tests of every package may import: one checks decisions from the outside, the other says why work waits. */
export const testPackages: readonly string[] = ["engine-oracle", "explain"];

/** Packages that tests in a package may import in addition to those of the package. */
export const testLibraries: readonly string[] = ["vitest", "fast-check", "playwright-core", "axe-core"];

/**
 * Names that the pure packages must not use: clock, I/O, environment, locale, and names that would bypass this list.
 */
export const impureGlobals: readonly string[] = [
  "Date",
  "Intl",
  "Temporal",
  "performance",
  "process",
  "Buffer",
  "console",
  "navigator",
  "window",
  "document",
  "self",
  "global",
  "globalThis",
  "setTimeout",
  "setInterval",
  "setImmediate",
  "clearTimeout",
  "clearInterval",
  "queueMicrotask",
  "requestAnimationFrame",
  "fetch",
  "XMLHttpRequest",
  "WebSocket",
  "EventSource",
  "Worker",
  "MessageChannel",
  "BroadcastChannel",
  "localStorage",
  "sessionStorage",
  "indexedDB",
  "caches",
  "crypto",
  "require",
  "module",
  "__dirname",
  "__filename",
  "eval",
  "Function",
  "WeakRef",
  "FinalizationRegistry",
  "SharedArrayBuffer",
  "Atomics",
];

/**
 * The members of Math whose result IEEE 754 or ECMAScript fixes to the bit. All others (exp, log, pow, sin, cbrt, tanh,
 * hypot, …) are "implementation-approximated" in ECMA-262 §21.3.2 and differ between Node and Chromium.
 */
export const exactMath: readonly string[] = [
  "abs",
  "ceil",
  "clz32",
  "floor",
  "fround",
  "imul",
  "max",
  "min",
  "round",
  "sign",
  "sqrt",
  "trunc",
];

/** Methods whose answer depends on the locale data of the machine. */
export const localeMethods: readonly string[] = [
  "localeCompare",
  "toLocaleString",
  "toLocaleDateString",
  "toLocaleTimeString",
  "toLocaleLowerCase",
  "toLocaleUpperCase",
];
