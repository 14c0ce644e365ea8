/** Why work waits although there is room: where its data may be worked on, and who lies too near. */
import { admitsRule } from "../../model/data.ts";
import { inTheWay, looksAround } from "../../placement/anti-affinity.ts";
import { fitsUsableFleet } from "../../placement/could-ever.ts";
import { findPlacement } from "../../placement/place.ts";
import { isInGroups } from "../../cluster/request.ts";
import type { PlacementRequest } from "../../cluster/placement-request.ts";
import type { World } from "../../cluster/world.ts";
import type { Verdict } from "../../contract/verdicts.ts";
import { placeableNow } from "./placeable-now.ts";
import { DATA_MOVES, FREEING, QUOTA_MOVES } from "./wake-on.ts";

/** The rule that its data are under, if it is that which keeps it waiting: elsewhere there would be room. */
export function explainDataRule(
  world: World,
  request: PlacementRequest,
  couldEver: boolean,
): (Verdict & { readonly kind: "blocked" }) | null {
  const { data, ...spec } = request.spec;
  const rule = data?.rule;
  if (rule === undefined) return null;
  const free = request.with({ spec });
  const neverThere = !couldEver && fitsUsableFleet(world, free);
  if (!neverThere && findPlacement(world, free) === null) return null;
  const { state } = world;
  const pools = [...state.pools.values()].filter((pool) => admitsRule(rule, state.sites.get(pool.site), pool));
  const placeableWorkers = isInGroups(request) ? 0 : placeableNow(world, request);
  const reason = { kind: "dataRule", rule, pools: pools.map(({ name }) => name), workers: request.workers } as const;
  const wakeOn = [...FREEING, ...QUOTA_MOVES, ...DATA_MOVES];
  return { kind: "blocked", reasons: [{ ...reason, placeableWorkers }], wakeOn };
}

/** Others from whom it keeps away, or who keep away from it, if they keep it waiting. */
export function explainAntiAffinity(
  world: World,
  request: PlacementRequest,
): (Verdict & { readonly kind: "blocked" }) | null {
  if (!looksAround(world, request)) return null;
  const placement = findPlacement(world, request.with({ ignoresAntiAffinity: true }));
  if (placement === null) return null;
  const workloadIds = inTheWay(world, request, placement);
  if (workloadIds.length === 0) return null;
  const placeableWorkers = isInGroups(request) ? 0 : placeableNow(world, request);
  const reason = { kind: "antiAffinity", workloadIds, workers: request.workers, placeableWorkers } as const;
  return { kind: "blocked", reasons: [reason], wakeOn: [...FREEING, ...QUOTA_MOVES] };
}

/** Where work under a rule may run is declared: it may start when that is declared otherwise. */
export function heedingData<Answer extends Verdict & { readonly kind: "blocked" }>(
  { spec }: PlacementRequest,
  verdict: Answer | null,
): Answer | null {
  if (verdict === null || spec.data?.rule === undefined) return verdict;
  return { ...verdict, wakeOn: [...new Set([...verdict.wakeOn, ...DATA_MOVES])] };
}
