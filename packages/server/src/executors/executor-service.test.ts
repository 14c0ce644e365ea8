import { readFileSync } from "node:fs";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { removeHome, temporaryHome } from "../api/testing/live-control-plane.ts";
import type { DeclaredExecutor } from "./executor-file.ts";
import { ExecutorService } from "./executor-service.ts";
import { FaultyCluster } from "./testing/faulty-cluster.ts";
import { inventoryDefaults } from "./executor-contact.ts";

let home: string;
beforeEach(() => {
  home = temporaryHome();
});
afterEach(() => removeHome(home));

const { type } = new FaultyCluster();

function service(): ExecutorService {
  const unused = (): never => {
    throw new Error("no executor is opened");
  };
  const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
  return new ExecutorService({
    home,
    types: [type],
    own: [],
    rules: inventoryDefaults,
    log,
    retained: unused,
    nowMs: () => 0,
  });
}

const declared = (mode: "run" | "follow"): DeclaredExecutor => ({
  declaration: { kind: "executor", name: "hpc", type: "faulty", mode, settings: {} },
  type,
});

const recorded = (): Promise<void> => Promise.resolve();
const overloaded = (): Promise<void> => Promise.reject(new Error("overloaded"));
const file = (): string => readFileSync(path.join(home, "executors.yaml"), "utf8");

describe("a change of a declaration that cannot be recorded", () => {
  it("is taken back, so that it can be repeated", async () => {
    const executors = service();
    await expect(executors.declare(declared("run"), overloaded)).rejects.toThrow("overloaded");
    expect(executors.list()).toEqual([]);
    expect(file()).not.toContain("hpc");
    expect(await executors.declare(declared("run"), recorded)).toBe("created");
    await expect(executors.declare(declared("follow"), overloaded)).rejects.toThrow("overloaded");
    expect(file()).toContain("mode: run");
    await expect(executors.remove("hpc", overloaded)).rejects.toThrow("overloaded");
    expect(file()).toContain("name: hpc");
    expect(await executors.remove("hpc", recorded)).toBe(true);
    expect(executors.list()).toEqual([]);
    await executors.close();
  });
});
