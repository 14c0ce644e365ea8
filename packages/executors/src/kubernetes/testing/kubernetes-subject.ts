/** The Kubernetes executor on a real API server, for the conformance cases and other tests. */
import path from "node:path";
import { nodeId } from "@headroom/model";
import type { StoreSet } from "@headroom/stores";
import type { ConformanceSubject } from "../../conformance/conformance-world.ts";
import { createKubernetesExecutor } from "../kubernetes-executor.ts";
import type { KubernetesSettings } from "../settings.ts";
import { kubernetesSettings } from "../settings.ts";

export const TEST_NODES = ["n1", "n2", "n3", "n4"] as const;

function testSettings(kubeconfig: string, more: Partial<KubernetesSettings> = {}): KubernetesSettings {
  const settings = {
    kubeconfig,
    namespace: "default",
    defaultImage: "test",
    lostAfterMs: 6_000,
    requestTimeoutMs: 10_000,
  };
  return kubernetesSettings.parse({ ...settings, ...more });
}

export const kubernetesSubject = (
  kubeconfig: string,
  onProblem: (message: string) => void,
  more: Partial<KubernetesSettings> = {},
  stores?: StoreSet,
): ConformanceSubject => ({
  id: "kube",
  nodes: TEST_NODES.map((name) => nodeId(`kube-${name}`)),
  choosesDevices: true,
  lacks: ["separateStreams", "unfinishedLines", "usage"],
  open: (homeDir) =>
    createKubernetesExecutor({
      id: "kube",
      settings: testSettings(kubeconfig, {
        directory: path.join(homeDir, "shared"),
        directoryVolume: { hostPath: { path: path.join(homeDir, "shared") } },
        ...more,
      }),
      stateDir: path.join(homeDir, "state"),
      logFileMaxBytes: 64 * 1024,
      logFilesKept: 3,
      stores,
      onProblem,
    }),
});
