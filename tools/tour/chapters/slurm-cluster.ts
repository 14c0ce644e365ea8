import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { SlurmCluster, whyNoCluster } from "../../../packages/executors/src/slurm/testing/slurm-cluster.ts";
import type { Chapter } from "../chapter.ts";
import { Stage } from "../stage.ts";

const SHAPE = { nodes: 2, gpusPerNode: 2, cpusPerNode: 8, memoryMib: 16_000, cloudNodes: 1 };
/** Slurm takes ten seconds to notice that a node is lost, and half a minute to start one. */
const LIMIT_MS = 180_000;

/** Why the chapter cannot be played here; `null`: it can. */
export const whyNoSlurmChapter = (): string | null => whyNoCluster(SHAPE);

export const slurmCluster: Chapter = {
  name: "slurm-cluster",
  shows: "A Slurm cluster is followed, then joined; a gang runs on it; a node is lost; an order replaces it.",
  needs: [],
  async run(stage) {
    const cluster = await SlurmCluster.start(SHAPE);
    try {
      await stage.apart((fleet) => play(fleet, cluster));
    } finally {
      await cluster.stop();
    }
  },
};

interface ShownNode {
  readonly id: string;
  readonly executor?: string;
  readonly foreignUse?: { readonly accelerators: string } | null;
}

interface ShownGang {
  readonly id: string;
  readonly attempts: readonly { readonly phase: string; readonly workers: readonly { readonly node: string }[] }[];
}

async function play(stage: Stage, cluster: SlurmCluster): Promise<void> {
  const directory = path.join(stage.folder, "shared");
  mkdirSync(directory);
  mkdirSync(stage.home, { mode: 0o700 });
  writeFileSync(path.join(stage.home, "provisioners.yaml"), provisionerOf(stage, cluster), { mode: 0o600 });
  await stage.startFleet(1);
  const { configurationFile: configuration } = cluster;
  const settings = Object.entries({ directory, configuration, pollMs: 500, lostAfterMs: 6_000 });
  const words = settings.flatMap(([name, value]) => ["--setting", `${name}=${value}`]);
  const add = async (mode: string): Promise<void> => {
    await stage.headroom("executor", "add", "slurm", "lab", "--mode", mode, ...words);
  };
  await follow(stage, cluster, add);
  await add("run");
  const gang = await runGang(stage);
  await loseNode(stage, cluster, { gang, directory });
}

async function follow(stage: Stage, cluster: SlurmCluster, add: (mode: string) => Promise<void>): Promise<void> {
  stage.note("a user of Slurm has a job on it");
  const words = ["--parsable", "--gres=gpu:h100:1", "--output=/dev/null", "--wrap=sleep 600"];
  const job = (await cluster.call("sbatch", ...words)).trim();
  await add("follow");
  const isUsed = ({ foreignUse }: ShownNode): boolean => (foreignUse?.accelerators ?? "") !== "";
  const nodes = await stage.until("the job is counted", async () => {
    const { items } = await stage.json<{ items: ShownNode[] }>("nodes");
    const ofLab = items.filter(({ id }) => id.startsWith("lab-"));
    return ofLab.length === 2 && ofLab.some(isUsed) ? ofLab : null;
  });
  await stage.headroom("nodes");
  const names = nodes.map(({ id }) => id);
  stage.equal("its nodes are shown", names, ["lab-n1", "lab-n2"]);
  stage.equal("the job of the other user counts as used", nodes.filter(isUsed).length, 1);
  const states = await cluster.call("squeue", "--noheader", "--format=%i %T");
  stage.equal("nothing was changed in the cluster", states.trim(), `${job} RUNNING`);
  await cluster.call("scancel", job);
}

const nodesOf = ({ attempts }: ShownGang): readonly string[] => attempts.at(-1)?.workers.map(({ node }) => node) ?? [];

/** Resolves when the newest attempt of the gang runs, with a worker on the node. */
const runsOn = (stage: Stage, node: string): Promise<ShownGang> =>
  stage.until(
    `the gang runs on ${node}`,
    async () => {
      const gang = await stage.json<ShownGang>("show", "gang");
      return gang.attempts.at(-1)?.phase === "running" && nodesOf(gang).includes(node) ? gang : null;
    },
    LIMIT_MS,
  );

async function runGang(stage: Stage): Promise<ShownGang> {
  stage.write("burst.yaml", BURST);
  await stage.headroom("apply", "-f", "burst.yaml", "--yes");
  const size = ["--type", "H100", "--workers", "2", "--gpus", "2"];
  await stage.headroom("run", "--name", "gang", ...size, "--", "sleep 3600");
  const gang = await runsOn(stage, "lab-n2");
  stage.equal("the gang runs on both nodes", nodesOf(gang).toSorted(), ["lab-n1", "lab-n2"]);
  return gang;
}

async function loseNode(
  stage: Stage,
  cluster: SlurmCluster,
  { gang, directory }: { readonly gang: ShownGang; readonly directory: string },
): Promise<void> {
  stage.note("n2 loses its power");
  const rank = nodesOf(gang).indexOf("lab-n2");
  const attempt = `${gang.id}.${gang.attempts.length}`;
  await cluster.crashNode("n2", `HEADROOM_PROGRESS_FILE=${directory}/work/${attempt},${rank}/progress.jsonl`);
  const isOrdered = async (): Promise<true | null> =>
    (await stage.json<{ items: unknown[] }>("order", "list")).items.length > 0 ? true : null;
  await stage.until("a node is ordered", isOrdered, LIMIT_MS);
  await stage.headroom("why", "gang");
  const again = await runsOn(stage, "lab-c1");
  await stage.headroom("show", "gang");
  await stage.headroom("order", "list");
  stage.equal("the gang runs again, on the ordered node", nodesOf(again).toSorted(), ["lab-c1", "lab-n1"]);
  // Slurm takes a while to see that the node is gone: the gang may be placed there once more.
  stage.holds("the lost attempts are shown", again.attempts.length > 1, again.attempts);
}

/** A pool of one cloud node. Its name is the one that the executor gives it. */
const BURST = `kind: fleet
sites:
  - name: lab
    pools:
      - name: lab-cloud-h100
        executor: lab
        accelerator: H100
        price: 2.00 USD/h
        burst:
          { provisioner: cloud, nodes: 1, perNode: 2, cores: 8, memory: 15GiB, leadTime: 5s, leadTimeP95: 60s, orderAfter: 1s, releaseAfter: 1m }
`;

function provisionerOf(stage: Stage, { configurationFile }: SlurmCluster): string {
  const words = ["--executor", "lab", "--partition", "cloud", "--directory", path.join(stage.folder, "orders")];
  const command = [
    process.execPath,
    Stage.program,
    "provision",
    "slurm",
    ...words,
    "--configuration",
    configurationFile,
  ];
  return JSON.stringify({ kind: "provisioner", name: "cloud", command, pollSeconds: 1, timeoutSeconds: 50 });
}
