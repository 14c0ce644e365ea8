/** Changes by administrators: resumed nodes, later windows, fewer hot spares, admitted data rules. */
import { admitsRule, specOfGroup } from "@headroom/model";
import type { Input, TimeWindow, Pool, NodeId } from "@headroom/model";
import { calendarEndMs, windowsInTheWay, acceptedBy, emptyNodeWorkers } from "@headroom/engine/internals";
import type { NodeSlot, PlacementRequest, World } from "@headroom/engine/internals";
import type { Change } from "./change.ts";
import type { OtherLine } from "./other-changes.ts";
import type { OtherLowerBound } from "./other-lower-bound.ts";
import { appliedDocuments, counterfactualCommand } from "./counterfactuals.ts";
import { everySet, growing } from "./values.ts";

/**
 * Maximum number of items for which every subset is tried, smaller subsets first. With more items, only the first item,
 * the first two, the first three and so on are tried.
 */
const SEPARATED_MAX = 4;

/** A change of several items at once. If the lower bound rules out all items together, it rules out every subset. */
function setLine<Item>(
  all: readonly Item[],
  changeOf: (set: readonly Item[]) => Change,
  inputsOf: (set: readonly Item[]) => readonly Input[],
): OtherLine {
  const subsets = all.length > SEPARATED_MAX ? null : everySet(all);
  const setAt = (index: number): readonly Item[] => subsets?.[index] ?? all.slice(0, index + 1);
  const count = subsets?.length ?? all.length;
  const values = { ...growing(count, (index) => changeOf(setAt(index))), isMonotone: subsets === null };
  const firstLowerBound = (lowerBound: OtherLowerBound): number => {
    if (count === 0) return 0;
    lowerBound.takeIn(inputsOf(all));
    const isThere = lowerBound.isThere();
    lowerBound.takeIn(inputsOf([]));
    return isThere ? 0 : count;
  };
  return { values, inputs: (index) => inputsOf(setAt(index)), firstLowerBound };
}

/** Whether the node, if empty and not drained, could hold a worker. */
function couldLie(world: World, request: PlacementRequest): (slot: NodeSlot) => boolean {
  const { gang, spec } = request;
  const accepts = acceptedBy(world, request);
  const gangs = gang.taskGroups?.map((_, index) => specOfGroup(spec, index).gang) ?? [gang];
  return (slot) => gangs.some((each) => emptyNodeWorkers(slot, each) > 0) && accepts(slot);
}

/**
 * Drained nodes to resume, grouped by fabric domain. The domain with the most free accelerators comes first. If at most
 * `SEPARATED_MAX` nodes are drained, nodes that the request cannot use are included: resuming one may let a request
 * ahead in the queue start.
 */
export function resumedNodes(world: World, request: PlacementRequest): readonly OtherLine[] {
  const types = new Set(world.capacity.acceptable(request.acceleratorTypes).map(({ type }) => type));
  const isUseful = couldLie(world, request);
  const drained = [...world.state.nodes.values()]
    .filter(({ draining, health }) => draining && health === "up")
    .map(({ id }) => world.capacity.slot(id));
  const useful = drained.filter((slot) => types.has(slot.node.acceleratorType) && isUseful(slot));
  if (drained.length === 0) return [];
  const all = inOrder(drained.length > SEPARATED_MAX ? useful : drained).map(({ node }) => node.id);
  const inputsOf = (resumed: readonly NodeId[]): readonly Input[] => {
    const ids = new Set(resumed);
    return all.map((nodeId) =>
      ids.has(nodeId)
        ? counterfactualCommand({ kind: "resumeNode", nodeId })
        : counterfactualCommand({ kind: "drainNode", nodeId, running: "wait" }),
    );
  };
  return [setLine(all, (nodes) => ({ kind: "resumeNodes", nodes }), inputsOf)];
}

function inOrder(drained: readonly NodeSlot[]): readonly NodeSlot[] {
  const sum = (slots: readonly NodeSlot[]): number => slots.reduce((count, { freeCount }) => count + freeCount, 0);
  const domains = Map.groupBy(drained, ({ node }) => [node.pool, ...node.fabric].join("\u0000"));
  return [...domains.values()]
    .toSorted((left, right) => sum(right) - sum(left))
    .flatMap((domain) => domain.toSorted((left, right) => right.freeCount - left.freeCount));
}

const MINUTE_MS = 60_000;

/**
 * Later starts for each future calendar window that the request, or another waiting request, would overlap. They are
 * whole minutes, and the last one avoids every overlap.
 */
export function laterWindows(world: World, request: PlacementRequest): readonly OtherLine[] {
  if (!world.calendar.hasWindows) return [];
  const own = runsInto(world, request);
  const others = world.queue.waitingClasses().map((other) => runsInto(world, other.request));
  return world.calendar.windows.flatMap(({ window }): readonly OtherLine[] => {
    const { name, kind, startMs: fromMs } = window;
    if (fromMs <= world.calendar.nowMs) return [];
    const ends = new Set([own, ...others].filter(({ windows }) => windows.has(name)).map(({ endMs }) => endMs));
    // Another waiting request may take the time that becomes free, so the ends of all waiting requests are candidates.
    const later = [...ends]
      .filter((endMs) => !own.windows.has(name) || endMs >= own.endMs)
      .toSorted((left, right) => left - right);
    const at = (index: number): Change & { readonly kind: "laterWindow" } => ({
      kind: "laterWindow",
      name,
      window: kind,
      fromMs,
      toMs: later[index] as number,
    });
    const inputs = (index: number): readonly Input[] => [
      appliedDocuments({ calendar: [delayed(window, at(index).toMs)] }),
    ];
    return later.length === 0 ? [] : [{ values: growing(later.length, at), inputs }];
  });
}

const delayed = (window: TimeWindow, startMs: number): TimeWindow => ({
  ...window,
  startMs,
  endMs: window.endMs + startMs - window.startMs,
});

const wholeMinutes = (instantMs: number): number => Math.ceil(instantMs / MINUTE_MS) * MINUTE_MS;

interface Run {
  /** End of the request's run if it started now. */
  readonly endMs: number;
  /** Windows that begin before the run ends. */
  readonly windows: ReadonlySet<string>;
}

const runsInto = (world: World, request: PlacementRequest): Run => ({
  endMs: wholeMinutes(calendarEndMs(world, request)),
  windows: new Set(windowsInTheWay(world, request).map(({ window }) => window.name)),
});

/** Decreasing numbers of hot spares for each pool that has some. */
export function fewerHotSpares(world: World, request: PlacementRequest): readonly OtherLine[] {
  const { state, capacity } = world;
  if (capacity.hotSpares.size === 0) return [];
  const types = new Set(capacity.acceptable(request.acceleratorTypes).map(({ type }) => type));
  const isUseful = couldLie(world, request);
  const kept = new Set([...capacity.hotSpares].filter(isUseful).map(({ node }) => node.pool));
  return [...state.pools.values()].flatMap((pool): readonly OtherLine[] => {
    const { name, hotSpares: from = 0, acceleratorType } = pool;
    if (from === 0 || !kept.has(name) || !types.has(acceleratorType)) return [];
    const values = growing(from, (index): Change => ({
      kind: "fewerHotSpares",
      pool: name,
      from,
      to: from - 1 - index,
    }));
    const inputs = (index: number): readonly Input[] => [
      appliedDocuments({ pools: [{ ...pool, hotSpares: from - 1 - index }] }),
    ];
    return [{ values, inputs }];
  });
}

/** Pools that could hold a worker of the request but do not admit its data rule. */
export function admittedData(world: World, request: PlacementRequest): readonly OtherLine[] {
  const { data, ...spec } = request.spec;
  const { rule } = data ?? {};
  if (rule === undefined) return [];
  const { state } = world;
  const isUseful = couldLie(world, request.with({ spec }));
  const useful = new Set(
    world.capacity
      .acceptable(request.acceleratorTypes)
      .flatMap(({ slots }) => slots.filter((slot) => slot.usable && isUseful(slot)).map(({ node }) => node.pool)),
  );
  const closed = [...state.pools.values()].filter(
    (pool) => useful.has(pool.name) && !admitsRule(rule, state.sites.get(pool.site), pool),
  );
  const inputsOf = (open: readonly Pool[]): readonly Input[] => [
    appliedDocuments({ pools: closed.map((pool) => (open.includes(pool) ? admitting(state, pool, rule) : pool)) }),
  ];
  return [setLine(closed, (pools) => ({ kind: "admitData", rule, pools: pools.map(({ name }) => name) }), inputsOf)];
}

/** A pool's own list of rules replaces its site's list. */
function admitting({ sites }: World["state"], pool: Pool, rule: string): Pool {
  const rules = pool.data?.rules ?? sites.get(pool.site)?.data?.rules ?? [];
  return { ...pool, data: { ...pool.data, rules: [...rules, rule] } };
}
