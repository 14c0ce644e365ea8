import { describe, expect, it } from "vitest";
import { isManifest, readKubernetesManifest, type ManifestReading } from "./index.ts";
import { quantityOf } from "./resources.ts";
import { commandLine } from "./shell-words.ts";

type Fields = Readonly<Record<string, unknown>>;

const types: Readonly<Record<string, string>> = {
  H100: "H100",
  "H100-80GB-HBM3": "H100-SXM-80GB",
  t4: "T4",
  a100: "A100",
};
const read = (...objects: readonly Fields[]): ManifestReading =>
  readKubernetesManifest({
    file: "job.yaml",
    manifests: objects.map((value, index) => ({ value, lineOf: () => index + 1 })),
    context: { acceleratorNamed: (name) => types[name], mayBeVariable: (name) => !name.startsWith("HEADROOM_") },
  });

const container = (more: Fields = {}): Fields => ({
  name: "main",
  image: "a/b:1",
  command: ["python", "train.py"],
  ...more,
});
const gpus = (count: number | string): Fields => ({ resources: { limits: { "nvidia.com/gpu": count } } });
const podSpec = (more: Fields = {}, inner: Fields = {}): Fields => ({ containers: [container(inner)], ...more });
const pod = (more: Fields = {}, inner: Fields = {}): Fields => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "one" },
  spec: podSpec(more, inner),
});
const job = (more: Fields = {}, spec: Fields = podSpec()): Fields => ({
  apiVersion: "batch/v1",
  kind: "Job",
  metadata: { name: "sweep" },
  spec: { ...more, template: { spec } },
});
const pyTorch = (roles: Fields, more: Fields = {}): Fields => ({
  apiVersion: "kubeflow.org/v1",
  kind: "PyTorchJob",
  metadata: { name: "ddp" },
  spec: { ...more, pytorchReplicaSpecs: roles },
});
const role = (replicas: number, inner: Fields = gpus(8)): Fields => ({
  replicas,
  restartPolicy: "OnFailure",
  template: { spec: podSpec({}, inner) },
});
const replicated = (name: string, replicas: number, parallelism: number): Fields => ({
  name,
  replicas,
  template: {
    spec: {
      parallelism,
      completions: parallelism,
      completionMode: "Indexed",
      template: { spec: podSpec({}, gpus(4)) },
    },
  },
});
const jobSet = (...jobs: readonly Fields[]): Fields => ({
  apiVersion: "jobset.x-k8s.io/v1alpha2",
  kind: "JobSet",
  metadata: { name: "set" },
  spec: { replicatedJobs: jobs },
});
const deployment = (replicas?: number): Fields => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "api" },
  spec: {
    ...(replicas === undefined ? {} : { replicas }),
    selector: { matchLabels: { a: "b" } },
    strategy: { type: "Recreate" },
    template: { metadata: { labels: { a: "b" } }, spec: podSpec({}, { ports: [{ containerPort: 80 }] }) },
  },
});
const affinity = (key: string, values: readonly string[], operator = "In"): Fields => ({
  affinity: {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{ matchExpressions: [{ key, operator, values }] }],
      },
    },
  },
});
const indexOf = {
  name: "IDX",
  valueFrom: { fieldRef: { fieldPath: "metadata.annotations['batch.kubernetes.io/job-completion-index']" } },
};

/** Each manifest with a part of the workload that it becomes. */
const manifests: readonly (readonly [string, Fields, Fields])[] = [
  ["a pod", pod(), { kind: "train", name: "one", run: "python train.py", gang: {}, retries: { max: 1000 } }],
  [
    "a pod that is not restarted",
    pod({ restartPolicy: "Never" }),
    { retries: { max: 0, backoff: "10s", maxBackoff: "6m" } },
  ],
  ["a generated name", { ...pod(), metadata: { generateName: "try-" } }, { name: "try" }],
  ["an image", pod(), { image: "a/b:1" }],
  ["accelerators", pod({}, gpus(8)), { gang: { accelerators: 8 } }],
  ["accelerators as text", pod({}, gpus("2")), { gang: { accelerators: 2 } }],
  [
    "AMD",
    pod({}, { resources: { requests: { "amd.com/gpu": 1 }, limits: { "amd.com/gpu": 1 } } }),
    { gang: { accelerators: 1 } },
  ],
  ["TPU", pod({}, { resources: { limits: { "google.com/tpu": 4 } } }), { gang: { accelerators: 4 } }],
  [
    "a MIG slice",
    pod({}, { resources: { limits: { "nvidia.com/mig-1g.10gb": 1 } } }),
    { gang: { profile: "1g.10gb" } },
  ],
  [
    "cores and memory",
    pod({}, { resources: { requests: { cpu: "1500m", memory: "1Gi" }, limits: { memory: "3G" } } }),
    { gang: { cores: 1.5, memory: "2862MiB" } },
  ],
  ["no bound of cores and memory", pod({}, { resources: { limits: { cpu: "0", memory: 0 } } }), { gang: {} }],
  ["other resources", pod({}, { resources: { limits: { "rdma/ib": 1, "ephemeral-storage": "10Gi" } } }), { gang: {} }],
  [
    "variables",
    pod(
      {},
      {
        env: [
          { name: "A", value: "1" },
          { name: "B", value: "$(A)/2" },
          { name: "EMPTY" },
          { name: "HEADROOM_X", value: "y" },
        ],
      },
    ),
    { env: { A: "1", B: "1/2", EMPTY: "" } },
  ],
  [
    "values of the cluster",
    pod(
      {},
      {
        env: [{ name: "T", valueFrom: { configMapKeyRef: { name: "s", key: "k" } } }],
        envFrom: [{ configMapRef: { name: "c" } }, { prefix: "P_", secretRef: { name: "s" } }],
      },
    ),
    { name: "one" },
  ],
  [
    "secrets by reference",
    pod(
      { imagePullSecrets: [{ name: "registry" }, { name: "registry" }] },
      {
        command: ["login", "$(TOKEN)"],
        env: [{ name: "TOKEN", valueFrom: { secretKeyRef: { name: "hub.team", key: "token", optional: true } } }],
        envFrom: [{ secretRef: { name: "metrics", optional: false } }],
      },
    ),
    {
      run: 'login "$TOKEN"',
      env: {},
      secrets: { env: { TOKEN: "hub.team/token" }, envFrom: ["metrics"], pull: ["registry"] },
    },
  ],
  [
    "arguments",
    pod({}, { command: ["sh", "-c"], args: ["echo $(A) it's $$(B) $(C)"], env: [{ name: "A", value: "1" }] }),
    { run: `sh -c 'echo '"$A"' it'\\''s $(B) $(C)'` },
  ],
  ["a directory", pod({}, { workingDir: "/work" }), { dir: "/work" }],
  [
    "times",
    pod({ activeDeadlineSeconds: 5400, terminationGracePeriodSeconds: 60 }),
    { walltime: "1h30m", grace: "1m" },
  ],
  ["a label of nodes", pod({ nodeSelector: { zone: "a", "kubernetes.io/os": "linux" } }), { selector: { zone: "a" } }],
  [
    "a type by its driver's name",
    pod({ nodeSelector: { "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3" } }),
    { accelerator: ["H100-SXM-80GB"] },
  ],
  [
    "a type by a cloud's name",
    pod({ nodeSelector: { "cloud.google.com/gke-accelerator": "nvidia-tesla-t4" } }),
    { accelerator: ["T4"] },
  ],
  ["an unknown type", pod({ nodeSelector: { "nvidia.com/gpu.product": "Frobnicator" } }), { name: "one" }],
  [
    "types of an affinity",
    pod(affinity("nvidia.com/gpu.product", ["H100", "a100"])),
    { accelerator: ["H100", "A100"] },
  ],
  ["another affinity", pod(affinity("zone", ["a"])), { name: "one" }],
  ["an affinity that excludes", pod(affinity("nvidia.com/gpu.product", ["H100"], "NotIn")), { name: "one" }],
  [
    "tolerations, probes, volumes, identity",
    pod(
      {
        tolerations: [{ key: "nvidia.com/gpu", operator: "Exists" }],
        volumes: [{ name: "d", emptyDir: {} }],
        serviceAccountName: "x",
        securityContext: { runAsUser: 1 },
        priorityClassName: "high",
        hostNetwork: true,
        dnsPolicy: "ClusterFirst",
      },
      {
        volumeMounts: [{ name: "d", mountPath: "/d" }],
        livenessProbe: { httpGet: { path: "/" } },
        lifecycle: { preStop: { exec: { command: ["x"] } } },
      },
    ),
    { name: "one" },
  ],
  [
    "a sidecar",
    {
      ...pod(),
      spec: {
        containers: [container({ name: "proxy", command: ["envoy"] }), container(gpus(1))],
        initContainers: [container()],
      },
    },
    { run: "python train.py", gang: { accelerators: 1 } },
  ],
  [
    "fields that nobody knows",
    pod({ somethingNew: { deep: [1, { er: true }] }, emptyList: [], nothing: null }),
    { name: "one" },
  ],
  ["a Job", job(), { kind: "train", retries: { max: 6 } }],
  [
    "a Job with a limit",
    job({ backoffLimit: 0, activeDeadlineSeconds: 60, ttlSecondsAfterFinished: 5 }),
    { retries: { max: 0 }, walltime: "1m" },
  ],
  ["a Job of many pods", job({ completions: 10, parallelism: 3 }), { kind: "batch", tasks: 10, tasksAtOnce: 3 }],
  ["a Job of pods one by one", job({ completions: 5 }), { kind: "batch", tasks: 5, tasksAtOnce: 1 }],
  ["a Job with a queue of work", job({ parallelism: 4 }), { kind: "batch", tasks: 4 }],
  [
    "an indexed Job",
    job(
      { completions: 3, parallelism: 3, completionMode: "Indexed", backoffLimitPerIndex: 1 },
      podSpec({}, { env: [indexOf] }),
    ),
    {
      kind: "batch",
      tasks: 3,
      retries: { max: 1 },
      run: 'export JOB_COMPLETION_INDEX="$HEADROOM_TASK_INDEX"\nexport IDX="$HEADROOM_TASK_INDEX"\npython train.py',
    },
  ],
  [
    "an indexed Job whose pods find each other",
    job({ completions: 4, parallelism: 4, completionMode: "Indexed" }, podSpec({ subdomain: "s" }, gpus(8))),
    {
      kind: "train",
      gang: { workers: 4, accelerators: 8 },
      run: 'export JOB_COMPLETION_INDEX="$RANK"\npython train.py',
    },
  ],
  [
    "a suspended Job of Kueue",
    {
      ...job({ suspend: true }),
      metadata: { name: "q", namespace: "ml", labels: { "kueue.x-k8s.io/queue-name": "q", app: "x" } },
    },
    { name: "q" },
  ],
  [
    "a CronJob",
    {
      apiVersion: "batch/v1",
      kind: "CronJob",
      metadata: { name: "nightly" },
      spec: {
        schedule: "0 3 * * *",
        concurrencyPolicy: "Forbid",
        jobTemplate: { spec: { template: { spec: podSpec() } } },
      },
    },
    { name: "nightly", run: "python train.py" },
  ],
  ["a Deployment", deployment(3), { kind: "batch", tasks: 3, retries: { max: 1000 } }],
  ["a Deployment of one", deployment(), { kind: "batch", tasks: 1 }],
  ["a StatefulSet", { ...deployment(2), kind: "StatefulSet" }, { kind: "batch", tasks: 2 }],
  ["a ReplicaSet", { ...deployment(2), kind: "ReplicaSet" }, { kind: "batch", tasks: 2 }],
  [
    "a PyTorchJob",
    pyTorch({ Master: role(1), Worker: role(3) }, { runPolicy: { backoffLimit: 2, cleanPodPolicy: "None" } }),
    { kind: "train", gang: { workers: 4, accelerators: 8 }, retries: { max: 2 } },
  ],
  [
    "a PyTorchJob of workers",
    pyTorch({ Worker: role(2) }, { nprocPerNode: "8" }),
    { gang: { workers: 2, accelerators: 8 } },
  ],
  [
    "a JobSet whose jobs have indexes of their own",
    jobSet(replicated("workers", 2, 4)),
    { run: 'export JOB_COMPLETION_INDEX="$((RANK % 4))"\npython train.py' },
  ],
  [
    "words that name what Kubernetes adds",
    job({ completions: 2, completionMode: "Indexed" }, podSpec({}, { args: ["$(JOB_COMPLETION_INDEX)", "$(RANK)"] })),
    { run: `export JOB_COMPLETION_INDEX="$HEADROOM_TASK_INDEX"\npython train.py "$JOB_COMPLETION_INDEX" '$(RANK)'` },
  ],
  [
    "words that name what the training operator adds",
    pyTorch({ Worker: role(2, { args: ["$(RANK)"] }) }),
    { run: 'python train.py "$RANK"' },
  ],
  [
    "a Job with less time than its pods",
    job({ activeDeadlineSeconds: 60 }, podSpec({ activeDeadlineSeconds: 600 })),
    { walltime: "1m" },
  ],
  [
    "a pod with less time than its Job",
    job({ activeDeadlineSeconds: 600 }, podSpec({ activeDeadlineSeconds: 60 })),
    { walltime: "1m" },
  ],
  [
    "a list",
    { apiVersion: "v1", kind: "List", items: [job()], metadata: { resourceVersion: "" } },
    { kind: "train", name: "sweep" },
  ],
  ["a JobSet", jobSet(replicated("workers", 2, 4)), { kind: "train", gang: { workers: 8, accelerators: 4 } }],
];

/** Paths of all values, as directives write them. */
function leavesOf(value: unknown, place = ""): readonly string[] {
  if (value === null || value === undefined) return [];
  if (typeof value !== "object" || Object.keys(value).length === 0) return [place];
  return Array.isArray(value)
    ? value.flatMap((each, index) => leavesOf(each, `${place}[${index}]`))
    : Object.entries(value).flatMap(([key, each]) => leavesOf(each, place === "" ? key : `${place}.${key}`));
}

describe("a manifest", () => {
  it.each(manifests)(
    "of %s becomes a workload, and each of its fields is honoured or named",
    (_, manifest, document) => {
      const reading = read(manifest);
      expect(reading.problems).toEqual([]);
      expect({ ...reading.document, env: reading.exported.values }).toMatchObject(document);
      const said = [...reading.honoured, ...reading.ignored].map(({ directive }) => directive);
      if (manifest["kind"] === "List") return expect(said).toContain("kind: List");
      const isSaid = (leaf: string): boolean =>
        said.some((directive) =>
          [" ", ":", ".", "["].some((end) =>
            `${leaf}:`.startsWith(directive.split(": ")[0] + (end === " " ? ":" : end)),
          ),
        );
      expect(leavesOf(manifest).filter((leaf) => !isSaid(leaf))).toEqual([]);
    },
  );

  it("says what to request in the place of claims of devices (DRA)", () => {
    const claiming = podSpec(
      { resourceClaims: [{ name: "gpu", resourceClaimTemplateName: "one-gpu" }] },
      { resources: { claims: [{ name: "gpu" }] } },
    );
    const { ignored } = read(job({}, claiming));
    const about = ignored.filter(({ directive }) => directive.endsWith("laims")).map(({ reason }) => reason);
    expect(about).toHaveLength(2);
    for (const reason of about) expect(reason).toContain("request accelerators as resources");
  });

  it.each([
    ["ray.io/v1", "RayJob", "Run Ray as a gang"],
    ["kubeflow.org/v2beta1", "MPIJob", "Run mpirun in a gang"],
    ["leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "gang.taskGroups"],
    ["batch.volcano.sh/v1alpha1", "Job", "is of batch.volcano.sh/v1alpha1"],
  ])("says of %s %s what to do instead, and names its fields", (apiVersion, kind, advice) => {
    const spec = { replicas: 2, template: { spec: podSpec() } };
    const { problems, ignored } = read({ apiVersion, kind, metadata: { name: "other" }, spec });
    expect(problems.join()).toContain(advice);
    expect(ignored.map(({ directive }) => directive)).toEqual(
      expect.arrayContaining(["spec.replicas: 2", "spec.template.spec.containers[0].image: a/b:1"]),
    );
  });

  it("names the queue of Kueue, and is submitted held if it is suspended", () => {
    const [, manifest] = manifests.find(([name]) => name.includes("Kueue"))!;
    const { ignored, isHeld } = read(manifest);
    expect(isHeld).toBe(true);
    expect(ignored.find(({ directive }) => directive.includes("queue-name"))?.reason).toContain("--team");
  });

  it("passes over objects that are no workloads, and refuses a second workload", () => {
    const service = { apiVersion: "v1", kind: "Service", metadata: { name: "s" } };
    expect(read(service, job()).ignored.at(-1)).toEqual({
      directive: "kind: Service",
      line: 1,
      reason: expect.stringContaining("no workload"),
    });
    expect(read(job(), pod()).problems).toEqual([expect.stringContaining("job.yaml:2: is a second workload")]);
    expect(read(service).problems).toEqual([expect.stringContaining("job.yaml has no Pod, Job")]);
  });

  it.each<readonly [Fields, string]>([
    [pod({}, { command: undefined }), "states no command"],
    [pod({}, { command: undefined, args: ["x"] }), "the image's own program"],
    [pod({}, { command: "python" }), "must be a list of texts"],
    [pod({}, { env: [{ name: "A B", value: "1" }] }), "has no name that a shell accepts"],
    [pod({}, { env: [{ name: "A", value: 1 }] }), "put quotes around it"],
    [pod({}, gpus(0.5)), "must be a whole number"],
    [pod({}, gpus("many")), "is no quantity"],
    [pod({}, { resources: { limits: { "nvidia.com/mig-1g.10gb": 2 } } }), "one MIG slice"],
    [pod({ activeDeadlineSeconds: "10m" }), "whole number of seconds"],
    [pod({ nodeSelector: { zone: true } }), "must be a text"],
    [job({ completions: 0 }), "starts nothing"],
    [job({ parallelism: -1 }), "whole number from 1"],
    [deployment(0), "starts nothing"],
    [pyTorch({ Master: role(1), Worker: role(3, gpus(4)) }), "differs from Master"],
    [job({ suspend: "true" }), "must be true or false"],
    [job({}, podSpec({ restartPolicy: "never" })), "must be Always, OnFailure or Never"],
    [pod({}, { env: [JSON.parse('{"name":"__proto__","value":"x"}')] }), "has no name that a shell accepts"],
    [pod({ nodeSelector: JSON.parse('{"__proto__":"x"}') as Fields }), "is no label"],
    [pod({ "<<": "a" }), "is a merge of YAML"],
    [pod({ many: Array.from({ length: 20_000 }, () => 1) }), "the fields after it are not listed"],
    [
      { apiVersion: "batch.volcano.sh/v1alpha1", kind: "Job", spec: { tasks: [{ template: { spec: podSpec() } }] } },
      "kind: Job is of batch.volcano.sh/v1alpha1, which is not read",
    ],
    [{ apiVersion: "v1", kind: "List", items: [{ apiVersion: "v1", kind: "Service" }] }, "has no Pod, Job"],
    [
      jobSet({ name: "a", template: { spec: { parallelism: 2, completions: 8, template: { spec: podSpec() } } } }),
      "differs from parallelism",
    ],
    [jobSet(replicated("a", 1, 1), replicated("b", 1, 1)), "declare task groups"],
    [{ apiVersion: "ray.io/v1", kind: "RayJob", spec: {} }, "has no Pod, Job"],
    [{ apiVersion: "v1", kind: "constructor" }, "has no Pod, Job"],
  ])("is refused: %#", (manifest, problem) => {
    expect(read(manifest).problems.join("\n")).toContain(problem);
  });

  it("takes a limit of 0 for none, as containers do", () => {
    const { document } = read(pod({}, { resources: { limits: { cpu: "0", memory: 0 } } }));
    expect(document["gang"]).toEqual({});
  });

  it("names unknown fields of variables, and the policy of a role that differs", () => {
    const reading = read(pod({}, { env: [{ name: "A", value: "1", note: "x" }] }));
    expect(reading.ignored.map(({ directive }) => directive)).toContain("spec.containers[0].env[0].note: x");
    const roles = read(pyTorch({ Master: { ...role(1), restartPolicy: "Never" }, Worker: role(1) }));
    expect(roles.ignored.map(({ reason }) => reason)).toContain("differs from Master, which counts");
  });

  it("of any depth and with any keys is read within bounds", () => {
    let deep: unknown = 1;
    for (let level = 0; level < 2_000; level++) deep = { deep };
    const odd = JSON.parse('{"__proto__":{"x":1},"constructor":{"prototype":{}}}') as Fields;
    expect(read(pod({ deep, ...odd })).problems).toEqual([]);
    expect(read(null as unknown as Fields).problems).toHaveLength(1);
  });
});

it.each([
  ["100m", 0.1],
  ["2", 2],
  [0.5, 0.5],
  ["1e3", 1000],
  ["1Ki", 1024],
  ["1.5Gi", 1.5 * 1024 ** 3],
  ["5k", 5000],
  ["1E", null],
  ["-1", null],
  ["", null],
  ["1 Gi", null],
  [Number.NaN, null],
  [{}, null],
])("%j is the quantity %j", (text, amount) => {
  expect(quantityOf(text)).toBe(amount);
});

it("quotes words for the shell", () => {
  expect(commandLine(["a b", "", "$HOME", "x$(A)y"], new Set(["A"]))).toBe(`'a b' '' '$HOME' x"$A"y`);
});

it.each([
  ["apiVersion: v1\nkind: Pod\n", true],
  ['{"apiVersion": "v1"}', true],
  ["# apiVersion: v1\necho hello\n", false],
  ["kind: train\nname: a\n", false],
  ['{"kind":"Pod","apiVersion":"v1"}', true],
  ["#!/bin/sh\nkubectl apply -f - <<EOF\napiVersion: v1\nEOF\n", false],
])("%j is a manifest: %j", (text, is) => {
  expect(isManifest(text)).toBe(is);
});
