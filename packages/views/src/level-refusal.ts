/** Work and shapes that name levels of the fabric which cannot be had: refused where they come in, since they would wait for ever. */
import type { ReadonlyState } from "@headroom/engine";
import { levelProblems, refuse, shapeProblems } from "@headroom/protocol";
import type { ProblemError, Site, TeamSpec, WorkloadSpec } from "@headroom/protocol";

export interface NamedSpec {
  /** Where the spec stands in the request, RFC 6901; empty: it is the request. */
  readonly pointer: string;
  readonly spec: Pick<WorkloadSpec, "fabric" | "gang">;
}

interface Declared {
  readonly sites?: readonly Pick<Site, "fabricLevels">[];
  readonly teams?: readonly Pick<TeamSpec, "reservedTopology">[];
}

/** `null`: nothing speaks against the levels. `declared`: sites and teams of the same request. */
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

/** All work that a request to apply has in it. */
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
