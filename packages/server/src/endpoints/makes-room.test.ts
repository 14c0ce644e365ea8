import type { ScaleCommand } from "@headroom/autoscale";
import { commandId, defaultPolicy, teamName, type WorkloadId, type WorkloadSpec } from "@headroom/model";
import { createSimulation, topologyFreePool } from "@headroom/sim";
import { expect, it } from "vitest";
import { makesRoom } from "./makes-room.ts";

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

/** An accelerator, an endpoint that has it, one that waits, and others that wait. */
function worldOf(others: readonly number[]): {
  readonly engine: ReturnType<typeof createSimulation>["engine"];
  readonly waiting: WorkloadId;
  readonly command: ScaleCommand;
  hold(): void;
} {
  const simulation = createSimulation({
    startAtMs: 0,
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
  let serial = 0;
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
    const spec = specOf(name, priority);
    const reply = simulation.command({ ...common, kind: "submitWorkload", commandId: commandId(`s${serial++}`), spec });
    if (reply?.kind !== "accepted" || reply.result.kind !== "workloadSubmitted") throw new Error("it was refused");
    const id = reply.result.workloadId;
    simulation.command({ ...common, commandId: commandId(`s${serial++}`), ...scaled(id, 0, 1) });
    return id;
  };
  const first = submitted("first", 0);
  for (const [index, priority] of others.entries()) submitted(`other-${index}`, priority);
  const waiting = submitted("waiting", 0);
  return {
    engine: simulation.engine,
    waiting,
    command: scaled(first, 1, 0),
    hold: () =>
      void simulation.command({
        ...common,
        kind: "holdWorkload",
        commandId: commandId(`s${serial++}`),
        workloadId: waiting,
      }),
  };
}

it("says whether the place of an idle endpoint would go to the one that waits", () => {
  const { engine, waiting, command } = worldOf([]);
  const before = engine.digest();
  expect(makesRoom(engine, waiting, command)).toBe(true);
  expect(makesRoom(engine, waiting, { ...command, workloadId: waiting, from: 1 })).toBe(false);
  expect(engine.digest()).toBe(before);
});

it("says no where other work is ahead in the queue, or the endpoint is held", () => {
  const behind = worldOf([5]);
  expect(makesRoom(behind.engine, behind.waiting, behind.command)).toBe(false);
  const held = worldOf([]);
  held.hold();
  expect(makesRoom(held.engine, held.waiting, held.command)).toBe(false);
});
