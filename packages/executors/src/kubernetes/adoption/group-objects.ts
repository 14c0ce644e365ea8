/**
 * Objects that state how many pods a group has: `PodGroup` of the coscheduling plugin, Volcano and KAI, and `JobSet`. Each is read by
 * itself when pods name it, because a cluster has few of these resources or none. Groups whose object was never read come first, then
 * those whose answer is oldest; a server that keeps failing is believed to have no object, so that no group waits for ever.
 */
import type { ApiAnswer, ApiRequest } from "../api/connection.ts";
import { SCHEDULER_NAME } from "../executor/pod-names.ts";

/** The fields of the object that count. */
export interface GroupObject {
  readonly minMember: number;
  readonly priorityClassName?: string;
}

/** `unread`: the API server has not answered yet. `null`: there is no such object, or the control plane may not read it. */
export type GroupObjectState = GroupObject | "unread" | null;

interface KnownObject {
  readonly paths: readonly string[];
  state: GroupObjectState;
  /** `performance.now()` before which the object is not read. */
  dueAtMs: number;
  isReading: boolean;
  failureCount: number;
  /** The newest failure, while the object counts as absent because of failures. */
  problem: string | null;
}

/** Age in ms of an answer after which the object is read again while its pods wait. */
const FRESH_MS = 30_000;
/** Least time in ms between two reads of objects that were read before: thousands of groups must not fill the API server. */
const RENEW_EVERY_MS = 100;
const READS_AT_ONCE = 4;
/** Waits in ms after failures, and failures in a row after which an object that was never read counts as absent. */
const RETRY_FIRST_MS = 500;
const RETRY_MAX_MS = 30_000;
const FAILURES_MAX = 6;
/** Workers of a group are bounded far below; a larger number is no reason to wait for ever. */
const MEMBERS_MAX = 1_000_000;

export class GroupObjects {
  readonly #call: (request: ApiRequest) => Promise<ApiAnswer>;
  /** In the order of their first look. */
  readonly #known = new Map<string, KnownObject>();
  #readCount = 0;
  #renewedAtMs = Number.NEGATIVE_INFINITY;

  constructor(call: (request: ApiRequest) => Promise<ApiAnswer>) {
    this.#call = call;
  }

  /** The object as it was read last. `paths`: where it may be. */
  state(key: string, paths: readonly string[]): GroupObjectState {
    let known = this.#known.get(key);
    if (known === undefined || known.paths.join() !== paths.join()) {
      known = { paths, state: "unread", dueAtMs: 0, isReading: false, failureCount: 0, problem: null };
      this.#known.set(key, known);
    }
    return known.state;
  }

  /** Why the object counts as absent although the server did not say so; `null`: it did, or the object was read. */
  problem(key: string): string | null {
    return this.#known.get(key)?.problem ?? null;
  }

  /** Forgets the objects of all other groups, and reads those that are due in the background. */
  follow(keys: ReadonlySet<string>): void {
    for (const key of this.#known.keys()) if (!keys.has(key)) this.#known.delete(key);
    this.#readDue();
  }

  #readDue(): void {
    while (this.#readCount < READS_AT_ONCE) {
      const next = this.#nextDue();
      if (next === null) return;
      if (next.state !== "unread") this.#renewedAtMs = performance.now();
      void this.#read(next);
    }
  }

  /** Objects that were never read come first, in the order of their first look after as many failures; then the oldest answer. */
  #nextDue(): KnownObject | null {
    const nowMs = performance.now();
    const mayRenew = nowMs - this.#renewedAtMs >= RENEW_EVERY_MS;
    let best: KnownObject | null = null;
    for (const known of this.#known.values()) {
      if (known.isReading || known.dueAtMs > nowMs) continue;
      if (known.state !== "unread" && !mayRenew) continue;
      if (best === null || isBefore(known, best)) best = known;
    }
    return best;
  }

  async #read(known: KnownObject): Promise<void> {
    known.isReading = true;
    this.#readCount += 1;
    try {
      let state: GroupObject | null = null;
      for (const path of known.paths) if ((state = await this.#find(path)) !== null) break;
      // Groups are read again only when their object has changed.
      if (JSON.stringify(state) !== JSON.stringify(known.state)) known.state = state;
      known.failureCount = 0;
      known.problem = null;
      known.dueAtMs = performance.now() + FRESH_MS;
    } catch (error) {
      this.#noteFailure(known, error instanceof Error ? error.message : String(error));
    } finally {
      known.isReading = false;
      this.#readCount -= 1;
      this.#readDue();
    }
  }

  /** A failure says nothing about an object that was read. */
  #noteFailure(known: KnownObject, problem: string): void {
    known.failureCount += 1;
    const waitMs = Math.min(RETRY_FIRST_MS * 2 ** (known.failureCount - 1), RETRY_MAX_MS);
    known.dueAtMs = performance.now() + waitMs;
    if (known.state !== "unread" || known.failureCount < FAILURES_MAX) return;
    known.state = null;
    known.problem = problem;
  }

  /** Throws if the server does not say. A server without the resource answers 404, and one that forbids it 403. */
  async #find(path: string): Promise<GroupObject | null> {
    const { status, body } = await this.#call({ method: "GET", path });
    if (status === 404 || status === 403) return null;
    if (status !== 200) throw new Error(`GET ${path}: HTTP ${status}`);
    return path.includes("/jobsets/") ? jobSetOf(body) : podGroupOf(body);
  }
}

function isBefore(one: KnownObject, other: KnownObject): boolean {
  const [isUnread, isOtherUnread] = [one.state === "unread", other.state === "unread"];
  if (isUnread !== isOtherUnread) return isUnread;
  return isUnread ? one.failureCount < other.failureCount : one.dueAtMs < other.dueAtMs;
}

/** Others wrote the object: a value of another type counts as absent. */
function podGroupOf(body: unknown): GroupObject {
  const spec = fieldOf(body, "spec");
  const priorityClassName = fieldOf(spec, "priorityClassName");
  return {
    minMember: countOf(fieldOf(spec, "minMember"), 0),
    ...(typeof priorityClassName === "string" && priorityClassName !== "" ? { priorityClassName } : {}),
  };
}

/**
 * The pods of all replicated jobs that name Headroom as their scheduler (jobset.sigs.k8s.io, JobSet v1alpha2). Jobs that start one after the other have no size: the later ones
 * get their pods only when the earlier ones run.
 */
function jobSetOf(body: unknown): GroupObject {
  const spec = fieldOf(body, "spec");
  const jobs = listOf(fieldOf(spec, "replicatedJobs"));
  const isOrdered = fieldOf(fieldOf(spec, "startupPolicy"), "startupPolicyOrder") === "InOrder";
  if (isOrdered || jobs.some((job) => listOf(fieldOf(job, "dependsOn")).length > 0)) return { minMember: 0 };
  const podsOf = (job: unknown): number => {
    const template = fieldOf(fieldOf(job, "template"), "spec");
    if (fieldOf(fieldOf(fieldOf(template, "template"), "spec"), "schedulerName") !== SCHEDULER_NAME) return 0;
    const parallelism = countOf(fieldOf(template, "parallelism"), 1);
    return (
      countOf(fieldOf(job, "replicas"), 1) *
      Math.min(parallelism, countOf(fieldOf(template, "completions"), parallelism))
    );
  };
  return {
    minMember: Math.min(
      MEMBERS_MAX,
      jobs.reduce<number>((sum, job) => sum + podsOf(job), 0),
    ),
  };
}

const countOf = (value: unknown, absent: number): number =>
  typeof value === "number" && Number.isSafeInteger(value) ? Math.min(MEMBERS_MAX, Math.max(0, value)) : absent;

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

const fieldOf = (object: unknown, name: string): unknown =>
  typeof object === "object" && object !== null ? (object as Readonly<Record<string, unknown>>)[name] : undefined;
