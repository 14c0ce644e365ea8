/**
 * Objects that let a control plane run in a cluster and use it: rights, a volume for its state, a Deployment and a Service. The rights are
 * those that the executor needs and no more; the conformance cases run with them. Pure.
 */
export interface ManifestOptions {
  /** Namespace of the control plane. */
  readonly namespace: string;
  /** Namespaces of the pods. */
  readonly podNamespaces: readonly string[];
  readonly image: string;
  /** Size of the volume for the state, such as `20Gi`. */
  readonly storage: string;
  /** True: nodes and pods are read, and nothing is changed. */
  readonly isReadOnly: boolean;
  /** Whether commands may be run inside pods. */
  readonly allowsExec: boolean;
}

const NAME = "headroom";
const POD_GROUP_APIS: readonly string[] = [
  "scheduling.x-k8s.io",
  "scheduling.sigs.k8s.io",
  "scheduling.volcano.sh",
  "scheduling.run.ai",
];
/**
 * The volume. Because of `fsGroup`, Kubernetes lets the group write to its root. Headroom refuses such a state directory, so the state
 * directory is below.
 */
const STATE = "/var/lib/headroom";
const PORT = 7_070;
/** The user of the image (deploy/container/Containerfile). */
const USER_ID = 10_001;
/** The kubelet waits for the sync of the journal and the end of requests. */
const GRACE_SECONDS = 30;

export function clusterManifest(options: ManifestOptions): readonly object[] {
  const { namespace, podNamespaces } = options;
  const others = podNamespaces.filter((name) => name !== namespace);
  return [
    { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } },
    ...others.map((name) => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } })),
    ...rightsManifest(options),
    ...deploymentManifest(options),
  ];
}

/** The service account of the control plane, and its roles. */
export function rightsManifest({
  namespace,
  podNamespaces,
  isReadOnly,
  allowsExec,
}: ManifestOptions): readonly object[] {
  const subjects = [{ kind: "ServiceAccount", name: NAME, namespace }];
  const role = (name: string): object => ({ apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name });
  const [reads, runs] = [`${NAME}-reads`, `${NAME}-runs`];
  return [
    { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: NAME, namespace } },
    clusterRole(reads, [
      { apiGroups: [""], resources: ["nodes", "pods"], verbs: ["get", "list", "watch"] },
      // Objects of other schedulers, where the cluster has them: sizes and priority classes of groups of adopted pods.
      { apiGroups: POD_GROUP_APIS, resources: ["podgroups"], verbs: ["get"] },
      { apiGroups: ["jobset.x-k8s.io"], resources: ["jobsets"], verbs: ["get"] },
    ]),
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRoleBinding",
      metadata: { name: reads },
      roleRef: role(reads),
      subjects,
    },
    ...(isReadOnly
      ? []
      : [
          clusterRole(runs, [
            { apiGroups: [""], resources: ["pods"], verbs: ["create", "delete", "patch"] },
            { apiGroups: [""], resources: ["pods/binding"], verbs: ["create"] },
            { apiGroups: [""], resources: ["pods/log"], verbs: ["get"] },
            // A WebSocket opens with GET; servers from 1.35 also check `create`.
            ...(allowsExec ? [{ apiGroups: [""], resources: ["pods/exec"], verbs: ["get", "create"] }] : []),
            { apiGroups: [""], resources: ["services"], verbs: ["create", "delete"] },
            { apiGroups: [""], resources: ["events"], verbs: ["create"] },
          ]),
          ...podNamespaces.map((name) => ({
            apiVersion: "rbac.authorization.k8s.io/v1",
            kind: "RoleBinding",
            metadata: { name: runs, namespace: name },
            roleRef: role(runs),
            subjects,
          })),
        ]),
  ];
}

interface PolicyRule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

const clusterRole = (name: string, rules: readonly PolicyRule[]): object => ({
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "ClusterRole",
  metadata: { name },
  rules,
});

/** One control plane at a time writes the journal, so a new one starts when the old one has ended. */
function deploymentManifest({ namespace, image, storage }: ManifestOptions): readonly object[] {
  const labels = { "app.kubernetes.io/name": NAME };
  const claim = `${NAME}-state`;
  return [
    {
      apiVersion: "v1",
      kind: "PersistentVolumeClaim",
      metadata: { name: claim, namespace },
      spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage } } },
    },
    {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: NAME, namespace, labels },
      spec: {
        replicas: 1,
        strategy: { type: "Recreate" },
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: controlPlaneSpec(image, claim) },
      },
    },
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: NAME, namespace, labels },
      spec: { selector: labels, ports: [{ name: "api", port: PORT, targetPort: PORT }] },
    },
  ];
}

const controlPlaneSpec = (image: string, claimName: string): object => ({
  serviceAccountName: NAME,
  terminationGracePeriodSeconds: GRACE_SECONDS,
  securityContext: {
    runAsNonRoot: true,
    runAsUser: USER_ID,
    runAsGroup: USER_ID,
    fsGroup: USER_ID,
    // `Always`, the default, lets the group write to all files of the volume at each start.
    fsGroupChangePolicy: "OnRootMismatch",
    seccompProfile: { type: "RuntimeDefault" },
  },
  containers: [
    {
      name: NAME,
      image,
      args: ["up", "--host", "0.0.0.0", "--insecure", "--slots", "0"],
      // The image names directories in the root of the volume, which is empty at first.
      env: [
        { name: "HEADROOM_HOME", value: `${STATE}/home` },
        { name: "TMPDIR", value: "/tmp" },
      ],
      ports: [{ name: "api", containerPort: PORT }],
      resources: { requests: { cpu: "500m", memory: "512Mi" } },
      securityContext: {
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ["ALL"] },
      },
      readinessProbe: { exec: { command: ["headroom", "health"] }, periodSeconds: 15, timeoutSeconds: 10 },
      volumeMounts: [
        { name: "state", mountPath: STATE },
        { name: "temporary", mountPath: "/tmp" },
      ],
    },
  ],
  volumes: [
    { name: "state", persistentVolumeClaim: { claimName } },
    { name: "temporary", emptyDir: {} },
  ],
});
