/** The refusal of a command inside a worker, with the command of Kubernetes that runs it. Pure. */
import { OperationalError } from "@headroom/platform";
import { CONTAINER } from "./pod-names.ts";
import type { PodPlace } from "./watched-gang.ts";
import { podAt } from "./watched-gang.ts";

/** `place`: `null`: the attempt has no pods here. */
export function execRefusal(place: PodPlace | null, worker: number): OperationalError {
  const where = "Headroom runs no commands inside pods";
  if (place === null) return new OperationalError("cannotExec", `${where}.`, { retryable: false });
  const container = place.pods?.[worker]?.container ?? CONTAINER;
  const command = `kubectl exec -it -n ${place.namespace} ${podAt(place, worker).name} -c ${container} -- sh`;
  return new OperationalError("cannotExec", `${where}. Use: ${command}`, { retryable: false });
}
