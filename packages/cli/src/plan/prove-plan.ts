/**
 * `headroom plan FILE --prove`: plays months of drawn futures with the real engine, on jobs that arrive one by one, and puts queueing,
 * shortage and utilisation beside what the plan promises. The plan's own arithmetic has no queue and no gangs.
 */
import type { PlanDocument, PlanOutcome, ProofMonth } from "@headroom/plan";
import type { SimulationResult, Trace } from "@headroom/sim";
import type { CommandContext } from "../command.ts";
import { pairLines } from "../output/table.ts";

type Planned = Extract<PlanOutcome, { readonly kind: "planned" }>;

export interface PlayedMonth extends ProofMonth {
  readonly jobs: number;
  readonly meanWaitHours: number;
  /** Share of the firm capacity that was allocated, and mean of the allocated accelerators beyond it. */
  readonly utilisation: number;
  readonly flexibleUsed: number;
  /** Demand that was not running, as a share: work that waits at the end of the month. */
  readonly unserved: number;
}

export interface PlanProof {
  readonly futures: number;
  readonly months: readonly PlayedMonth[];
  readonly promised: { readonly utilisation: number; readonly flexible: number; readonly shortMonthsPct: number };
  readonly played: {
    readonly utilisation: number;
    readonly flexible: number;
    readonly shortMonthsPct: number;
    readonly meanWaitHours: number;
  };
  /** The month with the longest mean wait. */
  readonly worst: PlayedMonth | undefined;
}

const GPUS_PER_NODE = 8;
const HOURS_PER_MONTH = 730;
/** The fleet fills in the first part of a simulated month, so the figures are those of the rest. */
const WARM_UP_SHARE = 0.25;
/** Bound on the time of a month; a month of a larger fleet is played for fewer days. */
const JOBS_MAX = 12_000;
/** Above this share of unserved demand a month is short: queues of a busy fleet alone stay below it. */
const SHORT_SHARE = 0.02;

export async function provePlan(document: PlanDocument, { decisions }: Planned, futures: number): Promise<PlanProof> {
  const { proofMonths } = await import("@headroom/plan");
  const drawn = proofMonths(document, decisions, { futures, every: 3 });
  const months: PlayedMonth[] = [];
  for (const [index, month] of drawn.entries()) months.push(await playMonth(month, index));
  const firm = sum(months, (month) => month.firm);
  const share = (of: (month: PlayedMonth) => number): number => (firm === 0 ? 0 : sum(months, of) / firm);
  const count = Math.max(1, months.length);
  return {
    futures,
    months,
    promised: {
      utilisation: share((month) => month.firm * month.promised.utilisation),
      flexible: sum(months, (month) => month.promised.flexible) / count,
      shortMonthsPct: (100 * months.filter((month) => month.promised.unmet > 0).length) / count,
    },
    played: {
      utilisation: share((month) => month.firm * month.utilisation),
      flexible: sum(months, (month) => month.flexibleUsed) / count,
      shortMonthsPct: (100 * months.filter((month) => month.unserved > SHORT_SHARE).length) / count,
      meanWaitHours:
        sum(months, (month) => month.meanWaitHours * month.jobs) /
        Math.max(
          1,
          sum(months, (m) => m.jobs),
        ),
    },
    worst: months.toSorted((a, b) => b.meanWaitHours - a.meanWaitHours)[0],
  };
}

function sum(months: readonly PlayedMonth[], of: (month: PlayedMonth) => number): number {
  return months.reduce((total, month) => total + of(month), 0);
}

/** Jobs of usual sizes and durations whose accelerator time is the demand of the month; gangs span nodes of eight. */
async function playMonth(month: ProofMonth, seed: number): Promise<PlayedMonth> {
  const { simulate, uniformFleet } = await import("@headroom/sim");
  const { defaultPolicy } = await import("@headroom/model");
  const nodeCount = Math.max(1, Math.round((month.firm + month.flexible) / GPUS_PER_NODE));
  const trace = await monthTrace(month, { seed: seed + 1, total: nodeCount * GPUS_PER_NODE });
  if (trace.jobs.length === 0)
    return { ...month, jobs: 0, meanWaitHours: 0, utilisation: 0, flexibleUsed: 0, unserved: 0 };
  const fleet = uniformFleet({ nodeCount, acceleratorsPerNode: GPUS_PER_NODE });
  const result = simulate({ trace, fleet, policy: defaultPolicy, faults: null, startupMs: 0 });
  return { ...month, jobs: result.jobs, meanWaitHours: result.mean_wait_s / 3600, ...useOf(month, trace, result) };
}

async function monthTrace(
  { demand }: ProofMonth,
  { seed, total }: { readonly seed: number; readonly total: number },
): Promise<Trace> {
  const { generateTrace, usualDurations, usualGangs } = await import("@headroom/sim");
  const gangs = usualGangs.filter(({ accelerators }) => accelerators <= total);
  const weight = gangs.reduce((all, each) => all + each.weight, 0);
  const size = gangs.reduce((all, each) => all + each.accelerators * each.weight, 0) / weight;
  const { durationMinS: low, durationMaxS: high } = usualDurations;
  // Mean of a log-uniform duration.
  const hours = (high - low) / Math.log(high / low) / 3600;
  const jobs = Math.min(JOBS_MAX, Math.ceil((demand * HOURS_PER_MONTH) / (1 - WARM_UP_SHARE) / (size * hours)));
  if (jobs < 1) return { jobs: [], fleet: null };
  const trace = generateTrace({ seed, jobs, accelerators: total, load: demand / total, gangs, ...usualDurations });
  return {
    ...trace,
    jobs: trace.jobs.map((job) =>
      job.accelerators > GPUS_PER_NODE ? { ...job, workers: job.accelerators / GPUS_PER_NODE } : job,
    ),
  };
}

/** Use between the warm-up and the last submission. */
function useOf(
  { firm, demand }: ProofMonth,
  { jobs }: Trace,
  { gpus, series }: SimulationResult,
): Pick<PlayedMonth, "utilisation" | "flexibleUsed" | "unserved"> {
  const lastS = (jobs.at(-1)?.submittedAtMs ?? 0) / 1000 - series.start_s;
  const [from, to] = [Math.ceil((WARM_UP_SHARE * lastS) / series.step_s), Math.floor(lastS / series.step_s)];
  const used = series.utilisation.slice(from, Math.max(from + 1, to)).map((share) => share * gpus);
  const mean = (of: (held: number) => number): number => used.reduce((all, held) => all + of(held), 0) / used.length;
  return {
    utilisation: firm === 0 ? 0 : mean((held) => Math.min(firm, held)) / firm,
    flexibleUsed: mean((held) => Math.max(0, held - firm)),
    unserved: Math.max(0, 1 - mean((held) => held) / demand),
  };
}

export function proofLines(
  { paint }: CommandContext,
  { futures, months, promised, played, worst }: PlanProof,
): string[] {
  const percent = (share: number): string => `${(100 * share).toFixed(1)}%`;
  const hours = (value: number): string => (value < 1 ? `${Math.round(60 * value)} min` : `${value.toFixed(1)} h`);
  const jobs = sum(months, (month) => month.jobs);
  return [
    "",
    ...pairLines(
      [
        ["played", `${months.length} months of ${futures} futures with the real engine, ${jobs} jobs`],
        [
          "use of firm",
          `${percent(played.utilisation)} in the engine, ${percent(promised.utilisation)} promised for this demand`,
        ],
        [
          "flexible",
          `${played.flexible.toFixed(1)} accelerators used at the mean, ${promised.flexible.toFixed(1)} promised`,
        ],
        [
          "short",
          `${played.shortMonthsPct.toFixed(1)}% of the months, ${promised.shortMonthsPct.toFixed(1)}% by the plan's arithmetic`,
        ],
        ["waiting", `${hours(played.meanWaitHours)} a job at the mean`],
        ...(worst === undefined
          ? []
          : [["longest", `${hours(worst.meanWaitHours)} at the mean in ${worst.month} (${worst.pool})`] as const]),
      ],
      paint,
    ),
  ];
}
