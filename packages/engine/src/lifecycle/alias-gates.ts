/** Gates of aliases: whether a version passes, and whether its move needs a proposal. */
import { artifactKey, nameOfId, versionId } from "@headroom/model";
import type { AliasChange, ArtifactContent, ArtifactName, GateTest, ProposalEffect, Rejection } from "@headroom/model";
import type { ReadonlyState } from "../state/state.ts";

type GatedRegistry = Pick<ReadonlyState, "artifacts" | "artifactVersions">;

export interface AliasTarget {
  readonly alias: string;
  /** `null`: the alias is removed. */
  readonly number: number | null;
}

/**
 * The reason why the gate of the alias refuses the move, or `null`. `metrics`: of a version that is being registered. `by`: a
 * user, or a proposal, which an approver decides. With any gate, a removal needs a proposal.
 */
export function gateRefusal(
  state: GatedRegistry,
  name: ArtifactName,
  { alias, number, metrics }: AliasTarget & { readonly metrics?: ArtifactContent["metrics"] },
  by: "user" | "proposal",
): Rejection | null {
  const artifact = state.artifacts.get(artifactKey(name));
  const gate = artifact?.gates?.[alias];
  if (artifact === undefined || gate === undefined) return null;
  // After a removal there would be no version to compare with.
  if (number === null) return by === "user" ? gated(name, { alias, number }) : null;
  const current = artifact.aliases.find((each) => each.alias === alias)?.number ?? null;
  if (gate.test !== undefined) {
    const metricOf = (at: number): number | null => {
      const known = at === number ? metrics : undefined;
      return (known ?? state.artifactVersions.get(versionId(name, at))?.metrics)?.[gate.test?.metric ?? ""] ?? null;
    };
    const failure = testFailure(gate.test, { number, current }, metricOf);
    if (failure !== null) return { code: "gateFailed", artifact: versionId(name, number), alias, ...failure };
  }
  return gate.approval === true && by === "user" ? gated(name, { alias, number }) : null;
}

const gated = (name: ArtifactName, { alias, number }: AliasTarget): Rejection => ({
  code: "aliasGated",
  artifact: `${artifactKey(name)}@${alias}`,
  number,
});

function testFailure(
  test: GateTest,
  { number, current }: { readonly number: number; readonly current: number | null },
  metricOf: (number: number) => number | null,
): (GateTest & { readonly found: number | null }) | null {
  const found = metricOf(number);
  if (found === null) return { ...test, found };
  // The version that is there already, a first version, and one beside a version that was never evaluated pass.
  const value = test.value ?? (current === null || current === number ? null : metricOf(current));
  if (value === null || compares[test.operator](found, value)) return null;
  return { ...test, value, found };
}

const compares: Readonly<Record<GateTest["operator"], (found: number, value: number) => boolean>> = {
  lt: (found, value) => found < value,
  le: (found, value) => found <= value,
  gt: (found, value) => found > value,
  ge: (found, value) => found >= value,
};

/** The name and the target of a proposed move; `null`: its key is none of an artifact. */
export function proposedMove({
  artifact,
  alias,
  number,
}: AliasChange): { readonly name: ArtifactName; readonly target: AliasTarget } | null {
  const name = nameOfId(artifact);
  return name === null ? null : { name, target: { alias, number } };
}

/** A moved alias moves no work in the queue. The endpoints that follow it change their replicas in a rollout of their own. */
export const effectOfMove = (atMs: number): ProposalEffect => ({
  atMs,
  horizonMs: 0,
  earlierCount: 0,
  laterCount: 0,
  interruptedCount: 0,
  lostAcceleratorMs: 0,
  presentUsedMilli: 0,
  changedUsedMilli: 0,
  teams: [],
  starts: [],
});
