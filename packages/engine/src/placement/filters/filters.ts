/**
 * All placement constraints, in the order in which reasons are searched. A new constraint is one file and one line in
 * this list.
 */
import type { EventKind } from "@headroom/model";
import type { Layer } from "../../cluster/node-slot.ts";
import type { PlacementRequest } from "../../cluster/placement-request.ts";
import type { SignatureOf } from "../../cluster/queue.ts";
import type { World } from "../../cluster/world.ts";
import { acceleratorType } from "./accelerator-type.ts";
import { antiAffinity } from "./anti-affinity.ts";
import { calendarWindows } from "./calendar-windows.ts";
import { dataInputs } from "./data-inputs.ts";
import { dataRule } from "./data-rule.ts";
import { executor } from "./executor.ts";
import { fabric } from "./fabric.ts";
import type { Filter, FilterBasis, NodeCheck, NodeFilter } from "./filter.ts";
import { image } from "./image.ts";
import { hotSpares } from "./hot-spares.ts";
import { namedNodes } from "./named-nodes.ts";
import { network } from "./network.ts";
import { nodeSelector } from "./node-selector.ts";
import { power } from "./power.ts";
import { quota } from "./quota.ts";
import { resources } from "./resources.ts";
import { runTime } from "./run-time.ts";
import { secrets } from "./secrets.ts";
import { spread } from "./spread.ts";
import { topologyPolicy } from "./topology-policy.ts";
import { transfers } from "./transfers.ts";
import { workloadKind } from "./workload-kind.ts";

export const filters: readonly Filter[] = [
  calendarWindows,
  hotSpares,
  dataRule,
  workloadKind,
  image,
  secrets,
  transfers,
  antiAffinity,
  acceleratorType,
  quota,
  topologyPolicy,
  spread,
  fabric,
  power,
  executor,
  nodeSelector,
  network,
  resources,
  namedNodes,
  dataInputs,
  runTime,
];

export const signatures: readonly SignatureOf[] = filters.flatMap(({ signature }) => signature ?? []);

const constraining = filters.filter((filter): filter is NodeFilter => "appliesTo" in filter);

const applying = (world: World, request: PlacementRequest, bases: readonly FilterBasis[]): readonly NodeFilter[] =>
  constraining.filter(({ basis, appliesTo }) => bases.includes(basis) && appliesTo(world, request));

/** Returns whether no filter applies. Then the index of free amounts answers without reading nodes. */
export function isUnconstrained(world: World, request: PlacementRequest): boolean {
  for (const { appliesTo } of constraining) if (appliesTo(world, request)) return false;
  return true;
}

const EVERY_BASIS: readonly FilterBasis[] = ["fleet", "calendar", "work"];
const EVERY_NODE: NodeCheck = () => true;

/** The check of all filters that apply, prepared once for a search. */
export function nodeCheck(
  world: World,
  request: PlacementRequest,
  { layer = "idle", bases = EVERY_BASIS }: { readonly layer?: Layer; readonly bases?: readonly FilterBasis[] } = {},
): NodeCheck {
  const checks = applying(world, request, bases).flatMap(({ check }) =>
    typeof check === "function" ? check(world, request, layer) : [],
  );
  const [first, second] = checks;
  if (first === undefined) return EVERY_NODE;
  if (second === undefined) return first;
  return (slot) => {
    for (const check of checks) if (!check(slot)) return false;
    return true;
  };
}

const DECLARED: readonly FilterBasis[] = ["fleet"];
const WITHOUT_WORK: readonly FilterBasis[] = ["fleet", "calendar"];

/** The nodes whose declared properties the request accepts. */
export const acceptedBy = (world: World, request: PlacementRequest): NodeCheck =>
  nodeCheck(world, request, { bases: DECLARED });

/** Like `acceptedBy`, without nodes on which the request would overlap a calendar window. */
export const acceptedNow = (world: World, request: PlacementRequest): NodeCheck =>
  nodeCheck(world, request, { bases: WITHOUT_WORK });

export const passesAll = (check: NodeCheck): boolean => check === EVERY_NODE;

/**
 * Returns whether a filter on declared properties of nodes, besides the amounts, limits which work an empty fleet could
 * hold.
 */
export const isConstrainedAlone = (world: World, request: PlacementRequest): boolean =>
  applying(world, request, DECLARED).length > 0;

/**
 * Events that can change which nodes the request accepts by their declared properties, in addition to events that free
 * capacity.
 */
export const declaredWakeOn = (world: World, request: PlacementRequest): readonly EventKind[] =>
  applying(world, request, DECLARED).flatMap(({ wakeOn }) => wakeOn);
