/**
 * Measures the speed of the training model and its search on one core. The time of one evaluation is the mean over
 * 100,000 different plans. The searches are those that `docs/promises.md` names, each with the number of plans whose
 * time was computed.
 */
import { searchBestPlan } from "./best.ts";
import { estimateMemory } from "../memory.ts";
import { estimateStep } from "../step.ts";
import type { ParallelPlan, TrainingJob, TrainingSystem } from "../job.ts";
import { deepSeekV3, gpt175b, gpt1t, jobOf, qwen3Large, systemOf } from "../testing/jobs.ts";
import { layerChoices, planOf, shardChoices, stageChoices, wholeSpace } from "./space.ts";

interface Search {
  readonly name: string;
  readonly job: TrainingJob;
  readonly system: TrainingSystem;
}

const searches: readonly Search[] = [
  { name: "GPT-3 175B on 512 A100", job: jobOf(gpt175b, 2048, 1536), system: systemOf("A100", 512) },
  { name: "1T parameters on 16,384 H100", job: jobOf(gpt1t, 2048, 4096), system: systemOf("H100", 16384) },
  { name: "1T parameters, 8k tokens", job: jobOf(gpt1t, 8192, 2048), system: systemOf("H100", 16384) },
  { name: "DeepSeek-V3 on 2,048 H100", job: jobOf(deepSeekV3, 4096, 8192), system: systemOf("H100", 2048) },
  { name: "Qwen3-235B on 1,024 B200", job: jobOf(qwen3Large, 4096, 4096), system: systemOf("B200", 1024) },
];

function differentPlans(search: Search, count: number): readonly ParallelPlan[] {
  const plans: ParallelPlan[] = [];
  const space = wholeSpace(search.job, search.system, search.system.cluster.nodeCount * 8);
  for (const choice of layerChoices(search.job, space)) {
    for (const stage of stageChoices(search.job, space, choice)) {
      for (const shards of shardChoices(space, choice, stage, 8)) {
        for (const recomputation of space.recomputations) plans.push(planOf(choice, stage, shards, recomputation));
      }
    }
    if (plans.length >= count) break;
  }
  return plans.slice(0, count);
}

/**
 * Every plan is evaluated once. Each search contributes an equal part of the plans. If a search has fewer plans than
 * its part, the following searches contribute more, so the searches with the largest spaces come last.
 */
const wanted = 100_000;
const plans = searches.reduce<readonly { readonly search: Search; readonly plan: ParallelPlan }[]>(
  (before, search, index) => {
    const part = Math.ceil((wanted - before.length) / (searches.length - index));
    return [...before, ...differentPlans(search, part).map((plan) => ({ search, plan }))];
  },
  [],
);
const differentCount = new Set(plans.map(({ search, plan }) => search.name + JSON.stringify(plan))).size;
let sum = 0;
const cpuBefore = process.cpuUsage();
for (const { search, plan } of plans) {
  sum += estimateStep(search.job, plan, search.system).seconds + estimateMemory(search.job, plan).peakBytes;
}
const { user, system } = process.cpuUsage(cpuBefore);
const found = searches.map(({ name, job, system: on }) => {
  const startedAt = performance.now();
  const result = searchBestPlan(job, on);
  const seconds = (performance.now() - startedAt) / 1000;
  return { name, seconds: Number(seconds.toFixed(3)), ...(result.kind === "found" ? result.effort : {}) };
});
const report = {
  different_plans: differentCount,
  us_per_evaluation: Number(((user + system) / plans.length).toFixed(2)),
  checksum: sum > 0,
  searches: found,
};
process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
