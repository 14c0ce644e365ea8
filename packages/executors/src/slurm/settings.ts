/** Settings of an executor of type `slurm`. */
import path from "node:path";
import { z } from "zod";
import { isWithin } from "../job-protocol/untrusted-files.ts";

/** A word that is passed to Slurm as the value of an option. */
const word = z
  .string()
  .min(1)
  .max(200)
  .regex(/^[^\s,]+$/, "one word without commas");
const absolutePath = z.string().startsWith("/", "an absolute path").max(1024);

/** Rules by which a submitter becomes a user of Slurm. */
const userRules = ["controlPlane", "sameName", "table", "oneUser"] as const;

const fields = z.strictObject({
  directory: absolutePath.meta({
    description:
      "Directory on a file system that this machine and all nodes share. Records, logs, checkpoints and the directories of jobs are here.",
  }),
  partitions: z.array(word).min(1).max(100).optional().meta({
    description: "Partitions to use, in order of preference: a node of several belongs to the first. Default: all.",
  }),
  commands: absolutePath.optional().meta({ description: "Directory of Slurm's commands. Default: those on the PATH." }),
  configuration: absolutePath
    .optional()
    .meta({ description: "`slurm.conf` of the cluster. Default: that of this machine." }),
  restAddress: z
    .string()
    .max(1_024)
    .regex(/^(?:unix:\/|https?:\/\/)\S+$/, "unix:/path or a URL")
    .optional()
    .meta({
      description:
        "Address of `slurmrestd`: `unix:/path` or a URL. Nodes, partitions and jobs are read there, and by commands while it gives no sound answer. Default: commands alone.",
    }),
  restTokenFile: absolutePath.optional().meta({
    description: "File with the JSON web token for `slurmrestd`, which is read at each request.",
  }),
  restUser: word.optional().meta({ description: "User of that token." }),
  node: absolutePath
    .optional()
    .meta({ description: "Path of Node.js on the nodes. Default: the path on this machine." }),
  program: absolutePath.optional().meta({
    description: "Directory `executors/src/slurm/agent` of Headroom on the nodes. Default: the path on this machine.",
  }),
  account: word.optional().meta({ description: "Account of the jobs." }),
  accounts: z.record(z.string().min(1).max(1_024), word).optional().meta({
    description:
      "Account of the jobs of each team; teams below inherit it, `*` is any other team. Work of a team without an account is refused.",
  }),
  userRule: z.enum(userRules).default("controlPlane").meta({
    description:
      "User of the jobs. `controlPlane`: that of Headroom. `sameName`: the user with the name of the submitter. `table`: by `users`. `oneUser`: `user`. All but the first need root; submitters without a user are refused.",
  }),
  users: z
    .record(z.string().min(1).max(256), word)
    .optional()
    .meta({ description: "With `userRule: table`: the user of Slurm for each submitter." }),
  user: word.optional().meta({ description: "With `userRule: oneUser`: the user of all jobs." }),
  qos: word.optional().meta({ description: "QOS of the jobs." }),
  reservation: word.optional().meta({ description: "Reservation in which the jobs run." }),
  constraint: z
    .string()
    .min(1)
    .max(500)
    .optional()
    .meta({ description: "Features that the nodes must have, as in `sbatch`." }),
  timeLimitMinutes: z
    .number()
    .int()
    .min(1)
    .optional()
    .meta({ description: "Time limit of jobs whose workload has no walltime. Default: that of the partition." }),
  readsStores: z.boolean().default(false).meta({
    description:
      "Whether jobs read declared stores themselves, with credentials of their own: they get the URIs of their inputs. False: unless `userRule` is `controlPlane`, work with such inputs runs in other pools.",
  }),
  leavesOutputs: z.boolean().default(false).meta({
    description:
      "Whether nothing is uploaded: artifacts of work with `data.store` or `checkpoint.store` stay where it writes them. False: such work runs in other pools, unless `uploadsOutputs` is `true`.",
  }),
  uploadsOutputs: z.boolean().default(false).meta({
    description:
      "Whether outputs of work with `data.store` and checkpoints of work with `checkpoint.store` are uploaded from the directories that the executor gives to attempts in `directory`. Such work that names a `dir` or `checkpoint.dir` elsewhere runs in other pools, unless it is below `uploadsFrom`.",
  }),
  uploadsFrom: z.array(absolutePath).max(20).default([]).meta({
    description:
      "With `uploadsOutputs`: directories that this machine and all nodes share at the same paths. Work may name a `dir` and a `checkpoint.dir` below them, and its outputs are uploaded from there. None may contain `directory` or lie in it.",
  }),
  passDrains: z.boolean().default(false).meta({
    description:
      "Whether nodes that are drained in Headroom are drained in Slurm too, with a reason, and resumed with it. Needs the rights of an operator in Slurm.",
  }),
  jobReuseMs: z.number().int().min(0).max(300_000).default(300_000).meta({
    description:
      "Time in ms from the start of a job in which it can run further tasks of its array, one after another, if they are short. 0: each task is a job of its own.",
  }),
  pollMs: z
    .number()
    .int()
    .min(100)
    .max(60_000)
    .default(2_000)
    .meta({ description: "Time between two questions about jobs, in ms." }),
  commandTimeoutMs: z
    .number()
    .int()
    .min(100)
    .max(300_000)
    .default(15_000)
    .meta({ description: "Time limit of a command, in ms." }),
  startTimeoutMs: z.number().int().min(1_000).default(600_000).meta({
    description: "Time in ms after which a job that Slurm does not start is cancelled, and its workload placed again.",
  }),
  giveBackAfterMs: z.number().int().min(1_000).default(15_000).meta({
    description:
      "Time in ms without an answer of Slurm after which attempts that have not started are given back, so that they can run in another cluster.",
  }),
  lostAfterMs: z.number().int().min(1_000).default(30_000).meta({
    description: "Time in ms without a sign of life after which a job counts as lost, if Slurm does not run it either.",
  }),
});

export const slurmSettings = fields
  .refine(({ userRule, users }) => userRule !== "table" || users !== undefined, {
    path: ["users"],
    error: "is required with userRule: table",
  })
  .refine(({ userRule, user }) => userRule !== "oneUser" || user !== undefined, {
    path: ["user"],
    error: "is required with userRule: oneUser",
  })
  .refine(({ account, accounts }) => account === undefined || accounts === undefined, {
    path: ["accounts"],
    error: "excludes account: name the account of other teams as *",
  })
  .refine(({ directory, uploadsFrom }) => !uploadsFrom.some((each) => areNested(directory, each)), {
    path: ["uploadsFrom"],
    error:
      "must neither contain directory, which has the directories of all attempts, nor lie in it: name directories beside it",
  });

function areNested(directory: string, other: string): boolean {
  const [left, right] = [path.resolve(directory), path.resolve(other)];
  return isWithin(left, right) || isWithin(right, left);
}

export type SlurmSettings = z.infer<typeof slurmSettings>;
