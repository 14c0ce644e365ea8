/** Removal of nodes, pools and sites. */
import type { NodeId, PoolName, SiteName } from "@headroom/model";
import { ProblemError, refuse } from "@headroom/protocol";
import type { NodeRemoved, PoolRemoved, ProblemCode, SiteRemoved } from "@headroom/protocol";
import type { ControlPlane } from "./control-plane.ts";
import { command } from "./calls.ts";
import type { Call } from "./calls.ts";

const modeOf = (force: boolean | undefined): "refuse" | "requeue" => (force === true ? "requeue" : "refuse");

export async function removeNode(plane: ControlPlane, call: Call<"removeNode">): Promise<NodeRemoved> {
  const wanted = { kind: "removeNode", nodeId: call.params.id as NodeId, running: modeOf(call.query.force) } as const;
  const { nodeId, workloads } = await command(plane, call, wanted, "nodeRemoved");
  return { nodeId, workloads };
}

export async function removePool(plane: ControlPlane, call: Call<"removePool">): Promise<PoolRemoved> {
  const wanted = { kind: "removePool", pool: call.params.name as PoolName, running: modeOf(call.query.force) } as const;
  try {
    const { pool, nodes, workloads } = await command(plane, call, wanted, "poolRemoved");
    return { pool, nodes, workloads };
  } catch (error) {
    throw aboutAddress(error, "unknownPool", "unknownPoolName");
  }
}

export async function removeSite(plane: ControlPlane, call: Call<"removeSite">): Promise<SiteRemoved> {
  const wanted = { kind: "removeSite", site: call.params.name as SiteName, running: modeOf(call.query.force) } as const;
  try {
    const { site, pools, nodes, workloads } = await command(plane, call, wanted, "siteRemoved");
    return { site, pools, nodes, workloads };
  } catch (error) {
    throw aboutAddress(error, "unknownSite", "unknownSiteName");
  }
}

/** An unknown name in the address is answered with 404; the code of the same name in a body stands for 422. */
function aboutAddress(error: unknown, known: ProblemCode, code: ProblemCode): unknown {
  return error instanceof ProblemError && error.code === known ? refuse(code, error.problem.detail) : error;
}
