/** The tree of teams as rows with their depth. A parent comes before its children, and siblings are sorted by name. */
import type { Team } from "@headroom/protocol";

export interface TeamRow {
  readonly team: Team;
  readonly depth: number;
  /** The last part of the team's path. */
  readonly label: string;
}

export function teamRows(teams: readonly Team[]): readonly TeamRow[] {
  const names = new Set(teams.map(({ name }) => name));
  const children = new Map<string | null, Team[]>();
  for (const team of teams) {
    // The parent can have been removed in the meantime. Its children are still listed.
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
