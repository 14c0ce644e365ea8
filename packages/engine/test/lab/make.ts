/** Short builders for test inputs; every field has a neutral default. */
import { commandId, nodeId, poolName, siteName, teamName } from "@headroom/model";
import type { Command, GangSpec, NodeSpec, Pool, ReplicaRange, Site, Team, WorkloadSpec } from "@headroom/model";

export const site: Site = { name: siteName("dc"), fabricLevels: ["leaf"] };

export const pool = (acceleratorType: string): Pool => ({
  name: poolName(acceleratorType === "" ? "plain" : acceleratorType),
  site: site.name,
  executor: "simulated",
  acceleratorType,
  priceMicroUsdPerHour: 0,
});

export const node = (id: string, type: string, amounts: Partial<NodeSpec> = {}): NodeSpec => ({
  id: nodeId(id),
  pool: pool(type).name,
  fabric: ["leaf"],
  acceleratorCount: 8,
  coresMilli: 64_000,
  memoryMib: 512 * 1024,
  ...amounts,
});

export const team = (name: string, parent: string | null = null, limit: Team["limit"] = {}): Team => ({
  name: teamName(name),
  parent: parent === null ? null : teamName(parent),
  limit,
});

type Train = WorkloadSpec & { readonly kind: "train" };
type SpecChanges = Partial<Omit<Train, "gang" | "kind" | "team">> & {
  readonly gang?: Partial<GangSpec>;
  readonly team?: string;
  readonly taskCount?: number | null;
  /** Bounds of the replicas of an endpoint; absent: it is none. */
  readonly replicas?: ReplicaRange;
  readonly readyMs?: number;
};

export function spec(name: string, changes: SpecChanges = {}): WorkloadSpec {
  const { gang, team: teamOf = "default", taskCount = null, replicas, readyMs = 60_000, ...rest } = changes;
  const common = {
    name,
    team: teamName(teamOf),
    run: "true",
    dir: null,
    env: {},
    gang: { workers: 1, accelerators: 1, coresMilli: 0, memoryMib: 0, ...gang },
    acceleratorTypes: [],
    priority: 0,
    walltimeMs: null,
    retries: { max: 0, backoffMs: 10_000, backoffMaxMs: 600_000 },
    graceTimeoutMs: 30_000,
    checkpointDir: null,
    ...rest,
  };
  if (replicas !== undefined)
    return { kind: "serve", ...common, replicas, ready: { path: "/health", timeoutMs: readyMs } };
  return taskCount === null ? { kind: "train", ...common } : { kind: "batch", ...common, taskCount };
}

type CommandBody = Command extends infer Each
  ? Each extends Command
    ? Omit<Each, "commandId" | "actor" | "idempotencyKey">
    : never
  : never;

let commandCount = 0;

/** A command of user `ann`; the only requirement for command ids is that they differ. */
export function command(body: CommandBody, idempotencyKey: string | null = null): Command {
  commandCount++;
  return { commandId: commandId(`c${commandCount}`), actor: "ann", idempotencyKey, ...body };
}

export const applied = (documents: Partial<Omit<CommandBody & { readonly kind: "apply" }, "kind">>): Command =>
  command({ kind: "apply", sites: [], pools: [], teams: [], workloads: [], ...documents });
