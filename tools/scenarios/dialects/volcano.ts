/**
 * Plays Volcano's capacity scenarios with the preset `volcano-capacity`: one scheduling cycle, then the exact sets of
 * pods that were bound, evicted or nominated.
 */
import { presets } from "@headroom/model";
import type { Policy } from "@headroom/model";
import type { Scenario } from "../scenario-file.ts";
import { Stage, acceleratorsFrom } from "../stage.ts";

interface Amounts {
  readonly cpu?: number;
  readonly memoryGi?: number;
  readonly gpus?: number;
}
interface Pod {
  readonly name: string;
  readonly queue: string;
  readonly priority: number | null;
  readonly preemptible: boolean;
  readonly gangMin?: number;
  readonly pods: number;
  readonly cpuPerPod?: number;
  readonly memoryGiPerPod?: number;
  readonly gpusPerPod?: number;
  readonly node?: string;
  readonly nodeSelector?: Readonly<Record<string, string>>;
}
interface VolcanoScenario extends Scenario {
  readonly nodes: readonly {
    readonly name: string;
    readonly gpus: number;
    readonly cpu: number;
    readonly memoryGi: number;
    readonly maxPods: number;
    readonly labels: Readonly<Record<string, string>>;
  }[];
  readonly queues: readonly {
    readonly name: string;
    readonly parent: string | null;
    readonly priority: number | null;
    readonly quota: Amounts | null;
    readonly limit: Amounts | null;
  }[];
  readonly runningJobs: readonly Pod[];
  readonly pendingJobs: readonly Pod[];
  readonly expected: {
    readonly binds?: Readonly<Record<string, string>>;
    readonly bindCount?: number;
    readonly evicted?: readonly string[];
    readonly nominated?: Readonly<Record<string, string>>;
  };
}

const CORE = 1000;
const GIB = 1024;
const amountsOf = ({ cpu, memoryGi, gpus }: Amounts) => ({
  ...(cpu === undefined ? {} : { cores: cpu * CORE }),
  ...(memoryGi === undefined ? {} : { memory: memoryGi * GIB }),
  ...(gpus === undefined ? {} : { accelerators: gpus }),
});

export function playVolcano(scenario: Scenario): string[] {
  const { nodes, queues, runningJobs, pendingJobs, expected } = scenario as VolcanoScenario;
  const stage = new Stage(presets.get("volcano-capacity") as Policy);
  for (const { name, gpus, cpu, memoryGi, maxPods, labels } of nodes)
    stage.addNode({
      name,
      acceleratorCount: gpus,
      coresMilli: cpu * CORE,
      memoryMib: memoryGi * GIB,
      workersMax: maxPods,
      labels,
    });
  const hasAccelerators = nodes.some(({ gpus }) => gpus > 0);
  for (const { name, parent, priority, quota, limit } of queues)
    stage.addTeam({
      name,
      parent,
      // If a quota does not name accelerators, it guarantees none; cores and memory stay unstated.
      guarantee: { ...(hasAccelerators ? { accelerators: 0 } : {}), ...amountsOf(quota ?? {}) },
      limit: limit === null ? {} : amountsOf(limit),
      ...(priority === null ? {} : { priority }),
    });
  const ids = addWork(stage, [...runningJobs, ...pendingJobs]);
  const events = stage.round();
  const binds: Record<string, string> = {};
  const nominated: Record<string, string> = {};
  const evicted: string[] = [];
  const nameOf = (id: string): string => ids.get(id) ?? id;
  for (const event of events) {
    if (event.kind === "gangPlaced") binds[nameOf(event.workloadId)] = event.workers[0]?.node ?? "";
    if (event.kind === "placementNominated")
      nominated[nameOf(event.nomination.workloadId)] = event.nomination.workers[0]?.node ?? "";
    if (event.kind === "attemptStopRequested") evicted.push(nameOf(event.attemptId.split(".")[0] as string));
  }
  const differences: string[] = [];
  const same = (what: string, wanted: unknown, got: unknown): void => {
    const [left, right] = [JSON.stringify(wanted), JSON.stringify(got)];
    if (wanted !== undefined && left !== right) differences.push(`${what}: expected ${left}, got ${right}`);
  };
  same("binds", sorted(expected.binds), sorted(binds));
  same("bindCount", expected.bindCount, Object.keys(binds).length);
  same("evicted", expected.evicted?.toSorted(), evicted.toSorted());
  same("nominated", sorted(expected.nominated), sorted(nominated));
  return differences;
}

/**
 * Names of pods by the id of their workload. Pods with a node run there; each takes the next free accelerators of the
 * node.
 */
function addWork(stage: Stage, pods: readonly Pod[]): ReadonlyMap<string, string> {
  const ids = new Map<string, string>();
  const taken = new Map<string, number>();
  const place = ({ node = "", gpusPerPod = 0 }: Pod) => {
    const first = taken.get(node) ?? 0;
    taken.set(node, first + gpusPerPod);
    return { node, accelerators: acceleratorsFrom(first, gpusPerPod) };
  };
  for (const pod of pods) {
    const id = stage.submit({
      name: pod.name,
      team: pod.queue,
      priority: pod.priority ?? 0,
      preemptible: pod.preemptible,
      gang: {
        workers: pod.pods,
        accelerators: pod.gpusPerPod ?? 0,
        coresMilli: (pod.cpuPerPod ?? 0) * CORE,
        memoryMib: (pod.memoryGiPerPod ?? 0) * GIB,
      },
      ...(pod.nodeSelector === undefined ? {} : { nodeSelector: pod.nodeSelector }),
    });
    ids.set(id, pod.name);
    if (pod.node !== undefined)
      stage.run(
        id,
        "GPU",
        Array.from({ length: pod.pods }, () => place(pod)),
      );
  }
  return ids;
}

const sorted = (record: Readonly<Record<string, string>> | undefined): unknown =>
  record === undefined ? undefined : Object.entries(record).toSorted(([left], [right]) => (left < right ? -1 : 1));
