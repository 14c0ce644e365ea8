/** Endpoints of one team that share one accelerator, in a simulation: the first has it, and the others wait for it. */
import type { ScaleCommand } from "@headroom/autoscale";
import { commandId, defaultPolicy, teamName, type WorkloadId, type WorkloadSpec } from "@headroom/model";
import { createSimulation, topologyFreePool } from "@headroom/sim";

class Silent {
  onRound(): void {}

  fork(): this {
    return this;
  }
}

const common = { actor: "ada", idempotencyKey: null } as const;

function specOf(name: string, priority: number): WorkloadSpec {
  return {
    kind: "serve",
    name,
    team: teamName("a"),
    run: "",
    dir: null,
    env: {},
    gang: { workers: 1, accelerators: 1, coresMilli: 0, memoryMib: 0 },
    acceleratorTypes: [],
    priority,
    walltimeMs: null,
    retries: { max: 10, backoffMs: 0, backoffMaxMs: 0 },
    graceTimeoutMs: 0,
    checkpointDir: null,
    replicas: { min: 0, max: 1 },
    ready: { path: "/health", timeoutMs: 3_600_000 },
    scale: { concurrencyMilli: 4_000, idleToZeroMs: 300_000, downAfterMs: 60_000 },
  };
}

const startSimulation = (startAtMs: number) =>
  createSimulation({
    startAtMs,
    fleet: topologyFreePool(1),
    teams: [{ name: teamName("a"), parent: null, limit: {} }],
    policy: defaultPolicy,
    script: {
      length: 0,
      atMs: () => 0,
      input: () => {
        throw new RangeError("there is no script");
      },
    },
    executor: { startupMs: 0, stopMs: 0, plan: () => ({ durationMs: 3_600_000_000, exitCode: 0 }) },
    nodeFaults: null,
    observer: new Silent(),
  });

export interface SharedAccelerator {
  readonly simulation: ReturnType<typeof createSimulation>;
  readonly first: WorkloadId;
  readonly waiting: WorkloadId;
  /** Takes the replica of the first endpoint. */
  readonly command: ScaleCommand;
  /** Sends a command to the engine. */
  send(command: object): ReturnType<ReturnType<typeof createSimulation>["command"]>;
}

/** `others`: priorities of endpoints that wait ahead of the last one. */
export function sharedAccelerator(others: readonly number[], startAtMs = 0): SharedAccelerator {
  const simulation = startSimulation(startAtMs);
  let serial = 0;
  const send: SharedAccelerator["send"] = (command) =>
    simulation.command({ ...common, ...command, commandId: commandId(`s${serial++}`) } as never);
  const ground = { kind: "load", cause: "idle", measuredMilli: 0, targetMilli: 0, neededMilli: 0, aheadMs: 0 } as const;
  const scaled = (workloadId: WorkloadId, from: number, replicas: number): ScaleCommand => ({
    kind: "scaleEndpoint",
    workloadId,
    from,
    replicas,
    ground,
    stopFirst: [],
  });
  const submitted = (name: string, priority: number): WorkloadId => {
    const reply = send({ kind: "submitWorkload", spec: specOf(name, priority) });
    if (reply?.kind !== "accepted" || reply.result.kind !== "workloadSubmitted") throw new Error("it was refused");
    const id = reply.result.workloadId;
    send(scaled(id, 0, 1));
    return id;
  };
  const first = submitted("first", 0);
  for (const [index, priority] of others.entries()) submitted(`other-${index}`, priority);
  const waiting = submitted("waiting", 0);
  return { simulation, first, waiting, command: scaled(first, 1, 0), send };
}
