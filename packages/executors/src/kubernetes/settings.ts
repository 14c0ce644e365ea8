/** Settings of an executor of type `kubernetes`. */
import { z } from "zod";

const absolutePath = z.string().startsWith("/", "an absolute path").max(1024);
/** A name of an object (RFC 1123), in which `{team}` stands for the team of the workload, and `{user}` for its submitter. */
const nameRule = z
  .string()
  .max(63)
  .regex(
    /^(?:[a-z0-9-]|\{team\}|\{user\})+$/,
    "lower-case letters, digits and '-'; {team} stands for the team, {user} for the submitter",
  )
  // The team a and the user b-c would have the names of the team a-b and the user c.
  .refine((rule) => !(rule.includes("{team}") && rule.includes("{user}")), "name {team} or {user}, not both");
/** As a name rule, also of names with dots; `*`: any. */
const secretRule = z
  .string()
  .max(253)
  .regex(
    /^(?:\*|(?:[a-z0-9.-]|\{team\}|\{user\})+)$/,
    "the name of a Secret, in which {team} or {user} may stand, or *",
  )
  .refine((rule) => !(rule.includes("{team}") && rule.includes("{user}")), "name {team} or {user}, not both");
const labelName = z.string().regex(/^[A-Za-z0-9](?:[-A-Za-z0-9_./]{0,315}[A-Za-z0-9])?$/, "the name of a label");
const labels = z.record(labelName, z.string().max(63));

const toleration = z.strictObject({
  key: z.string().max(317).optional(),
  operator: z.enum(["Equal", "Exists"]).optional(),
  value: z.string().max(63).optional(),
  effect: z.enum(["NoSchedule", "PreferNoSchedule", "NoExecute"]).optional(),
  tolerationSeconds: z.number().int().optional(),
});

/** The source of a volume as in a pod (`persistentVolumeClaim`, `nfs`, `hostPath`, …). Kubernetes checks it. */
const volumeSource = z.record(z.string(), z.unknown());

const volume = z.strictObject({
  mountPath: absolutePath,
  readOnly: z.boolean().optional(),
  source: volumeSource,
});

const milliseconds = (least: number, most: number, preset: number, description: string) =>
  z.number().int().min(least).max(most).default(preset).meta({ description });

export const kubernetesSettings = z.strictObject({
  kubeconfig: absolutePath.optional().meta({
    description:
      "kubeconfig file. Default: the service account of the pod in which the control plane runs, else `KUBECONFIG` or `~/.kube/config`.",
  }),
  context: z
    .string()
    .min(1)
    .max(253)
    .optional()
    .meta({ description: "Context of the kubeconfig. Default: its current one." }),
  token: z.string().optional().meta({
    description: "Bearer token instead of that of the kubeconfig, as a reference (`file:/path`, `env:NAME`).",
  }),
  namespace: nameRule.default("headroom").meta({
    description:
      "Namespace of the pods. `{team}` stands for the team, so that `ml-{team}` is a namespace for each team: `ml-lab--nlp` for `lab/nlp`. Teams with other than lower-case letters, digits and single `-` are refused. The namespaces must exist.",
  }),
  namespaces: z.record(z.string().min(1).max(1_024), nameRule).optional().meta({
    description:
      "Namespace of the pods of each team, instead of `namespace`; teams below inherit it, `*` is any other team. Work of a team without a namespace is refused.",
  }),
  serviceAccount: nameRule.optional().meta({
    description:
      "Service account of the pods; `{team}` stands for the team, `{user}` for the submitter. Default: none, and no token is mounted.",
  }),
  serviceAccounts: z.record(z.string().min(1).max(256), nameRule).optional().meta({
    description:
      "Service account of the pods of each submitter. Others have `serviceAccount`; without it their work is refused.",
  }),
  adoptPods: z.boolean().default(false).meta({
    description:
      "Whether pods of others with `schedulerName: headroom` join the queue as workloads, and are bound when they are placed. Default: they are left alone.",
  }),
  adoptTeams: z.record(nameRule, z.string().min(1).max(1_024)).optional().meta({
    description:
      "Team of the adopted pods of each namespace. Default: the team whose namespace it is by `namespaces` or `namespace`. Pods of other namespaces are refused.",
  }),
  adoptPriorities: z
    .record(z.string().min(1).max(253), z.number().int().min(-1_000_000).max(1_000_000))
    .optional()
    .meta({
      description:
        'Priority of adopted pods by their `priorityClassName`, such as `{"high": 100}`; `*` is any other class. A group has the highest of its pods. Default: 0.',
    }),
  defaultImage: z.string().min(1).max(512).optional().meta({
    description:
      "Image of workloads that name none in `image` or their variable `HEADROOM_IMAGE`. Without it, they are refused.",
  }),
  imagePullSecrets: z
    .array(nameRule)
    .max(20)
    .default([])
    .meta({ description: "Secrets with which images are pulled." }),
  secrets: z.array(secretRule).max(100).default([]).meta({
    description:
      'Secrets that work may name in `secrets`, as in `["registry", "{team}-tokens"]`; `*`: any of its namespace, for namespaces that one team has. Default: none, and such work runs in other pools.',
  }),
  nodeSelector: labels
    .default({})
    .meta({ description: "Labels that nodes must have to be used. Default: all nodes are used." }),
  tolerations: z
    .array(toleration)
    .max(50)
    .default([])
    .meta({ description: "Taints that the pods tolerate, as in a pod. Taints of accelerators are always tolerated." }),
  fabricLabels: z.array(labelName).max(6).default([]).meta({
    description:
      "Labels of nodes that name their place in the fabric, widest first, such as `topology.kubernetes.io/zone`.",
  }),
  nodeLabels: z
    .array(labelName)
    .max(50)
    .default(["topology.kubernetes.io/region", "topology.kubernetes.io/zone", "node.kubernetes.io/instance-type"])
    .meta({
      description: "Labels of nodes that workloads can select. `kubernetes.node` always has the name of the node.",
    }),
  accelerators: z
    .record(labelName, z.string().min(1).max(63))
    .default({})
    .meta({ description: "Further resources that are accelerators, each with the name of its type." }),
  directory: absolutePath.optional().meta({
    description:
      "Directory on a file system that this machine and all nodes share, for checkpoints, progress reports and directories of jobs. Default: none; progress is then read from the log, and checkpoints cannot be requested.",
  }),
  directoryVolume: volumeSource.optional().meta({
    description: "The volume of `directory` in pods: its source as in a pod. Required with `directory`.",
  }),
  volumes: z
    .array(volume)
    .max(50)
    .default([])
    .meta({ description: "Volumes of all pods, with the source as in a pod." }),
  sharedMemoryMib: z.number().int().min(1).optional().meta({
    description: "Size limit of `/dev/shm`, in MiB. Default: that of the container runtime, mostly 64 MiB.",
  }),
  hostNetwork: z
    .boolean()
    .default(false)
    .meta({ description: "Whether pods use the network of their nodes, as for InfiniBand." }),
  priorityClassName: nameRule.optional().meta({ description: "Priority class of the pods." }),
  runtimeClassName: nameRule.optional().meta({ description: "Runtime class of the pods, such as `nvidia`." }),
  securityContext: z
    .record(z.string(), z.unknown())
    .optional()
    .meta({ description: "Security context of the pods (`runAsUser`, `fsGroup`, …), as in a pod." }),
  readsStores: z.boolean().default(false).meta({
    description:
      "Whether pods read declared stores themselves, with credentials of their own: they get the URIs of their inputs. False: inputs are copied to `directory`; without one, work with such inputs runs in other pools.",
  }),
  leavesOutputs: z.boolean().default(false).meta({
    description:
      "Whether nothing is uploaded: artifacts of work with `data.store` or `checkpoint.store` stay where it writes them. False: such work runs in other pools, unless `uploadsOutputs` is `true`.",
  }),
  uploadsOutputs: z.boolean().default(false).meta({
    description:
      "Whether outputs of work with `data.store` and checkpoints of work with `checkpoint.store` are uploaded from the directories that the executor gives to attempts in `directory`. Such work that names a `dir` or `checkpoint.dir`, which are paths in its containers, runs in other pools.",
  }),
  logRules: z.array(z.string().min(1).max(63)).max(50).default([]).meta({
    description:
      "Data rules of work whose logs may be kept on the machine of the control plane. Logs of work with another rule stay in the cluster.",
  }),
  requestTimeoutMs: milliseconds(100, 300_000, 15_000, "Time limit of a request, in ms."),
  watchMs: milliseconds(1_000, 600_000, 240_000, "Time in ms after which a watch is opened again."),
  startTimeoutMs: milliseconds(
    1_000,
    86_400_000,
    600_000,
    "Time in ms after which an attempt whose pods do not start is given up.",
  ),
  giveBackAfterMs: milliseconds(
    1_000,
    86_400_000,
    15_000,
    "Time in ms without an answer of the API server after which an attempt that has not started is given back, so that it can run in another cluster.",
  ),
  lostAfterMs: milliseconds(
    1_000,
    86_400_000,
    30_000,
    "Time in ms for which a pod must be missing, or its node be deleted, before the attempt counts as lost.",
  ),
  nodeLostAfterMs: milliseconds(
    1_000,
    86_400_000,
    300_000,
    "Time in ms for which a node must be not ready before its attempts count as lost.",
  ),
  keepPodsMs: milliseconds(0, 604_800_000, 300_000, "Time in ms for which ended pods are kept."),
});

export type KubernetesSettings = z.infer<typeof kubernetesSettings>;
