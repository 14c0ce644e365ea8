/** When work may start, what it waits for, and under which terms it may be taken off its place again. */
import { z } from "zod";
import * as limits from "./limits.ts";
import * as names from "./names.ts";
import type { Schedule } from "./schedule-spec.ts";
import type { WorkloadSpec } from "./workload-spec.ts";
import { fields, optionalLeaf, readChoice, readName, readText } from "./field.ts";
import { moment, momentText, readMoment, writeMoment } from "./notation/moments.ts";
import type { Moment } from "./notation/moments.ts";
import { startWindowFields, startWindowOf, startWindowText } from "./start-window-fields.ts";
import type { StartWindow } from "./start-window-fields.ts";
import type { FieldProblem } from "./placement-fields.ts";
import * as quantities from "./notation/quantities.ts";
import { read, refuse, shown, type Reading } from "./notation/reading.ts";

const durationRange = { min: 0, max: limits.DURATION_MS_MAX };
const duration = { type: "string", pattern: quantities.durationPattern };
const readSpan = (value: unknown): Reading<number | null> => quantities.readDuration(value, durationRange);

function readProduces(value: unknown): Reading<string[] | null> {
  const list: readonly unknown[] = Array.isArray(value) ? value : [value];
  if (list.length === 0 || list.length > limits.ARTIFACTS_MAX)
    return refuse(`must name 1 to ${limits.ARTIFACTS_MAX}, got ${shown(value)}`);
  const found: string[] = [];
  for (const each of list) {
    const reading = readName(each, names.artifactName);
    if (!reading.ok) return reading;
    if (found.includes(reading.value)) return refuse(`names ${reading.value} twice`);
    found.push(reading.value);
  }
  return read(found);
}

const outcomes = ["ok", "failed", "any"] as const;
const readPredecessor = (value: unknown): Reading<string> =>
  readText(value, { lengthMax: limits.ID_CHARS_MAX, form: "a workload's name or id" });

const nodeLossAnswers = ["replace", "restart"] as const;
const readArtifact = (value: unknown): Reading<string | null> => readName(value, names.artifactName);

const afterFields = fields(
  {
    workload: optionalLeaf(
      {
        description:
          "Name of a workload of the same team, or an id; beside an artifact it may be left out: then the newest that produces it.",
        type: "string",
      },
      null,
      (value): Reading<string | null> => readPredecessor(value),
    ),
    on: optionalLeaf(
      { description: "The end that it must have come to; ok, if no artifact is named.", enum: [...outcomes] },
      null,
      (value): Reading<(typeof outcomes)[number] | null> => readChoice(value, outcomes),
    ),
    artifact: optionalLeaf(
      { description: "Instead of an end: something that it produces.", type: "string", examples: ["model"] },
      null,
      readArtifact,
    ),
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
  },
);

const preemptibleFields = fields(
  {
    minRuntime: optionalLeaf(
      { description: "Not before it ran this long.", ...duration, examples: ["30m"] },
      null,
      readSpan,
    ),
  },
  { meant: { grace: "grace, beside preemptible", after: "minRuntime", min: "minRuntime" } },
);

/** Yes, no, or yes with terms. */
const preemptibleField = z
  .union([z.boolean(), preemptibleFields], {
    error: ({ input }) => `must be true, false or a mapping like { minRuntime: 30m }, got ${shown(input)}`,
  })
  .optional()
  .meta({ description: "Whether it may be evicted for others; left out, as the policy says." });

export const timeShape = {
  preemptible: preemptibleField,
  minRuntime: optionalLeaf(
    { description: "Where it may be evicted: not before it ran this long.", ...duration, examples: ["30m"] },
    null,
    readSpan,
  ),
  restartCost: optionalLeaf(
    {
      description: "What starting again costs it, beyond the work since its last checkpoint.",
      ...duration,
      examples: ["2m"],
    },
    null,
    readSpan,
  ),
  onNodeLoss: optionalLeaf(
    {
      description:
        "When a node of its gang is lost: `replace` gives the lost workers new places while the others stay, as far as there is room at once; `restart` starts the whole gang again.",
      enum: [...nodeLossAnswers],
      default: "restart",
    },
    null,
    (value): Reading<(typeof nodeLossAnswers)[number] | null> => readChoice(value, nodeLossAnswers),
  ),
  after: z
    .array(afterFields, { error: "must be a list like [{ workload: tokenize, on: ok }]" })
    .max(limits.PREDECESSORS_MAX)
    .optional()
    .meta({ description: "What must have come to an end, and to which, before it may start." }),
  produces: optionalLeaf(
    {
      description: "What it reports when it has produced it, for others to wait for.",
      type: "array",
      items: { type: "string" },
      examples: [["model"]],
    },
    null,
    readProduces,
  ),
  notBefore: optionalLeaf(
    {
      description: "Not started before this instant; in a schedule also so long after it was due.",
      ...moment,
      examples: ["2027-03-01T08:00:00Z"],
    },
    null,
    readMoment,
  ),
  deadline: optionalLeaf(
    {
      description:
        "Wanted done by this instant, in a schedule also so long after it was due; policies may order by it.",
      ...moment,
      examples: ["2027-03-02T08:00:00Z"],
    },
    null,
    readMoment,
  ),
  startWindow: startWindowFields.optional().meta({
    description: "Started only while power is cheap or clean, by the tariffs, or for its deadline.",
  }),
};

type After = z.output<typeof afterFields>;

interface Terms {
  readonly preemptible?: z.output<typeof preemptibleField>;
  readonly minRuntime: number | null;
  readonly restartCost: number | null;
  readonly onNodeLoss: "replace" | "restart" | null;
  readonly after?: readonly After[] | undefined;
  readonly produces: readonly string[] | null;
  readonly notBefore: Moment | null;
  readonly deadline: Moment | null;
  readonly startWindow?: StartWindow | undefined;
}

function minRuntimeOf({ preemptible, minRuntime }: Terms): Reading<number | null> {
  const inside = typeof preemptible === "object" ? preemptible.minRuntime : null;
  if (inside === null || minRuntime === null || inside === minRuntime) return read(inside ?? minRuntime);
  return refuse(`says ${quantities.writeDuration(minRuntime)} and preemptible.minRuntime another: keep one of them`);
}

function afterOf({ workload, on, artifact }: After): NonNullable<WorkloadSpec["after"]>[number] {
  if (artifact === null) return { workload: workload ?? "", on: on ?? "ok" };
  return workload === null ? { artifact } : { artifact, workload };
}

/** `isScheduled`: instants may count from when it was due. */
export function timeProblems(terms: Terms, isScheduled: boolean): FieldProblem[] {
  const problems: FieldProblem[] = [];
  const minRuntime = minRuntimeOf(terms);
  if (!minRuntime.ok) problems.push({ path: ["minRuntime"], message: minRuntime.message });
  for (const [index, { workload, on, artifact }] of (terms.after ?? []).entries()) {
    if (artifact === null && workload === null)
      problems.push({ path: ["after", index], message: "must name a workload or an artifact" });
    if (artifact !== null && on !== null)
      problems.push({
        path: ["after", index, "on"],
        message: "must be left out beside an artifact: it is waited for, not the end",
      });
  }
  const { notBefore, deadline, startWindow } = terms;
  const asksForLeast = startWindow !== undefined && (startWindow.cheapest !== null || startWindow.cleanest !== null);
  if (asksForLeast && startWindow.latestStart === null && deadline === null)
    problems.push({
      path: ["startWindow", "latestStart"],
      message: "or a deadline is required: the cheapest or cleanest time is that before it",
    });
  const [first, last] = [notBefore, deadline];
  if (first !== null && first.kind === last?.kind && last.ms <= first.ms)
    problems.push({ path: ["deadline"], message: `must lie after notBefore, ${writeMoment(first)}` });
  const moments = { notBefore, deadline, "startWindow.latestStart": startWindow?.latestStart ?? null };
  for (const [name, said] of Object.entries(moments))
    if (said?.kind === "fromDue" && !isScheduled)
      problems.push({
        path: name.split("."),
        message: `must be an instant like 2027-03-01T08:00:00Z: a duration counts from when a schedule was due, got ${writeMoment(said)}`,
      });
  return problems;
}

type TimeSpec = Pick<
  WorkloadSpec,
  | "preemptible"
  | "minRuntimeMs"
  | "restartCostMs"
  | "onNodeLoss"
  | "after"
  | "produces"
  | "notBeforeMs"
  | "deadlineMs"
  | "startWindow"
>;

/** Fields of the spec; what was left out is left out. */
export function timesOf(terms: Terms): TimeSpec {
  const { preemptible, restartCost, onNodeLoss, after, produces, notBefore, deadline, startWindow } = terms;
  const reading = minRuntimeOf(terms);
  const minRuntime = reading.ok ? reading.value : null;
  return {
    ...(preemptible === undefined ? {} : { preemptible: preemptible !== false }),
    ...(minRuntime === null ? {} : { minRuntimeMs: minRuntime }),
    ...(restartCost === null ? {} : { restartCostMs: restartCost }),
    ...(onNodeLoss === null ? {} : { onNodeLoss }),
    ...(after === undefined || after.length === 0 ? {} : { after: after.map(afterOf) }),
    ...(produces === null ? {} : { produces: [...produces] }),
    ...(notBefore?.kind === "instant" ? { notBeforeMs: notBefore.ms } : {}),
    ...(deadline?.kind === "instant" ? { deadlineMs: deadline.ms } : {}),
    ...(startWindow === undefined ? {} : { startWindow: startWindowOf(startWindow) }),
  };
}

/** The fields of the document that read back as the same terms. */
export function timesText(spec: WorkloadSpec, fromDue: Schedule["fromDue"] = {}): Record<string, unknown> {
  const { preemptible, minRuntimeMs, restartCostMs, after, produces, notBeforeMs, deadlineMs, startWindow } = spec;
  const text: Record<string, unknown> = {};
  const minRuntime = minRuntimeMs === undefined ? undefined : quantities.writeDuration(minRuntimeMs);
  if (preemptible !== undefined)
    text["preemptible"] = preemptible && minRuntime !== undefined ? { minRuntime } : preemptible;
  if (minRuntime !== undefined && preemptible !== true) text["minRuntime"] = minRuntime;
  if (restartCostMs !== undefined) text["restartCost"] = quantities.writeDuration(restartCostMs);
  if (spec.onNodeLoss !== undefined) text["onNodeLoss"] = spec.onNodeLoss;
  if (after !== undefined && after.length > 0) text["after"] = after.map((each) => ({ ...each }));
  if (produces !== undefined) text["produces"] = [...produces];
  const notBefore = momentText(notBeforeMs, fromDue.notBeforeMs);
  const deadline = momentText(deadlineMs, fromDue.deadlineMs);
  if (notBefore !== undefined) text["notBefore"] = notBefore;
  if (deadline !== undefined) text["deadline"] = deadline;
  if (startWindow !== undefined) text["startWindow"] = startWindowText(startWindow, fromDue.latestStartMs);
  return text;
}

/** What counts from when a schedule was due; `undefined`: nothing does. */
export function fromDueOf({ notBefore, deadline, startWindow }: Terms): Schedule["fromDue"] {
  const found = {
    ...(notBefore?.kind === "fromDue" ? { notBeforeMs: notBefore.ms } : {}),
    ...(deadline?.kind === "fromDue" ? { deadlineMs: deadline.ms } : {}),
    ...(startWindow?.latestStart?.kind === "fromDue" ? { latestStartMs: startWindow.latestStart.ms } : {}),
  };
  return Object.keys(found).length === 0 ? undefined : found;
}
