/** The reasons why accelerator types give no answer, where all types of the catalogue are compared. */

export interface TypeRefusal {
  readonly accelerator: string;
  /** A sentence without its full stop. */
  readonly reason: string;
  /** The nearest question that this type answers. */
  readonly nearest?: string;
}

export interface RefusalGroup {
  readonly accelerators: readonly string[];
  /** Without the name of a type, where several types have this reason. */
  readonly reason: string;
  /** Nearest possible request; undefined if it differs between types of the group. */
  readonly nearest: string | undefined;
}

/** Groups refusals that differ only in the name of the accelerator. Groups are in the order of their first types. */
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

/** The types of a group and their reason; `typeCount`: number of types that were compared. */
export function refusalLine(group: RefusalGroup, typeCount: number): string {
  const { accelerators } = group;
  const types = accelerators.length === typeCount ? "all types" : accelerators.join(", ");
  return `Not on ${types}: ${refusalSentence(group)}`;
}

export function refusalSentence({ reason, nearest }: Pick<RefusalGroup, "reason" | "nearest">): string {
  return nearest === undefined ? `${reason}.` : `${reason}. Nearest: ${nearest}.`;
}
