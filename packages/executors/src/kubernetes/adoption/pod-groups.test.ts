import { describe, expect, it } from "vitest";
import type { KubernetesPod } from "../api/objects.ts";
import { kubernetesSettings } from "../settings.ts";
import type { GroupContext } from "./pod-groups.ts";
import { groupKeyOf, groupObjectPaths, readGroup, waitsForUs } from "./pod-groups.ts";

type Parts = Partial<NonNullable<KubernetesPod["spec"]>> & {
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly namespace?: string;
  readonly gpus?: number;
};

const pod = (
  name: string,
  { labels, annotations, namespace = "ml-vision", gpus = 8, ...spec }: Parts = {},
): KubernetesPod => ({
  metadata: { name, namespace, uid: `uid-${name}`, labels: labels ?? {}, annotations: annotations ?? {} },
  spec: {
    schedulerName: "headroom",
    containers: [
      {
        name: "main",
        resources: {
          requests: { cpu: "2500m", memory: "1.5Gi" },
          limits: gpus === 0 ? {} : { "nvidia.com/gpu": String(gpus) },
        },
      },
    ],
    ...spec,
  },
  status: { phase: "Pending" },
});

const context = (settings: object = { namespace: "ml-{team}" }): GroupContext => ({
  executor: "lab",
  settings: kubernetesSettings.parse(settings),
  types: new Map([["nvidia.com/gpu", new Set(["H100-80GB", "A100-40GB"])]]),
  object: null,
});

const read = (pods: readonly KubernetesPod[], settings?: object, startedCount = 0) =>
  readGroup(pods, startedCount, context(settings));

const specOf = (reading: ReturnType<typeof read>) => {
  if (reading.kind !== "group") throw new Error(JSON.stringify(reading));
  return reading.group.spec;
};

describe("the group of a pod", () => {
  it.for([
    ["coscheduling", { labels: { "scheduling.x-k8s.io/pod-group": "g" } }],
    ["the first coscheduling", { labels: { "pod-group.scheduling.sigs.k8s.io": "g" } }],
    ["Volcano", { annotations: { "scheduling.k8s.io/group-name": "g" } }],
    ["KAI", { annotations: { "pod-group-name": "g" } }],
    ["Kueue", { labels: { "kueue.x-k8s.io/pod-group-name": "g" } }],
    ["JobSet before the Job of each replica", { labels: { "jobset.sigs.k8s.io/jobset-name": "g", "job-name": "g-0" } }],
    ["Kubeflow", { labels: { "training.kubeflow.org/job-name": "g" } }],
    ["Ray", { labels: { "ray.io/cluster": "g" } }],
    ["Job", { labels: { "batch.kubernetes.io/job-name": "g" } }],
    ["Job before 1.27", { labels: { "job-name": "g" } }],
  ] as const)("is the one that %s names", ([, parts]) => {
    expect(groupKeyOf(pod("a", parts))).toBe("ml-vision/g");
    expect(groupKeyOf(pod("a", { ...parts, namespace: "ml-nlp" }))).toBe("ml-nlp/g");
  });

  it("is the pod itself without a name", () => {
    expect(groupKeyOf(pod("a"))).not.toBe(groupKeyOf(pod("b")));
  });
});

describe("pods as a workload", () => {
  it("has the requests, the team of the namespace and the limits of the pods", () => {
    const parts = { terminationGracePeriodSeconds: 60, activeDeadlineSeconds: 3_600 };
    const spec = specOf(read([pod("a", { ...parts, nodeSelector: { "kubernetes.io/hostname": "n7" } })]));
    expect(spec).toMatchObject({
      kind: "train",
      name: "a",
      team: "vision",
      gang: { workers: 1, accelerators: 8, coresMilli: 2_500, memoryMib: 1_536 },
      acceleratorTypes: ["A100-40GB", "H100-80GB"],
      graceTimeoutMs: 60_000,
      walltimeMs: 3_600_000,
      retries: { max: 0 },
      nodeSelector: { "kubernetes.executor": "lab", "kubernetes.node": "n7" },
    });
  });

  it("has a task group for each kind of pods", () => {
    const labels = { "training.kubeflow.org/job-name": "ddp" };
    const reading = read([pod("w-1", { labels }), pod("master", { labels, gpus: 0 }), pod("w-0", { labels })]);
    const { gang } = specOf(reading);
    expect(gang.taskGroups?.map(({ workers, accelerators }) => [workers, accelerators])).toEqual([
      [1, 0],
      [2, 8],
    ]);
    if (reading.kind === "group")
      expect(reading.group.members.map(({ name }) => name)).toEqual(["master", "w-0", "w-1"]);
  });

  it("has the priority that the settings give to the highest class of its pods", () => {
    const labels = { "job-name": "g" };
    const priority = (classes: readonly (string | undefined)[], adoptPriorities?: object): number => {
      const pods = classes.map((name, index) =>
        pod(`p${index}`, { labels, ...(name === undefined ? {} : { priorityClassName: name }) }),
      );
      return specOf(read(pods, { namespace: "ml-{team}", adoptPriorities })).priority;
    };
    const table = { low: -100, high: 100 };
    expect(priority(["high"])).toBe(0);
    expect(priority(["high", "low"], table)).toBe(100);
    expect(priority(["low"], table)).toBe(-100);
    expect(priority(["system-node-critical"], table)).toBe(0);
    expect(priority(["constructor", undefined], table)).toBe(0);
    expect(priority(["other"], { ...table, "*": 10 })).toBe(10);
    expect(priority([undefined], { ...table, "*": 10 })).toBe(0);
  });

  it("has a key that changes with the members, and with nothing else", () => {
    const keyOf = (pods: readonly KubernetesPod[]) => {
      const reading = read(pods);
      return reading.kind === "group" ? reading.group.key : "";
    };
    const labels = { "job-name": "g" };
    const [a, b] = [pod("a", { labels }), pod("b", { labels })];
    expect(keyOf([a, b])).toBe(keyOf([b, a]));
    expect(keyOf([a])).not.toBe(keyOf([a, b]));
    const again = { ...a, metadata: { ...a.metadata, uid: "other" } };
    expect(keyOf([again, b])).not.toBe(keyOf([a, b]));
  });

  it("waits for the stated number of pods, those that run included", () => {
    const parts = { labels: { "job-name": "g" }, annotations: { "headroom.dev/pod-group-size": "3" } };
    const pods = [pod("a", parts), pod("b", parts)];
    expect(read(pods)).toEqual({ kind: "incomplete", reason: "2 of 3 pods of its group exist" });
    expect(read(pods, undefined, 1).kind).toBe("group");
  });

  it("waits for its PodGroup and for as many pods as that states, and lets that lower its priority alone", () => {
    const labels = { "scheduling.x-k8s.io/pod-group": "g" };
    const withObject = (object: GroupContext["object"], startedCount = 0) =>
      readGroup([pod("a", { labels })], startedCount, {
        ...context({ namespace: "ml-{team}", adoptPriorities: { high: 100, low: -100 } }),
        object,
      });
    expect(withObject("unread")).toMatchObject({ kind: "incomplete" });
    expect(withObject({ minMember: 2 })).toEqual({ kind: "incomplete", reason: "1 of 2 pods of its group exist" });
    expect(specOf(withObject(null)).priority).toBe(0);
    // Quotas by priority class hold for pods alone.
    expect(specOf(withObject({ minMember: 2, priorityClassName: "high" }, 1)).priority).toBe(0);
    expect(specOf(withObject({ minMember: 1, priorityClassName: "low" })).priority).toBe(-100);
    expect(groupObjectPaths(pod("a", { labels }))[0]).toBe(
      "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/ml-vision/podgroups/g",
    );
    expect(groupObjectPaths(pod("a", { annotations: { "pod-group-name": "../x" } }))).toEqual([
      "/apis/scheduling.run.ai/v2alpha2/namespaces/ml-vision/podgroups/..%2Fx",
    ]);
    expect(groupObjectPaths(pod("a", { labels: { "job-name": "g" } }))).toEqual([]);
  });

  it.for([
    ["an unmapped namespace", pod("a", { namespace: "default" }), /is that of no team\. Add it to adoptTeams/],
    ["an unknown label", pod("a", { nodeSelector: { disk: "fast" } }), /selects nodes by disk/],
    [
      "claims of devices",
      pod("a", { resourceClaims: [{ name: "gpu", resourceClaimTemplateName: "one-gpu" }] }),
      /resourceClaims \(DRA\)/,
    ],
    [
      "required affinity",
      pod("a", { affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: {} } } }),
      /required affinity/,
    ],
    [
      "a spread",
      pod("a", { topologySpreadConstraints: [{ whenUnsatisfiable: "DoNotSchedule" }] }),
      /topologySpreadConstraints/,
    ],
    [
      "a resource of no node",
      pod("a", { containers: [{ name: "m", resources: { limits: { "rdma/hca": "1" } } }] }),
      /requests rdma\/hca/,
    ],
  ] as const)("is refused for %s", ([, refusedPod, reason]) => {
    const reading = read([refusedPod]);
    expect(reading.kind === "refused" ? reading.reason : reading.kind).toMatch(reason);
  });

  it("has the team that the rules name, and none of two", () => {
    const team = (settings: object, namespace: string) => {
      const reading = read([pod("a", { namespace })], settings);
      return reading.kind === "group" ? reading.group.spec.team : null;
    };
    expect(team({ adoptTeams: { x: "lab/nlp" } }, "x")).toBe("lab/nlp");
    expect(team({ adoptTeams: { x: "lab/nlp" }, namespace: "ml-{team}" }, "ml-vision")).toBeNull();
    expect(team({ namespaces: { lab: "x", vision: "y" } }, "y")).toBe("vision");
    expect(team({ namespaces: { lab: "x", vision: "x" } }, "x")).toBeNull();
    expect(team({ namespaces: { "*": "x" } }, "x")).toBeNull();
    expect(team({ namespace: "ml-{team}" }, "ml-lab--nlp")).toBe("lab/nlp");
    expect(team({ namespace: "ml-{team}" }, "ml-")).toBeNull();
    expect(team({ namespace: "all" }, "all")).toBeNull();
  });
});

describe("a pod that waits", () => {
  it("names the scheduler, has no node, no gates, and was not made by an executor", () => {
    expect(waitsForUs(pod("a"))).toBe(true);
    expect(waitsForUs(pod("a", { schedulerName: "default-scheduler" }))).toBe(false);
    expect(waitsForUs(pod("a", { nodeName: "n1" }))).toBe(false);
    expect(waitsForUs(pod("a", { schedulingGates: [{ name: "x" }] }))).toBe(false);
    expect(waitsForUs(pod("a", { labels: { "headroom.dev/attempt": "hr-1" } }))).toBe(false);
    expect(waitsForUs(pod("a", { labels: { "headroom.dev/attempt": "hr-1", "headroom.dev/adopted": "true" } }))).toBe(
      true,
    );
  });
});
