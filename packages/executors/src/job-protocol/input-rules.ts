/** Whether a launch may read its inputs: the data rules of versions, and the rights and rules of declared stores. */
import type { LaunchArtifact, LaunchGang } from "@headroom/model";
import { nameOfId, parseArtifactRef } from "@headroom/model";
import type { StoreSet } from "@headroom/stores";
import { RefusedGang } from "./refused-gang.ts";

export type ReadingRules = Pick<StoreSet, "readingRefusal">;

/** Places admit data by its rule, so work that reads data with a rule must have the same rule. `null`: it has. */
export function ruleRefusal(
  { spec }: Pick<LaunchGang, "spec">,
  { name, version = name, rule }: LaunchArtifact,
): string | null {
  if (rule === undefined || rule === spec.data?.rule) return null;
  const has = spec.data?.rule === undefined ? "has none" : `has ${spec.data.rule}`;
  return `${version} has the data rule ${rule}, and the workload ${has}. Set data.rule: ${rule} in the workload, so that it runs only where this data may be.`;
}

/** The rights of the workload's team, and the rule of bytes that have none of their own. `null`: the workload may read the URI. */
export function accessRefusal(
  stores: ReadingRules,
  { spec }: Pick<LaunchGang, "spec">,
  uri: string,
  artifact: LaunchArtifact | null,
  isOwn = false,
): string | null {
  const owner = artifact?.version === undefined ? null : nameOfId(artifact.version);
  const version = owner === null ? null : { ...owner, rule: artifact?.rule };
  return stores.readingRefusal(uri, { team: spec.team, rule: spec.data?.rule, version, isOwn });
}

/**
 * For executors that pass on inputs and stage none. Throws a `RefusedGang` for the first input that the workload must not read.
 * `stores`: absent: no stores are declared.
 */
export function refuseInputs(launch: LaunchGang, stores: ReadingRules | undefined): void {
  for (const artifact of launch.artifacts ?? []) {
    const byRule = ruleRefusal(launch, artifact);
    if (byRule !== null) throw new RefusedGang(byRule.replace(/\.$/, ""), "inputs");
    if (stores !== undefined)
      refuse(artifact.version ?? artifact.name, accessRefusal(stores, launch, artifact.path, artifact));
  }
  if (stores === undefined) return;
  for (const input of launch.spec.data?.inputs ?? [])
    if (parseArtifactRef(input) === null) refuse(input, accessRefusal(stores, launch, input, null));
}

function refuse(input: string, refusal: string | null): void {
  if (refusal !== null) throw new RefusedGang(`${input} must not be read. ${refusal.replace(/\.$/, "")}`, "inputs");
}
