/** The steps in a pipeline with real processes: figures on versions, reuse by bytes, and a gate that becomes a proposal. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { headroom } from "../../packages/cli/src/testing/recorded-terminal.ts";
import { startProgram, type RunningProgram } from "../../packages/cli/src/testing/running-program.ts";
import { isTurnOf } from "../../tools/testing/rotating.ts";
import { tinyModel } from "./testing/tiny-model.ts";

const repository = path.resolve(import.meta.dirname, "../..");
let root = "";
/** Outside of the temporary directory: work in a sandbox has one of its own. */
let data = "";
let plane: RunningProgram | null = null;
beforeAll(() => {
  root = mkdtempSync(path.join(tmpdir(), "headroom-steps-"));
  mkdirSync(path.join(root, "home"));
  mkdirSync(path.join(repository, ".build"), { recursive: true });
  data = mkdtempSync(path.join(repository, ".build", "steps-"));
});
afterAll(async () => {
  plane?.process.kill("SIGTERM");
  await plane?.ended;
  for (const each of [root, data]) rmSync(each, { recursive: true, maxRetries: 5 });
});

async function said(...args: readonly string[]): Promise<string> {
  const env = { HEADROOM_HOME: path.join(root, "home") };
  const { code, stdout, stderr } = await headroom(args, { workingDirectory: root, env });
  if (code !== 0) throw new Error(`headroom ${args.join(" ")}: ${stderr}`);
  return args[0] === "logs" ? stdout + stderr : stdout;
}

/** Starts a run and returns its phase and those of its steps when it has ended or waits for a person. */
async function run(...options: readonly string[]): Promise<{ readonly id: string; readonly steps: string }> {
  const [, id = ""] = /started (p\d+)/.exec(await said("pipeline", "run", "check-and-shrink", ...options)) ?? [];
  const shown = async (): Promise<string> => said("pipeline", "show", id);
  await expect.poll(shown, { timeout: 60_000, interval: 300 }).toMatch(/is (?:succeeded|failed)|decide proposal p\d+/);
  const steps = await shown();
  if (steps.includes("is failed"))
    throw new Error(`${steps}\n${await said("logs", /failed +(w\d+)/.exec(steps)?.[1] ?? "")}`);
  return { id, steps };
}

const tableOf = (scoreOf: (row: number) => number): string =>
  ["id,language,text,score", ...Array.from({ length: 200 }, (_, i) => `${i + 1},en,text,${scoreOf(i)}`)].join("\n");

it.runIf(isTurnOf("steps of pipelines"))(
  "validates, quantises, reuses and promotes",
  { timeout: 180_000 },
  async () => {
    const file = (name: string): string => path.join(data, name);
    writeFileSync(
      file("before.csv"),
      tableOf((i) => (i % 100) / 100),
    );
    writeFileSync(
      file("table.csv"),
      tableOf((i) => ((i * 7) % 100) / 100),
    );
    writeFileSync(file("full.gguf"), tinyModel());
    plane = startProgram(["up", "--no-console", "--port", "0", "--slots", "2"], { home: path.join(root, "home") });
    await plane.saying(/runs on http[^]*Ctrl-C/);
    await said("dataset", "register", "table", file("table.csv"));
    await said("dataset", "register", "reference", file("before.csv"));
    await said("model", "register", "full", file("full.gguf"));
    await said("apply", "-f", path.join(import.meta.dirname, "pipeline.yaml"), "--yes");

    expect((await run()).steps).toMatch(/validate +succeeded[^]*quantise +succeeded[^]*promote +succeeded/);
    const small = JSON.parse(await said("model", "show", "small@production", "--json")) as {
      readonly metrics: Readonly<Record<string, number>>;
      readonly parameters: Readonly<Record<string, string>>;
    };
    expect(small.metrics["bytesAfter"]).toBeLessThan(0.3 * (small.metrics["bytesBefore"] ?? 0));
    expect(small.metrics["lossAfter"]).toBeCloseTo(small.metrics["lossBefore"] ?? 0, 1);
    expect(await said("lineage", "model:small@production")).toMatch(/model:full@1/);

    // The same bytes under a new version run nothing again.
    await said("dataset", "register", "table", file("table.csv"));
    expect((await run()).steps).toMatch(/validate +cached[^]*quantise +cached/);

    await said("model", "gate", "small", "production", "--metric", "weightError<0.01", "--approval");
    const forced = await run("--force");
    const [, proposal = ""] = /proposal (p\d+)/.exec(forced.steps) ?? [];
    await said("--user", "lead", "proposal", "approve", proposal, "--reason", "same loss");
    await expect.poll(() => said("pipeline", "show", forced.id), { timeout: 10_000 }).toMatch(/promote +succeeded/);
    expect(await said("model", "show", "small@production")).toMatch(/version +model:small@2/);
  },
);
