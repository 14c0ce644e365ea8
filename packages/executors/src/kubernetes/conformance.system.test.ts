/**
 * The conformance cases on a real API server, whose kubelets the test plays, with the rights of `headroom kubernetes manifest` alone. The
 * test takes turns with other long tests by commit; `npm run conformance -- kubernetes` always runs it.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { attemptId } from "@headroom/model";
import type { LaunchGang } from "@headroom/model";
import { readStore, StoreSet } from "@headroom/stores";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isTurnOf } from "../../../../tools/testing/rotating.ts";
import type { ConformanceWorld } from "../conformance/conformance-world.ts";
import { conformanceCasesFor, runConformanceCase } from "../conformance/conformance.ts";
import { clusterManifest } from "./manifest.ts";
import { CLUSTER_START_MS, KubeCluster, whyNoKubernetes } from "./testing/kube-cluster.ts";
import { kubernetesSubject, TEST_NODES } from "./testing/kubernetes-subject.ts";
import { TestKubelet } from "./testing/test-kubelet.ts";

const missing = whyNoKubernetes();
if (missing !== null) process.stderr.write(`*** The Kubernetes executor was not tested: ${missing}\n`);
const isDue = isTurnOf("Kubernetes");

describe.skipIf(missing !== null || !isDue)("the Kubernetes executor conforms", () => {
  const problems: string[] = [];
  let cluster: KubeCluster;
  let kubeconfig: string;
  let kubelet: TestKubelet;

  beforeAll(async () => {
    cluster = await KubeCluster.start();
    kubeconfig = cluster.kubeconfigFor(cluster.server, "kubeconfig-account");
    kubelet = await TestKubelet.start(cluster, TEST_NODES, { gpus: 64, cpus: 64, memory: "500Gi" });
  }, CLUSTER_START_MS);

  afterAll(async () => {
    await kubelet?.stop();
    await cluster?.stop();
  }, 60_000);

  it("prints objects that the API server accepts", async () => {
    const shared = {
      podNamespaces: ["default"],
      image: "headroom:1",
      storage: "1Gi",
      isReadOnly: false,
      allowsExec: true,
    };
    const [own, ...objects] = clusterManifest({ ...shared, namespace: "default" });
    expect(own).toMatchObject({ kind: "Namespace" });
    // Those with the rights are in use.
    for (const object of objects.slice(-3)) await cluster.create(object, true);
  });

  it("runs a command inside the container of a worker", { timeout: 60_000 }, async () => {
    const subject = kubernetesSubject(kubeconfig, (message) => problems.push(message));
    const command = ["/bin/sh", "-c", 'read -r line; echo "$line $0"; hostname; echo err >&2; exit 7', "two words"];
    const run = async (world: ConformanceWorld): Promise<void> => {
      const { executor, observer } = world.watched();
      const launch = world.launch("exec sleep 30");
      executor.perform(launch);
      await observer.running(launch.attemptId);
      const session = await executor.exec?.(launch.attemptId, { worker: 0, command, terminal: null });
      await session?.write(Buffer.from("typed\n"));
      const read = { stdout: "", stderr: "" };
      for await (const { stream, data } of session?.output() ?? []) read[stream] += Buffer.from(data).toString();
      expect(await session?.ended).toBe(7);
      expect(read).toEqual({ stdout: expect.stringMatching(/^typed two words\nhr-/), stderr: "err\n" });
      const other = executor.exec?.(attemptId("w9.1"), { worker: 0, command, terminal: null });
      await expect(other).rejects.toMatchObject({ code: "cannotExec" });
    };
    await runConformanceCase(subject, { name: "exec", run });
  });

  it("brings inputs into the shared directory, and uploads what a pod makes", { timeout: 60_000 }, async () => {
    const lake = mkdtempSync(path.join(tmpdir(), "headroom-lake-"));
    writeFileSync(path.join(lake, "text"), "corpus");
    const about = {
      kind: "store",
      name: "lake",
      type: "shared",
      path: lake,
      cached: true,
      readers: ["*"],
      writers: ["*"],
    };
    const reading = readStore(about);
    if (!reading.ok) throw new Error(JSON.stringify(reading.problems));
    const stores = new StoreSet({ declarations: () => [reading.declaration], readSecret: () => "" });
    const subject = kubernetesSubject(
      kubeconfig,
      (message) => problems.push(message),
      { uploadsOutputs: true },
      stores,
    );
    const report = JSON.stringify({ kind: "artifact", name: "model:chat", path: "out" });
    const run = async (world: ConformanceWorld): Promise<void> => {
      const { executor, observer } = world.watched();
      expect(executor.capabilities).toMatchObject({ inputs: true, uploads: true });
      const command = `[ "$(cat "$HEADROOM_INPUT_0")" = corpus ] || exit 3; mkdir out; printf weights > out/model; echo '${report}' >> "$HEADROOM_PROGRESS_FILE"`;
      const plain = world.launch(command);
      const data = { inputs: [`file://${lake}/text`], store: "lake" };
      const launch = { ...plain, spec: { ...plain.spec, produces: ["model:chat"], data } } as LaunchGang;
      executor.perform(launch);
      const end = await observer.end(launch.attemptId);
      if (end.kind === "attemptLost") throw new Error(end.detail);
      expect(end.exits).toMatchObject([{ kind: "exited", code: 0 }]);
      const [made] = end.artifacts ?? [];
      const stored = (made?.stored?.uri ?? "").slice("file://".length);
      expect(readFileSync(path.join(stored, "model"), "utf8")).toBe("weights");
      const pods = await cluster.call({ method: "GET", path: "/api/v1/namespaces/default/pods" });
      const [, input] = /"subPath":"(cache\/inputs\/entries\/[^"]+)"/.exec(JSON.stringify(pods)) ?? [];
      const mounted = path.join(world.homeDir, "shared", String(input));
      expect(JSON.stringify(pods)).toContain(`"readOnly":true,"mountPath":"${mounted}"`);
      // The cache has one user at a time, and the end of a case opens another instance.
      await executor.close();
    };
    await runConformanceCase(subject, { name: "staging", run });
    rmSync(lake, { recursive: true });
  });

  const lacks = kubernetesSubject("", () => undefined).lacks ?? [];
  const cases = conformanceCasesFor({ checkpointOnRequest: true }, lacks);
  it.for(cases.map((each) => [each.name, each] as const))(
    "%s",
    { timeout: 120_000, concurrent: true },
    async ([, conformanceCase]) => {
      const subject = kubernetesSubject(kubeconfig, (message) => problems.push(message));
      await expect(runConformanceCase(subject, conformanceCase)).resolves.toBeUndefined();
      expect(problems).toEqual([]);
    },
  );
});
