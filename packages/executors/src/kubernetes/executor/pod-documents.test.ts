import { spawnSync } from "node:child_process";
import { attemptId, nodeId, poolName, teamName, workloadId } from "@headroom/model";
import type { LaunchGang } from "@headroom/model";
import { describe, expect, it } from "vitest";
import { RefusedGang } from "../../job-protocol/refused-gang.ts";
import type { KubernetesFleetNode } from "../fleet/cluster-nodes.ts";
import { kubernetesSettings } from "../settings.ts";
import { podDocuments, rendezvousOf, serviceDocument } from "./pod-documents.ts";
import { baseName } from "./pod-names.ts";
import { literal, tooLong, WORKER_SCRIPT } from "./worker-command.ts";

const identity = { base: baseName("i1", attemptId("w12.1")), installation: "i1" };

function launchOf(
  workers: number,
  more: Partial<Pick<LaunchGang["spec"], "gang" | "env" | "secrets">> = {},
): LaunchGang {
  const gang = { workers, accelerators: 2, coresMilli: 1_500, memoryMib: 2_048 };
  return {
    kind: "launchGang",
    executor: "kube",
    attemptId: attemptId("w12.1"),
    workloadId: workloadId("w12"),
    task: 0,
    number: 1,
    actor: "tester",
    sequence: 7,
    workers: Array.from({ length: workers }, () => ({ node: nodeId("kube-a"), accelerators: "0-1" })),
    spec: {
      kind: "train",
      name: "llm",
      team: teamName("vision/lab"),
      run: "echo $RANK $(HOSTNAME)",
      dir: null,
      env: {},
      gang,
      acceleratorTypes: [],
      priority: 0,
      walltimeMs: null,
      retries: { max: 0, backoffMs: 0, backoffMaxMs: 0 },
      graceTimeoutMs: 1_500,
      checkpointDir: null,
      ...more,
    },
  };
}

const node: KubernetesFleetNode = {
  id: nodeId("kube-a"),
  name: "a",
  accelerators: { resource: "nvidia.com/gpu", type: "H100", count: 8 },
  spec: {
    id: nodeId("kube-a"),
    pool: poolName("kube-h100"),
    fabric: [],
    acceleratorCount: 8,
    coresMilli: 0,
    memoryMib: 0,
  },
  outOfService: null,
  foreign: { accelerators: 0, coresMilli: 0, memoryMib: 0, pods: 0 },
};

const plan = (launch: LaunchGang, settings: object = {}) => ({
  launch,
  identity,
  nodes: launch.workers.map(() => node),
  environments: launch.workers.map((_, rank) => ({ RANK: String(rank), PRICE: "5$ $(RANK)" })),
  workingDir: null,
  mounts: (rank: number) => [{ subPath: `work/w12.1,${rank}`, readOnly: false }],
  settings: kubernetesSettings.parse({ defaultImage: "pytorch", namespace: "ml-{team}", ...settings }),
});

const placeOf = (settings: object, actor = "tester", team?: string) => {
  const launch = { ...launchOf(1), actor };
  const named = team === undefined ? launch : { ...launch, spec: { ...launch.spec, team: teamName(team) } };
  const [pod] = podDocuments(plan(named, settings)) as unknown as readonly {
    metadata: { namespace: string };
    spec: { serviceAccountName?: string };
  }[];
  return [pod?.metadata.namespace, pod?.spec.serviceAccountName];
};

describe("the submitter of an attempt", () => {
  it("becomes a service account, and the team a namespace, by the rules of the executor", () => {
    expect(placeOf({ serviceAccount: "u-{user}" })).toEqual(["ml-vision--lab", "u-tester"]);
    expect(placeOf({ namespaces: { "*": "other", vision: "v" } })).toEqual(["v", undefined]);
    const table = { serviceAccounts: { "a@b.org": "ab" } };
    expect(placeOf({ ...table, serviceAccount: "guest" }, "a@b.org")).toEqual(["ml-vision--lab", "ab"]);
    expect(placeOf({ ...table, serviceAccount: "guest" })).toEqual(["ml-vision--lab", "guest"]);
  });

  it.each([
    [{ serviceAccount: "{user}" }, "Alice", "the submitter Alice is no name of Kubernetes"],
    [{ serviceAccounts: { alice: "a" } }, "bob", "the submitter bob has no service account"],
    [{ namespaces: { nlp: "nlp" } }, "bob", "the team vision/lab has no namespace"],
  ])("is refused if %j does not map it: %s", (settings, actor, reason) => {
    expect(() => placeOf(settings, actor)).toThrow(reason);
  });
});

describe("secrets that work names", () => {
  const secrets = { env: { TOKEN: "hub/a.b", RANK: "hub/rank" }, envFrom: ["metrics"], pull: ["registry"] };
  const podOf = (settings: object): unknown => podDocuments(plan(launchOf(1, { secrets }), settings))[0]?.spec;

  it("are references in the pod, below the variables of Headroom", () => {
    const spec = podOf({
      secrets: ["hub", "vision--lab", "metrics", "registry"],
      imagePullSecrets: ["registry", "own"],
    });
    const reference = (key: string): object => ({ secretKeyRef: { name: "hub", key } });
    expect(spec).toMatchObject({
      imagePullSecrets: [{ name: "registry" }, { name: "own" }],
      containers: [
        {
          env: [
            { name: "TOKEN", valueFrom: reference("a.b") },
            { name: "RANK", valueFrom: reference("rank") },
            { name: "RANK", value: "0" },
            { name: "PRICE" },
          ],
          envFrom: [{ secretRef: { name: "metrics" } }],
        },
      ],
    });
    expect(podOf({ secrets: ["*"] })).toMatchObject({
      containers: [{ envFrom: [{ secretRef: { name: "metrics" } }] }],
    });
  });

  it.each([[[]], [["hub", "metrics"]], [["hub", "registry", "metrics-{team}"]]])(
    "are refused by the rules %j",
    (rules) => {
      expect(() => podOf({ secrets: rules })).toThrow(RefusedGang);
    },
  );

  it("are those of the team of the work, by a rule", () => {
    const launch = launchOf(1, { secrets: { envFrom: ["vision--lab-keys"] } });
    expect(() => podDocuments(plan(launch, { secrets: ["{team}-keys"] }))).not.toThrow();
    const other = { ...launch, spec: { ...launch.spec, team: teamName("vision") } };
    expect(() => podDocuments(plan(other, { secrets: ["{team}-keys"] }))).toThrow(
      "work of the team vision may not have the Secret vision--lab-keys",
    );
  });

  it("are those of any rule, also behind one that gives no name for the submitter", () => {
    const launch = { ...launchOf(1, { secrets: { envFrom: ["vision--lab.keys"] } }), actor: "ann@corp.example" };
    expect(() => podDocuments(plan(launch, { secrets: ["{user}-keys", "{team}.keys"] }))).not.toThrow();
    expect(() => podDocuments(plan(launch, { secrets: ["{user}-keys", "{team}-keys"] }))).toThrow(
      "may not have the Secret vision--lab.keys",
    );
  });
});

describe("a team in a rule", () => {
  it("has a name of its own, or is refused", () => {
    const long = "x".repeat(60);
    const teams = [
      "lab/nlp",
      "lab-nlp",
      "lab.nlp",
      "lab_nlp",
      "Lab-nlp",
      "lab--nlp",
      "lab-/nlp",
      `${long}/a`,
      `${long}/b`,
    ];
    const names = teams.map((team) => {
      try {
        return placeOf({}, "tester", team)[0] ?? "";
      } catch (error) {
        return error instanceof RefusedGang ? `refused ${team}` : "";
      }
    });
    expect(names.slice(0, 2)).toEqual(["ml-lab--nlp", "ml-lab-nlp"]);
    expect(names.slice(2)).toEqual(teams.slice(2).map((team) => `refused ${team}`));
  });

  it("does not stand beside a submitter", () => {
    expect(kubernetesSettings.safeParse({ serviceAccount: "{team}-{user}" }).success).toBe(false);
  });
});

describe("the pods of an attempt", () => {
  it("request what was decided, carry the attempt, and are bound by Headroom alone", () => {
    const [, second] = podDocuments(plan(launchOf(2), { serviceAccount: "{team}", sharedMemoryMib: 64 }));
    expect(second).toMatchObject({
      metadata: {
        name: `${identity.base}-1`,
        namespace: "ml-vision--lab",
        labels: { "headroom.dev/installation": "i1", "headroom.dev/rank": "1" },
        annotations: { "headroom.dev/attempt-id": "w12.1", "headroom.dev/sequence": "7" },
        finalizers: ["headroom.dev/exit-record"],
      },
      spec: {
        schedulerName: "headroom",
        restartPolicy: "Never",
        terminationGracePeriodSeconds: 2,
        serviceAccountName: "vision--lab",
        hostname: `${identity.base}-1`,
        subdomain: identity.base,
        containers: [
          {
            image: "pytorch",
            args: ["", "echo $$RANK $$(HOSTNAME)"],
            env: [
              { name: "RANK", value: "1" },
              { name: "PRICE", value: "5$$ $$(RANK)" },
            ],
            resources: {
              requests: { cpu: "1500m", memory: "2048Mi", "nvidia.com/gpu": "2" },
              limits: { memory: "2048Mi", "nvidia.com/gpu": "2" },
            },
            volumeMounts: [{ name: "shared-memory", mountPath: "/dev/shm" }],
          },
        ],
      },
    });
    expect(JSON.stringify(second)).not.toContain("nodeName");
  });

  it("see their own directories of the shared one alone", () => {
    const directoryVolume = { persistentVolumeClaim: { claimName: "shared" } };
    const [, second] = podDocuments(plan(launchOf(2), { directory: "/mnt/headroom", directoryVolume }));
    expect(second?.spec).toMatchObject({
      volumes: [{ name: "headroom", ...directoryVolume }],
      containers: [{ volumeMounts: [{ mountPath: "/mnt/headroom/work/w12.1,1", subPath: "work/w12.1,1" }] }],
    });
  });

  it("meet at the pod of rank 0 by its name in a Service; one worker needs none", () => {
    const settings = kubernetesSettings.parse({});
    expect(rendezvousOf(launchOf(2), identity.base, settings)).toEqual({
      address: `${identity.base}-0.${identity.base}.headroom.svc`,
      port: 29_500,
    });
    expect(rendezvousOf(launchOf(1), identity.base, settings).address).toBe("127.0.0.1");
    expect(serviceDocument(plan(launchOf(1)))).toBeNull();
    expect(serviceDocument(plan(launchOf(2)))).toMatchObject({
      metadata: { name: identity.base },
      spec: { clusterIP: "None", publishNotReadyAddresses: true, selector: { "headroom.dev/attempt": identity.base } },
    });
  });

  it("are refused without an image, and for parts of accelerators", () => {
    expect(() => podDocuments(plan(launchOf(1), { defaultImage: undefined }))).toThrow(/names no image/);
    const own = podDocuments(plan(launchOf(1, { env: { HEADROOM_IMAGE: "own:1" } }), { defaultImage: undefined }));
    expect(own[0]?.spec).toMatchObject({ containers: [{ image: "own:1" }] });
    const part = launchOf(1, { gang: { workers: 1, accelerators: 1, coresMilli: 0, memoryMib: 0, shareMilli: 500 } });
    expect(() => podDocuments(plan(part))).toThrow(/whole accelerators/);
  });

  it("have names that differ between installations, are valid, and hold long ids", () => {
    const names = [
      baseName("i1", attemptId("w1.1")),
      baseName("i2", attemptId("w1.1")),
      baseName("i1", attemptId("w1-1")),
      baseName("i1", attemptId(`W.${"x".repeat(150)}/é`)),
    ];
    expect(new Set(names).size).toBe(4);
    for (const name of names) expect(`${name}-19999`).toMatch(/^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])$/);
  });
});

describe("the first process of a container", () => {
  const run = (command: string, directory = "") =>
    spawnSync("/bin/sh", ["-c", WORKER_SCRIPT, "headroom", directory, command], {
      encoding: "utf8",
      env: { PATH: process.env["PATH"], HEADROOM_CHECKPOINT_DIR: "/tmp" },
    });

  it("passes on the exit, and a signal as its number and 128", () => {
    expect(run("echo hello; exit 7")).toMatchObject({ status: 7, stdout: "hello\n" });
    expect(run("kill -KILL $$").status).toBe(137);
    expect(run("exit 127").status).toBe(127);
  });

  it("fails with the reason where its working directory is not there", () => {
    expect(run("echo never", "/no/such/place")).toMatchObject({
      status: 127,
      stdout: "",
      stderr: expect.stringContaining("/no/such/place") as string,
    });
  });

  it("gets texts that Kubernetes does not change, and none that Linux refuses", () => {
    expect(literal("a$(B) $$ $C")).toBe("a$$(B) $$$$ $$C");
    expect(tooLong("x".repeat(200_000), {})).toMatch(/200000 bytes/);
    expect(tooLong("true", { BIG: "x".repeat(140_000) })).toMatch(/bytes in one argument/);
    expect(tooLong("true", { A: "b" })).toBeNull();
  });
});
