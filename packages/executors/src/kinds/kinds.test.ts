import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { readDeclaration } from "./executor-declaration.ts";
import { executorTypes } from "./executor-types.ts";

const messages = (value: unknown): readonly string[] => {
  const reading = readDeclaration(value, executorTypes);
  return reading.ok ? [] : reading.problems.map(({ path: steps, message }) => `${steps.join(".")}: ${message}`);
};

describe("the declaration of an executor", () => {
  it("opens an executor of its type with its settings", async () => {
    const reading = readDeclaration(
      { kind: "executor", name: "trial", type: "local", settings: { nodes: 2, slots: 4, isolation: "none" } },
      executorTypes,
    );
    if (!reading.ok) throw new Error(JSON.stringify(reading.problems));
    const directory = mkdtempSync(path.join(tmpdir(), "headroom-kinds-"));
    const context = { id: "trial", directory, onProblem: () => undefined, secret: () => "" };
    const executor = await reading.type.open(reading.declaration.settings, context);
    try {
      const { pools, nodes } = await executor.inventory();
      expect(pools).toMatchObject([{ name: "trial", executor: "trial", acceleratorType: "slot" }]);
      expect(nodes.map(({ id, acceleratorCount }) => [id, acceleratorCount])).toEqual([
        ["trial-1", 4],
        ["trial-2", 4],
      ]);
    } finally {
      await executor.close();
      rmSync(directory, { recursive: true });
    }
  });

  it.for([
    [
      { kind: "executor", name: "x", type: "sge" },
      ["type: There is no executor type sge. Types: local, slurm, kubernetes"],
    ],
    [{ kind: "executor", name: "local", type: "local" }, ["name: must not be local or simulated"]],
    [
      { kind: "executor", name: "x", type: "local", settings: { apiToken: "s3cret" } },
      [
        'settings: Unrecognized key: "apiToken"',
        "settings.apiToken: must be a reference to the secret: file:/path or env:NAME. The secret itself does not belong here",
      ],
    ],
    [
      { kind: "executor", name: "x", type: "local", settings: { nodes: 0 } },
      [expect.stringMatching(/^settings\.nodes: /)],
    ],
  ] as const)("refuses %j", ([value, expected]) => {
    expect(messages(value)).toEqual(expected);
  });
});
