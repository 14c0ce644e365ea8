/** Part of the recorded journal: pipelines, and runs in every phase of their steps. */
import { pipelineRunId, teamName, workloadId } from "@headroom/model";
import type { PipelineSpec, PipelineStep, StartingReading } from "@headroom/model";
import type { Drive } from "../lab/drive.ts";
import { applied, command, spec } from "../lab/make.ts";
import { code, exited, running } from "./life-lines.ts";

const free = { gang: { accelerators: 0, workers: 1 }, acceleratorTypes: [] };
const step = (name: string, changes: Partial<PipelineStep> = {}): PipelineStep => ({
  name,
  after: [],
  upstream: "succeeded",
  when: [],
  spec: spec(name, free),
  ...changes,
});

const everyMinute = {
  minutes: Array.from({ length: 60 }, (_, minute) => minute),
  hours: Array.from({ length: 24 }, (_, hour) => hour),
  daysOfMonth: Array.from({ length: 31 }, (_, day) => day + 1),
  months: Array.from({ length: 12 }, (_, month) => month + 1),
  daysOfWeek: Array.from({ length: 7 }, (_, day) => day),
};

const retrain: PipelineSpec = {
  name: "retrain",
  team: teamName("default"),
  version: "4f1c2d9",
  params: [
    { name: "rows", default: "10" },
    { name: "date", default: "" },
  ],
  stepsAtOnce: 3,
  runsAtOnce: 1,
  triggers: [{ kind: "webhook" }],
  steps: [
    step("prepare", { cache: true, params: ["rows"], spec: spec("prepare", { ...free, produces: ["parts"] }) }),
    step("part", {
      after: ["prepare"],
      forEach: { kind: "result", step: "prepare", result: "parts" },
      atOnce: 2,
      timeoutMs: 60_000,
    }),
    step("small", {
      after: ["prepare"],
      when: [{ kind: "param", param: "rows", test: { operator: "lt", value: "5" } }],
    }),
    step("gate", { after: ["part"], spec: null }),
    step("clean", { after: ["gate"], upstream: "ended", forEach: { kind: "values", values: ["x"] } }),
  ],
};

/** One run is at its fan-out, and another one waits for it. */
export function beginPipelines(drive: Drive): void {
  drive.receive(applied({ pipelines: [retrain, { ...retrain, name: "removed" }] }));
  drive.receive(command({ kind: "removePipeline", name: "removed" }));
  start(drive, { params: { rows: "20" }, trigger: "manual" });
  start(drive, { params: { rows: "20" }, trigger: "webhook", key: "delivery-1" });
  const first = newest(drive);
  drive.receive(running(`${first}.1`));
  drive.receive({ kind: "artifactReported", attemptId: `${first}.1` as never, name: "parts", path: 'data:,["a","b"]' });
  drive.receive(exited(`${first}.1`, code(0, 0)));
}

/** The first run fails and is retried; the second one reuses a step, is approved and ends; the third is cancelled. */
export function endPipelines(drive: Drive): void {
  end(drive, 0);
  end(drive, 1);
  end(drive, 0);
  drive.receive(command({ kind: "retryPipelineRun", runId: pipelineRunId("p1"), from: null, force: false }));
  drive.receive(command({ kind: "cancelPipelineRun", runId: pipelineRunId("p1") }));
  for (let left = openSteps(drive).length; left > 0; left = openSteps(drive).length) end(drive, 0);
  if (drive.engine.state.pipelineRuns.get(pipelineRunId("p2"))?.steps.get("gate")?.phase === "awaitingApproval")
    drive.receive(
      command({
        kind: "decidePipelineStep",
        runId: pipelineRunId("p2"),
        step: "gate",
        isApproved: true,
        reason: "good",
      }),
    );
  for (let left = openSteps(drive).length; left > 0; left = openSteps(drive).length) end(drive, 0);
}

/** A clock is due twice: the second time, the run of the first one has not ended. */
export function dueClock(drive: Drive): void {
  const triggers = [{ kind: "clock", times: everyMinute, concurrency: "forbid" }] as const;
  drive.receive(applied({ pipelines: [{ ...retrain, name: "every-minute", triggers }] }));
  for (const _ of ["first", "second"]) {
    drive.passTo(Math.ceil((drive.nowMs + 1) / 60_000) * 60_000);
    drive.receive({ kind: "tick" });
  }
  drive.receive(command({ kind: "removePipeline", name: "every-minute" }));
}

/** A new version starts a run, whose step moves an alias with a gate once a proposal is approved; a pipeline that needs a value is not started. */
export function triggerByArtifact(drive: Drive): void {
  const promote: PipelineSpec = {
    name: "promote",
    team: teamName("default"),
    params: [{ name: "artifact", default: "" }],
    triggers: [{ kind: "artifact", artifact: "dataset:trigger" }],
    steps: [
      step("train", { spec: spec("train", { ...free, produces: ["model:triggered"] }) }),
      step("set", { after: ["train"], spec: null, setAlias: "model:triggered@production" }),
    ],
  };
  const needy = { ...promote, name: "needy", params: [{ name: "rows", default: null }] };
  const watching = { ...promote, triggers: [{ kind: "alias", alias: "model:triggered@production" }] } as const;
  const steps = [step("report")];
  drive.receive(applied({ pipelines: [promote, needy, { ...watching, name: "watching", steps }] }));
  const model = { kind: "model", team: teamName("default"), name: "triggered" } as const;
  const unread = { digest: null, bytes: null, places: [], inputs: [] };
  drive.receive(command({ kind: "registerArtifact", artifact: { ...model, ...unread }, aliases: [], reason: "" }));
  const gate = { kind: "gate", alias: "production", gate: { approval: true } } as const;
  drive.receive(command({ kind: "changeArtifact", artifact: model, change: gate, reason: "" }));
  const dataset = { kind: "dataset", team: teamName("default"), name: "trigger" } as const;
  const artifact = { ...dataset, ...unread };
  drive.receive(command({ kind: "registerArtifact", artifact, aliases: [], reason: "" }));
  const [attempt = ""] = drive.engine.state.workloads.get(workloadId(newest(drive)))?.activeAttempts ?? [];
  drive.receive(running(attempt));
  drive.receive({ kind: "artifactReported", attemptId: attempt as never, name: "model:triggered", path: "/m" });
  drive.receive(exited(attempt, code(0, 0)));
  const id = [...drive.engine.state.proposals.keys()].at(-1) ?? "";
  drive.receive({ ...command({ kind: "decideProposal", id, verdict: "approve", reason: "good" }), actor: "lead" });
  end(drive, 0);
  for (const name of ["promote", "needy", "watching"]) drive.receive(command({ kind: "removePipeline", name }));
}

/** A file starts a run once. The pipeline stays, so that the snapshot has its trigger. */
export function triggerByFile(drive: Drive): void {
  const clean: PipelineSpec = {
    name: "clean",
    team: teamName("default"),
    params: [{ name: "file", default: null }],
    triggers: [{ kind: "file", uri: "s3://lake/raw/" }],
    steps: [step("report")],
  };
  drive.receive(applied({ pipelines: [clean] }));
  const file = { uri: "s3://lake/raw/a.csv", tag: "1" };
  const run = { name: "clean", params: { file: file.uri }, force: false, trigger: "file", file } as const;
  for (const key of ["first", "repeated"]) drive.receive(command({ kind: "startPipelineRun", ...run }, `file-${key}`));
}

/** A reading starts a run once for each time in which it was beyond its threshold. */
export function triggerByMetric(drive: Drive): void {
  const watched = { subject: "endpoint:chat", metric: "ttftMs" };
  const drift: PipelineSpec = {
    name: "drift",
    team: teamName("default"),
    params: [{ name: "reading", default: null }],
    triggers: [{ kind: "metric", ...watched, operator: "gt", value: "800", forMs: 600_000 }],
    steps: [step("report")],
  };
  drive.receive(applied({ pipelines: [drift] }));
  const run = { kind: "startPipelineRun", name: "drift", force: false, trigger: "metric" } as const;
  const start = (key: string, reading: StartingReading): void => {
    drive.receive(command({ ...run, params: { reading: reading.value }, reading }, `metric-${key}`));
  };
  start("first", { ...watched, value: "912.5", sinceMs: 1_000 });
  start("repeated", { ...watched, value: "913", sinceMs: 1_000 });
  start("again", { ...watched, value: "850", sinceMs: 2_000 });
}

function start(
  drive: Drive,
  run: { readonly params: Record<string, string>; readonly trigger: "manual" | "webhook"; readonly key?: string },
): void {
  drive.receive(command({ kind: "startPipelineRun", name: "retrain", force: false, ...run }, `key-run-${run.trigger}`));
}

const newest = (drive: Drive): string => `w${drive.engine.state.submittedCount}`;

const openSteps = ({ engine }: Drive): readonly string[] =>
  [...engine.state.pipelineRuns.values()].flatMap(({ steps }) =>
    [...steps.values()].flatMap(({ phase, workloadId: id }) => (phase === "running" && id !== null ? [id] : [])),
  );

/** Ends the oldest running step with this exit code. */
function end(drive: Drive, exitCode: number): void {
  const [id] = openSteps(drive);
  if (id === undefined) return;
  const [attempt] = drive.engine.state.workloads.get(workloadId(id))?.activeAttempts ?? [];
  if (attempt === undefined) throw new Error(`${id} has no attempt`);
  drive.receive(exited(attempt, code(0, exitCode)));
}
