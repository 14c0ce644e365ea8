/**
 * Measures only Headroom's decisions: the engine with its events and hash chain, without journal, API or processes.
 * Every placed job ends at once. The result is not comparable with a measurement that launches processes.
 */
import { attemptId, commandId, nodeId, poolName, siteName, teamName } from "@headroom/model";
import type { Command, Input, NodeSpec, Pool, Site, WorkloadSpec } from "@headroom/model";
import { createEngine } from "@headroom/engine";
import type { Engine, Ready } from "@headroom/engine";
import { workloadSpec } from "@headroom/protocol";
import type { ArrayRequest } from "./measurement.ts";

/**
 * `together`: all jobs of a round end before the next round. `singly`: each end has a separate round, as with jobs of
 * different lengths.
 */
export type Ends = "together" | "singly";

export interface DecisionFigures {
  readonly ends: Ends;
  readonly elapsedMs: number;
  readonly placementCount: number;
  readonly roundCount: number;
  readonly eventCount: number;
}

const TEAM = "held";
const ACCELERATOR_TYPE = "slot";

type CommandBody = Command extends infer Each
  ? Each extends Command
    ? Omit<Each, "commandId" | "actor" | "idempotencyKey">
    : never
  : never;

class Scheduler {
  readonly engine: Engine = createEngine();
  eventCount = 0;
  roundCount = 0;
  #commandCount = 0;
  #nowMs = 1_000_000;

  receive(inputs: readonly Input[]): Ready {
    this.#nowMs += 1;
    const ready = this.engine.receive(inputs, this.#nowMs);
    // Formats the hash chain, as a journal does for every group.
    if (ready.group !== null) this.eventCount += ready.group.chain === "" ? 0 : ready.group.count;
    this.engine.advance();
    this.roundCount += 1;
    return ready;
  }

  command(body: CommandBody): Ready {
    this.#commandCount += 1;
    const id = commandId(`c${this.#commandCount}`);
    const ready = this.receive([{ ...body, commandId: id, actor: "bench", idempotencyKey: null }]);
    const refused = ready.replies.find(({ kind }) => kind === "rejected");
    if (refused !== undefined) throw new Error(JSON.stringify(refused));
    return ready;
  }
}

export function measureDecisions(request: ArrayRequest, ends: Ends): DecisionFigures {
  const scheduler = new Scheduler();
  prepare(scheduler, request);
  const eventsBefore = scheduler.eventCount;
  const roundsBefore = scheduler.roundCount;
  const beganMs = performance.now();
  const placementCount = runToTheEnd(scheduler, limitOf(request.nodeCount * request.slotsPerNode), ends);
  const elapsedMs = performance.now() - beganMs;
  if (placementCount !== request.jobCount) throw new Error(`${placementCount} of ${request.jobCount} were placed`);
  return {
    ends,
    elapsedMs,
    placementCount,
    roundCount: scheduler.roundCount - roundsBefore,
    eventCount: scheduler.eventCount - eventsBefore,
  };
}

function prepare(scheduler: Scheduler, { nodeCount, slotsPerNode, jobCount, command }: ArrayRequest): void {
  const site: Site = { name: siteName("here"), fabricLevels: [] };
  const pool: Pool = {
    name: poolName("here"),
    site: site.name,
    executor: "simulated",
    acceleratorType: ACCELERATOR_TYPE,
    priceMicroUsdPerHour: 0,
  };
  scheduler.command({ kind: "apply", sites: [site], pools: [pool], teams: [], workloads: [] });
  scheduler.command(limitOf(0));
  const nodes = Array.from({ length: nodeCount }, (_, index): NodeSpec => ({
    id: nodeId(`n${index + 1}`),
    pool: pool.name,
    fabric: [],
    acceleratorCount: slotsPerNode,
    coresMilli: 1_000,
    memoryMib: 1_000,
  }));
  scheduler.receive(nodes.map((node) => ({ kind: "nodeSeen", node })));
  const spec = workloadSpec.parse({
    kind: "batch",
    name: "array",
    team: TEAM,
    run: command,
    taskCount: jobCount,
    gang: { accelerators: 1, coresMilli: 0 },
  }) as unknown as WorkloadSpec;
  scheduler.command({ kind: "submitWorkload", spec });
}

function limitOf(count: number): CommandBody {
  const team = { name: teamName(TEAM), parent: null, limit: { [ACCELERATOR_TYPE]: count } };
  return { kind: "apply", sites: [], pools: [], teams: [team], workloads: [] };
}

/** Returns the number of placed jobs. */
function runToTheEnd(scheduler: Scheduler, release: CommandBody, ends: Ends): number {
  let placementCount = 0;
  const running: string[] = [];
  const take = ({ effects }: Ready): void => {
    for (const effect of effects) if (effect.kind === "launchGang") running.push(effect.attemptId);
  };
  take(scheduler.command(release));
  while (running.length > 0) {
    const ended = running.splice(0, ends === "together" ? running.length : 1);
    placementCount += ended.length;
    take(scheduler.receive(ended.flatMap(inputsOfEnd)));
  }
  return placementCount;
}

function inputsOfEnd(id: string): Input[] {
  return [
    { kind: "attemptRunning", attemptId: attemptId(id) },
    { kind: "attemptExited", attemptId: attemptId(id), exits: [{ kind: "exited", worker: 0, code: 0 }] },
  ];
}
