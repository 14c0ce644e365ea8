/** Start times, dependencies and preemptibility of a workload. */
import { z } from "zod";
import { listOf, optional, record, type WrittenFields } from "../encoding/field.ts";
import * as notation from "../encoding/notation.ts";
import { leaf, optionalLeaf } from "../encoding/read-values.ts";
import type { FieldProblem } from "../document-problem.ts";
import * as limits from "../limits.ts";
import * as names from "../names.ts";
import { instantPattern, readInstant, writeInstant } from "../notation/instants.ts";
import * as quantities from "../notation/quantities.ts";
import { read, shown, type Reading } from "../notation/reading.ts";

const span = notation.duration(0, limits.DURATION_MS_MAX);
const time = notation.duration(1, limits.DURATION_MS_MAX);

/** An instant. In a schedule it can also be a duration after the due time. */
export interface Moment {
  readonly kind: "instant" | "fromDue";
  readonly ms: number;
}

function readMoment(value: unknown): Reading<Moment> {
  const isDuration = typeof value === "string" && /^\s*\d[\d.]*[a-z]/.test(value);
  const reading = isDuration ? span.read(value) : readInstant(value);
  return reading.ok ? read({ kind: isDuration ? "fromDue" : "instant", ms: reading.value }) : reading;
}

const writeMoment = ({ kind, ms }: Moment): string =>
  kind === "instant" ? writeInstant(ms) : quantities.writeDuration(ms);

const momentEditor = { type: "string", pattern: `${instantPattern}|${quantities.durationPattern}` };

/**
 * In the API the value is an instant. A duration after a schedule's due time is a field of the schedule (`fromDueOf`).
 */
const moment: notation.Notation<Moment, z.ZodInt> = {
  wire: notation.instant.wire,
  unit: notation.instant.unit,
  kind: "instant",
  editor: momentEditor,
  required: (hint) => leaf({ ...momentEditor, ...hint }, readMoment),
  optional: (hint) =>
    optionalLeaf({ ...momentEditor, ...hint }, null, (value): Reading<Moment | null> => readMoment(value)),
  toWire: ({ kind, ms }) => (kind === "instant" ? ms : undefined),
  toManifest: writeInstant,
};

const workloadName = notation.text(
  z.string().min(1).max(limits.ID_CHARS_MAX),
  limits.ID_CHARS_MAX,
  "a workload's name or id",
);
const artifact = notation.name(names.producedName);

const after = record(
  {
    workload: optional(workloadName, {
      description: "Name of a workload of the same team, or an id.",
      otherwise: "with `artifact`: the newest workload that produces it",
    }),
    on: optional(notation.choice(["ok", "failed", "any"]), {
      description: "Required end of that workload: success (`ok`), any other end (`failed`), or either (`any`).",
      otherwise: "`ok`",
    }),
    artifact: optional(artifact, {
      description:
        "An artifact that the workload waits for; used instead of `on`. The workload starts when the artifact is reported, or when it is registered if it has a kind (`model:chat`).",
      examples: ["model"],
    }),
  },
  {
    meant: {
      output: "artifact",
      produced: "artifact",
      name: "workload",
      id: "workload",
      when: "on",
      status: "on",
      outcome: "on",
    },
    wire: ({ workload, on, artifact: produced }) =>
      z.union([
        z.strictObject({ workload: workload.unwrap(), on: on.unwrap() }),
        z.strictObject({ artifact: produced.unwrap(), workload }),
      ]),
    toWire: (wire) => ("artifact" in wire ? wire : { workload: "", on: "ok", ...wire }),
  },
);

const minRuntime = {
  description: "Minimum time that an attempt runs before it can be preempted.",
  examples: ["30m"],
  otherwise: "at any time",
} as const;

const preemptibleTerms = record(
  { minRuntime: optional(span, minRuntime) },
  { meant: { grace: "grace, beside preemptible", after: "minRuntime", min: "minRuntime" } },
);
type Preemptible = boolean | "aboveGuarantee" | WrittenFields<typeof preemptibleTerms.parts>;

const aboveGuarantee = z.literal("aboveGuarantee");

const eitherPreemptible = z.union([z.boolean(), aboveGuarantee, preemptibleTerms.schema], {
  error: ({ input }) =>
    `must be true, false, aboveGuarantee or a mapping like { minRuntime: 30m }, got ${shown(input)}`,
});

/** Preemptibility in the form of the API. In a manifest its terms are separate fields. */
const wirePreemptible = z.union([z.boolean(), aboveGuarantee]);

const preemptible: notation.Notation<Preemptible, typeof wirePreemptible> = {
  wire: wirePreemptible,
  kind: "`true`, `false`, `aboveGuarantee`, or `{ minRuntime: 30m }`",
  editor: {},
  required: (hint) => eitherPreemptible.meta(hint),
  optional: (hint) =>
    eitherPreemptible
      .optional()
      .meta(hint)
      .transform((written): Preemptible | null => written ?? null),
  toWire: (written) => (written === "aboveGuarantee" ? written : written !== false),
  toManifest: (wire) => wire,
};

const startWindow = record(
  {
    maxPrice: optional(notation.energyPrice, {
      wire: "microUsdPerKwhMax",
      description: "Maximum price of power at which the workload starts. Running work continues at a higher price.",
      examples: ["0.10 USD/kWh"],
    }),
    maxCarbon: optional(notation.carbon, {
      wire: "gramsPerKwhMax",
      description: "Maximum carbon intensity of power at which the workload starts.",
      examples: ["200 g/kWh"],
    }),
    cheapest: optional(time, {
      wire: "cheapestMs",
      description:
        "Total length of the cheapest hours before its latest start, by the tariffs. The workload starts only in these hours, which need not be contiguous.",
      examples: ["4h"],
    }),
    cleanest: optional(time, {
      wire: "cleanestMs",
      description:
        "Total length of the hours with the least carbon intensity before its latest start. The workload starts only in these hours.",
      examples: ["4h"],
    }),
    latestStart: optional(moment, {
      wire: "latestStartMs",
      description:
        "Time from which the workload starts at any price; in a schedule it can also be a duration after the due time. With a `deadline`, the workload also starts if it would miss the deadline otherwise.",
      examples: ["2027-03-02T04:00:00Z"],
    }),
  },
  {
    meant: {
      price: "maxPrice",
      carbon: "maxCarbon",
      priceMax: "maxPrice",
      carbonMax: "maxCarbon",
      until: "latestStart",
    },
    check: (written) =>
      [written.maxPrice, written.maxCarbon, written.cheapest, written.cleanest].every((bound) => bound === null)
        ? "must state maxPrice, maxCarbon, cheapest or cleanest"
        : undefined,
    wire: (shape) =>
      z
        .strictObject(shape)
        .refine(
          ({ microUsdPerKwhMax, gramsPerKwhMax, cheapestMs, cleanestMs }) =>
            [microUsdPerKwhMax, gramsPerKwhMax, cheapestMs, cleanestMs].some((bound) => bound !== undefined),
          { message: "must limit the price or carbon, or request the cheapest or cleanest time" },
        ),
  },
);

export const timeFields = {
  preemptible: optional(preemptible, {
    description:
      "Whether other work can preempt the workload. With `aboveGuarantee`, only the part above its team's guarantee can be reclaimed, by a team below its own guarantee.",
    otherwise: "the policy's default",
  }),
  minRuntime: optional(span, { ...minRuntime, wire: "minRuntimeMs" }),
  restartCost: optional(span, {
    wire: "restartCostMs",
    description:
      "Time that a restart costs in addition to the work since the last checkpoint. The choice of victims considers it.",
    examples: ["2m"],
    otherwise: "`0s`",
  }),
  onNodeLoss: optional(notation.choice(["replace", "restart"]), {
    description:
      "Action when a gang loses a node: `replace` gives the lost workers new places while the other workers continue, if capacity is free at once; `restart` restarts the whole gang from its checkpoint.",
    otherwise: "`restart`",
  }),
  after: optional(
    listOf(after, {
      max: limits.PREDECESSORS_MAX,
      error: () => "must be a list like [{ workload: tokenize, on: ok }]",
    }),
    {
      description:
        "Dependencies: workloads that must end, or artifacts that must exist, before the workload starts. It is cancelled if a dependency can no longer be met.",
    },
  ),
  produces: optional(
    notation.list(artifact, {
      min: 1,
      max: limits.ARTIFACTS_MAX,
      noun: "artifacts",
      example: "[model]",
      orSingle: true,
    }),
    {
      description:
        "Artifacts that the workload reports, for dependent work. One with a kind (`model:chat`) is registered as the next version when the attempt succeeds.",
      examples: [["model:chat"]],
    },
  ),
  notBefore: optional(moment, {
    wire: "notBeforeMs",
    description: "Earliest start of the workload; in a schedule it can also be a duration after the due time.",
    examples: ["2027-03-01T08:00:00Z"],
    otherwise: "at once",
  }),
  deadline: optional(moment, {
    wire: "deadlineMs",
    description:
      "Desired end of the workload; in a schedule it can also be a duration after the due time. Policies can order by it.",
    examples: ["2027-03-02T08:00:00Z"],
  }),
  startWindow: optional(startWindow, {
    description:
      "Condition on power, by the tariffs of the calendar: the workload starts only while power is cheap or clean.",
    otherwise: "at any time",
  }),
};

type Times = WrittenFields<typeof timeFields>;

/** The minimum runtime, which a manifest may write as `minRuntime` or as `preemptible: { minRuntime }`. */
export const minRuntimeOf = (written: Times): number | null =>
  (typeof written.preemptible === "object" ? written.preemptible?.minRuntime : null) ?? written.minRuntime;

/** Problems between time fields. `isScheduled`: durations after the due time are allowed. */
export function timeProblems(written: Times, isScheduled: boolean): FieldProblem[] {
  const problems: FieldProblem[] = [];
  const say = (path: FieldProblem["path"], message: string): void => void problems.push({ path, message });
  const { notBefore, deadline, startWindow: window, minRuntime: least } = written;
  if (least !== null && minRuntimeOf(written) !== least)
    say(
      ["minRuntime"],
      `states ${quantities.writeDuration(least)}, but preemptible.minRuntime another time: keep one of them`,
    );
  for (const [index, { workload, on, artifact: produced }] of (written.after ?? []).entries()) {
    if (produced === null && workload === null) say(["after", index], "must name a workload or an artifact");
    if (produced !== null && on !== null)
      say(["after", index, "on"], "must be left out with an artifact, which is awaited instead of an end");
  }
  const asksForLeast = window !== null && (window.cheapest !== null || window.cleanest !== null);
  if (asksForLeast && window.latestStart === null && deadline === null)
    say(["startWindow", "latestStart"], "or a deadline is required: the cheapest or cleanest time before it is chosen");
  if (notBefore !== null && notBefore.kind === deadline?.kind && deadline.ms <= notBefore.ms)
    say(["deadline"], `must be later than notBefore, ${writeMoment(notBefore)}`);
  for (const { path, said } of momentsOf(written))
    if (said?.kind === "fromDue" && !isScheduled)
      say(
        path,
        `must be an instant like 2027-03-01T08:00:00Z, because a duration is possible only in a schedule, got ${writeMoment(said)}`,
      );
  return problems;
}

const momentsOf = ({ notBefore, deadline, startWindow: window }: Times) =>
  [
    { path: ["notBefore"], wire: "notBeforeMs", said: notBefore },
    { path: ["deadline"], wire: "deadlineMs", said: deadline },
    { path: ["startWindow", "latestStart"], wire: "latestStartMs", said: window?.latestStart ?? null },
  ] as const;

/**
 * Durations in ms after a schedule's due time, by the names of the fields in the API; `undefined`: the field has no
 * such duration.
 */
export type FromDue = Partial<Record<"notBeforeMs" | "deadlineMs" | "latestStartMs", number | undefined>>;

export function fromDueOf(written: Times): FromDue | undefined {
  const counted = momentsOf(written).flatMap(({ wire, said }) => (said?.kind === "fromDue" ? [[wire, said.ms]] : []));
  return counted.length === 0 ? undefined : (Object.fromEntries(counted) as FromDue);
}

/** Adds the durations after a schedule's due time to the workload's manifest fields. */
export function withFromDue(manifest: Record<string, unknown>, fromDue: FromDue): Record<string, unknown> {
  const { notBeforeMs, deadlineMs, latestStartMs } = fromDue;
  const window = manifest["startWindow"] as Readonly<Record<string, unknown>> | undefined;
  return {
    ...manifest,
    ...(notBeforeMs === undefined ? {} : { notBefore: quantities.writeDuration(notBeforeMs) }),
    ...(deadlineMs === undefined ? {} : { deadline: quantities.writeDuration(deadlineMs) }),
    ...(latestStartMs === undefined
      ? {}
      : { startWindow: { ...window, latestStart: quantities.writeDuration(latestStartMs) } }),
  };
}
