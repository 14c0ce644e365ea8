/** Results, conditions and items: the values that steps pass on, and the decisions that follow from them. */
import type { ProducedArtifact, FanOut, PipelineRun, StepCondition, StepRun, StepTest } from "@headroom/model";

const PREFIX = "data:,";

/**
 * The text of a result: of an artifact whose location is a data URL (RFC 2397) without a media type, such as `data:,0.93`.
 * `null`: the location is no such URL.
 */
export function resultText({ path }: ProducedArtifact): string | null {
  if (!path.startsWith(PREFIX)) return null;
  const text = path.slice(PREFIX.length);
  try {
    return decodeURIComponent(text);
  } catch {
    // A per cent sign that begins no escape, which stands for itself.
    return text;
  }
}

const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;
const numberOf = (text: string): number | null => (NUMBER.test(text.trim()) ? Number(text) : null);

function holds({ operator, value }: StepTest, found: string): boolean {
  if (operator === "eq") return found === value;
  if (operator === "ne") return found !== value;
  const left = numberOf(found);
  const right = numberOf(value);
  if (left === null || right === null) return false;
  switch (operator) {
    case "lt":
      return left < right;
    case "le":
      return left <= right;
    case "gt":
      return left > right;
    case "ge":
      return left >= right;
  }
}

/** Finds the runs of a step: one for each item. */
export type StepRunsOf = (step: string) => readonly StepRun[];

/** The value that a condition compares, or `null` if there is none: the step reported no such result. */
export function foundBy(condition: StepCondition, run: Pick<PipelineRun, "params">, runsOf: StepRunsOf): string | null {
  switch (condition.kind) {
    case "param":
      return run.params[condition.param] ?? null;
    case "result": {
      const texts = runsOf(condition.step).flatMap(({ artifacts }) =>
        artifacts.filter(({ name }) => name === condition.result).flatMap((artifact) => resultText(artifact) ?? []),
      );
      return texts.at(-1) ?? null;
    }
    case "outcome":
      return outcomeOf(runsOf(condition.step));
  }
}

/** The outcome of a step with all its items. A step without items has succeeded. */
export function outcomeOf(runs: readonly StepRun[]): "succeeded" | "failed" | "skipped" {
  if (runs.some(({ phase }) => phase === "failed" || phase === "cancelled")) return "failed";
  return runs.some(({ phase }) => phase === "skipped") ? "skipped" : "succeeded";
}

export function conditionHolds(condition: StepCondition, found: string | null): boolean {
  if (condition.kind === "outcome") return found === condition.is;
  return found !== null && holds(condition.test, found);
}

export type Items =
  | { readonly kind: "items"; readonly items: readonly string[] }
  | { readonly kind: "unknown"; readonly cause: "missing" | "notAList" };

/** The items of a fan-out. Results of several items of a step are read one after the other. */
export function itemsOf(fanOut: FanOut, run: Pick<PipelineRun, "params">, runsOf: StepRunsOf): Items {
  switch (fanOut.kind) {
    case "values":
      return { kind: "items", items: fanOut.values };
    case "param": {
      const text = run.params[fanOut.param] ?? "";
      const items = text === "" ? [] : text.split(",").map((item) => item.trim());
      return { kind: "items", items };
    }
    case "artifacts":
      return {
        kind: "items",
        items: runsOf(fanOut.step).flatMap(({ artifacts }) => artifacts.map(({ path }) => path)),
      };
    case "result": {
      const artifacts = runsOf(fanOut.step).flatMap((each) =>
        each.artifacts.filter(({ name }) => name === fanOut.result),
      );
      if (artifacts.length === 0) return { kind: "unknown", cause: "missing" };
      const lists = artifacts.map((artifact) => listIn(resultText(artifact)));
      if (lists.some((list) => list === null)) return { kind: "unknown", cause: "notAList" };
      return { kind: "items", items: lists.flatMap((list) => list ?? []) };
    }
  }
}

/** The list of texts or numbers in a JSON text, or `null`. */
function listIn(text: string | null): readonly string[] | null {
  if (text === null) return null;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (!Array.isArray(value)) return null;
  const items = value as readonly unknown[];
  return items.every((item) => typeof item === "string" || typeof item === "number") ? items.map(String) : null;
}
