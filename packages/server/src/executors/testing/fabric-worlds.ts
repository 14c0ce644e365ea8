/**
 * Random fleets with labelled nodes, twice: through a control plane with an executor that reports nodes without a place in the
 * fabric, and as `simulate --fleet` declares them. Both place the same random gangs.
 */
import { createEngine } from "@headroom/engine";
import type { Executor, LogChunk } from "@headroom/executors";
import { commandId, draw, nodeId, poolName, siteName, teamName } from "@headroom/model";
import type { FabricSpec, NodeId, NodeSpec, Pool, Site, SpreadSpec, WorkloadSpec } from "@headroom/model";
import { declaredFleet } from "@headroom/sim";
import type { DeclaredNodes } from "@headroom/sim";
import { openHome, removeDirectory, temporaryDirectory } from "../../driver/testing/bench-home.ts";
import { registerInventory } from "../../machine-registration.ts";

interface LabelledWorld {
  readonly site: Site;
  readonly pools: readonly Pool[];
  readonly nodes: readonly DeclaredNodes[];
}

/** The nodes of each gang, in the order of submission; `null`: it waits. */
type Placements = readonly (readonly NodeId[] | null)[];

const LEVELS = ["zone", "spine", "leaf"];
/** Labels that are no levels: failure domains beside the fabric. */
const DOMAINS = ["rack", "feed"];

class Draws {
  #count = 0;
  readonly #seed: number;

  constructor(seed: number) {
    this.#seed = seed;
  }

  below(limit: number): number {
    return Math.floor((draw(this.#seed, this.#count++, "fabric worlds") / 2 ** 32) * limit);
  }

  of<T>(values: readonly T[]): T {
    return values[this.below(values.length)] as T;
  }
}

function labelledWorld(draws: Draws): LabelledWorld {
  const fabricLevels = LEVELS.slice(draws.below(LEVELS.length));
  const site: Site = { name: siteName("far"), fabricLevels };
  const pools: Pool[] = [];
  const nodes: DeclaredNodes[] = [];
  for (const type of ["H100", "A100"].slice(0, 1 + draws.below(2))) {
    const name = poolName(type.toLowerCase());
    const nodeCount = 4 + draws.below(20);
    const width = 1 + draws.below(5);
    const nodeLabels = Object.fromEntries(
      Array.from({ length: nodeCount }, (_, at) => {
        const leaf = Math.floor(at / width);
        const domains = { zone: `z${leaf >> 3}`, spine: `s${leaf >> 1}`, leaf: `l${leaf}` };
        return [`${name}-${at + 1}`, { ...domains, rack: `r${at % 5}`, feed: `f${at % 2}` }];
      }),
    );
    const price = { priceMicroUsdPerHour: 0 };
    pools.push({ name, site: site.name, executor: "far", acceleratorType: type, nodeLabels, ...price });
    nodes.push({ pool: name, nodeCount, acceleratorCount: 8, coresMilli: 64_000, memoryMib: 65_536 });
  }
  return { site, pools, nodes };
}

function gangOf(draws: Draws, { site: { fabricLevels }, pools }: LabelledWorld, name: string): WorkloadSpec {
  const levels = [...fabricLevels, "node"];
  const within = levels[draws.below(levels.length)] as string;
  const narrower = levels.slice(levels.indexOf(within));
  const fabrics: readonly (FabricSpec | null)[] = [
    null,
    { within },
    { prefer: draws.of(levels) },
    { within, prefer: draws.of(narrower) },
    { slices: [{ workers: 2, within }] },
  ];
  const fabric = draws.of(fabrics);
  const spreads: readonly (SpreadSpec | null)[] = [
    null,
    null,
    { topologyKey: draws.of([...DOMAINS, ...fabricLevels]), maxPerDomain: 1 + draws.below(3) },
  ];
  const spread = fabric?.slices === undefined ? draws.of(spreads) : null;
  const workers = fabric?.slices === undefined ? 1 + draws.below(8) : 2 * (1 + draws.below(4));
  return {
    kind: "train",
    name,
    team: teamName("default"),
    run: "hold",
    env: {},
    gang: { workers, accelerators: draws.of([1, 2, 4, 8]), coresMilli: 1_000, memoryMib: 1_024 },
    acceleratorTypes: draws.below(2) === 0 ? [] : [draws.of(pools).acceleratorType],
    priority: 0,
    preemptible: false,
    retries: { limit: 0 },
    graceTimeoutMs: 1_000,
    ...(fabric === null ? {} : { fabric }),
    ...(spread === null ? {} : { spread }),
  } as unknown as WorkloadSpec;
}

const documentsOf = ({ site, pools }: LabelledWorld) => ({ sites: [site], pools, teams: [], workloads: [] });

/** As `simulate --fleet` does: the documents declare the nodes with their places. */
function simulated(world: LabelledWorld, gangs: readonly WorkloadSpec[]): Placements {
  const { nodes } = declaredFleet({ sites: [world.site], pools: world.pools, nodes: world.nodes });
  const engine = createEngine();
  let at = 0;
  const receive = (...inputs: Parameters<typeof engine.receive>[0]): void => {
    engine.receive(inputs, ++at);
    engine.advance();
  };
  const by = { actor: "test", idempotencyKey: null } as const;
  receive({ kind: "apply", ...by, ...documentsOf(world), commandId: commandId("fleet") });
  for (const node of nodes) receive({ kind: "nodeSeen", node });
  for (const [index, spec] of gangs.entries())
    receive({ kind: "submitWorkload", ...by, spec, commandId: commandId(`c${index}`) });
  return placementsIn(engine.state, gangs);
}

/** An operator declares site and pools; the executor reports its nodes without labels and without a place. */
async function live(world: LabelledWorld, gangs: readonly WorkloadSpec[]): Promise<Placements> {
  const home = temporaryDirectory();
  const nodes = world.nodes.flatMap(({ pool, nodeCount, ...amounts }) =>
    Array.from({ length: nodeCount }, (_, at): NodeSpec => {
      const id = nodeId(`${pool}-${at + 1}`);
      return { id, pool: poolName(pool), fabric: [], ...amounts };
    }),
  );
  const open = await openHome(home, { executor: silentExecutor });
  try {
    const { driver } = open;
    const by = { actor: "test", idempotencyKey: null } as const;
    await driver.command({ kind: "apply", ...by, ...documentsOf(world) });
    await registerInventory(driver, "far", { sites: [], pools: [], nodes });
    for (const spec of gangs) await driver.command({ kind: "submitWorkload", ...by, spec });
    return await driver.read(({ state }) => placementsIn(state, gangs));
  } finally {
    await open.close();
    removeDirectory(home);
  }
}

type WithAttempts = Pick<ReturnType<typeof createEngine>["state"], "attempts" | "workloads">;

function placementsIn({ attempts, workloads }: WithAttempts, gangs: readonly WorkloadSpec[]): Placements {
  const byName = new Map([...workloads.values()].map((workload) => [workload.spec.name, workload.activeAttempts]));
  return gangs.map(({ name }) => {
    const [id] = byName.get(name) ?? [];
    return id === undefined ? null : (attempts.get(id)?.workers.map(({ node }) => node) ?? null);
  });
}

const silentExecutor: Executor = {
  id: "far",
  kind: "far",
  capabilities: { checkpointOnRequest: false, resize: false, replaceWorkers: false, logs: false },
  inventory: async () => ({ sites: [], pools: [], nodes: [] }),
  attempts: async () => [],
  perform: () => undefined,
  watch: () => undefined,
  async *logs(): AsyncGenerator<LogChunk> {},
  usage: async () => null,
  forget: async () => undefined,
  close: async () => undefined,
};

export interface FabricComparison {
  readonly seed: number;
  readonly gangs: number;
  readonly placed: number;
  /** Gangs that the two place on other nodes, or only one of them places. */
  readonly different: readonly string[];
}

export async function compareFabric(seed: number, gangCount: number): Promise<FabricComparison> {
  const draws = new Draws(seed);
  const world = labelledWorld(draws);
  const gangs = Array.from({ length: gangCount }, (_, index) => gangOf(draws, world, `g${index}`));
  const expected = simulated(world, gangs);
  const found = await live(world, gangs);
  const different = gangs.flatMap(({ name }, index) =>
    JSON.stringify(expected[index]) === JSON.stringify(found[index])
      ? []
      : [`${name}: simulated ${JSON.stringify(expected[index])}, live ${JSON.stringify(found[index])}`],
  );
  return { seed, gangs: gangCount, placed: expected.filter((each) => each !== null).length, different };
}
