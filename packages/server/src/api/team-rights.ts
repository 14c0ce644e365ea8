/**
 * Declarations of teams that reach beyond the part of the tree whose administrator makes them. Guarantees below a team add to
 * its own under some policies, or stand for it if it states none; owned cells and preemption while borrowing take capacity
 * from everybody. So these need the permission on the whole control plane.
 */
import { canonicalJson, rulesOf } from "@headroom/model";
import type { TeamName } from "@headroom/model";
import type { ReadonlyState } from "@headroom/engine";
import type { Permission } from "@headroom/protocol";
import type { Principal, Resource } from "../auth/authorize.ts";

type Amounts = Readonly<Record<string, number>>;

interface TeamPlace {
  readonly name: string;
  readonly parent: string | null;
  readonly guarantee?: Amounts | undefined;
}

/** The part of a declaration that decides about access. */
interface DeclaredTeam extends TeamPlace {
  readonly reservedTopology?: unknown;
  readonly preemption?: { readonly whileBorrowing?: unknown } | undefined;
}

/** Returns what the documents change beyond the grants of the principal, as resources of the whole control plane. */
export function beyondGrants(
  state: Pick<ReadonlyState, "teams" | "policy">,
  { principal, permission }: { readonly principal: Principal; readonly permission: Permission },
  documents: readonly DeclaredTeam[],
): Resource[] {
  const grants = principal.grants.filter(({ permissions }) => permissions.has(permission));
  if (documents.length === 0 || grants.some(({ team }) => team === null)) return [];
  const ofAll = (kind: string, name: string): Resource => ({ kind, name, teams: [], owner: null });
  const taken = documents.flatMap(({ name, reservedTopology, preemption }) => {
    const today: Partial<DeclaredTeam> = state.teams.get(name as TeamName) ?? {};
    const isNew = (now: unknown, before: unknown): boolean =>
      now !== undefined && canonicalJson(now) !== canonicalJson(before ?? null);
    return [
      ...(isNew(reservedTopology, today.reservedTopology) ? [ofAll("reservedTopology", name)] : []),
      ...(isNew(preemption?.whileBorrowing, today.preemption?.whileBorrowing) ? [ofAll("preemption", name)] : []),
    ];
  });
  const before: ReadonlyMap<string, TeamPlace> = state.teams;
  const after = new Map([...before, ...documents.map((each) => [each.name, each] as const)]);
  const addsUp = rulesOf(state.policy).teams.overGuarantee === "borrow";
  const raised = grants.flatMap(({ team }) => {
    const root = team ?? "";
    const now = guaranteedBelow(before, root, addsUp);
    const isRaised = Object.entries(guaranteedBelow(after, root, addsUp)).some(
      ([resource, amount]) =>
        amount > Math.max(now[resource] ?? 0, addsUp ? 0 : statedFor(before.get(root)?.guarantee ?? {}, resource)),
    );
    return isRaised ? [ofAll("guarantees below", root)] : [];
  });
  return [...taken, ...raised];
}

const notAccelerators: ReadonlySet<string> = new Set(["cores", "memory", "memoryMib", "networkGbps"]);

/** The amount of a guarantee that teams below can divide. A total can be divided by type, and types make a total. */
function statedFor(guarantee: Amounts, resource: string): number {
  if (guarantee[resource] !== undefined || notAccelerators.has(resource)) return guarantee[resource] ?? 0;
  if (resource !== "accelerators") return guarantee["accelerators"] ?? 0;
  return Object.entries(guarantee).reduce((sum, [type, amount]) => sum + (notAccelerators.has(type) ? 0 : amount), 0);
}

/** Sum of the guarantees below a team. `addsUp`: those of a team and of teams below it are added, else the larger counts. */
function guaranteedBelow(teams: ReadonlyMap<string, TeamPlace>, root: string, addsUp: boolean): Amounts {
  const children = new Map<string, TeamPlace[]>();
  for (const team of teams.values()) {
    const siblings = children.get(team.parent ?? "") ?? [];
    siblings.push(team);
    children.set(team.parent ?? "", siblings);
  }
  const seen = new Set<string>();
  const sumOf = (name: string): Record<string, number> => {
    const sum: Record<string, number> = {};
    if (seen.has(name)) return sum;
    seen.add(name);
    for (const child of children.get(name) ?? []) {
      const below = sumOf(child.name);
      const own = child.guarantee ?? {};
      for (const resource of new Set([...Object.keys(own), ...Object.keys(below)])) {
        const [mine, theirs] = [own[resource] ?? 0, below[resource] ?? 0];
        sum[resource] = (sum[resource] ?? 0) + (addsUp ? mine + theirs : Math.max(mine, theirs));
      }
    }
    return sum;
  };
  return sumOf(root);
}
