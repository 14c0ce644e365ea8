/** The pods and the headless Service of an attempt, as they are created: unbound, with the node that was decided. Pure. */
import path from "node:path";
import type { LaunchGang, WorkerShape } from "@headroom/model";
import { acceleratorIndices, shapeOf } from "@headroom/model";
import { RefusedGang } from "../../job-protocol/refused-gang.ts";
import type { Toleration } from "../api/objects.ts";
import type { KubernetesFleetNode } from "../fleet/cluster-nodes.ts";
import { ACCELERATOR_TOLERATIONS } from "../fleet/cluster-nodes.ts";
import type { KubernetesSettings } from "../settings.ts";
import type { PodIdentity } from "./pod-names.ts";
import {
  ATTEMPT_LABEL,
  CONTAINER,
  FINALIZER,
  podAnnotations,
  podLabels,
  podName,
  SCHEDULER_NAME,
} from "./pod-names.ts";
import { podSecrets } from "./pod-secrets.ts";
import { byRule, namespaceOf, serviceAccountOf } from "./submitter-names.ts";
import { literal, WORKER_SCRIPT } from "./worker-command.ts";

export interface PodPlan {
  readonly launch: LaunchGang;
  readonly identity: PodIdentity;
  /** Nodes by rank. */
  readonly nodes: readonly KubernetesFleetNode[];
  readonly environments: readonly Readonly<Record<string, string>>[];
  /** `null`: the working directory of the image. */
  readonly workingDir: string | null;
  /** Directories below `directory` that the pod of a rank gets. */
  readonly mounts: (rank: number) => readonly PodMount[];
  readonly settings: KubernetesSettings;
}

export interface PodMount {
  /** Path below the shared directory. */
  readonly subPath: string;
  readonly readOnly: boolean;
}

/** The object as it is sent, with the parts that the launcher reads. */
export interface PodDocument {
  readonly apiVersion: "v1";
  readonly kind: "Pod" | "Service";
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly labels: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly finalizers?: readonly string[];
  };
  readonly spec: object;
}

/** Variable with which a workload names its image. */
const IMAGE_VARIABLE = "HEADROOM_IMAGE";
const RENDEZVOUS_PORT = 29_500;
/** Ports for gangs that share the network of their nodes, below those of outgoing connections (ip(7)). */
const HOST_PORTS = { first: 20_000, count: 10_000 };
/** Kubernetes ends a pod this long after its walltime, should the control plane be away. */
const DEADLINE_SLACK_S = 600;
/** Headroom decides itself when the work of a node is lost; the admission plugin would otherwise evict it after 300 s. */
const NODE_TOLERATIONS: readonly Toleration[] = ["not-ready", "unreachable"].map((state) => ({
  key: `node.kubernetes.io/${state}`,
  operator: "Exists",
  effect: "NoExecute",
}));

/** Throws `RefusedGang` if the workload names no image and there is no default. */
function imageOf({ spec }: LaunchGang, { defaultImage }: KubernetesSettings): string {
  const image = spec.image ?? spec.env[IMAGE_VARIABLE] ?? defaultImage;
  if (image !== undefined && image !== "") return image;
  throw new RefusedGang(`the workload names no image: set its field \`image\`, or \`defaultImage\` of the executor`);
}

/** Address and port at which the workers meet: the pod of rank 0 by its name in the Service. */
export function rendezvousOf(
  launch: LaunchGang,
  base: string,
  settings: Pick<KubernetesSettings, "hostNetwork" | "namespace" | "namespaces">,
): { readonly address: string; readonly port: number } {
  const port = settings.hostNetwork ? HOST_PORTS.first + (hashOf(base) % HOST_PORTS.count) : RENDEZVOUS_PORT;
  if (launch.workers.length === 1) return { address: "127.0.0.1", port };
  return { address: `${podName(base, 0)}.${base}.${namespaceOf(launch, settings)}.svc`, port };
}

const hashOf = (base: string): number => Number.parseInt(base.slice(-8), 16);

export function podDocuments(plan: PodPlan): readonly PodDocument[] {
  const { launch, identity, settings } = plan;
  const namespace = namespaceOf(launch, settings);
  const image = imageOf(launch, settings);
  return launch.workers.map((_, rank) => ({
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: podName(identity.base, rank),
      namespace,
      labels: podLabels(identity, rank),
      annotations: podAnnotations(launch, rank),
      finalizers: [FINALIZER],
    },
    spec: podSpec(plan, rank, image),
  }));
}

/** A Service without an address of its own, which gives each pod a name, also before it is ready. One worker needs none. */
export function serviceDocument({ launch, identity, settings }: PodPlan): PodDocument | null {
  if (launch.workers.length === 1) return null;
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: {
      name: identity.base,
      namespace: namespaceOf(launch, settings),
      labels: podLabels(identity, 0),
    },
    spec: {
      clusterIP: "None",
      publishNotReadyAddresses: true,
      selector: { [ATTEMPT_LABEL]: identity.base },
      ports: [{ name: "rendezvous", port: rendezvousOf(launch, identity.base, settings).port }],
    },
  };
}

function podSpec(plan: PodPlan, rank: number, image: string): object {
  const { launch, settings, identity } = plan;
  const serviceAccount = serviceAccountOf(launch, settings);
  const { tolerations, priorityClassName, runtimeClassName, securityContext } = settings;
  const { volumes, volumeMounts } = volumesOf(plan, rank);
  const { spec } = launch;
  const secrets = podSecrets(launch, settings);
  const pull = new Set([...settings.imagePullSecrets.map((name) => byRule(name, launch)), ...secrets.pull]);
  const variables = Object.entries(plan.environments[rank] ?? {});
  return {
    schedulerName: SCHEDULER_NAME,
    restartPolicy: "Never",
    enableServiceLinks: false,
    automountServiceAccountToken: serviceAccount !== null,
    terminationGracePeriodSeconds: Math.max(1, Math.ceil(spec.graceTimeoutMs / 1_000)),
    ...(spec.walltimeMs === null
      ? {}
      : { activeDeadlineSeconds: Math.ceil((spec.walltimeMs + spec.graceTimeoutMs) / 1_000) + DEADLINE_SLACK_S }),
    ...(launch.workers.length === 1 ? {} : { hostname: podName(identity.base, rank), subdomain: identity.base }),
    ...(settings.hostNetwork ? { hostNetwork: true, dnsPolicy: "ClusterFirstWithHostNet" } : {}),
    ...(serviceAccount === null ? {} : { serviceAccountName: serviceAccount }),
    ...(priorityClassName === undefined ? {} : { priorityClassName }),
    ...(runtimeClassName === undefined ? {} : { runtimeClassName }),
    ...(securityContext === undefined ? {} : { securityContext }),
    imagePullSecrets: [...pull].map((name) => ({ name })),
    tolerations: [...ACCELERATOR_TOLERATIONS, ...NODE_TOLERATIONS, ...tolerations],
    volumes,
    containers: [
      {
        name: CONTAINER,
        image,
        command: ["/bin/sh", "-c", literal(WORKER_SCRIPT), "headroom"],
        args: [plan.workingDir ?? "", spec.run].map(literal),
        // The last of two with one name counts: no Secret replaces a variable of Headroom.
        env: [...secrets.env, ...variables.map(([name, value]) => ({ name, value: literal(value) }))],
        ...(secrets.envFrom.length === 0 ? {} : { envFrom: secrets.envFrom }),
        resources: resourcesOf(plan, rank),
        volumeMounts,
      },
    ],
  };
}

function resourcesOf({ launch, nodes }: PodPlan, rank: number): object {
  const worker = launch.workers[rank];
  if (worker === undefined) return {};
  const shape = shapeOf(launch.spec.gang, worker);
  refuseParts(shape, worker);
  const count = acceleratorIndices(worker.accelerators).length;
  const resource = nodes[rank]?.accelerators?.resource;
  if (count > 0 && resource === undefined)
    throw new RefusedGang(`the node ${worker.node} has no accelerators any more`);
  const devices = count > 0 && resource !== undefined ? { [resource]: String(count) } : {};
  const memory = shape.memoryMib > 0 ? { memory: `${shape.memoryMib}Mi` } : {};
  const cpu = shape.coresMilli > 0 ? { cpu: `${shape.coresMilli}m` } : {};
  return { requests: { ...cpu, ...memory, ...devices }, limits: { ...memory, ...devices } };
}

/** Device plugins give out whole devices. */
function refuseParts(shape: WorkerShape, worker: LaunchGang["workers"][number]): void {
  if (worker.slice !== undefined || worker.shareMilli !== undefined || shape.shareMilli !== undefined)
    throw new RefusedGang("Kubernetes gives out whole accelerators; request whole ones for this pool");
}

interface PodVolumes {
  readonly volumes: readonly object[];
  readonly volumeMounts: readonly object[];
}

/** The workers of a pod see their own directories below the shared one, under the paths that this machine has for them. */
function volumesOf({ settings, mounts }: PodPlan, rank: number): PodVolumes {
  const { directory, directoryVolume, sharedMemoryMib } = settings;
  const volumes: object[] = settings.volumes.map(({ source }, index) => ({ name: `volume-${index}`, ...source }));
  const volumeMounts: object[] = settings.volumes.map(({ mountPath, readOnly = false }, index) => ({
    name: `volume-${index}`,
    mountPath,
    readOnly,
  }));
  if (sharedMemoryMib !== undefined) {
    volumes.push({ name: "shared-memory", emptyDir: { medium: "Memory", sizeLimit: `${sharedMemoryMib}Mi` } });
    volumeMounts.push({ name: "shared-memory", mountPath: "/dev/shm" });
  }
  if (directory !== undefined && directoryVolume !== undefined) {
    volumes.push({ name: "headroom", ...directoryVolume });
    for (const { subPath, readOnly } of mounts(rank))
      volumeMounts.push({ name: "headroom", mountPath: path.join(directory, subPath), subPath, readOnly });
  }
  return { volumes, volumeMounts };
}
