import { canonicalJson } from "@headroom/model";
import type { Command } from "@headroom/model";
import { attemptsOn } from "../cluster/entities.ts";
import type { Batch } from "../batch/batch.ts";
import { DEFAULT_TEAM } from "../state/state.ts";
import { done, refused } from "./decision.ts";
import type { Decision } from "./decision.ts";
import { requireProof } from "./qualification.ts";
import { requestStop } from "../transitions/stop-attempt.ts";

export function removeTeam(batch: Batch, { team, actor }: Command & { readonly kind: "removeTeam" }): Decision {
  const { state } = batch.world;
  if (!state.teams.has(team)) return refused({ code: "unknownTeam", team });
  const children = [...state.teams.values()].filter(({ parent }) => parent === team).length;
  const workloads = [...state.workloads.values()].filter(
    (workload) => workload.spec.team === team && workload.endedAtMs === null,
  ).length;
  const artifacts = [...state.artifacts.values()].filter((artifact) => artifact.team === team).length;
  if (children > 0 || workloads > 0 || artifacts > 0 || team === DEFAULT_TEAM)
    return refused({ code: "teamInUse", team, workloads, children, ...(artifacts === 0 ? {} : { artifacts }) });
  batch.emit({ kind: "teamRemoved", version: 1, atMs: batch.nowMs, team, actor });
  return done({ kind: "teamRemoved", team });
}

export function drainNode(
  batch: Batch,
  { nodeId, actor, running }: Command & { readonly kind: "drainNode" },
): Decision {
  const node = batch.world.state.nodes.get(nodeId);
  if (node === undefined) return refused({ code: "unknownNode", nodeId });
  if (!node.draining) batch.emit({ kind: "nodeDrainStarted", version: 1, atMs: batch.nowMs, nodeId, actor });
  if (running === "requeue")
    for (const attempt of attemptsOn(batch.world, [nodeId])) requestStop(batch, attempt, "nodeDrained");
  return done({ kind: "nodeDraining", nodeId });
}

export function resumeNode(batch: Batch, { nodeId, actor }: Command & { readonly kind: "resumeNode" }): Decision {
  const node = batch.world.state.nodes.get(nodeId);
  if (node === undefined) return refused({ code: "unknownNode", nodeId });
  if (node.removal !== undefined) {
    if (batch.world.state.poolRemovals.has(node.pool))
      return refused({ code: "removedWithPool", nodeId, pool: node.pool });
    batch.emit({ kind: "nodeRemovalCancelled", version: 1, atMs: batch.nowMs, nodeId, actor });
  }
  if (node.draining) {
    batch.emit({ kind: "nodeResumed", version: 1, atMs: batch.nowMs, nodeId, actor });
    requireProof(batch, nodeId, { cause: "resumed", actor });
  }
  return done({ kind: "nodeResumed", nodeId });
}

export function setPolicy(batch: Batch, { policy, actor }: Command & { readonly kind: "setPolicy" }): Decision {
  if (canonicalJson(batch.world.state.policy) !== canonicalJson(policy))
    batch.emit({ kind: "policySet", version: 6, atMs: batch.nowMs, policy, actor });
  return done({ kind: "policySet", name: policy.name });
}
