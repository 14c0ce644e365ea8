/**
 * Launches of workloads that stand for pods of others: nothing is created. The pods of the group are marked with the attempt and kept by a
 * finalizer, so that a name means one pod until its end is recorded; then they are bound as the executor's own pods are.
 */
import type { LaunchGang } from "@headroom/model";
import { acceleratorIndices } from "@headroom/model";
import { ADOPTED_WORK_VARIABLE } from "../../adoption.ts";
import { inTurns, makeAttemptDirectories } from "../../job-protocol/attempt-directories.ts";
import type { AttemptFiles } from "../../job-protocol/attempt-files.ts";
import { syncDirectory } from "../../job-protocol/attempt-files.ts";
import { partFiles } from "../../job-protocol/attempt-parts.ts";
import type { LaunchRecord, LogLimits } from "../../job-protocol/attempt-records.ts";
import { RefusedGang } from "../../job-protocol/refused-gang.ts";
import type { KubernetesPod } from "../api/objects.ts";
import type { Outcome, PodApi } from "../api/pod-api.ts";
import { allOf } from "../executor/pod-actions.ts";
import { adoptionMarks, baseName, isMarkedFor } from "../executor/pod-names.ts";
import type { PodPlace } from "../executor/watched-gang.ts";
import { recordPlace } from "../executor/watched-gang.ts";
import type { KubernetesFleetNode } from "../fleet/cluster-nodes.ts";
import type { PodAdoption } from "./pod-adoption.ts";
import type { Member, PodGroup } from "./pod-groups.ts";

export interface AdoptedLaunchSetup {
  readonly api: PodApi;
  readonly installation: string;
  readonly attemptsDir: string;
  readonly log: LogLimits;
  /** `null`: the settings let the executor adopt none. */
  readonly adoption: PodAdoption | null;
}

export const isAdopted = ({ spec }: Pick<LaunchGang, "spec">): boolean => spec.env[ADOPTED_WORK_VARIABLE] !== undefined;

export class AdoptedLaunch {
  readonly #setup: AdoptedLaunchSetup;

  constructor(setup: AdoptedLaunchSetup) {
    this.#setup = setup;
  }

  /**
   * Records which pod is the worker of each rank. `nodes`: by rank. Throws a `RefusedGang` for a workload that is not the one that was
   * submitted for these pods, such as one with their key that requests less.
   */
  async record(files: AttemptFiles, effect: LaunchGang, nodes: readonly KubernetesFleetNode[]): Promise<void> {
    const { installation, attemptsDir, log, adoption } = this.#setup;
    if (adoption === null) throw new RefusedGang("adoptPods of the executor is off");
    const { attemptId, workloadId, sequence, spec, workers } = effect;
    const group = adoption.group(spec.env[ADOPTED_WORK_VARIABLE] ?? "");
    if (group === null) throw new Error("its pods no longer wait");
    refuseOther(effect, group);
    const members = membersByRank(effect, group);
    refuseNodes(effect, members, nodes);
    makeAttemptDirectories(files, 0);
    await inTurns(workers.length, (rank) => makeAttemptDirectories(partFiles(files.key, rank), 1));
    const record: LaunchRecord = {
      attemptId,
      workloadId,
      sequence,
      bootId: "",
      run: spec.run,
      workingDir: "",
      checkpointDir: "",
      graceTimeoutMs: spec.graceTimeoutMs,
      log,
      environments: workers.map(() => ({})),
      parts: nodes.map(({ name }, rank) => ({ node: name, ranks: [rank] })),
    };
    const pods = members.map(({ name, uid, container }) => ({ name, uid, container }));
    await recordPlace(files, {
      version: 2,
      namespace: group.namespace,
      base: baseName(installation, attemptId),
      pods,
    });
    await files.writeDurably("launch.json", record);
    await syncDirectory(attemptsDir);
  }

  /** Marks all pods. Throws if one of them cannot be bound any more; `false`: an answer is missing. */
  async mark({ attemptId }: LaunchGang, { namespace, base, pods = [] }: PodPlace): Promise<boolean> {
    const { api, installation } = this.#setup;
    const outcomes = await allOf(pods, async ({ name, uid }): Promise<Outcome> => {
      const pod = await api.find(namespace, name);
      if (pod === null || pod.metadata.uid !== uid) return { kind: "missing", detail: `the pod ${name} is gone` };
      const problem = whyNot(pod);
      if (problem !== null) return { kind: "missing", detail: `the pod ${name} ${problem}` };
      if (isMarkedFor(pod, { base, installation }, attemptId)) return { kind: "done" };
      return await api.patchMetadata(pod, adoptionMarks(pod, { base, installation }, attemptId));
    });
    const failed = outcomes.find(({ kind }) => kind === "missing" || kind === "refused");
    if (failed !== undefined && failed.kind !== "done") throw new Error(failed.detail);
    return outcomes.every(({ kind }) => kind === "done");
  }
}

function whyNot({ metadata, spec }: KubernetesPod): string | null {
  if (metadata.deletionTimestamp !== undefined) return "is being deleted";
  return spec?.nodeName === undefined ? null : `is on ${spec.nodeName} already`;
}

/** The key alone proves nothing: it can be read in the workload. */
function refuseOther({ spec, actor }: LaunchGang, { spec: own, actor: owner, name, namespace }: PodGroup): void {
  const isSame = spec.team === own.team && actor === owner && JSON.stringify(spec.gang) === JSON.stringify(own.gang);
  if (!isSame) throw new RefusedGang(`the workload differs from the pods of ${namespace}/${name} that it stands for`);
}

/** Members of a task group are alike, so any of them can be any of its workers. */
function membersByRank({ workers }: LaunchGang, { members, spec: { gang } }: PodGroup): readonly Member[] {
  const starts: number[] = [];
  let next = 0;
  for (const { workers: count } of gang.taskGroups ?? [gang]) {
    starts.push(next);
    next += count;
  }
  const ranked = workers.map(({ taskGroup = 0 }) => {
    const at = starts[taskGroup] ?? 0;
    starts[taskGroup] = at + 1;
    return members[at];
  });
  if (ranked.length !== members.length || ranked.includes(undefined))
    throw new RefusedGang("not all of its pods were placed");
  return ranked as readonly Member[];
}

function refuseNodes({ workers }: LaunchGang, members: readonly Member[], nodes: readonly KubernetesFleetNode[]): void {
  for (const [rank, worker] of workers.entries()) {
    const { resource = null, name = "" } = members[rank] ?? {};
    if (resource === null || acceleratorIndices(worker.accelerators).length === 0) continue;
    if (nodes[rank]?.accelerators?.resource !== resource)
      throw new RefusedGang(`the pod ${name} requests ${resource}, which the node ${worker.node} does not have`);
  }
}
