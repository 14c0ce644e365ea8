/** Groups the reasons for which accelerator types give no answer, if all types of the catalogue are compared. */

export interface TypeRefusal {
  readonly accelerator: string;
  /** A sentence without its full stop. */
  readonly reason: string;
  /** The nearest question that this accelerator type can answer. */
  readonly nearest?: string;
}

export interface RefusalGroup {
  readonly accelerators: readonly string[];
  /** The reason without the name of a type, if several types have it. */
  readonly reason: string;
  /** The nearest possible request; undefined if it differs between the types of the group. */
  readonly nearest: string | undefined;
}

/**
 * Groups refusals that differ only in the name of the accelerator. The order is that of the first type in each group.
 */
export function groupedRefusals(refusals: readonly TypeRefusal[]): readonly RefusalGroup[] {
  const groups = Map.groupBy(refusals, ({ accelerator, reason }) => withoutType(reason, accelerator));
  return [...groups].map(([general, members]) => {
    const nearest = new Set(members.map((each) => each.nearest));
    return {
      accelerators: members.map(({ accelerator }) => accelerator),
      reason: members.length === 1 ? (members[0]?.reason ?? general) : general,
      nearest: nearest.size === 1 ? members[0]?.nearest : undefined,
    };
  });
}

const withoutType = (reason: string, accelerator: string): string =>
  reason
    .replaceAll(` on ${accelerator} `, " ")
    .replaceAll(` one ${accelerator},`, " one accelerator,")
    .replaceAll(` ${accelerator},`, " accelerators,")
    .replaceAll(` ${accelerator} `, " this type ");

/** The types of a group, and their reason. `typeCount`: number of types that were compared. */
export function refusalLine(group: RefusalGroup, typeCount: number): string {
  const { accelerators } = group;
  const types = accelerators.length === typeCount ? "all types" : accelerators.join(", ");
  return `Not on ${types}: ${refusalSentence(group)}`;
}

export function refusalSentence({ reason, nearest }: Pick<RefusalGroup, "reason" | "nearest">): string {
  return nearest === undefined ? `${reason}.` : `${reason}. Nearest: ${nearest}.`;
}
