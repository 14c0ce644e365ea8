import { expect, it } from "vitest";
import { applyRequest } from "./apply.ts";

const workload = { kind: "train", name: "train", team: "lab", run: "true", gang: { accelerators: 1 } };
const clock = {
  kind: "clock",
  times: { minutes: [0], hours: [3], daysOfMonth: [1], months: [1], daysOfWeek: [0] },
  concurrency: "forbid",
};
const step = { name: "train", after: [], upstream: "succeeded", when: [], spec: workload };
const pipeline = { name: "retrain", team: "lab", params: [], steps: [step], triggers: [clock] };
const faultsOf = (declared: object): readonly string[] =>
  (applyRequest.safeParse({ pipelines: [declared] }).error?.issues ?? []).map(
    ({ path, message }) => `${path.slice(2).join(".")}: ${message}`,
  );

it("refuses fields of pipelines that have no effect yet", () => {
  expect(faultsOf(pipeline)).toEqual([]);
  expect(faultsOf({ ...pipeline, steps: [step, { ...step, name: "gate", spec: null }] })).toEqual([
    "steps.1: waits for approval, which is not supported yet",
  ]);
  expect(faultsOf({ ...pipeline, triggers: [clock, { kind: "webhook" }] })).toEqual([
    "triggers.1: webhooks are not supported yet; use cron",
  ]);
  const { triggers: _clock, ...unstarted } = pipeline;
  expect(faultsOf(unstarted)).toEqual(["triggers: must have a cron: only it starts runs yet"]);
});
