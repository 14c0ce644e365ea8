/** Calls about pods and Services, with the outcomes that matter: what took effect, what never will, and what is unknown. */
import type { IncomingMessage } from "node:http";
import type { ApiAnswer, ApiRequest, Connection } from "./connection.ts";
import { messageOf, statusText, unreachable } from "./connection.ts";
import type { KubernetesNode, KubernetesPod } from "./objects.ts";

export type Outcome =
  | { readonly kind: "done" }
  /** It exists already, or has happened before. */
  | { readonly kind: "conflict"; readonly detail: string }
  | { readonly kind: "missing"; readonly detail: string }
  /** The server will refuse it again. */
  | { readonly kind: "refused"; readonly detail: string }
  /** It may have taken effect. `isSilent`: no answer came. */
  | { readonly kind: "unknown"; readonly detail: string; readonly isSilent?: true };

export interface NewObject {
  readonly metadata: { readonly name: string; readonly namespace: string };
}

export interface LogQuery {
  readonly container: string;
  readonly sinceTime?: string | undefined;
}

const GONE_STATUS = 404;
const CONFLICT_STATUS = 409;
/** Codes that another try does not change (pkg/apis/meta: BadRequest, Forbidden, NotFound of a namespace, Invalid, too large). */
const REFUSED_STATUSES: ReadonlySet<number> = new Set([400, 403, 404, 405, 413, 415, 422]);

export class PodApi {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  create(collection: "pods" | "services" | "events", object: NewObject): Promise<Outcome> {
    const path = `/api/v1/namespaces/${object.metadata.namespace}/${collection}`;
    return this.#outcome({ method: "POST", path, body: object }, (status) => REFUSED_STATUSES.has(status));
  }

  /** Binds the pod to the node, once. `uid`: only this pod; another one of its name is a conflict. */
  bind(namespace: string, name: string, node: string, uid?: string): Promise<Outcome> {
    const body = {
      apiVersion: "v1",
      kind: "Binding",
      metadata: { name, namespace, ...(uid === undefined ? {} : { uid }) },
      target: { apiVersion: "v1", kind: "Node", name: node },
    };
    return this.#outcome({ method: "POST", path: `${podPath(namespace, name)}/binding`, body }, (status) =>
      [400, 403, 422].includes(status),
    );
  }

  /**
   * Deletes the pod. The kubelet sends SIGTERM, and SIGKILL after the grace period of at least one second. `uid`: only this pod, and no
   * other one of its name.
   */
  remove(namespace: string, name: string, graceSeconds: number, uid?: string): Promise<Outcome> {
    const only = uid === undefined ? {} : { preconditions: { uid } };
    const body = { apiVersion: "v1", kind: "DeleteOptions", gracePeriodSeconds: graceSeconds, ...only };
    return this.#outcome({ method: "DELETE", path: podPath(namespace, name), body }, () => false);
  }

  removeService(namespace: string, name: string): Promise<Outcome> {
    return this.#outcome({ method: "DELETE", path: `/api/v1/namespaces/${namespace}/services/${name}` }, () => false);
  }

  /** Replaces the finalizers, unless the pod has changed since. */
  setFinalizers(pod: KubernetesPod, finalizers: readonly string[]): Promise<Outcome> {
    return this.patchMetadata(pod, { finalizers });
  }

  /** Changes the metadata by a merge patch, unless the pod has changed since. */
  patchMetadata({ metadata }: KubernetesPod, changes: object): Promise<Outcome> {
    const { namespace = "", name, resourceVersion } = metadata;
    const contentType = "application/merge-patch+json";
    const body = { metadata: { resourceVersion, ...changes } };
    return this.#outcome({ method: "PATCH", path: podPath(namespace, name), body, contentType }, () => false);
  }

  /** `null`: the cluster has no such pod. Throws if the server does not say. */
  async find(namespace: string, name: string): Promise<KubernetesPod | null> {
    return (await this.#found(podPath(namespace, name))) as KubernetesPod | null;
  }

  /** Any other request, with its answer whatever its status. Throws if there is none. */
  call(request: ApiRequest): Promise<ApiAnswer> {
    return this.#connection.call(request);
  }

  /** As `find`. */
  async findNode(name: string): Promise<KubernetesNode | null> {
    return (await this.#found(`/api/v1/nodes/${encodeURIComponent(name)}`)) as KubernetesNode | null;
  }

  /** Follows the log of a container to its end. Every line begins with its time. */
  logs(
    namespace: string,
    name: string,
    { container, sinceTime }: LogQuery,
    signal: AbortSignal,
  ): Promise<IncomingMessage> {
    const query = { container, follow: true, timestamps: true, sinceTime };
    return this.#connection.stream({ method: "GET", path: `${podPath(namespace, name)}/log`, query }, signal);
  }

  async #found(path: string): Promise<unknown> {
    const { status, body } = await this.#connection.call({ method: "GET", path });
    if (status === 200) return body;
    // A proxy's 404 is no Status of Kubernetes.
    if (status === GONE_STATUS && reasonOf(body) === "NotFound") return null;
    throw unreachable(`GET ${path}: ${statusText(status, body)}`);
  }

  async #outcome(request: Parameters<Connection["call"]>[0], isRefused: (status: number) => boolean): Promise<Outcome> {
    let answer: ApiAnswer;
    try {
      answer = await this.#connection.call(request);
    } catch (error) {
      return { kind: "unknown", detail: messageOf(error), isSilent: true };
    }
    const { status, body } = answer;
    if (status >= 200 && status < 300) return { kind: "done" };
    const detail = statusText(status, body);
    const reason = reasonOf(body);
    if (status === CONFLICT_STATUS && (reason === "AlreadyExists" || reason === "Conflict"))
      return { kind: "conflict", detail };
    if (status === GONE_STATUS && reason === "NotFound" && !isRefused(status)) return { kind: "missing", detail };
    return reason !== null && isRefused(status) ? { kind: "refused", detail } : { kind: "unknown", detail };
  }
}

const podPath = (namespace: string, name: string): string => `/api/v1/namespaces/${namespace}/pods/${name}`;

/** `reason` of a `Status` of Kubernetes; `null`: the answer comes from something else. */
function reasonOf(body: unknown): string | null {
  if (typeof body !== "object" || body === null || !("kind" in body) || body.kind !== "Status") return null;
  return "reason" in body && typeof body.reason === "string" ? body.reason : "";
}
