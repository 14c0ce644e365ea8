/** Gathers what the control plane knows about the fleet into findings: incidents, progress of work, and requests. */
import type { Engine, ReadonlyState } from "@headroom/engine";
import { ground, shortReason, spareFindings } from "@headroom/health";
import type { ComparedGang, Finding, IncidentFacts, WatchedAttempt } from "@headroom/health";
import { acceleratorCount } from "@headroom/model";
import type { AttemptId } from "@headroom/model";
import { findWaste, plural, ranksInPlace } from "@headroom/views";
import type { NewestReport } from "@headroom/views";

/** A walltime of this many times the longest similar run leaves room for a slower one. */
const WALLTIME_ROOM = 1.5;
const MINUTE_MS = 60_000;

/** Those of some attempts whose progress can be watched. Attempts of executors that do not answer report nothing. */
export function watchedAttempts(
  { attempts, nodes, pools, workloads }: ReadonlyState,
  ids: readonly AttemptId[],
  reportOf: (id: AttemptId) => NewestReport | undefined,
): readonly WatchedAttempt[] {
  const watched: WatchedAttempt[] = [];
  for (const attemptId of ids) {
    const attempt = attempts.get(attemptId);
    if (attempt === undefined) continue;
    const { workloadId, startedAtMs, stop, workers } = attempt;
    const spec = workloads.get(workloadId)?.spec;
    if (startedAtMs === null || stop !== null || spec === undefined || spec.kind === "serve") continue;
    const places = workers.map(({ node }) => nodes.get(node));
    if (places.some((node) => node === undefined || node.suspended === true || node.health === "lost")) continue;
    const executor = pools.get(places[0]?.pool ?? ("" as never))?.executor ?? "";
    const progress = reportOf(attemptId)?.progress ?? null;
    const { name, team } = spec;
    const accelerators = (): number => workers.reduce((sum, worker) => sum + acceleratorCount(worker.accelerators), 0);
    watched.push({ attemptId, workloadId, name, team, executor, accelerators, workers: workers.length, progress });
  }
  return watched;
}

/** Running gangs with slow ranks, and the nodes of these. */
export function comparedGangs(
  { attempts }: ReadonlyState,
  watched: readonly WatchedAttempt[],
  reportOf: (id: AttemptId) => NewestReport | undefined,
): readonly ComparedGang[] {
  return watched.flatMap(({ attemptId, workloadId, name, team }) => {
    const compared = reportOf(attemptId)?.stragglers;
    const attempt = attempts.get(attemptId);
    if (compared === undefined || attempt === undefined) return [];
    const ranks = ranksInPlace(attempt, compared);
    return ranks.length === 0
      ? []
      : [{ workloadId, name, team, comparedRanks: compared.comparedRanks, comparedAtMs: compared.atMs, ranks }];
  });
}

/** Findings that change slowly. */
export function slowFindings(engine: Engine, incidents: readonly IncidentFacts[], nowMs: number): readonly Finding[] {
  const { state } = engine;
  const byPool = Map.groupBy(state.nodes.values(), ({ pool }) => pool);
  const pools = [...state.pools.values()].map((pool) => ({
    pool,
    nodes: new Set((byPool.get(pool.name) ?? []).map(({ id }) => id)),
  }));
  const historyFromMs = Math.min(nowMs, ...incidents.flatMap(({ failures }) => failures.map(({ atMs }) => atMs)));
  return [...spareFindings(pools, incidents, { historyFromMs, nowMs }), ...walltimeFindings(engine)];
}

/** Only waiting work gains from a shorter walltime. */
function walltimeFindings(engine: Engine): readonly Finding[] {
  const { workloads } = engine.state;
  return findWaste(engine).flatMap((found): Finding[] => {
    if (found.kind !== "walltimeTooLong") return [];
    const workload = workloads.get(found.workloadId);
    if (workload === undefined || workload.activeAttempts.length > 0) return [];
    const walltimeMs = Math.ceil((found.longestMs * WALLTIME_ROOM) / MINUTE_MS) * MINUTE_MS;
    const { name, team } = workload.spec;
    return [
      {
        id: `walltime:${found.workloadId}:${walltimeMs}`,
        kind: "walltime",
        sinceMs: workload.submittedAtMs,
        change: { kind: "request", workloadId: found.workloadId, walltimeMs },
        team,
        reason: shortReason(`${plural(found.runCount, "run")} of work like ${name} took far less than its walltime`),
        ground: [
          ground("walltime requested", found.walltimeMs / 60_000, "min"),
          ground("longest similar run", found.longestMs / 60_000, "min"),
          ground("similar runs", found.runCount),
        ],
      },
    ];
  });
}
