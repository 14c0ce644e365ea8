import { CliError, exitCode } from "../cli-error.ts";
import { defineCommand, jsonOption } from "../command.ts";
import type { ManifestCommandOptions } from "../kubernetes/print-manifest.ts";

const manifestCommand = defineCommand<ManifestCommandOptions>({
  name: "manifest",
  summary: "Print the objects with which a control plane runs in a Kubernetes cluster",
  details: `Namespaces, a service account with the rights that the executor needs and no more, a volume for the state, a Deployment and a
Service. Nothing is changed or sent. How to build the image: docs/how-to/install.md. How to use the cluster then:
docs/how-to/use-a-kubernetes-cluster.md.

Examples:
  headroom kubernetes manifest --image registry.example/headroom:0.1.0 | kubectl apply -f -
  headroom kubernetes manifest --image IMAGE --follow            # rights to read nodes and pods alone
  headroom kubernetes manifest --image IMAGE --pods ml-vision --pods ml-speech`,
  options: [
    { flags: "--image <image>", description: "image of the control plane (default: headroom)" },
    { flags: "--namespace <name>", description: "namespace of the control plane (default: headroom)" },
    {
      flags: "--pods <namespace>",
      description: "namespace of the pods (default: that of the control plane)",
      repeatable: true,
    },
    { flags: "--storage <size>", description: "size of the volume for the state (default: 20Gi)" },
    { flags: "--follow", description: "with rights to read nodes and pods alone, for an executor with --mode follow" },
    { flags: "--exec", description: "with the right to run commands inside pods, for headroom exec" },
    jsonOption,
  ],
  async run(context, { options }) {
    const { printManifest } = await import("../kubernetes/print-manifest.ts");
    return printManifest(context, options);
  },
});

export const kubernetesCommand = defineCommand({
  name: "kubernetes",
  summary: "Prepare a Kubernetes cluster for a control plane",
  commands: [manifestCommand],
  run() {
    return Promise.reject(new CliError("kubernetes needs a command: headroom kubernetes manifest", exitCode.usage));
  },
});
