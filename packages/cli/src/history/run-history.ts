/**
 * `headroom replay --cluster`: the recorded work of Slurm clusters, played under one queue over all of them. Needs no control plane.
 * Three courses stand side by side: the recorded one, each cluster alone under the policy, and one queue. The difference between the
 * first two is the error of the model and the policy; that between the last two is the effect of one queue.
 */
import { setImmediate } from "node:timers/promises";
import type { Policy, Team } from "@headroom/model";
import type { FleetSpec, TeamWait, Trace, TraceJob } from "@headroom/sim";
import { CliError, exitCode, type ExitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { namedPolicy } from "../documents/policy-file.ts";
import { ProgressLine } from "../simulate/progress-line.ts";
import type { ClusterHistory } from "./cluster-history.ts";
import { clusterHistory, clusterOf, clusterSources } from "./cluster-history.ts";
import { historyLines } from "./history-text.ts";

export interface HistoryOptions {
  readonly cluster: readonly string[];
  readonly policy?: string;
  readonly teamChanges?: string;
  readonly timezone?: string;
  readonly anyType?: true;
  readonly json?: boolean;
}

/** Figures of one course. Times in seconds. */
export interface CourseFigures {
  readonly jobs: number;
  readonly mean_wait_s: number;
  readonly max_wait_s: number;
  readonly mean_completion_s: number;
  readonly utilisation: number;
  readonly makespan_s: number;
}

export interface GroupFigures {
  readonly name: string;
  /** `null`: the group has no job that ran to its end in the course. */
  readonly recorded: TeamWait | null;
  readonly alone: TeamWait | null;
  readonly one_queue: TeamWait | null;
}

export interface HistoryReport {
  readonly policy: string;
  readonly from: string;
  readonly to: string;
  readonly clusters: readonly {
    readonly name: string;
    readonly accelerators: number;
    readonly jobs: number;
    readonly left_out: Readonly<Record<string, number>>;
    readonly unread: number;
  }[];
  readonly recorded: CourseFigures;
  readonly alone: CourseFigures;
  readonly one_queue: CourseFigures;
  readonly by_team: readonly GroupFigures[];
  readonly by_cluster: readonly GroupFigures[];
  readonly notes: readonly string[];
}

/** Number of rounds between two checks of Ctrl-C. */
const ROUNDS_PER_TURN = 10_000;

export async function runHistory(context: CommandContext, options: HistoryOptions): Promise<ExitCode> {
  const { utc, zoneNamed } = await import("@headroom/executors/slurm-reading");
  const zone = options.timezone === undefined ? utc : zoneNamed(options.timezone);
  if (zone === null)
    throw new CliError(`--timezone: ${JSON.stringify(options.timezone)} is no time zone`, exitCode.usage);
  const policy = await policyOf(options.policy ?? "default", context);
  const histories: ClusterHistory[] = [];
  for (const source of clusterSources(options.cluster)) {
    const jobsBefore = histories.reduce((sum, { jobs }) => sum + jobs.length, 0);
    const history = await clusterHistory(context, source, { zone, isAnyType: options.anyType === true, jobsBefore });
    if (history === null) return exitCode.interrupted;
    histories.push(history);
  }
  const report = await reportOn(context, histories, { policy, teamFile: options.teamChanges });
  if (options.json === true) context.print(JSON.stringify(report, null, 2));
  else context.print(...historyLines(report, context));
  return exitCode.ok;
}

async function policyOf(named: string, { terminal }: CommandContext): Promise<Policy> {
  const { presets } = await import("@headroom/model");
  const { enginePolicy, policyResource } = await import("@headroom/views");
  const known = [...presets.values()].map(policyResource);
  return presets.get(named) ?? enginePolicy(await namedPolicy(named, known, terminal));
}

interface HistoryChange {
  readonly policy: Policy;
  readonly teamFile: string | undefined;
}

interface Course {
  readonly figures: CourseFigures;
  readonly byTeam: readonly TeamWait[];
  readonly byCluster: readonly TeamWait[];
}

async function reportOn(
  context: CommandContext,
  histories: readonly ClusterHistory[],
  { policy, teamFile }: HistoryChange,
): Promise<HistoryReport> {
  const sim = await import("@headroom/sim");
  const parts = await Promise.all(histories.map((history) => partOf(context, history, teamFile)));
  const all = await partOf(context, merged(histories), teamFile);
  const recorded = sim.recordedCourse(all.trace, acceleratorsOf(all.fleet), sim.teamNameOf(all.teams));
  if (recorded === null) throw new Error("a job of the history has no recorded start");
  const alone: Course[] = [];
  for (const [index, part] of parts.entries())
    alone.push(await played(context, part, policy, `${histories[index]?.name ?? ""} alone`));
  const together = await played(context, all, policy, "one queue");
  const last = all.trace.jobs.reduce((max, job) => Math.max(max, job.submittedAtMs), 0);
  return {
    policy: policy.name,
    from: new Date(all.trace.jobs[0]?.submittedAtMs ?? 0).toISOString(),
    to: new Date(last).toISOString(),
    clusters: histories.map(({ name, jobs, leftOut, unreadCount }, index) => ({
      name,
      accelerators: parts[index] === undefined ? 0 : acceleratorsOf(parts[index].fleet),
      jobs: jobs.length,
      left_out: leftOut,
      unread: unreadCount,
    })),
    recorded: figuresOf(recorded),
    alone: summed(alone, parts),
    one_queue: together.figures,
    by_team: groups(recorded.wait_by_team, joined(alone.map(({ byTeam }) => byTeam)), together.byTeam),
    by_cluster: groups(
      sim.recordedCourse(all.trace, acceleratorsOf(all.fleet), clusterOf)?.wait_by_team ?? [],
      alone.flatMap(({ byCluster }) => byCluster),
      together.byCluster,
    ),
    notes: [...histories.flatMap(({ notes }) => notes), ...MODEL_NOTES],
  };
}

const MODEL_NOTES: readonly string[] = [
  "Work keeps its recorded run times and times of submission; partitions, QOS, reservations and dependencies are not played.",
  "ALONE plays each cluster under the same policy: RECORDED to ALONE is policy and error of the model, ALONE to ONE QUEUE is the effect of one queue.",
];

interface Part {
  readonly trace: Trace;
  readonly fleet: FleetSpec;
  readonly teams: readonly Team[];
}

type HistoryPart = Pick<ClusterHistory, "jobs"> & { readonly documents: readonly ClusterHistory["document"][] };

const merged = (histories: readonly ClusterHistory[]): HistoryPart => ({
  jobs: histories.flatMap(({ jobs }) => jobs),
  documents: histories.map(({ document }) => document),
});

async function partOf(
  context: CommandContext,
  history: HistoryPart | ClusterHistory,
  teamFile: string | undefined,
): Promise<Part> {
  const { declaredFrom } = await import("../simulate/declared-documents.ts");
  const { loadDocuments } = await import("../documents/load-documents.ts");
  const sim = await import("@headroom/sim");
  const documents = "documents" in history ? history.documents : [history.document];
  const own = documents.map((document) => ({ document, file: "the clusters", placeText: () => "the clusters" }));
  const files = teamFile === undefined ? [] : await loadDocuments([teamFile], context.terminal);
  const { fleet, teams } = await declaredFrom([...own, ...files], "the clusters");
  const trace = sim.spreadOverNodes({ jobs: sim.inOrderOfSubmission(history.jobs), fleet: null }, fleet);
  return { trace, fleet, teams: teamFile === undefined ? await teamsOfAccounts(history.jobs) : teams };
}

/** One team for each account that can be a team's name, all with the same weight. */
async function teamsOfAccounts(jobs: readonly TraceJob[]): Promise<readonly Team[]> {
  const { teamName } = await import("@headroom/model");
  const accounts = [...new Set(jobs.flatMap(({ account }) => account ?? []))];
  const names = accounts.filter((account) => /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/.test(account)).toSorted();
  return names.map((name) => ({ name: teamName(name), parent: null, limit: {} }));
}

async function played(context: CommandContext, part: Part, policy: Policy, shown: string): Promise<Course> {
  const { TraceSimulation, waitByTeam, teamNameOf } = await import("@headroom/sim");
  const { trace, fleet, teams } = part;
  const walltimes = { kind: "stated" } as const;
  const simulation = new TraceSimulation({ trace, fleet, policy, teams, faults: null, startupMs: 0, walltimes });
  const progress = new ProgressLine(context.terminal.stderr);
  try {
    while (!simulation.advance(ROUNDS_PER_TURN)) {
      progress.show(`${shown}: ${Math.floor(simulation.progress * 100)}% of ${trace.jobs.length} jobs submitted`);
      await setImmediate();
      if (context.terminal.interrupted.aborted) throw new CliError("interrupted", exitCode.interrupted);
    }
  } finally {
    progress.clear();
  }
  const { observer } = simulation.simulation;
  return {
    figures: figuresOf(simulation.result()),
    byTeam: waitByTeam(trace, observer, teamNameOf(teams)),
    byCluster: waitByTeam(trace, observer, clusterOf),
  };
}

const acceleratorsOf = ({ nodes }: FleetSpec): number =>
  nodes.reduce((sum, { acceleratorCount }) => sum + acceleratorCount, 0);

const figuresOf = (course: CourseFigures): CourseFigures => ({
  jobs: course.jobs,
  mean_wait_s: course.mean_wait_s,
  max_wait_s: course.max_wait_s,
  mean_completion_s: course.mean_completion_s,
  utilisation: course.utilisation,
  makespan_s: course.makespan_s,
});

/** Means by the number of jobs; the utilisation is over the time from the first submission to the last end of all clusters. */
function summed(courses: readonly Course[], parts: readonly Part[]): CourseFigures {
  const figures = courses.map((each) => each.figures);
  const jobs = figures.reduce((sum, each) => sum + each.jobs, 0);
  const mean = (of: (each: CourseFigures) => number): number =>
    jobs === 0 ? 0 : round(figures.reduce((sum, each) => sum + of(each) * each.jobs, 0) / jobs);
  let [total, used, fromS, toS] = [0, 0, Infinity, 0];
  for (const [index, { fleet, trace }] of parts.entries()) {
    const { utilisation, makespan_s: spanS } = figures[index] ?? { utilisation: 0, makespan_s: 0 };
    const startS = (trace.jobs[0]?.submittedAtMs ?? 0) / 1_000;
    total += acceleratorsOf(fleet);
    used += utilisation * acceleratorsOf(fleet) * spanS;
    fromS = Math.min(fromS, startS);
    toS = Math.max(toS, startS + spanS);
  }
  const available = total * (toS - fromS);
  return {
    jobs,
    mean_wait_s: mean((each) => each.mean_wait_s),
    max_wait_s: Math.max(0, ...figures.map((each) => each.max_wait_s)),
    mean_completion_s: mean((each) => each.mean_completion_s),
    utilisation: available > 0 ? Math.round((used / available) * 10_000) / 10_000 : 0,
    makespan_s: round(toS - fromS),
  };
}

const round = (seconds: number): number => Math.round(seconds * 10) / 10;

/** The waits of a team in several clusters. The percentiles are those of the cluster with the largest. */
function joined(lists: readonly (readonly TeamWait[])[]): readonly TeamWait[] {
  return [...Map.groupBy(lists.flat(), ({ team }) => team)].map(([team, waits]) => {
    const jobs = waits.reduce((sum, each) => sum + each.jobs, 0);
    return {
      team,
      jobs,
      mean_wait_s: round(waits.reduce((sum, each) => sum + each.mean_wait_s * each.jobs, 0) / Math.max(jobs, 1)),
      median_wait_s: Math.max(...waits.map((each) => each.median_wait_s)),
      p90_wait_s: Math.max(...waits.map((each) => each.p90_wait_s)),
      max_wait_s: Math.max(...waits.map((each) => each.max_wait_s)),
      share: 0,
    };
  });
}

function groups(
  recorded: readonly TeamWait[],
  alone: readonly TeamWait[],
  together: readonly TeamWait[],
): readonly GroupFigures[] {
  const names = [...new Set([...recorded, ...alone, ...together].map(({ team }) => team))].toSorted();
  const of = (list: readonly TeamWait[], name: string): TeamWait | null =>
    list.find(({ team }) => team === name) ?? null;
  return names.map((name) => ({
    name,
    recorded: of(recorded, name),
    alone: of(alone, name),
    one_queue: of(together, name),
  }));
}
