/** Words of pipelines in scenarios. */
import { pipelineRunId, stepKey } from "@headroom/model";
import type {
  Command,
  Event,
  FanOut,
  PipelineEvent,
  PipelineRun,
  PipelineSpec,
  PipelineStep,
  PipelineTrigger,
  StepCondition,
  StepReason,
  StepTest,
} from "@headroom/model";
import { backfillDates, dayText, stepWait } from "@headroom/pipelines";
import { applied, command } from "../lab/make.ts";
import { range, specOf } from "./resource-words.ts";
import { durationMs, durationText, wordsOf } from "./words.ts";
import type { Words } from "./words.ts";

const list = (text: string | undefined): readonly string[] =>
  text === undefined || text === "" ? [] : text.split(",");
const counted = (fields: Words["fields"], field: string): number | undefined =>
  fields.has(field) ? Number(fields.get(field)) : undefined;

const signs = { "==": "eq", "!=": "ne", "<=": "le", ">=": "ge", "<": "lt", ">": "gt" } as const;

/** `mode==full` is a parameter, `evaluate.score>=0.9` a result, `train:failed` an outcome. */
function conditionOf(text: string): StepCondition {
  const [step = "", is] = text.split(":");
  if (is !== undefined) return { kind: "outcome", step, is: is as "succeeded" | "failed" | "skipped" };
  const [, left = "", sign = "==", value = ""] = /^([\w.-]+?)(==|!=|<=|>=|<|>)(.*)$/.exec(text) ?? [];
  const test: StepTest = { operator: signs[sign as keyof typeof signs], value };
  const [of = "", result] = left.split(".");
  return result === undefined ? { kind: "param", param: of, test } : { kind: "result", step: of, result, test };
}

/** `each=a,b`, `each=param:langs`, `each=split.shards`, `each=artifacts:split`. */
function fanOutOf(text: string): FanOut {
  const [kind = "", name = ""] = text.split(":");
  if (kind === "param") return { kind: "param", param: name };
  if (kind === "artifacts") return { kind: "artifacts", step: name };
  const [step = "", result] = text.split(".");
  return result === undefined ? { kind: "values", values: list(text) } : { kind: "result", step, result };
}

/** `train after=prepare when=mode==full each=a,b atOnce=1 cache timeout=1h upstream=ended gpus=1`; `gate approval`. */
function stepOf(text: string): PipelineStep {
  const { plain, fields } = wordsOf(text);
  const [name = "", ...marks] = plain;
  const work = new Map([...fields].filter(([field]) => field !== "after" && field !== "atOnce"));
  const atOnce = counted(fields, "atOnce");
  return {
    name,
    after: list(fields.get("after")),
    upstream: fields.get("upstream") === "ended" ? "ended" : "succeeded",
    when: list(fields.get("when")).map(conditionOf),
    ...(fields.has("each") ? { forEach: fanOutOf(fields.get("each") ?? "") } : {}),
    ...(atOnce === undefined ? {} : { atOnce }),
    ...(fields.has("params") ? { params: list(fields.get("params")) } : {}),
    ...(marks.includes("cache") ? { cache: true } : {}),
    ...(fields.has("timeout") ? { timeoutMs: durationMs(fields.get("timeout") ?? "0") } : {}),
    ...(fields.has("sets") ? { setAlias: fields.get("sets") ?? "" } : {}),
    spec: marks.includes("approval") || fields.has("sets") ? null : specOf(name, work),
  };
}

/** `retrain params=rows:1,mode version=v1 stepsAtOnce=2 runsAtOnce=1 at=3:00 webhook | prepare | train after=prepare`. */
export function pipelineOf(text: string): PipelineSpec {
  const [head = "", ...steps] = text.split("|").map((part) => part.trim());
  const { plain, fields } = wordsOf(head);
  const triggers: PipelineTrigger[] = plain.includes("webhook") ? [{ kind: "webhook" }] : [];
  const [hour, minute = "0"] = (fields.get("at") ?? "").split(":");
  for (const artifact of list(fields.get("on"))) triggers.push({ kind: "artifact", artifact });
  for (const alias of list(fields.get("onAlias"))) triggers.push({ kind: "alias", alias });
  if (fields.has("at")) {
    const times = {
      minutes: [Number(minute)],
      hours: [Number(hour)],
      daysOfMonth: range(1, 31),
      months: range(1, 12),
      daysOfWeek: range(0, 6),
    };
    const concurrency = (fields.get("concurrency") ?? "forbid") as "allow" | "forbid" | "replace";
    triggers.push({ kind: "clock", times, concurrency });
  }
  const [stepsAtOnce, runsAtOnce] = [counted(fields, "stepsAtOnce"), counted(fields, "runsAtOnce")];
  const team = fields.get("team") ?? "default";
  return {
    name: plain[0] ?? "",
    team: team as PipelineSpec["team"],
    ...(fields.has("version") ? { version: fields.get("version") ?? "" } : {}),
    params: list(fields.get("params")).map((param) => {
      const [name = "", value] = param.split(":");
      return { name, default: value ?? null };
    }),
    steps: steps.map((step) => stepOf(step)),
    ...(stepsAtOnce === undefined ? {} : { stepsAtOnce }),
    ...(runsAtOnce === undefined ? {} : { runsAtOnce }),
    ...(triggers.length === 0 ? {} : { triggers }),
  };
}

const HOUR_MS = 3_600_000;
/** Central European time in 2026: summer time from 29 March 01:00 UTC to 25 October 01:00 UTC. */
const offsetInOslo = (atMs: number): number =>
  atMs >= Date.UTC(2026, 2, 29, 1) && atMs < Date.UTC(2026, 9, 25, 1) ? 2 * HOUR_MS : HOUR_MS;

/** `retrain rows=2 force`; a backfill: `days=2026-03-28..2026-03-30`, `hours=2026-03-29..2026-03-29`, in Oslo. */
function runOf(text: string, trigger: "manual" | "webhook"): Command {
  const { plain, fields } = wordsOf(text);
  const [name = "", ...marks] = plain;
  const every = fields.has("hours") ? "hour" : "day";
  const [from, to = from] = (fields.get("days") ?? fields.get("hours") ?? "").split("..");
  const span = fields.has("days") || fields.has("hours") ? ({ from: from ?? "", to: to ?? "", every } as const) : null;
  const dates = span === null ? undefined : (backfillDates(span, offsetInOslo) ?? []).map(({ date }) => date);
  const own = new Set(["days", "hours", "key"]);
  const params = Object.fromEntries([...fields].filter(([field]) => !own.has(field)));
  return command({
    kind: "startPipelineRun",
    name,
    params,
    force: marks.includes("force"),
    trigger,
    ...(fields.has("key") ? { key: fields.get("key") } : {}),
    ...(dates === undefined ? {} : { dates }),
  });
}

const decided = (rest: string, isApproved: boolean): Command => {
  const [id = "", step = "", ...reason] = rest.split(/\s+/);
  return command({ kind: "decidePipelineStep", runId: pipelineRunId(id), step, isApproved, reason: reason.join(" ") });
};

export const pipelineVerbs: Readonly<Record<string, (rest: string) => readonly Command[]>> = {
  pipeline: (rest) => [applied({ pipelines: [pipelineOf(rest)] })],
  unpipeline: (rest) => [command({ kind: "removePipeline", name: rest })],
  run: (rest) => [runOf(rest, "manual")],
  hook: (rest) => [runOf(rest, "webhook")],
  cancelRun: (rest) => [command({ kind: "cancelPipelineRun", runId: pipelineRunId(rest) })],
  retryRun: (rest) => {
    const { plain, fields } = wordsOf(rest);
    const [id = "", ...marks] = plain;
    const from = fields.get("from") ?? null;
    return [command({ kind: "retryPipelineRun", runId: pipelineRunId(id), from, force: marks.includes("force") })];
  },
  approve: (rest) => [decided(rest, true)],
  reject: (rest) => [decided(rest, false)],
};

export const isOfPipeline = (event: Event): event is PipelineEvent => event.kind.startsWith("pipeline");

const reasonText = (reason: StepReason | null): string => {
  if (reason === null) return "";
  const { kind, ...facts } = reason;
  const texts = Object.entries(facts).map(([name, value]) => `${name}=${String(value)}`);
  return ` (${[kind, ...texts].join(" ")})`;
};

export function pipelineEventText(event: PipelineEvent): string {
  switch (event.kind) {
    case "pipelineSet":
      return `pipeline ${event.pipeline.name}: ${event.pipeline.steps.map(({ name }) => name).join(" ")}`;
    case "pipelineRemoved":
      return `pipeline ${event.name} removed`;
    case "pipelineRunCreated": {
      const { runId, name, trigger, params, force } = event;
      const values = Object.entries(params).map(([param, value]) => ` ${param}=${value}`);
      return `${runId} of ${name} created (${trigger.kind})${values.join("")}${force ? " force" : ""}`;
    }
    case "pipelineDue":
      return `pipeline ${event.name} due at ${durationText(event.dueAtMs)}: ${event.runId ?? `nothing, ${event.left}`}`;
    case "pipelineNotTriggered":
      return `pipeline ${event.name} not started (${event.trigger.kind}): ${event.left}`;
    case "pipelineRunStarted":
      return `${event.runId} starts`;
    case "pipelineStepExpanded":
      return `${event.runId} ${event.step} has ${event.items.length} items: ${event.items.join(" ")}`;
    case "pipelineStepStarted":
      return `${event.runId} ${event.step} runs as ${event.workloadId}`;
    case "pipelineApprovalRequested":
      return `${event.runId} ${event.step} waits for approval`;
    case "pipelineStepDecided":
      return `${event.runId} ${event.step} ${event.isApproved ? "approved" : "rejected"} by ${event.actor}`;
    case "pipelineStepEnded":
      return `${event.runId} ${event.step} ${event.phase}${reasonText(event.reason)}`;
    case "pipelineRunCancelRequested":
      return `${event.runId} is cancelled by ${event.actor}`;
    case "pipelineRunRetried":
      return `${event.runId} again: ${[...event.again, ...event.collapsed.map((name) => `${name}[]`)].join(" ")}`;
    case "pipelineRunEnded":
      return `${event.runId} ${event.phase}`;
  }
}

/** `p1 running: prepare succeeded, train waiting for prepare`. */
export function runText(run: PipelineRun): string {
  const steps = [...run.steps.values()].map((own) => {
    const wait = stepWait(run, own);
    const waits = wait === null ? "" : wait.kind === "after" ? ` for ${wait.steps.join(" ")}` : ` for ${wait.kind}`;
    return `${stepKey(own.step, own.index)} ${own.phase}${waits}`;
  });
  return `${run.id} ${run.phase}: ${steps.join(", ")}`;
}

/** The dates of a backfill with their starts in UTC. */
export function datesText(text: string): readonly string[] {
  const { fields } = wordsOf(text);
  const [from = "", to = from] = (fields.get("days") ?? fields.get("hours") ?? "").split("..");
  const dates = backfillDates({ from, to, every: fields.has("hours") ? "hour" : "day" }, offsetInOslo);
  return (dates ?? []).map(({ date, startMs }) => {
    const day = Math.floor(startMs / (24 * HOUR_MS));
    return `${date} begins ${dayText(day)} ${durationText(startMs - day * 24 * HOUR_MS)} UTC`;
  });
}
