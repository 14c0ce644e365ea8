/** Teams as a tree, flattened to rows with their depth; a parent comes before its children, siblings by name. */
import type { Team } from "@headroom/protocol";

export interface TeamRow {
  readonly team: Team;
  readonly depth: number;
  /** The last part of the path, below its parent. */
  readonly label: string;
}

export function teamRows(teams: readonly Team[]): readonly TeamRow[] {
  const names = new Set(teams.map(({ name }) => name));
  const children = new Map<string | null, Team[]>();
  for (const team of teams) {
    // A parent that is on no page (removed meanwhile) must not make its children vanish.
    const parent = team.parent !== null && names.has(team.parent) ? team.parent : null;
    children.set(parent, [...(children.get(parent) ?? []), team]);
  }
  const rows: TeamRow[] = [];
  const visit = (parent: string | null, depth: number): void => {
    for (const team of (children.get(parent) ?? []).toSorted((left, right) => (left.name < right.name ? -1 : 1))) {
      const isBelow = parent !== null && team.name.startsWith(`${parent}/`);
      rows.push({ team, depth, label: isBelow ? team.name.slice(parent.length + 1) : team.name });
      visit(team.name, depth + 1);
    }
  };
  visit(null, 0);
  return rows;
}

export interface TypeUse {
  readonly type: string;
  readonly heldCount: number;
  /** `null`: no limit. */
  readonly limitCount: number | null;
}

/** Every type that the team holds or has a limit for. */
export function typeUses({ held, limit }: Team): readonly TypeUse[] {
  const types = [...new Set([...Object.keys(limit), ...Object.keys(held).filter((type) => (held[type] ?? 0) > 0)])];
  return types.toSorted().map((type) => ({ type, heldCount: held[type] ?? 0, limitCount: limit[type] ?? null }));
}
