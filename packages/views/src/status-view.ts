/** The status of the control plane, as far as the engine knows the status. */
import { clockOf } from "@headroom/engine";
import type { Engine } from "@headroom/engine";
import { waitingSummary } from "@headroom/explain";
import type { Status } from "@headroom/protocol";
import { silentExecutors } from "./executor-view.ts";
import { fleetView } from "./fleet-view.ts";

/** Fields that only the shell around the engine knows. */
export interface ShellStatus {
  readonly version: string;
  readonly mode: Status["mode"];
  readonly startedAtMs: number;
  readonly paused: Status["paused"];
  readonly hasGateway: boolean;
  readonly isolation: Status["isolation"];
  readonly journal: Status["journal"];
}

export function statusView(engine: Engine, shell: ShellStatus): Status {
  const { state } = engine;
  const fleet = fleetView(engine);
  const waiting = waitingSummary(engine);
  return {
    ...shell,
    nowMs: clockOf(engine),
    sequence: state.sequence,
    chain: state.chain,
    policy: state.policy.name,
    executors: silentExecutors(engine),
    nodes: fleet.nodes,
    accelerators: fleet.accelerators,
    workloads: {
      submitted: state.submittedCount,
      unfinished: state.submittedCount - state.endedCount,
      waiting: waiting.workloads,
      ended: state.endedCount,
    },
    activeAttempts: state.attempts.size,
    waitingTasks: waiting.tasks,
    waitingAccelerators: waiting.accelerators,
  };
}
