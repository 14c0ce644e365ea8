/** Warnings about declared sites and pools, given the present fleet and work. The declarations are accepted anyway. */
import { admitsRule } from "@headroom/model";
import type { Attempt, NodeId, PoolName, WorkloadSpec } from "@headroom/model";
import type { ReadonlyState, ApplyDocuments } from "@headroom/engine";
import type { ApplyWarning } from "@headroom/protocol";
import { grouped, plural } from "./plain-text.ts";

type FleetWarningState = Pick<ReadonlyState, "sites" | "pools" | "nodes" | "attempts" | "workloads">;

type DeclaredFleet = Pick<ApplyDocuments, "sites" | "pools">;

export const fleetWarnings = (state: FleetWarningState, declared: DeclaredFleet): ApplyWarning[] => [
  ...onlyHotSpares(state, declared),
  ...dataOnTheWrongSide(state, declared),
  ...unknownDraw(state, declared),
];

/** Pools at sites with caps that do not state what their accelerators draw. */
function unknownDraw({ sites, pools }: FleetWarningState, declared: DeclaredFleet): ApplyWarning[] {
  const capped = new Map([...sites.values(), ...declared.sites].map(({ name, caps }) => [name, caps !== undefined]));
  const all = new Map([...pools.values(), ...declared.pools].map((pool) => [pool.name, pool]));
  const touched = new Set([...declared.sites.map(({ name }) => name), ...declared.pools.map(({ site }) => site)]);
  return [...all.values()].flatMap(({ name, site, acceleratorType, power }) => {
    if (!touched.has(site) || capped.get(site) !== true) return [];
    if (acceleratorType === "" || power?.acceleratorWatts !== undefined) return [];
    return {
      pool: name,
      message: `Site ${site} has caps on power or cooling, but pool ${name} does not state what an accelerator (${acceleratorType}) draws. No work with accelerators is placed on its nodes in capped domains: state power.accelerator of the pool, such as 700W.`,
    };
  });
}

function onlyHotSpares({ nodes }: FleetWarningState, { pools }: DeclaredFleet): ApplyWarning[] {
  return pools.flatMap(({ name: pool, hotSpares = 0 }) => {
    if (hotSpares === 0) return [];
    const count = [...nodes.values()].filter((node) => node.pool === pool).length;
    if (count === 0 || hotSpares < count) return [];
    const all = count === 1 ? "its only node" : `all of its ${grouped(count)} nodes`;
    return {
      pool,
      message: `Pool ${pool} keeps ${plural(hotSpares, "hot spare")}, so ${all}: only work that lost nodes starts there.`,
    };
  });
}

interface Left {
  readonly pool: PoolName;
  readonly rule: string;
  readonly attempts: readonly Attempt[];
}

const ATTEMPTS_NAMED_MAX = 5;

/** Running work in pools that no longer admit its data rule. */
function dataOnTheWrongSide(state: FleetWarningState, declared: DeclaredFleet): ApplyWarning[] {
  return leftBehind(state, declared).map(({ pool, rule, attempts }) => {
    const named = attempts.slice(0, ATTEMPTS_NAMED_MAX).map(({ id, workloadId }) => {
      return `${state.workloads.get(workloadId)?.spec.name ?? workloadId} (${id})`;
    });
    const more = attempts.length - named.length;
    const list = more === 0 ? named.join(", ") : `${named.join(", ")} and ${grouped(more)} more`;
    const goOn = attempts.length === 1 ? "It continues: stop it" : "They continue: stop them";
    const runs = attempts.length === 1 ? "runs" : "run";
    return {
      pool,
      message: `Pool ${pool} no longer admits the data rule ${rule}, but ${plural(attempts.length, "attempt")} of work under this rule ${runs} there: ${list}. ${goOn} with headroom stop if that is not allowed.`,
    };
  });
}

function leftBehind(state: FleetWarningState, declared: DeclaredFleet): readonly Left[] {
  const closed = closedRules(state, declared);
  if (closed.size === 0) return [];
  const left = new Map<string, Left & { readonly attempts: Attempt[] }>();
  for (const attempt of state.attempts.values()) {
    const rule = ruleOf(state.workloads.get(attempt.workloadId)?.spec);
    if (rule === undefined || attempt.stop !== null) continue;
    for (const pool of poolsOf(state, attempt)) {
      if (closed.get(pool)?.has(rule) !== true) continue;
      const key = JSON.stringify([pool, rule]);
      const found = left.get(key) ?? { pool, rule, attempts: [] };
      found.attempts.push(attempt);
      left.set(key, found);
    }
  }
  return [...left.values()];
}

const ruleOf = (spec: WorkloadSpec | undefined): string | undefined => spec?.data?.rule;

/** For each pool: the data rules that it admits now and will no longer admit. */
function closedRules(
  state: FleetWarningState,
  { sites, pools }: DeclaredFleet,
): ReadonlyMap<PoolName, ReadonlySet<string>> {
  const siteAfter = new Map(sites.map((site) => [site.name, site]));
  const poolAfter = new Map(pools.map((pool) => [pool.name, pool]));
  const closed = new Map<PoolName, ReadonlySet<string>>();
  for (const pool of state.pools.values()) {
    const after = poolAfter.get(pool.name) ?? pool;
    const [siteBefore, site] = [state.sites.get(pool.site), siteAfter.get(after.site) ?? state.sites.get(pool.site)];
    const admitted = pool.data?.rules ?? siteBefore?.data?.rules ?? [];
    const gone = admitted.filter((rule) => !admitsRule(rule, site, after));
    if (gone.length > 0) closed.set(pool.name, new Set(gone));
  }
  return closed;
}

function poolsOf({ nodes }: FleetWarningState, { workers, terminating = [] }: Attempt): ReadonlySet<PoolName> {
  const poolOf = (id: NodeId): PoolName[] => {
    const pool = nodes.get(id)?.pool;
    return pool === undefined ? [] : [pool];
  };
  return new Set([...workers, ...terminating].flatMap(({ node }) => poolOf(node)));
}
