/** Work that is declared when its deadline is over already: taken as it is, and said. */
import type { ReadonlyState } from "@headroom/engine";
import { writeInstant } from "@headroom/protocol";
import type { ApplyRequest, ApplyWarning } from "@headroom/protocol";

/** Only of what is new: what waits or runs under the name says in its verdict that it is late. */
export function deadlineWarnings(
  { workloads }: Pick<ReadonlyState, "workloads">,
  request: Pick<ApplyRequest, "workloads">,
  nowMs: number,
): ApplyWarning[] {
  const late = request.workloads.filter(({ deadlineMs }) => deadlineMs !== undefined && deadlineMs <= nowMs);
  if (late.length === 0) return [];
  const active = new Set<string>();
  for (const { endedAtMs, spec } of workloads.values()) if (endedAtMs === null) active.add(`${spec.team} ${spec.name}`);
  return late.flatMap(({ name, team, deadlineMs = 0 }) =>
    active.has(`${team} ${name}`)
      ? []
      : {
          team,
          message: `The deadline of ${name} was ${writeInstant(deadlineMs)} and is over: it is taken all the same.`,
        },
  );
}
