/** Rejects work and reserved topologies that name unknown fabric levels, because they would wait forever. */
import type { ReadonlyState } from "@headroom/engine";
import { levelProblems, refuse, shapeProblems } from "@headroom/protocol";
import type { ProblemError, Site, TeamSpec, WorkloadSpec } from "@headroom/protocol";

export interface NamedSpec {
  /** JSON pointer (RFC 6901) to the spec in the request; empty: the request is the spec. */
  readonly pointer: string;
  readonly spec: Pick<WorkloadSpec, "fabric" | "gang">;
}

interface Declared {
  readonly sites?: readonly Pick<Site, "fabricLevels">[];
  readonly teams?: readonly Pick<TeamSpec, "reservedTopology">[];
}

/** The problem; `null`: all levels exist. `declared`: sites and teams of the same request. */
export function levelRefusal(
  { sites }: Pick<ReadonlyState, "sites">,
  specs: readonly NamedSpec[],
  declared: Declared = {},
): ProblemError | null {
  const levels = [...sites.values(), ...(declared.sites ?? [])].map(({ fabricLevels }) => fabricLevels);
  const problems = [
    ...(declared.teams ?? []).map((team, at) => ({ pointer: `/teams/${at}`, found: shapeProblems(team, levels) })),
    ...specs.map(({ pointer, spec }) => ({ pointer, found: levelProblems(spec, levels) })),
  ];
  const errors = problems.flatMap(({ pointer, found }) =>
    found.map(({ path, message }) => ({ pointer: [pointer, ...path].join("/"), message })),
  );
  if (errors.length === 0) return null;
  const detail = errors.map(({ pointer, message }) => `${pointer}: ${message}`).join("; ");
  return refuse("invalidRequest", `The request is not valid. ${detail}.`, { errors });
}

/** Checks all workloads in a request to apply. */
export function specsToApply({
  workloads,
  schedules = [],
}: {
  readonly workloads: readonly NamedSpec["spec"][];
  readonly schedules?: readonly { readonly spec: NamedSpec["spec"] }[] | undefined;
}): NamedSpec[] {
  return [
    ...workloads.map((spec, at) => ({ pointer: `/workloads/${at}`, spec })),
    ...schedules.map(({ spec }, at) => ({ pointer: `/schedules/${at}/spec`, spec })),
  ];
}
