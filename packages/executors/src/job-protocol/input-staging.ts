/**
 * Brings the inputs of an attempt to the node before its workers start: artifacts and `data.inputs` that lie in a declared
 * store. The attempt gets the paths in the node's cache, and holds them until its end. All workers of a node share one
 * transfer.
 */
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import path from "node:path";
import { artifactTitle, parseArtifactRef } from "@headroom/model";
import type {
  AttemptId,
  LaunchArtifact,
  LaunchGang,
  LossCause,
  NodeId,
  Observation,
  WorkloadId,
} from "@headroom/model";
import { OperationalError } from "@headroom/platform";
import { accessRefusal, ruleRefusal } from "./input-rules.ts";
import type { TransferredBytes, NodeCache, StoreSet } from "@headroom/stores";

export interface StagingSource {
  readonly stores: StoreSet;
  readonly cache: NodeCache;
  /** Whether workers see a path of the control plane's machine. Absent: they see all of them. */
  readonly isSeen?: (at: string) => boolean;
  /** Called when a transfer has ended, before the workers start. */
  readonly onTransferred?: (moved: AttemptTransfer) => void;
}

export type AttemptTransfer = Observation & { readonly kind: "bytesTransferred" };

export interface StagingProgress {
  /** The input that is being read. */
  readonly uri: string;
  readonly store: string;
  readonly bytes: number;
  /** `null`: the store has not answered yet. */
  readonly totalBytes: number | null;
  readonly sinceMs: number;
}

/** Brings one input to the node, and returns its path in the cache. */
export type Bring = (input: Input) => Promise<string>;

export interface StagedLaunch {
  /** The launch with paths on this node in the places of URIs. */
  readonly launch: LaunchGang;
  /** Paths in the cache. */
  readonly staged: readonly string[];
}

export interface Input {
  readonly uri: string;
  /** Name for messages. */
  readonly name: string;
  readonly digest: string | null;
  /** Rule of the data of a version. Absent: none. */
  readonly rule?: string;
}

interface Running {
  readonly workloadId: WorkloadId;
  /** The node that gets the bytes: the first one, where several share the cache. */
  readonly nodeId: NodeId | undefined;
  readonly stop: AbortController;
  progress: StagingProgress | null;
}

/** Requests of one transfer at the same time; the store bounds those of all together. */
const PARALLEL = 8;

export class InputStaging {
  readonly #source: StagingSource;
  readonly #running = new Map<AttemptId, Running>();
  /** Attempts whose stop came before their staging began. */
  readonly #stopped = new Set<AttemptId>();

  constructor(source: StagingSource) {
    this.#source = source;
  }

  /**
   * Throws a `StagingFailure`. `also` brings further bytes that the work wrote itself, such as a checkpoint. `holder` keeps the bytes in the cache until `release`, also
   * after a failure.
   */
  async stage<Result = null>(
    launch: LaunchGang,
    holder: string,
    also: (bring: Bring) => Promise<Result | null> = () => Promise.resolve(null),
  ): Promise<StagedLaunch & { readonly also: Result | null }> {
    const { workloadId, workers } = launch;
    const running: Running = { workloadId, nodeId: workers[0]?.node, stop: new AbortController(), progress: null };
    this.#running.set(launch.attemptId, running);
    if (this.#stopped.has(launch.attemptId)) this.cancel(launch.attemptId);
    try {
      const staged = await this.#stageAll(launch, holder);
      const bring: Bring = (input) => {
        const { name, uri, rule } = input;
        const version = { name, path: uri, version: name, ...(rule === undefined ? {} : { rule }) };
        refuseAs(ruleRefusal(launch, version));
        this.#refuseAccess(launch, uri, version, true);
        return this.#bring(launch.attemptId, input, holder);
      };
      return { ...staged, also: await also(bring) };
    } finally {
      this.#running.delete(launch.attemptId);
    }
  }

  progressOf(attemptId: AttemptId): StagingProgress | null {
    return this.#running.get(attemptId)?.progress ?? null;
  }

  /** Ends the staging of an attempt that is stopped. Transfers go on for other attempts. */
  cancel(attemptId: AttemptId): void {
    this.#stopped.add(attemptId);
    this.#running.get(attemptId)?.stop.abort(new StagingFailure("It was stopped while its inputs were staged.", null));
  }

  /** The stop was carried out. */
  forget(attemptId: AttemptId): void {
    this.#stopped.delete(attemptId);
  }

  release(holder: string): void {
    this.#source.cache.release(holder);
  }

  /** Attempts whose end is still to come; bytes that others held can be evicted. */
  keepHolders(holders: ReadonlySet<string>): Promise<void> {
    return this.#source.cache.keepHolders(holders);
  }

  close(): Promise<void> {
    const closed = this.#source.cache.close();
    for (const attemptId of this.#running.keys()) this.cancel(attemptId);
    return closed;
  }

  async #stageAll(launch: LaunchGang, holder: string): Promise<StagedLaunch> {
    const staged: string[] = [];
    const bring = async (input: Input): Promise<string> => {
      const at = await this.#bring(launch.attemptId, input, holder);
      staged.push(at);
      return at;
    };
    const artifacts: LaunchArtifact[] = [];
    for (const artifact of launch.artifacts ?? []) {
      const { name, version = name, digest = null } = artifact;
      const { here, uri } = this.#placeOf(artifact, launch);
      refuseAs(ruleRefusal(launch, artifact));
      this.#refuseAccess(launch, uri ?? here, artifact);
      artifacts.push({ ...artifact, path: uri === null ? here : await bring({ uri, name: version, digest }) });
    }
    const inputs: string[] = [];
    const { data } = launch.spec;
    for (const input of data?.inputs ?? []) inputs.push(await this.#input(input, { launch, artifacts }, bring));
    const spec = data?.inputs === undefined ? launch.spec : { ...launch.spec, data: { ...data, inputs } };
    return { launch: { ...launch, spec, ...(launch.artifacts === undefined ? {} : { artifacts }) }, staged };
  }

  async #input(
    input: string,
    { launch, artifacts }: { readonly launch: LaunchGang; readonly artifacts: readonly LaunchArtifact[] },
    bring: (input: Input) => Promise<string>,
  ): Promise<string> {
    const ref = parseArtifactRef(input);
    if (ref !== null) return artifacts.find(({ name }) => name === artifactTitle(ref))?.path ?? input;
    this.#refuseAccess(launch, input, null);
    return this.#isStaged(input) ? bring({ uri: input, name: input, digest: null }) : pathOf(input);
  }

  /** The rights of the workload's team, and the rule of bytes that have none of their own. */
  #refuseAccess(launch: LaunchGang, uri: string, artifact: LaunchArtifact | null, isOwn = false): void {
    const refusal = accessRefusal(this.#source.stores, launch, uri, artifact, isOwn);
    if (refusal === null) return;
    throw new StagingFailure(`${artifact?.version ?? uri} could not be staged. ${refusal}`, "inputs");
  }

  /**
   * The URI from which the artifact is staged; `null`: it is where workers see it, or in no declared store. A path that
   * workers may not see is used if nothing can be staged.
   */
  #placeOf(artifact: LaunchArtifact, launch: LaunchGang): { readonly here: string; readonly uri: string | null } {
    const { path: at, places = [], nearest = [] } = artifact;
    const all = [at, ...places];
    const here = all.find((uri) => !this.#isStaged(uri) && path.isAbsolute(pathOf(uri)) && existsSync(pathOf(uri)));
    const staged = [...nearest, ...all].filter((each) => this.#isStaged(each));
    // A store that is nearer and not open to the team does not keep the work from the others.
    const open = staged.find((each) => accessRefusal(this.#source.stores, launch, each, artifact) === null);
    const uri = open ?? staged[0] ?? null;
    const { isSeen } = this.#source;
    if (here !== undefined && (uri === null || isSeen === undefined || isSeen(pathOf(here))))
      return { here: pathOf(here), uri: null };
    return { here: pathOf(at), uri };
  }

  #isStaged(uri: string): boolean {
    const place = this.#source.stores.placeOf(uri);
    return place !== null && (place.declaration.type !== "shared" || place.declaration.cached);
  }

  async #bring(attemptId: AttemptId, { uri, name, digest }: Input, holder: string): Promise<string> {
    const running = this.#running.get(attemptId);
    const place = this.#source.stores.placeOf(uri);
    if (running === undefined || place === null) throw new Error(`${uri} is in no store any more`);
    const store = place.declaration.name;
    const sinceMs = Date.now();
    running.progress = { uri, store, bytes: 0, totalBytes: null, sinceMs };
    try {
      const open = await this.#source.stores.open(place.declaration);
      const { workloadId, nodeId } = running;
      const onTransferred = ({ bytes, tookMs, isFailed, isResumed }: TransferredBytes): void => {
        const moved = {
          kind: "bytesTransferred",
          direction: "in",
          workloadId,
          attemptId,
          store,
          uri,
          bytes,
          tookMs,
        } as const;
        this.#source.onTransferred?.({
          ...moved,
          ...(nodeId === undefined ? {} : { nodeId }),
          ...(isFailed ? { failed: true } : {}),
          ...(isResumed ? { resumed: true } : {}),
        });
      };
      const wanted = { ...open, key: place.key, uri, digest, parallel: PARALLEL, onTransferred };
      const onStaged = (staged: { readonly bytes: number; readonly totalBytes: number | null }): void => {
        running.progress = { uri, store, sinceMs, ...staged };
      };
      return await this.#source.cache.obtain(wanted, holder, { signal: running.stop.signal, onStaged });
    } catch (error) {
      throw failureOf(error, name);
    } finally {
      running.progress = null;
    }
  }
}

/** Why an attempt has no inputs. */
export class StagingFailure extends Error {
  override readonly name = "StagingFailure";
  /** `null`: the attempt was stopped, or the control plane ends. */
  readonly lossCause: LossCause | null;

  constructor(message: string, lossCause: LossCause | null) {
    super(message);
    this.lossCause = lossCause;
  }
}

/** Faults of the inputs themselves; all others are those of a store. */
const OF_INPUTS: ReadonlySet<string> = new Set(["objectMissing", "badObject", "wrongDigest"]);

function failureOf(error: unknown, name: string): StagingFailure {
  if (error instanceof StagingFailure) return error;
  if (error instanceof OperationalError && error.code === "closing") return new StagingFailure(error.message, null);
  const message = error instanceof Error ? error.message : String(error);
  const cause = error instanceof OperationalError && OF_INPUTS.has(error.code) ? "inputs" : "store";
  return new StagingFailure(`${name} could not be staged. ${message}`, cause);
}

function refuseAs(refusal: string | null): void {
  if (refusal !== null) throw new StagingFailure(refusal, "inputs");
}

/** A `file://` URI as a path; others as they are. */
function pathOf(uri: string): string {
  if (!uri.startsWith("file:///")) return uri;
  try {
    return fileURLToPath(uri);
  } catch {
    return uri;
  }
}
