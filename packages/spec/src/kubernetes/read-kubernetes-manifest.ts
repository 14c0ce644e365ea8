/**
 * Reads a manifest of Kubernetes as a workload document, and says for every field whether it is honoured. Start here; `work.ts` has the
 * kinds, `pod.ts` the pod, `reasons.ts` the fields without effect.
 */
import { nameOf } from "../slurm/honour.ts";
import type { IgnoredDirective, SbatchReading } from "../slurm/read-script.ts";
import { withMerges } from "./merge-keys.ts";
import { ManifestFields, type Manifest } from "./manifest-fields.ts";
import type { ManifestContext } from "./pod.ts";
import type { ManifestSecrets } from "./secrets.ts";
import { NO_COUNTERPART, reasonsByField } from "./reasons.ts";
import { kinds, type Work } from "./work.ts";

export interface ManifestInput {
  /** Name of the file in messages. */
  readonly file: string;
  readonly manifests: readonly Manifest[];
  readonly context: ManifestContext;
}

/** The parts of a reading that batch scripts have, too. */
export type ManifestReading = SbatchReading;

/** Kubernetes waits 10 s before the first restart of a pod, and at most 6 minutes. */
const BACKOFF = { backoff: "10s", maxBackoff: "6m" };
/** Containers get none of the variables of whoever submits them. */
const NO_EXPORT = { mode: "named", names: [], values: {} } as const;
const kueueLabels = ["kueue.x-k8s.io/queue-name", "kueue.x-k8s.io/priority-class"];
const noReader = "is not read: headroom run submits one command";
const noRay = `${noReader}. Run Ray as a gang (examples/ray), or let its pods join the queue (adoptPods of a Kubernetes executor)`;
const noRoles = `${noReader}. Declare its roles as task groups in a workload file (gang.taskGroups)`;
/** Kinds that run pods and have no reader, each with what to do instead. */
const otherWorkloads: ReadonlyMap<string, string> = new Map(
  Object.entries({
    RayJob: noRay,
    RayCluster: noRay,
    RayService: noRay,
    MPIJob: `${noReader}. Run mpirun in a gang (examples/mpi)`,
    TFJob: noRoles,
    XGBoostJob: noRoles,
    PaddleJob: noRoles,
    JAXJob: noRoles,
    LeaderWorkerSet: noRoles,
    TrainJob: `${noReader}. Its runtime is an object of the cluster: submit the JobSet that it becomes`,
    DaemonSet: `${noReader}, and not one on each node`,
    ReplicationController: `${noReader}. Write a Deployment`,
    Workflow: `${noReader}. Declare a pipeline`,
    SparkApplication: noReader,
  }),
);
const kindNames = Object.keys(kinds).join(", ");

/** Whether YAML or JSON is a manifest of Kubernetes, by its first lines. A script can have one in its text. */
export function isManifest(text: string): boolean {
  const head = text.slice(0, 65_536);
  if (head.startsWith("#!")) return false;
  return /^[ \t{]*["']?apiVersion["']?[ \t]*:/m.test(head) || /^\s*\{[^]*"apiVersion"\s*:/.test(head);
}

export function readKubernetesManifest({ file, manifests, context }: ManifestInput): ManifestReading {
  const plain = manifests.map((manifest): Manifest => ({ ...manifest, value: withMerges(manifest.value) }));
  const all = plain.flatMap(withItems).map((manifest) => ({ manifest, kind: kindOf(manifest) }));
  const works = all.filter(({ manifest, kind }) => isRead(manifest, kind));
  const [first, second] = works;
  const others = all
    .filter(({ manifest }) => manifest !== first?.manifest)
    .map(({ manifest, kind }) => otherObject(manifest, kind));
  if (first === undefined) {
    const other = others.find(({ reason }) => reason.startsWith("is of ") || reason.startsWith(noReader));
    const found = other === undefined ? "" : `; ${other.directive} ${other.reason}`;
    // Each field of an object that runs pods is named, as those of the kinds that are read.
    const named = all.flatMap(({ manifest, kind }) => (isUnreadWork(manifest, kind) ? fieldsOf(manifest, kind) : []));
    return unreadable([...others, ...named], `${file} has no ${kindNames}; headroom run reads these kinds${found}`);
  }
  const fields = new ManifestFields(first.manifest);
  for (const key of ["apiVersion", "kind"]) if (fields.has([key])) fields.honour([key], `is read as ${first.kind}`);
  const work = kinds[first.kind]!.read(fields, context);
  const name = readName(fields);
  for (const label of kueueLabels) {
    const path = ["metadata", "labels", label];
    if (fields.has(path)) fields.ignore(path, reasonsByField[label] ?? NO_COUNTERPART);
  }
  fields.nameRest((key) => (Object.hasOwn(reasonsByField, key) ? reasonsByField[key] : undefined), NO_COUNTERPART);
  const problems = fields.ignored.flatMap(({ invalid, line, directive, reason }) =>
    invalid === true ? [`${file}:${line}: ${directive} ${reason}`] : [],
  );
  if (second !== undefined)
    problems.push(
      `${file}:${second.manifest.lineOf(["kind"])}: is a second workload; headroom run submits one, so split the file`,
    );
  if (work.worker.command === null && problems.length === 0)
    problems.push(`${file} states no command; the program of its image is not known here`);
  return {
    honoured: fields.honoured,
    ignored: [...fields.ignored, ...others],
    fromEnvironment: [],
    problems,
    notes: notesOf(work),
    document: documentOf(work, name),
    isHeld: work.isHeld,
    exported: { ...NO_EXPORT, values: work.worker.env },
  };
}

function kindOf({ value }: Manifest): string {
  const kind = typeof value === "object" && value !== null ? (value as { readonly kind?: unknown }).kind : undefined;
  return typeof kind === "string" ? kind : "";
}

function apiVersionOf({ value }: Manifest): string {
  const fields = typeof value === "object" && value !== null ? (value as { readonly apiVersion?: unknown }) : {};
  return typeof fields.apiVersion === "string" ? fields.apiVersion : "";
}

/** Volcano has a Job of its own. */
const isRead = (manifest: Manifest, kind: string): boolean =>
  Object.hasOwn(kinds, kind) && kinds[kind]?.apiVersion.test(apiVersionOf(manifest)) === true;

/** The list with its items, as `kubectl get -o yaml` writes several objects. */
function withItems(manifest: Manifest): readonly Manifest[] {
  const items = kindOf(manifest).endsWith("List") ? (manifest.value as { readonly items?: unknown }).items : undefined;
  if (!Array.isArray(items)) return [manifest];
  const each = items.map((value: unknown, index): Manifest => {
    return { value, lineOf: (path) => manifest.lineOf(["items", index, ...path]) };
  });
  return [...each, manifest];
}

function otherObject(manifest: Manifest, kind: string): IgnoredDirective {
  const version = apiVersionOf(manifest).slice(0, 80);
  const reason = kind.endsWith("List")
    ? "is a list, whose items are read"
    : Object.hasOwn(kinds, kind)
      ? `is of ${version === "" ? "no apiVersion" : version}, which is not read; it is not submitted`
      : (otherWorkloads.get(kind) ?? "is no workload; it is not submitted");
  return { directive: `kind: ${kind.slice(0, 80)}`, line: manifest.lineOf(["kind"]), reason };
}

const isUnreadWork = (manifest: Manifest, kind: string): boolean =>
  otherWorkloads.has(kind) || (Object.hasOwn(kinds, kind) && !isRead(manifest, kind));

function fieldsOf(manifest: Manifest, kind: string): readonly IgnoredDirective[] {
  const fields = new ManifestFields(manifest);
  fields.nameRest(() => undefined, `is a field of a ${kind}, which is not read`);
  return fields.ignored.filter(({ directive }) => !directive.startsWith("kind: "));
}

function unreadable(ignored: readonly IgnoredDirective[], problem: string): ManifestReading {
  return {
    honoured: [],
    ignored,
    fromEnvironment: [],
    problems: [problem],
    notes: [],
    document: {},
    isHeld: false,
    exported: NO_EXPORT,
  };
}

function readName(fields: ManifestFields): string {
  for (const key of ["name", "generateName"]) {
    const text = fields.text(["metadata", key]);
    const name = text === undefined ? null : nameOf(text.replace(/-+$/, ""));
    if (name === null) continue;
    fields.honour(["metadata", key], `name: ${name}`);
    return name;
  }
  return "job";
}

function notesOf({ worker, notes }: Work): readonly string[] {
  return [
    ...notes,
    ...(secretsOf(worker.secrets) === undefined
      ? []
      : [
          "Only Kubernetes executors that list the Secrets (`secrets` of their settings) run it; their values are not read here.",
        ]),
    ...(worker.dir === undefined
      ? []
      : [`The directory ${worker.dir} must exist ${worker.image === undefined ? "on the nodes" : "in the image"}.`]),
  ];
}

function documentOf(work: Work, name: string): Readonly<Record<string, unknown>> {
  const { worker, form, count, atOnce, retriesMax } = work;
  const isBatch = form === "tasks";
  const { accelerators, profile, cores, memory } = worker.resources;
  const document = {
    kind: isBatch ? "batch" : "train",
    name,
    run: runOf(work),
    dir: worker.dir,
    ...(worker.image === undefined ? {} : { image: worker.image }),
    secrets: secretsOf(worker.secrets),
    gang: withoutUndefined({
      workers: isBatch || count === 1 ? undefined : count,
      accelerators,
      profile,
      cores,
      memory,
    }),
    accelerator: worker.accelerator.length === 0 ? undefined : worker.accelerator,
    selector: Object.keys(worker.selector).length === 0 ? undefined : worker.selector,
    walltime: work.walltime ?? worker.walltime,
    retries: { max: retriesMax, ...BACKOFF },
    grace: worker.grace,
    tasks: isBatch ? count : undefined,
    tasksAtOnce: isBatch ? atOnce : undefined,
  };
  return withoutUndefined(document);
}

function secretsOf({ env, envFrom, pull }: ManifestSecrets): Readonly<Record<string, unknown>> | undefined {
  const found = withoutUndefined({
    env: Object.keys(env).length === 0 ? undefined : env,
    envFrom: envFrom.length === 0 ? undefined : envFrom,
    pull: pull.length === 0 ? undefined : pull,
  });
  return Object.keys(found).length === 0 ? undefined : found;
}

/** The command, after the variables that get the index of the pod. */
function runOf({ worker, form, isIndexed, indexes }: Work): string {
  const rank = indexes === undefined ? "$RANK" : `$((RANK % ${indexes}))`;
  const index = form === "tasks" ? "$HEADROOM_TASK_INDEX" : rank;
  const names = [...(isIndexed ? ["JOB_COMPLETION_INDEX"] : []), ...worker.indexVariables];
  return [...names.map((name) => `export ${name}="${index}"`), worker.command ?? ""].join("\n");
}

const withoutUndefined = (fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
