/**
 * Reasons that keep work out of the queue, or keep a whole team from starting work: holds, times, back-off, budgets.
 */
import {
  accrued,
  renewalMs,
  spentOf,
  spentBudgets,
  latestStartAtMs,
  opensAtMs,
  PowerForecast,
  figuresAt,
  holdReasonBy,
  isAtTaskLimit,
} from "@headroom/engine/internals";
import type { World } from "@headroom/engine/internals";
import { firstRetry, invariant, isRegistered } from "@headroom/model";
import type { EventKind, TeamName, Workload, WorkloadSpec, BlockedReason, Verdict, WaitsFor } from "@headroom/model";
import { blocked } from "./blocked-verdict.ts";

/** Reason `budget`: the used-up budget of the team or of a team above it. A budget that never renews is preferred. */
export function explainBudget(
  { state, budgets }: World,
  team: TeamName,
  nowMs: number,
): (BlockedReason & { readonly kind: "budget" }) | null {
  const all = spentBudgets(state, team);
  const renews = (of: TeamName): boolean => {
    const budget = state.teams.get(of)?.budget;
    return budget === undefined || renewalMs(budget, nowMs) !== null;
  };
  const spent = all.find((of) => !renews(of)) ?? all[0];
  const account = spent === undefined ? undefined : state.accounts.get(spent);
  const budget = spent === undefined ? undefined : state.teams.get(spent)?.budget;
  if (spent === undefined || account === undefined || budget === undefined) return null;
  const used = spentOf(accrued(account, budget, { rate: budgets.rate(spent), nowMs }), budget);
  const { resource, limit } = used;
  return { kind: "budget", team: spent, resource, limit, spent: used.spent, renewsAtMs: renewalMs(budget, nowMs) };
}

/** The workload's hold reason, or `null` if it has none. */
export function explainTime(world: World, workload: Workload, nowMs: number): Verdict | null {
  const { waitsFor: [wait, ...others] = [], spec } = workload;
  switch (holdReasonBy(workload, nowMs)) {
    case "held":
      return blocked(["workloadReleased"], { kind: "held" });
    case "waitsFor":
      invariant(wait !== undefined, `${workload.id} waits for nothing`);
      return blocked(wakeOnOf(wait), {
        kind: "waitsFor",
        ...wait,
        othersCount: others.length,
      });
    case "notBefore":
      return blocked([], { kind: "notBefore", atMs: spec.notBeforeMs ?? nowMs });
    case "startWindow":
      return blocked(
        ["calendarSet", "calendarRemoved", "windowEnded", "siteDefined", "policySet", "startWindowOpened"],
        explainStartWindow(world, spec, nowMs),
      );
    default:
      return null;
  }
}

/** The start window's conditions with present prices, the forecast of its opening, and the latest start. */
function explainStartWindow(world: World, spec: WorkloadSpec, nowMs: number): BlockedReason {
  const { startWindow = {} } = spec;
  return {
    kind: "startWindow",
    ...figuresAt(world.state, nowMs),
    microUsdPerKwhMax: startWindow.microUsdPerKwhMax ?? null,
    gramsPerKwhMax: startWindow.gramsPerKwhMax ?? null,
    ...(startWindow.cheapestMs === undefined ? {} : { cheapestMs: startWindow.cheapestMs }),
    ...(startWindow.cleanestMs === undefined ? {} : { cleanestMs: startWindow.cleanestMs }),
    opensAtMs: opensAtMs(world, spec, new PowerForecast(world.state, nowMs)),
    latestStartAtMs: latestStartAtMs(world, spec),
  };
}

/** The verdict for an array that runs as many tasks as it may have at one time, or `null` for other work. */
export const explainTaskLimit = (workload: Workload): Verdict | null =>
  workload.spec.kind === "batch" && workload.spec.tasksAtOnce !== undefined && isAtTaskLimit(workload)
    ? blocked(["attemptEnded"], { kind: "taskLimit", tasksAtOnce: workload.spec.tasksAtOnce })
    : null;

export function explainBackoff(workload: Workload, nowMs: number): Verdict {
  const { retryAtMs, failureCount } = firstRetry(workload, nowMs);
  const { activeAttempts, scale } = workload;
  // For an array, the end of a running task may let the retry start earlier; for an endpoint, a further replica.
  const wakeOn: readonly EventKind[] = [
    ...(activeAttempts.length > 0 ? (["attemptEnded"] as const) : []),
    ...(scale === undefined ? [] : (["endpointScaled"] as const)),
  ];
  return blocked(wakeOn, {
    kind: "backoff",
    untilMs: retryAtMs,
    failures: failureCount,
  });
}

function wakeOnOf(wait: WaitsFor): readonly EventKind[] {
  if (wait.on !== "artifact") return ["workloadEnded"];
  return [isRegistered(wait.artifact) ? "artifactRegistered" : "artifactRecorded", "workloadEnded"];
}
