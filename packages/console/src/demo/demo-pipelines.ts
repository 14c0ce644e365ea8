/** The demo's pipeline: a model is trained every night, evaluated three times, and waits for a person's approval. */
import { teamName } from "@headroom/model";
import type { PipelineSpec, PipelineStep } from "@headroom/model";
import { daily, plannedWork } from "./demo-plans.ts";

const TEAM = "product/search";
const START_HOUR = 2;
const EVALUATIONS_AT_ONCE = 2;

const step = (
  name: string,
  after: readonly string[],
  work: { readonly accelerators: number; readonly minutes: number; readonly run: string },
): PipelineStep => ({ name, after, upstream: "succeeded", when: [], spec: plannedWork({ name, team: TEAM, ...work }) });

export const demoPipelines: readonly PipelineSpec[] = [
  {
    name: "search-ranker",
    team: teamName(TEAM),
    version: "7c1e0d2",
    params: [{ name: "rows", default: "40000000" }],
    steps: [
      step("prepare", [], { accelerators: 0, minutes: 25, run: "./prepare $HEADROOM_PARAM_ROWS" }),
      step("train", ["prepare"], { accelerators: 8, minutes: 170, run: "torchrun train.py" }),
      {
        ...step("evaluate", ["train"], { accelerators: 1, minutes: 30, run: "./evaluate $HEADROOM_ITEM" }),
        forEach: { kind: "values", values: ["relevance", "safety", "latency"] },
        atOnce: EVALUATIONS_AT_ONCE,
      },
      { name: "review", after: ["evaluate"], upstream: "succeeded", when: [], spec: null },
      step("publish", ["review"], { accelerators: 0, minutes: 5, run: "./publish" }),
    ],
    // A run that nobody has reviewed by the next night ends then.
    triggers: [{ kind: "clock", times: daily(START_HOUR), concurrency: "replace" }, { kind: "webhook" }],
  },
];
