/** Reads the specification of a pod as one worker. */
import { writeDuration } from "../notation/quantities.ts";
import type { ManifestFields, FieldPath } from "./manifest-fields.ts";
import { NO_COUNTERPART } from "./reasons.ts";
import { readResources, type ContainerResources } from "./resources.ts";
import { readSecretKey, readSecrets, type ManifestSecrets } from "./secrets.ts";
import { commandLine, expandedValue } from "./shell-words.ts";

export interface ManifestContext {
  /** The catalogue's name of an accelerator type; `undefined`: it has none. */
  acceleratorNamed(name: string): string | undefined;
  /** Whether a workload may set the variable. */
  mayBeVariable(name: string): boolean;
}

export interface Worker {
  /** `null`: the manifest states no command, so nothing can run. */
  readonly command: string | null;
  readonly dir: string | undefined;
  readonly image: string | undefined;
  readonly env: Readonly<Record<string, string>>;
  readonly secrets: ManifestSecrets;
  /** Variables that get the index of the pod. */
  readonly indexVariables: readonly string[];
  readonly resources: ContainerResources;
  readonly accelerator: readonly string[];
  readonly selector: Readonly<Record<string, string>>;
  readonly walltime: string | undefined;
  readonly grace: string | undefined;
  readonly restartPolicy: string | undefined;
  /** Pods of the set reach each other by name. */
  readonly hasSubdomain: boolean;
}

/** `implied`: variables that Kubernetes or an operator adds to the container, so that its words can name them. */
export function readPod(
  fields: ManifestFields,
  pod: FieldPath,
  context: ManifestContext,
  implied: readonly string[] = [],
): Worker {
  const container = mainContainer(fields, pod);
  const secrets = readSecrets(fields, pod, container);
  const { env, indexVariables } = readVariables(fields, container, context, secrets);
  const variables = [...Object.keys(env), ...Object.keys(secrets.env), ...indexVariables, ...implied];
  const selector: Record<string, string> = {};
  const accelerator = readSelectors(fields, pod, context, selector);
  if (fields.at([...pod, "hostNetwork"]) === true)
    fields.honour([...pod, "hostNetwork"], "workers share the network of the node");
  return {
    command: readCommand(fields, container, new Set(variables)),
    dir: readDirectory(fields, container),
    image: readImage(fields, container),
    env,
    secrets,
    indexVariables,
    resources: readResources(fields, container),
    accelerator,
    selector,
    walltime: readSeconds(fields, [...pod, "activeDeadlineSeconds"], "walltime"),
    grace: readSeconds(fields, [...pod, "terminationGracePeriodSeconds"], "grace"),
    restartPolicy: fields.text([...pod, "restartPolicy"]),
    hasSubdomain: fields.has([...pod, "subdomain"]),
  };
}

/** The container that asks for accelerators, or else the first; a worker has one command. */
function mainContainer(fields: ManifestFields, pod: FieldPath): FieldPath {
  const all = fields.list([...pod, "containers"]).map((_, index): FieldPath => [...pod, "containers", index]);
  const asks = (path: FieldPath): boolean =>
    ["requests", "limits"].some((part) =>
      fields.entries([...path, "resources", part]).some(([name]) => /gpu|gaudi|tpu|neuron|mig-/.test(name)),
    );
  const main = all.find(asks) ?? all[0] ?? [...pod, "containers", 0];
  for (const path of all)
    if (path !== main)
      fields.ignore(
        path,
        "is a further container; a worker runs one command, that of the container with accelerators or the first",
      );
  return main;
}

const isTextList = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((each) => typeof each === "string");

function readCommand(fields: ManifestFields, container: FieldPath, variables: ReadonlySet<string>): string | null {
  const [command = [], args = []] = ["command", "args"].map((key) => fields.at([...container, key]));
  if (!isTextList(command) || !isTextList(args)) {
    const key = isTextList(command) ? "args" : "command";
    fields.refuse([...container, key], "must be a list of texts");
    return null;
  }
  if (command.length === 0) {
    if (args.length > 0)
      fields.refuse(
        [...container, "args"],
        "are arguments of the image's own program, which is not known here; state the command",
      );
    return null;
  }
  for (const key of ["command", "args"]) if (fields.has([...container, key])) fields.honour([...container, key], "run");
  return commandLine([...command, ...args], variables);
}

function readDirectory(fields: ManifestFields, container: FieldPath): string | undefined {
  const path = [...container, "workingDir"];
  const dir = fields.text(path);
  if (dir !== undefined) fields.honour(path, `dir: ${dir}`);
  return dir;
}

function readSeconds(fields: ManifestFields, path: FieldPath, becomes: string): string | undefined {
  const value = fields.at(path);
  if (value === undefined) return undefined;
  if (typeof value !== "number" || !Number.isInteger(value) || value < 0 || value > 1e9) {
    fields.refuse(path, "must be a whole number of seconds");
    return undefined;
  }
  const text = writeDuration(value * 1000);
  fields.honour(path, `${becomes}: ${text}`);
  return text;
}

function readImage(fields: ManifestFields, container: FieldPath): string | undefined {
  const path = [...container, "image"];
  const image = fields.text(path);
  if (image === undefined || image === "") return undefined;
  fields.honour(path, `image: ${image}`);
  return image;
}

const variableKeys: ReadonlySet<string> = new Set(["name", "value", "valueFrom"]);

/** References to the index of a pod in an indexed Job. */
const indexReference = /^metadata\.(?:annotations|labels)\['batch\.kubernetes\.io\/job-completion-index'\]$/;

function readVariables(
  fields: ManifestFields,
  container: FieldPath,
  { mayBeVariable }: ManifestContext,
  secrets: ManifestSecrets,
): { readonly env: Readonly<Record<string, string>>; readonly indexVariables: readonly string[] } {
  const env: Record<string, string> = {};
  const indexVariables: string[] = [];
  for (const index of fields.list([...container, "env"]).keys()) {
    const path = [...container, "env", index];
    const name = fields.text([...path, "name"]);
    const value = fields.at([...path, "value"]);
    for (const [key] of fields.entries(path)) if (!variableKeys.has(key)) fields.ignore([...path, key], NO_COUNTERPART);
    if (name === undefined || name === "__proto__" || !/^[A-Za-z_][A-Za-z0-9_]{0,199}$/.test(name))
      fields.refuse(path, "has no name that a shell accepts");
    else if (!mayBeVariable(name)) fields.ignore(path, `${name} is set by Headroom`);
    else if (indexReference.test(fields.text([...path, "valueFrom", "fieldRef", "fieldPath"]) ?? "")) {
      indexVariables.push(name);
      fields.honour(path, `${name}: the index of the worker`);
    } else if (readSecretKey(fields, path, name, secrets)) continue;
    else if (fields.has([...path, "valueFrom"]))
      fields.ignore(path, `takes a value of the cluster; give the value with --env ${name}=…`);
    else if (value !== undefined && typeof value !== "string")
      fields.refuse(path, "must be a text: put quotes around it");
    else {
      env[name] = expandedValue(value ?? "", env);
      fields.honour(path, `env.${name}`);
    }
  }
  return { env, indexVariables };
}

/** Labels of nodes whose value is a type of accelerator. */
const acceleratorLabels: ReadonlySet<string> = new Set([
  "nvidia.com/gpu.product",
  "amd.com/gpu.product-name",
  "cloud.google.com/gke-accelerator",
  "cloud.google.com/gke-tpu-accelerator",
  "gpu.nvidia.com/class",
  "gpu.nvidia.com/model",
  "k8s.amazonaws.com/accelerator",
  "karpenter.k8s.aws/instance-gpu-name",
]);

const clusterLabel =
  /(?:^|\.)(?:kubernetes\.io|k8s\.io|k8s\.aws|google\.com|amazonaws\.com|azure\.com|nvidia\.com|amd\.com|intel\.com)\//;

function readSelectors(
  fields: ManifestFields,
  pod: FieldPath,
  context: ManifestContext,
  selector: Record<string, string>,
): readonly string[] {
  const types: string[] = [];
  for (const [label, value] of fields.entries([...pod, "nodeSelector"])) {
    const path = [...pod, "nodeSelector", label];
    const type = acceleratorLabels.has(label) ? typeOf(String(value), context) : undefined;
    if (type !== undefined) {
      types.push(type);
      fields.honour(path, `accelerator: ${type}`);
    } else if (acceleratorLabels.has(label))
      fields.ignore(path, "is no type of accelerator in the catalogue; state --type");
    else if (clusterLabel.test(label))
      fields.ignore(path, "is a label that Kubernetes and its operators set; nodes here do not have it");
    else if (label === "__proto__") fields.refuse(path, "is no label of a node");
    else if (typeof value !== "string") fields.refuse(path, "must be a text: put quotes around it");
    else {
      selector[label] = value;
      fields.honour(path, `selector.${label}: ${value}`);
    }
  }
  return types.length > 0 ? types : readAffinity(fields, pod, context);
}

/** One required term with one list of accelerator types; other affinities have no counterpart. */
function readAffinity(fields: ManifestFields, pod: FieldPath, context: ManifestContext): readonly string[] {
  const terms = [
    ...pod,
    "affinity",
    "nodeAffinity",
    "requiredDuringSchedulingIgnoredDuringExecution",
    "nodeSelectorTerms",
  ];
  const expressions = [...terms, 0, "matchExpressions"];
  const [expression] = [[...expressions, 0]];
  if (fields.list(terms).length !== 1 || fields.list(expressions).length !== 1) return [];
  if (
    !acceleratorLabels.has(fields.text([...expression, "key"]) ?? "") ||
    fields.text([...expression, "operator"]) !== "In"
  )
    return [];
  const types = fields.list([...expression, "values"]).map((value) => typeOf(String(value), context));
  if (types.length === 0 || !types.every((type) => type !== undefined)) return [];
  fields.honour(expression, `accelerator: ${types.join(", ")}`);
  return types;
}

/** Clouds write `nvidia-h100-80gb`, drivers `NVIDIA-H100-80GB-HBM3`. */
const typeOf = (value: string, { acceleratorNamed }: ManifestContext): string | undefined => {
  const plain = value.replace(/^(?:nvidia|amd|intel|google)-(?:tesla-|instinct-)?/i, "");
  return acceleratorNamed(value) ?? acceleratorNamed(plain) ?? acceleratorNamed(plain.split("-")[0] ?? plain);
};
