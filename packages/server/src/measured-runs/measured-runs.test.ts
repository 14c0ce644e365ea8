import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { correctionFactor, predictRun } from "@headroom/perf";
import { slowRunText } from "@headroom/views";
import { afterEach, beforeEach, expect, it } from "vitest";
import { removeHome, startLive, temporaryHome } from "../api/testing/live-control-plane.ts";
import type { LiveControlPlane } from "../api/testing/live-control-plane.ts";
import type { DeclaredModel, MeasuredRunAnswer } from "./measured-run-messages.ts";
import { MeasuredRunStore } from "./measured-run-store.ts";
import { MeasuredRuns } from "./measured-runs.ts";

const dense: DeclaredModel["training"] = {
  model: "llama-3-8b",
  sequenceLength: 8192,
  globalBatch: 64,
  method: { kind: "full" },
  format: "bf16",
  pricePerAcceleratorHour: 0,
  restartSeconds: 300,
  scaling: "strong",
  checkpointOverlapped: false,
  checkpointGbPerS: 100,
  tiers: [],
};
const predicted = predictRun({ training: dense, acceleratorType: "H100", acceleratorsPerWorker: 8, workers: 2 });
const stepSeconds = predicted.kind === "predicted" ? predicted.seconds : Number.NaN;

let home: string;
let live: LiveControlPlane | null = null;
beforeEach(() => {
  home = temporaryHome();
});
afterEach(async () => {
  await live?.close();
  live = null;
  removeHome(home);
});

const start = async (): Promise<LiveControlPlane> =>
  (live = await startLive(home, {
    local: { slotCount: 2, slotType: "H100", accelerators: "declared" },
    measuredRuns: { lookEveryMs: 500, windowMinMs: 1_500 },
    notifications: [
      { on: ["slow"], command: `cat > ${home}/told.json` },
      { on: ["slow"], command: `cat >> ${home}/told.log` },
    ],
  }));

/** An attempt that makes five steps a second and spends most of the time on the network. */
const stepping = `for step in $(seq 400); do
  echo '{"kind":"progress","step":'$step',"metrics":{"networkSeconds":0.18}}' >> "$HEADROOM_PROGRESS_FILE"; sleep 0.2
done`;
const work = (name: string, run: string) =>
  ({ kind: "train", name, run, gang: { workers: 1, accelerators: 1, coresMilli: 0 } }) as const;
const training = {
  model: "llama-3-8b",
  sequenceLength: 512,
  globalBatch: 1,
  method: { kind: "lora", rank: 16 },
} as const;

it("puts measured steps beside predictions, corrects later ones, and tells the owner of a slow run once", async () => {
  const { client } = await start();
  const { workloadId } = await client.submitWorkload(work("tune", stepping));
  expect((await client.predictions(workloadId)).unpredicted).toContain("names no model");
  await client.declareModel(workloadId, { training });
  await expect
    .poll(async () => (await client.predictions(workloadId)).items[0]?.slow)
    .toMatchObject({ responsible: "network", otherRuns: 0 });
  const [run] = (await client.predictions(workloadId)).items;
  expect(run).toMatchObject({
    workload: "tune",
    acceleratorType: "H100-SXM-80GB",
    family: "adapters",
    acceleratorCount: 1,
  });
  expect(run?.measured?.seconds).toBeGreaterThan(0.18);
  expect(run?.measured?.seconds).toBeLessThan(0.4);
  expect(run?.predicted.uncorrectedSeconds).toBeLessThan(0.15);

  // A single run changes a prediction by 3% at most, and a question can leave the fleet's runs out.
  const question = { ...training, accelerator: "H100", acceleratorCount: 1 };
  const corrected = await client.size({ kind: "training", training: question });
  const plain = await client.size({ kind: "training", training: { ...question, correction: null } });
  if (corrected.kind !== "training" || plain.kind !== "training") throw new Error("no plan");
  expect(plain.correction).toMatchObject({ factor: 1, runCount: 0 });
  expect(corrected.correction.runCount).toBe(1);
  expect(corrected.step.seconds / plain.step.seconds).toBeGreaterThan(1.01);
  expect(corrected.step.seconds / plain.step.seconds).toBeLessThanOrEqual(1.03);

  await expect.poll(() => existsSync(path.join(home, "told.json"))).toBe(true);
  await expect
    .poll(() => readFileSync(path.join(home, "told.json"), "utf8"))
    .toContain("the network causes most of the difference");

  await live?.close();
  const again = await start();
  const { kinds, runs } = await again.client.fleetPredictions();
  expect(kinds).toMatchObject([{ acceleratorType: "H100-SXM-80GB", family: "adapters", runCount: 1 }]);
  expect(runs.map((each) => each.workload)).toEqual(["tune"]);
  expect(again.complaints).toEqual([]);
});

it("infers storage from idle accelerators, and says what to report where nothing tells the cause", async () => {
  const { client } = await start();
  const steps = (report: string): string => `for step in $(seq 400); do
  echo '{"kind":"progress","step":'$step'}' >> "$HEADROOM_PROGRESS_FILE"; ${report} sleep 0.2
done`;
  const use = `echo '{"kind":"utilization","accelerators":[{"busy":0.2}]}' >> "$HEADROOM_PROGRESS_FILE";`;
  const starved = await client.submitWorkload(work("starved", steps(use)));
  const silent = await client.submitWorkload(work("silent", steps("")));
  for (const { workloadId } of [starved, silent]) await client.declareModel(workloadId, { training });
  const newest = async ({ workloadId }: { workloadId: string }) => (await client.predictions(workloadId)).items[0];
  await expect
    .poll(async () => (await newest(starved))?.slow)
    .toMatchObject({ responsible: "storage", ground: "idle", missing: [] });
  expect((await newest(starved))?.measured?.parts.storage).toBeGreaterThan(0.12);
  await expect
    .poll(async () => (await newest(silent))?.slow)
    .toMatchObject({ responsible: null, ground: null, missing: ["computeSeconds", "storageSeconds"] });
  expect(slowRunText((await newest(silent))!)).toContain("report computeSeconds or storageSeconds");
  const told = (): string =>
    existsSync(path.join(home, "told.log")) ? readFileSync(path.join(home, "told.log"), "utf8") : "";
  await expect.poll(told).toContain("the cause is unknown");
  await expect.poll(told).toContain("storage causes most of the difference: its accelerators are idle");
});

it("says why there is no prediction, and refuses a workload that it does not know", async () => {
  const { client } = await start();
  await expect(client.declareModel("w999", { training })).rejects.toMatchObject({ code: "unknownWorkload" });
  await expect(client.predictions("w999")).rejects.toMatchObject({ code: "unknownWorkload" });
  const { workloadId } = await client.submitWorkload(work("vision", "sleep 60"));
  await client.declareModel(workloadId, { training: { ...training, model: "resnet-50" } });
  await expect.poll(async () => (await client.predictions(workloadId)).unpredicted).toContain("resnet-50");
});

it("halves the error of a biased type after twenty runs, and finds the run that is slow for its kind", () => {
  const runs = new MeasuredRuns({ file: path.join(home, "measured-runs.db"), windowMinMs: 5_000 });
  const observe = (index: number, ratio: number, networkSeconds?: number): MeasuredRunAnswer["slow"] => {
    const workloadId = `w${index}`;
    const model = { workloadId, workload: `run ${index}`, team: "default", owner: `user ${index}`, training: dense };
    runs.answer({ kind: "declare", model, nowMs: index });
    const seconds = stepSeconds * ratio;
    const metrics = networkSeconds === undefined ? {} : { networkSeconds };
    const points = Array.from({ length: 40 }, (_, step) => ({
      atMs: 20_000 * step * seconds,
      step: 20 * step,
      metrics,
    }));
    const placed = { acceleratorType: "H100", acceleratorsPerWorker: 8, workers: 2 };
    const attempt = { attemptId: `${workloadId}.1`, workloadId, ...placed, points, idleShare: null, hasEnded: true };
    return runs.answer({ kind: "observe", attempts: [attempt], nowMs: index }).slow;
  };
  for (let index = 0; index < 20; index++) observe(index, 1.2 + 0.03 * Math.sin(index));
  const kind = runs.answer({ kind: "report" }).report?.kinds[0];
  expect(kind).toMatchObject({ acceleratorType: "H100-SXM-80GB", family: "dense", runCount: 20 });
  expect(kind?.correctedError).toBeLessThan((kind?.uncorrectedError ?? 0) / 2);

  expect(observe(20, 1.25)).toEqual([]);
  const slow = observe(21, 1.6, stepSeconds * 0.6);
  expect(slow).toMatchObject([
    { workload: "run 21", owner: "user 21", slow: { responsible: "network", otherRuns: 21 } },
  ]);
  expect(slow?.[0]?.slow?.excessShare).toBeGreaterThan(0.25);
  runs.answer({ kind: "told", attemptIds: ["w21.1"] });
  expect(observe(21, 1.6, stepSeconds * 0.6)).toEqual([]);

  // A hundred starts of one workload with meaningless reports count as one run.
  const before = correctionFactor(runs.correction, "H100-SXM-80GB", "dense").factor;
  for (let index = 0; index < 20; index++) observe(22, 1e6);
  const { factor } = correctionFactor(runs.correction, "H100-SXM-80GB", "dense");
  expect(Math.abs(factor / before - 1)).toBeLessThanOrEqual(0.03);
  runs.answer({ kind: "close" });
});

it("keeps the newest attempts within its bound, and makes a damaged store new", () => {
  const file = path.join(home, "measured-runs.db");
  const store = new MeasuredRunStore(file);
  const declared = { workloadId: "w1", workload: "one", team: "default", owner: "ann" };
  store.declare({ ...declared, training: { ...training, model: "llama-3-8b" } as never }, 1);
  const attempt = {
    ...declared,
    placed: { acceleratorType: "H100", acceleratorsPerWorker: 1, workers: 1 },
    sinceMs: 0,
    prediction: { kind: "unpredicted", reason: "none" },
    measured: null,
    slow: null,
    slowLooks: 0,
    isTold: false,
    hasEnded: true,
  } as const;
  for (let index = 0; index < 4_200; index++) store.put({ ...attempt, attemptId: `w1.${index}` }, index);
  const kept = store.allAttempts();
  expect([kept.length, kept[0]?.attemptId, kept.at(-1)?.attemptId]).toEqual([4_096, "w1.104", "w1.4199"]);
  store.close();
  const damaged = path.join(home, "damaged.db");
  for (const text of ["not a database at all", ""]) {
    const made = new MeasuredRunStore(text === "" ? file : damagedFile(damaged, text));
    expect(made.takeProblems()).toHaveLength(text === "" ? 0 : 1);
    expect(made.workloadIds()).toEqual(text === "" ? ["w1"] : []);
    made.close();
  }
});

function damagedFile(file: string, text: string): string {
  writeFileSync(file, text.repeat(100));
  return file;
}
