/** Conditions of steps, and the items of a fan-out: `params.mode == full`, `evaluate.score >= 0.9`, `train is failed`. */
import { z } from "zod";
import { optional, record } from "../encoding/field.ts";
import * as notation from "../encoding/notation.ts";
import { readText } from "../encoding/read-values.ts";
import * as limits from "../limits.ts";
import * as names from "../names.ts";
import { read, refuse, shown, type Reading } from "../notation/reading.ts";

const operators = { "==": "eq", "!=": "ne", "<=": "le", ">=": "ge", "<": "lt", ">": "gt" } as const;
const operatorNames = ["eq", "ne", "lt", "le", "gt", "ge"] as const;

const stepTest = z
  .strictObject({
    operator: z.enum(operatorNames).meta({
      description: "`eq` and `ne` compare texts; the others compare numbers and do not hold for other texts.",
    }),
    value: names.paramValue,
  })
  .meta({ id: "StepTest" });

const outcomes = ["succeeded", "failed", "skipped"] as const;

const stepCondition = z
  .discriminatedUnion("kind", [
    z.strictObject({ kind: z.literal("param"), param: names.stepName, test: stepTest }),
    z.strictObject({ kind: z.literal("result"), step: names.stepName, result: names.artifactName, test: stepTest }),
    z.strictObject({ kind: z.literal("outcome"), step: names.stepName, is: z.enum(outcomes) }),
  ])
  .meta({ id: "StepCondition", description: "A condition under which a step runs." });
type StepCondition = z.output<typeof stepCondition>;

const form = "a condition like params.mode == full, evaluate.score >= 0.9 or train is failed";

function readCondition(value: unknown): Reading<StepCondition> {
  const text = readText(value, { lengthMax: limits.PARAM_CHARS_MAX, form });
  if (!text.ok) return text;
  const [, step, is] = /^\s*([\w-]+)\s+is\s+(\w+)\s*$/.exec(text.value) ?? [];
  if (step !== undefined && is !== undefined) {
    const outcome = outcomes.find((each) => each === is);
    return outcome === undefined
      ? refuse(`must compare the step with one of ${outcomes.join(", ")}, got ${is}`)
      : valid({ kind: "outcome", step, is: outcome });
  }
  const found = /^\s*([\w-]+)\.([\w-]+)\s*(==|!=|<=|>=|<|>)\s*(.*?)\s*$/.exec(text.value);
  if (found === null) return refuse(`must be ${form}, got ${shown(value)}`);
  const [, of = "", name = "", operator = "==", compared = ""] = found;
  const test = { operator: operators[operator as keyof typeof operators], value: compared };
  return of === "params"
    ? valid({ kind: "param", param: name, test })
    : valid({ kind: "result", step: of, result: name, test });
}

function valid(condition: StepCondition): Reading<StepCondition> {
  const outcome = stepCondition.safeParse(condition);
  if (outcome.success) return read(condition);
  return refuse(`names something that cannot exist: ${outcome.error.issues[0]?.message ?? ""}`);
}

function writeCondition(condition: StepCondition): string {
  if (condition.kind === "outcome") return `${condition.step} is ${condition.is}`;
  const { operator, value } = condition.test;
  const sign = Object.entries(operators).find(([, each]) => each === operator)?.[0] ?? "==";
  const left = condition.kind === "param" ? `params.${condition.param}` : `${condition.step}.${condition.result}`;
  return `${left} ${sign} ${value}`;
}

const condition = notation.scalar({
  wire: stepCondition,
  kind: "condition",
  editor: { type: "string" },
  read: readCondition,
  write: writeCondition,
});

export const conditions = notation.list(condition, {
  max: limits.STEP_CONDITIONS_MAX,
  noun: "conditions",
  example: "[params.mode == full]",
  orSingle: true,
  mayRepeat: true,
});

const itemText = notation.text(names.paramValue, limits.PARAM_CHARS_MAX, "a text");
const stepRule = notation.name(names.stepName);

/** `split.shards`: the result `shards` of the step `split`. */
const resultOf = notation.text(
  z.string().regex(/^[A-Za-z][\w-]*\.[A-Za-z][\w-]*$/, "must be a step and its result, like split.shards"),
  200,
  "a step and its result, like split.shards",
);

const fanOut = z
  .discriminatedUnion("kind", [
    z.strictObject({ kind: z.literal("values"), values: z.array(names.paramValue).max(limits.FAN_OUT_ITEMS_MAX) }),
    z.strictObject({ kind: z.literal("param"), param: names.stepName }),
    z.strictObject({ kind: z.literal("result"), step: names.stepName, result: names.artifactName }),
    z.strictObject({ kind: z.literal("artifacts"), step: names.stepName }),
  ])
  .meta({ id: "FanOut", description: "The items for each of which a step runs once." });
type FanOut = z.output<typeof fanOut>;

export const forEach = record(
  {
    values: optional(
      notation.list(itemText, {
        max: limits.FAN_OUT_ITEMS_MAX,
        noun: "items",
        example: '["0.1", "0.01"]',
        mayRepeat: true,
      }),
      { description: "The items.", examples: [["en", "de"]] },
    ),
    param: optional(stepRule, {
      description: "A parameter whose value is a list with commas.",
      examples: ["languages"],
    }),
    result: optional(resultOf, {
      description: "A result of a step before this one: a JSON list of texts.",
      examples: ["split.shards"],
    }),
    artifacts: optional(stepRule, {
      description: "A step before this one, whose artifacts are the items; each item is a location.",
    }),
  },
  {
    wire: () => fanOut,
    check: (written) =>
      [written.values, written.param, written.result, written.artifacts].filter((each) => each !== null).length === 1
        ? undefined
        : "must have exactly one of values, param, result and artifacts",
    toWire: (_wire, written) => fanOutOf(written),
    toManifest: (_written, wire) => {
      switch (wire.kind) {
        case "values":
          return { values: wire.values };
        case "param":
          return { param: wire.param };
        case "result":
          return { result: `${wire.step}.${wire.result}` };
        case "artifacts":
          return { artifacts: wire.step };
      }
    },
  },
);

interface WrittenFanOut {
  readonly values: readonly string[] | null;
  readonly param: string | null;
  readonly result: string | null;
  readonly artifacts: string | null;
}

function fanOutOf({ values, param, result, artifacts }: WrittenFanOut): FanOut {
  if (values !== null) return { kind: "values", values: [...values] };
  if (param !== null) return { kind: "param", param };
  if (artifacts !== null) return { kind: "artifacts", step: artifacts };
  const [step = "", name = ""] = (result ?? "").split(".");
  return { kind: "result", step, result: name };
}
