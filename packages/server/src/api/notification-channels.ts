/** Workloads name notification channels. Only the operator declares them, so that no workload chooses an address. */
import { notAChoice, refuse } from "@headroom/protocol";
import type { ProblemError, WorkloadSpec } from "@headroom/protocol";

interface Named {
  /** JSON pointer of the workload in the request. */
  readonly pointer: string;
  readonly spec: Partial<Pick<WorkloadSpec, "notify">>;
}

/** The refusal of the first unknown channel, or `null`. */
export function channelRefusal(channels: readonly string[], specs: readonly Named[]): ProblemError | null {
  for (const { pointer, spec } of specs)
    for (const [index, name] of (spec.notify?.to ?? []).entries()) {
      if (channels.includes(name)) continue;
      const message =
        channels.length === 0
          ? `there is no channel ${name}: the operator has declared none (channels in notify.yaml)`
          : notAChoice(name, channels);
      const errors = [{ pointer: `${pointer}/notify/to/${index}`, message }];
      return refuse("invalidRequest", `The request is not valid. notify: ${message}.`, { errors });
    }
  return null;
}
