/**
 * Which parts of the fabric to try for a request, best first. Without wishes all candidates are one choice. A required level
 * gives one choice for each of its domains that could hold the request; a preferred one narrower domains before them.
 */
import type { GangSpec } from "../model/workload.ts";
import type { PlacementClass } from "../state/queue.ts";
import type { World } from "../state/world.ts";
import type { Candidate } from "./place-wishes.ts";
import { growingAttempt } from "./request.ts";

interface Domain {
  readonly path: string;
  readonly candidates: Candidate[];
  workers: number;
  freeCount: number;
}

export function fabricChoices(world: World, found: PlacementClass, candidates: readonly Candidate[]): Iterable<readonly Candidate[]> {
  const { fabric } = found.spec;
  if (fabric === undefined || (fabric.within === undefined && fabric.prefer === undefined)) return [candidates];
  return choicesByLevel(world, found, candidates);
}

function* choicesByLevel(world: World, found: PlacementClass, candidates: readonly Candidate[]): Generator<readonly Candidate[]> {
  const { within, prefer } = found.spec.fabric ?? {};
  const pinned = pinnedPath(world, found, within);
  const first = prefer ?? within;
  let isWithin = first === undefined;
  const widest = Math.max(0, ...candidates.map(({ slot }) => slot.node.fabric.length));
  for (let depth = widest; depth >= 0 && !isWithin; depth--) {
    for (const domain of domainsAt(world, candidates, { depth, from: first, to: within, gang: found.gang })) {
      if (domain.workers < found.workers || (pinned !== null && !domain.path.startsWith(pinned))) continue;
      yield domain.candidates;
    }
  }
  if (within === undefined) yield candidates;
}

/** The domain that the running workers of the request lie in already; `null`: none is pinned. */
function pinnedPath(world: World, found: PlacementClass, within: string | undefined): string | null {
  const attempt = growingAttempt(world, found);
  const node = attempt?.workers[0]?.node;
  if (within === undefined || node === undefined) return null;
  const { fabric } = world.capacity.slot(node).node;
  const depth = depthOf(world, found, within, node);
  return fabric.slice(0, depth + 1).join("\u0000");
}

function depthOf({ state, capacity }: World, _found: PlacementClass, level: string, node: Parameters<World["capacity"]["slot"]>[0]): number {
  const pool = state.pools.get(capacity.slot(node).node.pool);
  const site = pool === undefined ? undefined : state.sites.get(pool.site);
  const depth = site?.fabricLevels.indexOf(level) ?? -1;
  return depth < 0 ? (site?.fabricLevels.length ?? 0) : depth;
}

interface LevelRange {
  readonly depth: number;
  readonly from: string | undefined;
  readonly to: string | undefined;
  readonly gang: GangSpec;
}

/** The domains of one depth, the fullest first. */
function domainsAt(world: World, candidates: readonly Candidate[], range: LevelRange): readonly Domain[] {
  const domains = new Map<string, Domain>();
  for (const candidate of candidates) {
    const { node } = candidate.slot;
    const site = world.state.sites.get(world.state.pools.get(node.pool)?.site as never);
    const levels = [...(site?.fabricLevels ?? []), "node"];
    const from = range.from === undefined ? -1 : levels.indexOf(range.from);
    const to = range.to === undefined ? 0 : levels.indexOf(range.to);
    if (from < 0 || to < 0 || range.depth > from || range.depth < to) continue;
    const path = [site?.name ?? "", ...[...node.fabric, node.id].slice(0, range.depth + 1)].join("\u0000");
    let domain = domains.get(path);
    if (domain === undefined) {
      domain = { path, candidates: [], workers: 0, freeCount: 0 };
      domains.set(path, domain);
    }
    domain.candidates.push(candidate);
    domain.workers += candidate.fits;
    domain.freeCount += candidate.slot.freeCount;
  }
  return [...domains.values()].toSorted(
    (left, right) => left.freeCount - right.freeCount || (left.path < right.path ? -1 : 1),
  );
}
