import { tmpdir } from "node:os";
import { describe, expect, it } from "vitest";
import { parseAllDocuments } from "yaml";
import { headroom } from "../testing/recorded-terminal.ts";

interface Printed {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly rules?: readonly { readonly resources: readonly string[]; readonly verbs: readonly string[] }[];
}

async function printed(...args: readonly string[]): Promise<readonly Printed[]> {
  const { stdout } = await headroom(["kubernetes", "manifest", ...args], { workingDirectory: tmpdir() });
  return parseAllDocuments(stdout).map((document) => document.toJS() as Printed);
}

const named = (objects: readonly Printed[]): readonly string[] =>
  objects.map(
    ({ kind, metadata: { name, namespace } }) => `${kind} ${namespace === undefined ? "" : `${namespace}/`}${name}`,
  );

describe("headroom kubernetes manifest", () => {
  it("prints the control plane, and rights on pods in the namespaces of the pods alone", async () => {
    const objects = await printed("--image", "registry.example/headroom:1", "--pods", "ml-a", "--pods", "ml-b");
    expect(named(objects)).toEqual([
      "Namespace headroom",
      "Namespace ml-a",
      "Namespace ml-b",
      "ServiceAccount headroom/headroom",
      "ClusterRole headroom-reads",
      "ClusterRoleBinding headroom-reads",
      "ClusterRole headroom-runs",
      "RoleBinding ml-a/headroom-runs",
      "RoleBinding ml-b/headroom-runs",
      "PersistentVolumeClaim headroom/headroom-state",
      "Deployment headroom/headroom",
      "Service headroom/headroom",
    ]);
    expect(objects.find(({ metadata }) => metadata.name === "headroom-reads")?.rules).toEqual([
      { apiGroups: [""], resources: ["nodes", "pods"], verbs: ["get", "list", "watch"] },
      {
        apiGroups: ["scheduling.x-k8s.io", "scheduling.sigs.k8s.io", "scheduling.volcano.sh", "scheduling.run.ai"],
        resources: ["podgroups"],
        verbs: ["get"],
      },
      { apiGroups: ["jobset.x-k8s.io"], resources: ["jobsets"], verbs: ["get"] },
    ]);
  });

  it("gives no right to change anything to a control plane that only follows", async () => {
    const objects = await printed("--follow");
    const verbs = objects.flatMap(({ rules = [] }) => rules.flatMap((rule) => rule.verbs));
    expect(new Set(verbs)).toEqual(new Set(["get", "list", "watch"]));
  });

  it("has the state directory below the volume, whose root the group may write to", async () => {
    const deployment = (await printed()).find(({ kind }) => kind === "Deployment");
    expect(deployment).toMatchObject({
      spec: {
        template: {
          spec: {
            securityContext: { fsGroup: 10_001, fsGroupChangePolicy: "OnRootMismatch" },
            containers: [
              {
                env: expect.arrayContaining([{ name: "HEADROOM_HOME", value: "/var/lib/headroom/home" }]),
                volumeMounts: expect.arrayContaining([{ name: "state", mountPath: "/var/lib/headroom" }]),
              },
            ],
          },
        },
      },
    });
  });

  it("refuses names that Kubernetes refuses", async () => {
    const { code, stderr } = await headroom(["kubernetes", "manifest", "--namespace", "Headroom"], {
      workingDirectory: tmpdir(),
    });
    expect([code, stderr]).toEqual([2, expect.stringContaining("Headroom is no namespace")]);
  });
});
