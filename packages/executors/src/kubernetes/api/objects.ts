/**
 * Objects of Kubernetes as far as the executor reads them (kubernetes.io/docs/reference/kubernetes-api). Fields that an API server leaves
 * out are absent. Nothing in them is trusted: anyone with rights in a namespace can write them.
 */
export interface ObjectMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly deletionGracePeriodSeconds?: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[];
}

export interface Taint {
  readonly key: string;
  readonly value?: string;
  readonly effect: string;
}

export interface Toleration {
  readonly key?: string | undefined;
  readonly operator?: "Equal" | "Exists" | undefined;
  readonly value?: string | undefined;
  readonly effect?: "NoSchedule" | "PreferNoSchedule" | "NoExecute" | undefined;
  readonly tolerationSeconds?: number | undefined;
}

export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string;
}

export type Quantities = Readonly<Record<string, string>>;

export interface KubernetesNode {
  readonly metadata: ObjectMeta;
  readonly spec?: { readonly unschedulable?: boolean; readonly taints?: readonly Taint[] };
  readonly status?: { readonly allocatable?: Quantities; readonly conditions?: readonly Condition[] };
}

export interface PodResources {
  readonly requests?: Quantities;
  readonly limits?: Quantities;
}

export interface ContainerSpec {
  readonly name: string;
  readonly resources?: PodResources;
  /** `Always`: an init container that is a sidecar. */
  readonly restartPolicy?: string;
}

export interface TerminatedState {
  readonly exitCode: number;
  readonly signal?: number;
  readonly reason?: string;
  readonly message?: string;
  readonly startedAt?: string | null;
  readonly finishedAt?: string | null;
}

export interface ContainerStatus {
  readonly name: string;
  readonly state?: {
    readonly waiting?: { readonly reason?: string; readonly message?: string };
    readonly running?: { readonly startedAt?: string | null };
    readonly terminated?: TerminatedState;
  };
}

export interface KubernetesPod {
  readonly metadata: ObjectMeta;
  readonly spec?: {
    readonly nodeName?: string;
    readonly schedulerName?: string;
    readonly priorityClassName?: string;
    readonly containers?: readonly ContainerSpec[];
    readonly initContainers?: readonly ContainerSpec[];
    readonly overhead?: Quantities;
    readonly resources?: PodResources;
    readonly nodeSelector?: Readonly<Record<string, string>>;
    readonly affinity?: unknown;
    readonly topologySpreadConstraints?: unknown;
    /** Claims of devices (resource.k8s.io, DRA). */
    readonly resourceClaims?: unknown;
    readonly schedulingGates?: readonly unknown[];
    readonly terminationGracePeriodSeconds?: number;
    readonly activeDeadlineSeconds?: number;
  };
  readonly status?: {
    readonly phase?: string;
    readonly reason?: string;
    readonly message?: string;
    readonly containerStatuses?: readonly ContainerStatus[];
    readonly initContainerStatuses?: readonly ContainerStatus[];
  };
}

export interface KubernetesObject {
  readonly metadata: ObjectMeta;
}

/** Namespace and name, by which an object is known in a cluster. */
export const objectKey = ({ namespace = "", name }: ObjectMeta): string => `${namespace}/${name}`;
