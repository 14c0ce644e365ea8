/** Resources of containers: quantities (kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity) and accelerators. */
import { writeMemory } from "../notation/quantities.ts";
import type { ManifestFields, FieldPath } from "./manifest-fields.ts";

export interface ContainerResources {
  accelerators?: number;
  profile?: string;
  cores?: number;
  memory?: string;
}

const MIB = 1024 ** 2;

const factors: Readonly<Record<string, number>> = {
  "": 1,
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  Ki: 1024,
  Mi: MIB,
  Gi: 1024 ** 3,
  Ti: 1024 ** 4,
  Pi: 1024 ** 5,
};

/** `null`: the value is no quantity. */
export function quantityOf(value: unknown): number | null {
  if (typeof value === "number") return Number.isFinite(value) && value >= 0 ? value : null;
  const [, digits, suffix = ""] =
    typeof value === "string" ? (/^\+?(\d{1,18}(?:\.\d{0,9})?)([A-Za-z]{0,2}|[eE]\+?\d{1,2})$/.exec(value) ?? []) : [];
  if (digits === undefined) return null;
  const exponent = /^[eE]\+?(\d+)$/.exec(suffix)?.[1];
  const factor = exponent === undefined ? factors[suffix] : 10 ** Number(exponent);
  return factor === undefined ? null : Number(digits) * factor;
}

const acceleratorResource =
  /^(?:nvidia\.com\/gpu|amd\.com\/gpu|habana\.ai\/gaudi|gpu\.intel\.com\/(?:i915|xe)|google\.com\/tpu|aws\.amazon\.com\/neuron(?:core|device)?)$/;
const migResource = /^nvidia\.com\/mig-(\d+g\.\d+gb)$/;

/** Requests decide where a pod fits; a limit without a request is its request, as Kubernetes defaults it. */
export function readResources(fields: ManifestFields, container: FieldPath): ContainerResources {
  const found: ContainerResources = {};
  const names = new Set(
    ["requests", "limits"].flatMap((part) => fields.entries([...container, "resources", part]).map(([name]) => name)),
  );
  for (const name of names) readResource(fields, container, name, found);
  return found;
}

function readResource(fields: ManifestFields, container: FieldPath, name: string, found: ContainerResources): void {
  // A worker's memory is a limit, so the limit counts; cores and accelerators are what the scheduler reserves.
  const order = name === "memory" ? ["limits", "requests"] : ["requests", "limits"];
  const paths = order
    .map((part): FieldPath => [...container, "resources", part, name])
    .filter((path) => fields.has(path));
  const [path] = paths;
  if (path === undefined) return;
  const amount = quantityOf(fields.at(path));
  if (amount === null) return paths.forEach((each) => fields.refuse(each, "is no quantity of Kubernetes"));
  const isUnbounded = amount === 0 && (name === "cpu" || name === "memory");
  const becomes = isUnbounded ? null : becomesOf(name, amount, found);
  for (const each of paths) {
    if (isUnbounded) fields.ignore(each, "0 reserves nothing, and as a limit it is none");
    else if (becomes === null) fields.ignore(each, "is a resource that Headroom does not schedule");
    else if ("refused" in becomes) fields.refuse(each, becomes.refused);
    else if (quantityOf(fields.at(each)) === amount) fields.honour(each, becomes.text);
    else fields.ignore(each, `differs from ${order[0] ?? ""}, which counts (${becomes.text})`);
  }
}

function becomesOf(
  name: string,
  amount: number,
  found: ContainerResources,
): { readonly text: string } | { readonly refused: string } | null {
  if (name === "cpu") {
    found.cores = Math.ceil(amount * 1000) / 1000;
    return { text: `gang.cores: ${found.cores}` };
  }
  if (name === "memory") {
    found.memory = writeMemory(Math.ceil(amount / MIB));
    return { text: `gang.memory: ${found.memory}` };
  }
  if (acceleratorResource.test(name)) {
    if (!Number.isInteger(amount)) return { refused: "must be a whole number" };
    found.accelerators = (found.accelerators ?? 0) + amount;
    return { text: `gang.accelerators: ${found.accelerators}` };
  }
  const profile = migResource.exec(name)?.[1];
  if (profile === undefined) return null;
  if (amount !== 1) return { refused: "a worker has one MIG slice; declare the work in a workload file" };
  found.profile = profile;
  return { text: `gang.profile: ${profile}` };
}
