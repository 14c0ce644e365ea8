/** Type `local`: more processes of this machine, beside its own executor, as a fleet of declared nodes for trials. */
import { z } from "zod";
import { isolationModes } from "../executor.ts";
import { workerNetworks } from "../processes/isolation/team-network.ts";
import { imageNetworks } from "../processes/images/image-sandbox.ts";
import { executorType } from "./executor-type.ts";
import type { ExecutorType } from "./executor-type.ts";

const NODES_MAX = 1_000;
const SLOTS_MAX = 1_024;
const name = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/, "must be at most 63 letters, digits, '.', '_' and '-'");

const settings = z.strictObject({
  nodes: z.number().int().min(1).max(NODES_MAX).default(1).meta({ description: "Number of nodes to declare." }),
  slots: z
    .number()
    .int()
    .min(0)
    .max(SLOTS_MAX)
    .default(1)
    .meta({ description: "Number of accelerators to declare on each node." }),
  slotType: name.default("slot").meta({ description: "Accelerator type of the declared accelerators." }),
  site: name.default("local").meta({ description: "Site of the pool." }),
  pool: name.optional().meta({ description: "Name of the pool; default: the name of the executor." }),
  isolation: z.enum(isolationModes).default("auto").meta({ description: "Isolation of workers." }),
  imageDirs: z
    .array(z.string().regex(/^\//, "must be an absolute path"))
    .max(100)
    .optional()
    .meta({ description: "Directories of this machine that workers in container images see. Default: none." }),
  imageNetwork: z.enum(imageNetworks).default("machine").meta({
    description:
      "Network of workers in container images. `machine`: that of this machine. `own`: a loopback interface alone; gangs of several workers and replicas are refused.",
  }),
  network: z.enum(workerNetworks).default("machine").meta({
    description:
      "Network of sandboxed workers. `machine`: that of this machine. `team`: workers of one team reach each other, and nothing else; replicas are refused. Needs root, bubblewrap, util-linux and iproute2.",
  }),
  users: z.record(z.string().min(1).max(1_024), z.string().min(1).max(32)).optional().meta({
    description:
      "User of this machine as whom sandboxed workers of each team run; teams below inherit it, `*` is any other team. Work of a team without a user is refused. Needs root, bubblewrap and a `directory` that the users can reach.",
  }),
  directory: z
    .string()
    .regex(/^\//, "must be an absolute path")
    .optional()
    .meta({ description: "Directory of attempts and logs; default: `executors/NAME` in the state directory." }),
});

export const localType: ExecutorType = executorType({
  name: "local",
  summary: "Processes on this machine as declared nodes, beside the machine's own executor: for trials.",
  settings,
  async open(declared, context) {
    const { nodes, slots, slotType, site, pool, isolation, imageDirs, imageNetwork, network, users, directory } =
      declared;
    const { createLocalExecutor } = await import("../local/local-executor.ts");
    return createLocalExecutor({
      id: context.id,
      homeDir: directory ?? context.directory,
      siteName: site,
      poolName: pool ?? context.id,
      nodeName: context.id,
      nodeCount: nodes,
      slotCount: slots,
      slotType,
      accelerators: "declared",
      isolation,
      imageNetwork,
      network,
      users,
      ...(imageDirs === undefined ? {} : { imageDirs }),
      readingRules: context.stores,
      onProblem: (message) => context.onProblem(message),
    });
  },
});
