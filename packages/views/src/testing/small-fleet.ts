/** A real engine with a small fleet for tests, and short forms of submissions. */
import { commandId, nodeId, poolName, siteName, teamName } from "@headroom/model";
import type { Command, Event, Input, MigDevice, NodeSpec, Pool, Team, WorkloadId, WorkloadSpec } from "@headroom/model";
import { createEngine } from "@headroom/engine";
import type { Engine } from "@headroom/engine";

type Changes = Partial<Omit<WorkloadSpec, "gang" | "kind" | "team">> & {
  readonly gang?: Partial<WorkloadSpec["gang"]>;
  readonly taskCount?: number;
  readonly team?: string;
};

const poolOf = (acceleratorType: string): Pool => ({
  name: poolName(acceleratorType),
  site: siteName("here"),
  executor: "simulated",
  acceleratorType,
  priceMicroUsdPerHour: 0,
});

export class SmallFleet {
  readonly engine: Engine;
  /** All events since the fleet was created. */
  readonly events: Event[] = [];
  nowMs = 1_000;
  #commands = 0;

  constructor(engine: Engine = createEngine()) {
    this.engine = engine;
  }

  /** Adds nodes `n0`, `n1`, … of one type with 16 cores and 64 GiB each. */
  static withNodes(count: number, accelerators: number, type = "H100"): SmallFleet {
    return SmallFleet.#of(
      poolOf(type),
      Array.from({ length: count }, () => ({ acceleratorCount: accelerators })),
    );
  }

  /** Adds a node of four accelerators for each of these values of the label `rack`. */
  static withRacks(...racks: readonly string[]): SmallFleet {
    return SmallFleet.#of(
      poolOf("H100"),
      racks.map((rack) => ({ acceleratorCount: 4, labels: { rack } })),
    );
  }

  /** Adds a node with one accelerator that supports MIG. */
  static divided(mig: MigDevice): SmallFleet {
    return SmallFleet.#of({ ...poolOf("A100"), mig }, [{ acceleratorCount: 1 }]);
  }

  /** Adds a node with one accelerator that has this memory. */
  static withMemory(acceleratorMemoryMib: number): SmallFleet {
    return SmallFleet.#of({ ...poolOf("H100"), acceleratorMemoryMib }, [{ acceleratorCount: 1 }]);
  }

  /** Adds a node with eight accelerators and this network bandwidth. */
  static withNetwork(networkGbps: number): SmallFleet {
    return SmallFleet.#of({ ...poolOf("H100"), networkGbps }, [{ acceleratorCount: 8 }]);
  }

  static #of(pool: Pool, nodes: readonly Pick<NodeSpec, "acceleratorCount" | "labels">[]): SmallFleet {
    const fleet = new SmallFleet();
    fleet.apply({ sites: [{ name: pool.site, fabricLevels: [] }], pools: [pool] });
    for (const [index, node] of nodes.entries()) {
      const amounts = { coresMilli: 16_000, memoryMib: 65_536, ...node };
      fleet.receive({ kind: "nodeSeen", node: { id: nodeId(`n${index}`), pool: pool.name, fabric: [], ...amounts } });
    }
    return fleet;
  }

  receive(...inputs: readonly Input[]): ReturnType<Engine["receive"]> {
    const ready = this.engine.receive(inputs, this.nowMs);
    this.events.push(...ready.events);
    this.engine.advance();
    return ready;
  }

  /** Sends one command and returns its result. A rejection fails the test. */
  command(
    wanted: Command extends infer Any
      ? Any extends Command
        ? Omit<Any, "commandId" | "actor" | "idempotencyKey">
        : never
      : never,
  ) {
    const command = { ...wanted, commandId: commandId(`c${++this.#commands}`), actor: "ann", idempotencyKey: null };
    const [reply] = this.receive(command).replies;
    if (reply?.kind !== "accepted") throw new Error(`refused: ${JSON.stringify(reply)}`);
    return reply.result;
  }

  apply(
    documents: Partial<
      Pick<Command & { kind: "apply" }, "sites" | "pools" | "teams" | "workloads" | "calendar" | "schedules">
    >,
  ): void {
    this.command({ kind: "apply", sites: [], pools: [], teams: [], workloads: [], ...documents });
  }

  team(name: string, parent: string | null, limit: Team["limit"] = {}): void {
    this.define({ name, parent, limit });
  }

  define({ name, parent, ...team }: Omit<Team, "name" | "parent"> & { name: string; parent: string | null }): void {
    this.apply({ teams: [{ ...team, name: teamName(name), parent: parent === null ? null : teamName(parent) }] });
  }

  submit(name: string, changes: Changes = {}): WorkloadId {
    const result = this.command({ kind: "submitWorkload", spec: specOf(name, changes) });
    if (result.kind !== "workloadSubmitted") throw new Error("not submitted");
    return result.workloadId;
  }

  stop(workloadId: WorkloadId): void {
    this.command({ kind: "stopWorkload", workloadId });
  }

  /** Starts the newest attempt of a workload and ends it with an exit code. */
  finish(id: WorkloadId, code: number): void {
    const attemptId = this.engine.state.workloads.get(id)?.activeAttempts.at(-1);
    if (attemptId === undefined) throw new Error(`${id} does not run`);
    this.receive({ kind: "attemptRunning", attemptId });
    this.receive({ kind: "attemptExited", attemptId, exits: [{ kind: "exited", worker: 0, code }] });
  }
}

export function specOf(name: string, { gang, taskCount, team = "default", ...changes }: Changes): WorkloadSpec {
  const common = {
    name,
    team: teamName(team),
    run: "true",
    dir: null,
    env: {},
    acceleratorTypes: [],
    priority: 0,
    walltimeMs: null,
    retries: { max: 1, backoffMs: 8_000, backoffMaxMs: 60_000 },
    graceTimeoutMs: 1_000,
    checkpointDir: null,
    ...changes,
    gang: { workers: 1, accelerators: 1, coresMilli: 0, memoryMib: 0, ...gang },
  };
  return taskCount === undefined ? { kind: "train", ...common } : { kind: "batch", taskCount, ...common };
}
