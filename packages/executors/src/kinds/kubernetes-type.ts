/** Type `kubernetes`: a Kubernetes cluster through its API server. */
import { submitterOf, teamOfNamespace } from "../kubernetes/executor/submitter-names.ts";
import { kubernetesSettings } from "../kubernetes/settings.ts";
import { executorType } from "./executor-type.ts";
import type { ExecutorType } from "./executor-type.ts";

export const kubernetesType: ExecutorType = executorType({
  name: "kubernetes",
  summary: "A Kubernetes cluster: each worker is one pod, bound to exactly the node that was decided.",
  settings: kubernetesSettings,
  pastNames: (settings) => ({
    teamOf: (namespace) => teamOfNamespace(namespace, settings),
    actorOf: (user) => submitterOf(user, settings),
  }),
  async open(settings, context) {
    const { createKubernetesExecutor } = await import("../kubernetes/kubernetes-executor.ts");
    const { token } = settings;
    return createKubernetesExecutor({
      id: context.id,
      settings,
      stateDir: context.directory,
      ...(token === undefined ? {} : { token: () => context.secret(token) }),
      stores: context.stores,
      onProblem: (message) => context.onProblem(message),
    });
  },
});
