/** Fleets, teams and work for the benchmarks, submitted as a control plane would: by commands and observations. */
import { commandId, nodeId, poolName, siteName, teamName } from "@headroom/model";
import type { Command, Input, Policy, Team, WorkloadSpec } from "@headroom/model";
import { createEngine } from "../src/index.ts";
import type { Engine, Ready } from "../src/index.ts";

export interface FleetSize {
  readonly nodes: number;
  readonly perNode: number;
  /** Number of nodes in a leaf of the fabric; the next field: leaves in a spine block. */
  readonly leafNodes?: number;
  readonly coresMilli?: number;
}

type SpecChanges = Partial<Omit<WorkloadSpec, "kind" | "team" | "name">> & { readonly team?: string };

let count = 0;
const header = () => ({ commandId: commandId(`c${++count}`), actor: "bench", idempotencyKey: null });

export class Bench {
  readonly engine: Engine = createEngine();
  nowMs = 0;

  constructor(
    policy: Policy,
    { nodes, perNode, leafNodes = 32, coresMilli = 128_000 }: FleetSize,
    teams: readonly Team[] = [],
  ) {
    const site = siteName("dc");
    const pool = poolName("pool");
    this.receive(
      { ...header(), kind: "setPolicy", policy },
      {
        ...header(),
        kind: "apply",
        sites: [{ name: site, fabricLevels: ["leaf"] }],
        pools: [{ name: pool, site, executor: "simulated", acceleratorType: "GPU", priceMicroUsdPerHour: 0 }],
        teams,
        workloads: [],
      },
    );
    this.receive(
      ...Array.from({ length: nodes }, (_, index): Input => ({
        kind: "nodeSeen",
        node: {
          id: nodeId(`n${String(index).padStart(5, "0")}`),
          pool,
          fabric: [`leaf${String(Math.floor(index / leafNodes)).padStart(4, "0")}`],
          acceleratorCount: perNode,
          coresMilli,
          memoryMib: 1_048_576,
        },
      })),
    );
  }

  receive(...inputs: readonly Input[]): Ready {
    const ready = this.engine.receive(inputs, this.nowMs);
    this.engine.advance();
    return ready;
  }

  setPolicy(policy: Policy): void {
    this.receive({ ...header(), kind: "setPolicy", policy });
  }

  submission(gang: Partial<WorkloadSpec["gang"]>, { team = "default", ...changes }: SpecChanges = {}): Command {
    const spec: WorkloadSpec = {
      kind: "train",
      name: `w${count}`,
      run: "true",
      dir: null,
      env: {},
      gang: { workers: 1, accelerators: 1, coresMilli: 0, memoryMib: 0, ...gang },
      acceleratorTypes: [],
      priority: 0,
      walltimeMs: 3_600_000,
      retries: { max: 0, backoffMs: 0, backoffMaxMs: 0 },
      graceTimeoutMs: 30_000,
      checkpointDir: null,
      ...changes,
      team: teamName(team),
    };
    return { ...header(), kind: "submitWorkload", spec };
  }

  /** Reports all launched work as running. */
  started({ effects }: Ready): Ready {
    this.nowMs += 1000;
    return this.receive(
      ...effects.flatMap((effect): Input[] =>
        effect.kind === "launchGang" ? [{ kind: "attemptRunning", attemptId: effect.attemptId }] : [],
      ),
    );
  }

  /** Reports all stopped work as ended. */
  stopped({ effects }: Ready): Ready {
    this.nowMs += 1000;
    return this.receive(
      ...effects.flatMap((effect): Input[] => {
        if (effect.kind === "stopGang")
          return [
            {
              kind: "attemptExited",
              attemptId: effect.attemptId,
              exits: [{ kind: "signalled", worker: 0, signal: "SIGTERM" }],
            },
          ];
        return effect.kind === "launchGang" ? [{ kind: "attemptRunning", attemptId: effect.attemptId }] : [];
      }),
    );
  }
}

export const team = (
  name: string,
  amounts: Omit<Team, "name" | "parent" | "limit"> & { readonly limit?: Team["limit"] } = {},
): Team => ({
  limit: {},
  ...amounts,
  name: teamName(name),
  parent: null,
});

export interface Measured<T> {
  readonly value: T;
  readonly wallMs: number;
  /** CPU time of the process in ms, garbage collection included, which other load on the machine does not distort. */
  readonly cpuMs: number;
}

export function measured<T>(work: () => T): Measured<T> {
  globalThis.gc?.();
  const cpuBefore = process.cpuUsage();
  const before = performance.now();
  const value = work();
  const wallMs = performance.now() - before;
  const { user, system } = process.cpuUsage(cpuBefore);
  return { value, wallMs, cpuMs: (user + system) / 1000 };
}

export const placedCount = ({ events }: Ready): number => events.filter(({ kind }) => kind === "gangPlaced").length;
export const nominatedCount = ({ events }: Ready): number =>
  events.filter(({ kind }) => kind === "placementNominated").length;

export function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((left, right) => left - right);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0;
}

export const rounded = (value: number): number => Math.round(value * 100) / 100;
