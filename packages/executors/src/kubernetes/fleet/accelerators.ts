/** The accelerators of a node: from its allocatable resources, and the labels that vendors and clouds give it. Pure. */
import { catalogueName, deviceLabel } from "@headroom/perf/accelerator-types";
import type { KubernetesNode } from "../api/objects.ts";
import { countOf } from "./quantity.ts";

export interface NodeAccelerators {
  /** Name of the resource that pods request. */
  readonly resource: string;
  readonly type: string;
  readonly count: number;
}

/**
 * Resources of device plugins, each with the labels that name the type: those of GPU Feature Discovery, of AMD's labeller, and of
 * clouds (cloud.google.com/kubernetes-engine/docs, docs.aws.amazon.com/eks, learn.microsoft.com/azure/aks).
 */
const RESOURCES: readonly {
  readonly name: string;
  readonly labels: readonly string[];
}[] = [
  {
    name: "nvidia.com/gpu",
    labels: [
      "nvidia.com/gpu.product",
      "cloud.google.com/gke-accelerator",
      "k8s.amazonaws.com/accelerator",
      "accelerator",
    ],
  },
  {
    name: "amd.com/gpu",
    labels: [
      "amd.com/gpu.product-name",
      "beta.amd.com/gpu.product-name",
      "amd.com/gpu.family",
      "beta.amd.com/gpu.family",
    ],
  },
  { name: "google.com/tpu", labels: ["cloud.google.com/gke-tpu-accelerator"] },
  { name: "habana.ai/gaudi", labels: ["habana.ai/gaudi.product"] },
  { name: "aws.amazon.com/neuron", labels: ["node.kubernetes.io/instance-type"] },
];

/** NVIDIA's device plugin with the strategy `mixed` gives out each profile as a resource of its own. */
const MIG = /^nvidia\.com\/mig-(.+)$/;
/** Suffixes that GPU Feature Discovery adds for time slicing, and for the strategy `single` of MIG. */
const SHARED = /-SHARED$/;
const MIG_PRODUCT = /-MIG-(\d+g\.\d+gb(?:\.me)?(?:\+me)?)$/i;

/**
 * A node of the fleet has one kind of accelerator. If the node has several, those with the most devices count; `others` names the rest.
 */
export function acceleratorsOf(
  node: KubernetesNode,
  further: Readonly<Record<string, string>>,
): { readonly accelerators: NodeAccelerators | null; readonly others: readonly string[] } {
  const allocatable = node.status?.allocatable ?? {};
  const labels = node.metadata.labels ?? {};
  const found = Object.entries(allocatable)
    .flatMap(([resource, amount]): NodeAccelerators[] => {
      const type = typeOf(resource, labels, further);
      const count = countOf(amount);
      return type === null || count === 0 ? [] : [{ resource, type, count }];
    })
    .toSorted((a, b) => b.count - a.count || (a.resource < b.resource ? -1 : 1));
  const [first = null, ...others] = found;
  return { accelerators: first, others: others.map(({ resource }) => resource) };
}

/** `null`: the resource is no accelerator. */
function typeOf(
  resource: string,
  labels: Readonly<Record<string, string>>,
  further: Readonly<Record<string, string>>,
): string | null {
  const stated = Object.hasOwn(further, resource) ? further[resource] : undefined;
  if (stated !== undefined) return catalogueName(stated) ?? deviceLabel(stated);
  const profile = MIG.exec(resource)?.[1];
  if (profile !== undefined) return `${productOf(labels) ?? "nvidia"}-MIG-${profile}`;
  const known = RESOURCES.find(({ name }) => name === resource);
  if (known === undefined) return null;
  const label = known.labels.map((name) => labels[name]).find((value) => value !== undefined && value !== "");
  return typeNamed(label, resource);
}

const productOf = (labels: Readonly<Record<string, string>>): string | undefined => {
  const label = labels["nvidia.com/gpu.product"];
  return label === undefined ? undefined : typeNamed(label.replace(MIG_PRODUCT, ""), "nvidia.com/gpu");
};

/** Thousands of nodes have few different labels, and a look into the catalogue costs some 20 µs. */
const knownTypes = new Map<string, string>();
const KNOWN_MAX = 1_000;

function typeNamed(label: string | undefined, resource: string): string {
  const key = `${resource} ${label ?? ""}`;
  const before = knownTypes.get(key);
  if (before !== undefined) return before;
  if (knownTypes.size >= KNOWN_MAX) knownTypes.clear();
  const type = readType(label, resource);
  knownTypes.set(key, type);
  return type;
}

function readType(label: string | undefined, resource: string): string {
  if (label === undefined) return resource.split("/")[0]?.split(".")[0] ?? "gpu";
  const plain = label.replace(SHARED, "");
  const profile = MIG_PRODUCT.exec(plain)?.[1];
  if (profile !== undefined) return `${typeNamed(plain.replace(MIG_PRODUCT, ""), resource)}-MIG-${profile}`;
  const words = plain
    .replaceAll(/[-_]+/g, " ")
    .replace(/\btpu /, "TPU ")
    .replace(/ (?:slice|podslice|device)$/, "");
  return catalogueName(plain) ?? catalogueName(words) ?? (deviceLabel(plain) || "gpu");
}
