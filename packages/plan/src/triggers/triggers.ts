/**
 * Scaling triggers as data: a threshold on a series, how long it must hold, and a lower threshold that ends it (hysteresis), so that a
 * value near the threshold does not fire again and again. Evaluation is a pure function of the series; it explains each trigger in numbers.
 */
import { z } from "zod";
import { days } from "../document/plan-document.ts";
import type { PlanDocumentProblem } from "../document/plan-document.ts";

export const triggerMeasures = ["utilisation", "queueAge", "forecast", "pipeline"] as const;
const POINTS_MAX = 200_000;

const amounts = z.record(z.string().min(1).max(63), z.number().min(0).max(1e9));

/** The change that a fired trigger proposes. Names of pools and teams are checked by the engine when it fires. */
const proposed = z
  .strictObject({
    order: z
      .strictObject({
        pool: z.string().min(1).max(63),
        nodes: z.int().min(1).max(10_000),
        leadTime: z.union([days, z.strictObject({ p50: days, p95: days })]).describe("time from the order to service"),
      })
      .optional()
      .describe("a capacity order, which is recorded as planned when it is approved"),
    quota: z
      .strictObject({ team: z.string().min(1).max(253), limit: amounts.optional(), guarantee: amounts.optional() })
      .optional()
      .describe("new amounts of a team"),
  })
  .refine(({ order, quota }) => (order === undefined) !== (quota === undefined), {
    message: "state either `order` or `quota`",
  });

const trigger = z
  .strictObject({
    name: z.string().min(1).max(63).describe("name of the trigger"),
    on: z
      .enum(triggerMeasures)
      .describe(
        "utilisation (share of accelerators in use), queueAge (hours that the oldest request waits), forecast (demand at the accepted risk as a share of the capacity when an order of today arrives), pipeline (accelerators that coming work needs as a share of idle capacity)",
      ),
    above: z.number().describe("fires above this value"),
    below: z.number().optional().describe("ends below this value (default: 90% of `above`)"),
    for: z.number().min(0).default(0).describe("hours that the value must hold before it fires"),
    action: z.string().max(200).default("review the plan").describe("the step that the owner should take"),
    propose: proposed
      .optional()
      .describe("change that the control plane proposes when the trigger fires (default: advice with `action`)"),
    owner: z.string().max(100).optional().describe("the person or team that is responsible"),
  })
  .refine(({ above, below }) => below === undefined || below <= above, {
    path: ["below"],
    message: "must not be larger than `above`",
  });

const series = z.array(z.strictObject({ hour: z.number(), value: z.number() })).max(POINTS_MAX);

const triggerDocumentSchema = z.strictObject({
  kind: z.literal("triggers"),
  triggers: z.array(trigger).min(1).max(100),
  series: z
    .partialRecord(z.enum(triggerMeasures), series)
    .default({})
    .describe("measured or forecast values; `hour` counts from any start"),
});

export type TriggerDocument = z.infer<typeof triggerDocumentSchema>;
export type TriggerMeasure = (typeof triggerMeasures)[number];
export type Trigger = TriggerDocument["triggers"][number];
interface Point {
  readonly hour: number;
  readonly value: number;
}

export type TriggerReading =
  | { readonly kind: "read"; readonly document: TriggerDocument }
  | { readonly kind: "refused"; readonly problems: readonly PlanDocumentProblem[] };

export function readTriggerDocument(value: unknown): TriggerReading {
  const parsed = triggerDocumentSchema.safeParse(value);
  if (parsed.success) return { kind: "read", document: parsed.data };
  const problems = parsed.error.issues.map(({ path, message }) => ({ path: path as (string | number)[], message }));
  return { kind: "refused", problems };
}

export interface TriggerFiring {
  readonly firedAtHour: number;
  /** `null`: still active at the last value. */
  readonly endedAtHour: number | null;
  readonly peak: number;
}

export interface TriggerState {
  readonly name: string;
  readonly on: Trigger["on"];
  readonly isActive: boolean;
  readonly action: string;
  readonly value: number | null;
  /** An active trigger ends below this value. */
  readonly endsBelow: number;
  readonly firings: readonly TriggerFiring[];
  /** Why it is active or not, in numbers. */
  readonly explanation: string;
}

export function evaluateTriggers({ triggers, series: all }: TriggerDocument): readonly TriggerState[] {
  return triggers.map((each) => stateOf(each, all[each.on] ?? []));
}

interface Active {
  readonly firedAtHour: number;
  readonly peak: number;
}

function stateOf(trigger: Trigger, points: readonly Point[]): TriggerState {
  const end = trigger.below ?? 0.9 * trigger.above;
  const firings: TriggerFiring[] = [];
  const sorted = points.toSorted((a, b) => a.hour - b.hour);
  let since: number | undefined;
  let active: Active | undefined;
  for (const { hour, value } of sorted) {
    if (active === undefined) {
      since = value > trigger.above ? (since ?? hour) : undefined;
      if (since !== undefined && hour - since >= trigger.for) active = { firedAtHour: hour, peak: value };
      continue;
    }
    active = { ...active, peak: Math.max(active.peak, value) };
    if (value >= end) continue;
    firings.push({ ...active, endedAtHour: hour });
    [active, since] = [undefined, undefined];
  }
  if (active !== undefined) firings.push({ ...active, endedAtHour: null });
  const last = sorted.at(-1);
  return {
    name: trigger.name,
    on: trigger.on,
    isActive: active !== undefined,
    action: trigger.action,
    value: last?.value ?? null,
    endsBelow: end,
    firings,
    explanation: explanationOf(trigger, { end, since, last, active }),
  };
}

interface Evaluated {
  readonly end: number;
  readonly since: number | undefined;
  readonly last: Point | undefined;
  readonly active: Active | undefined;
}

function explanationOf(trigger: Trigger, { end, since, last, active }: Evaluated): string {
  if (last === undefined) return `${trigger.on} has no values`;
  const now = `${trigger.on} is ${short(last.value)}`;
  if (active !== undefined) {
    const reason = `above ${short(trigger.above)} for ${short(trigger.for)} h; peak ${short(active.peak)}`;
    return `${now}: active since hour ${short(active.firedAtHour)} (${reason}), until it is below ${short(end)}`;
  }
  if (since === undefined) return `${now}: not above ${short(trigger.above)}`;
  return `${now}: above ${short(trigger.above)} for ${short(last.hour - since)} of ${short(trigger.for)} h`;
}

function short(value: number): string {
  return String(Math.round(value * 1000) / 1000);
}
