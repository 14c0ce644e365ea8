/** A single request to an endpoint over HTTP. */
import type { WorkloadId } from "@headroom/model";
import { found } from "./calls.ts";
import type { Answer, Call, Gone } from "./calls.ts";
import type { ControlPlane } from "./control-plane.ts";
import { noWorkload } from "./resource-access.ts";

export async function tryEndpoint(
  plane: ControlPlane,
  { params: { id }, body, actor }: Call<"tryEndpoint">,
  gone: Gone,
): Promise<Answer<"tryEndpoint">> {
  const endpoint = await found(
    plane,
    ({ state }) => {
      const workload = state.workloads.get(id as WorkloadId);
      if (workload?.spec.kind !== "serve" || workload.endedAtMs !== null) return null;
      const { name, team } = workload.spec;
      return { name, team };
    },
    noWorkload(id),
  );
  return plane.trials.run(actor, endpoint, { request: body, gone: gone() });
}
