import { spawnSync } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import config from "../oxlint.config.ts";
import { layers } from "./lint/layers.ts";
import { planted, permitted } from "./testing/planted.ts";
import { copyRepository, repositoryFiles, repositoryRoot } from "./testing/repository-copy.ts";

interface LintReport {
  readonly diagnostics: readonly { readonly filename: string; readonly code: string }[];
}

function lint(root: string): LintReport {
  const oxlint = path.join(root, "node_modules/oxlint/bin/oxlint");
  const args = [oxlint, "--type-aware", "--format=json"];
  const { stdout } = spawnSync(process.execPath, args, { cwd: root, encoding: "utf8", maxBuffer: 64 << 20 });
  return JSON.parse(stdout);
}

describe("the walls between the packages and the rules of the house", () => {
  using copy = copyRepository();
  for (const { file, code } of [...planted, ...permitted]) copy.plant(file, code);
  const report = lint(copy.root);
  const codesOf = (file: string) => report.diagnostics.filter((each) => each.filename === file).map(({ code }) => code);

  it.each(planted)("refuse in $file: $code", ({ file, rule }) => {
    expect(codesOf(file)).toContain(rule);
  });

  it.each(permitted)("permit in $file: $code", ({ file }) => {
    expect(codesOf(file)).toEqual([]);
  });
});

/** The table of operations, with an added row that declares no permission. */
function operationsWithoutPermission(): string {
  const file = path.join(repositoryRoot, "packages/protocol/src/operations.ts");
  const row = '  planted: operation("GET /v1/planted", "A planted operation", status, {}),\n';
  return readFileSync(file, "utf8").replace("export const operations = {\n", (head) => head + row);
}

describe("npm run check", () => {
  const plants = [
    ["types", "packages/engine/src/planted-type.ts", 'export const count: number = "one";\n'],
    ["types", "packages/engine/src/planted-node.ts", "export const cwd: string = process.cwd();\n"],
    ["types", "packages/protocol/src/operations.ts", operationsWithoutPermission()],
    [
      "types",
      "packages/engine/src/round/planted-write.ts",
      'import type { World } from "../cluster/world.ts";\nexport const write = ({ state }: World): void => void state.attempts.clear();\n',
    ],
    [
      "types",
      "packages/engine/src/round/planted-scalar.ts",
      'import type { World } from "../cluster/world.ts";\nexport function write({ state }: World): void {\n  state.sequence = 1;\n}\n',
    ],
    ["lint and layers", "packages/engine/src/planted-layer.ts", 'export * as views from "@headroom/views";\n'],
    ["format", "packages/engine/src/planted-format.ts", "export const  a = { b:1 };\n"],
    ["vocabulary", "packages/engine/src/planted-word.ts", "export const lastBeneficiary = 1;\n"],
    ["vocabulary", "packages/engine/src/planted-knob.ts", "export const movesMax = 1;\n"],
    ["vocabulary", "packages/engine/src/planted-reason.ts", 'export const reason = "moved";\n'],
    ["vocabulary", "packages/engine/src/planted-event.ts", 'export const kind = "placePromised";\n'],
    ["vocabulary", "packages/engine/src/planted-twice.ts", "export interface Nomination {\n  readonly a: 1;\n}\n"],
    ["vocabulary", "tools/planted-comment.ts", "// What the test plants is a phrase.\nexport {};\n"],
    ["vocabulary", "tools/planted-message.ts", 'export const text = "the policy is in force now";\n'],
    ["vocabulary", "docs/planted.md", "# Planted\n\nWork is asked to leave here.\n"],
    ["stray files", "isolate-0x28486000-26703-v8.log", "v8-version,1\n"],
    ["stray files", "packages/sim/CPU.1.cpuprofile", "{}\n"],
    ["stray files", "packages/sim/Heap.1.heapsnapshot", "{}\n"],
    ["reference", "docs/reference/team.md", "# Stale\n"],
    ["reference", "docs/reference/commands.md", "# Stale\n"],
    ["reference", "docs/reference/api.md", "# Stale\n"],
    ["dead code", "packages/engine/src/planted-dead.ts", "export const nobodyReadsThis = 1;\n"],
    ["dead code", "packages/views/src/planted-undeclared.ts", 'import "fastify";\n'],
  ] as const;
  using copy = copyRepository();
  for (const [, file, content] of plants) copy.plant(file, content);
  const { stdout, status } = spawnSync(process.execPath, [path.join(copy.root, "tools/check.ts")], {
    encoding: "utf8",
  });

  it.each(plants)("fails in its part '%s' on %s", (part, file) => {
    const section = stdout.split(/^--- /m).find((each) => each.startsWith(`${part}\n`));
    expect(section).toContain(file);
    expect(stdout).toMatch(new RegExp(`^FAILED ${part} `, "m"));
    expect(status).toBe(1);
  });
});

describe("the configuration", () => {
  const files = repositoryFiles();

  it.each((config.overrides ?? []).flatMap((override) => [...override.files]))("has files for the glob %s", (glob) => {
    expect(globSync(glob, { cwd: repositoryRoot, exclude: ["**/node_modules"] })).not.toEqual([]);
  });

  it("has a row in the layer table for every package, and no other", () => {
    const packages = files.flatMap((file) => /^packages\/([^/]+)\/package\.json$/.exec(file)?.[1] ?? []);
    expect(Object.keys(layers).toSorted()).toEqual(packages.toSorted());
  });

  it("has only known packages in the layer table, without a cycle", () => {
    const done = new Set<string>();
    const waiting = new Set(Object.keys(layers));
    const isReady = (name: string) =>
      [...(layers[name]?.packages ?? []), ...(layers[name]?.lazyPackages ?? [])].every((each) => done.has(each));
    for (let next = [...waiting].find(isReady); next !== undefined; next = [...waiting].find(isReady)) {
      waiting.delete(next);
      done.add(next);
    }
    expect([...waiting]).toEqual([]);
  });
});
