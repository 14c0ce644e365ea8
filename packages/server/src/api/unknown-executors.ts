import { refuse } from "@headroom/protocol";
import type { Call } from "./calls.ts";
import type { ControlPlane } from "./control-plane.ts";

/**
 * Refuses pools of an executor that this control plane does not have. Their nodes would never join, and work that needs
 * them would wait forever.
 */
export function refuseUnknownExecutors(
  { executors }: Pick<ControlPlane, "executors">,
  pools: Call<"apply">["body"]["pools"],
): void {
  const known = [...executors.keys()];
  const errors = pools.flatMap(({ name, executor }, index) =>
    known.includes(executor)
      ? []
      : [
          {
            pointer: `/pools/${index}/executor`,
            message: `names the executor ${executor} of pool ${name}, but this control plane has only ${known.join(", ")}`,
          },
        ],
  );
  const [first] = errors;
  if (first !== undefined)
    throw refuse("invalidRequest", `The request is not valid. ${first.pointer}: ${first.message}.`, { errors });
}
