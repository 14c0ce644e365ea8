/**
 * Removes the bytes of stored checkpoints that the rule of their workload has dropped. The place is marked as missing before its
 * bytes go, so that a version that is restored meanwhile never claims bytes that are gone; an interrupted removal is repeated.
 */
import { CHECKPOINT_RULE } from "@headroom/engine";
import type { ReadonlyState } from "@headroom/engine";
import { versionId } from "@headroom/model";
import type { Artifact, ArtifactName, ArtifactPlace } from "@headroom/model";
import { isUploadOf, prefixOf, removeContent } from "@headroom/stores";
import type { StoreSet } from "@headroom/stores";
import type { DriverLog } from "../driver/driver-log.ts";
import type { Driver } from "../driver/driver.ts";

const LOOK_MS = 15_000;
/** Removals of one look: each is a few requests of a store. */
const AT_ONCE_MAX = 100;
const REMOVAL_MS = 60_000;
const PRUNER = "checkpoint rule";

interface PrunerParts {
  readonly driver: Pick<Driver, "read" | "command">;
  readonly stores: StoreSet;
  readonly log: DriverLog;
  readonly lookMs?: number;
}

interface Dropped {
  readonly name: ArtifactName;
  readonly number: number;
  readonly place: ArtifactPlace;
}

export class CheckpointPruner {
  readonly #parts: PrunerParts;
  readonly #closing = new AbortController();
  /** Artifacts of which nothing is left to remove. Artifacts are replaced when they change, so equal ones are skipped. */
  readonly #done = new WeakSet<Artifact>();
  #timer: NodeJS.Timeout | null = null;
  #look: Promise<void> | null = null;

  constructor(parts: PrunerParts) {
    this.#parts = parts;
  }

  start(): void {
    this.#timer = setInterval(() => void this.look(), this.#parts.lookMs ?? LOOK_MS);
    this.#timer.unref();
  }

  async close(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#closing.abort(new Error("the control plane ends"));
    await this.#look;
  }

  /** One look at a time: a store can be slower than the interval. */
  look(): Promise<void> {
    this.#look ??= this.#lookOnce()
      .catch((error: unknown) => this.#warn(`Dropped checkpoints were not removed: ${messageOf(error)}`))
      .finally(() => (this.#look = null));
    return this.#look;
  }

  async #lookOnce(): Promise<void> {
    const dropped = await this.#parts.driver.read(({ state }) => this.#droppedIn(state));
    for (const each of dropped) {
      if (this.#closing.signal.aborted) return;
      await this.#remove(each).catch((error: unknown) => {
        this.#warn(`${each.place.uri} was not removed, and is tried again: ${messageOf(error)}`);
      });
    }
  }

  #droppedIn(state: ReadonlyState): readonly Dropped[] {
    const dropped: Dropped[] = [];
    for (const artifact of state.artifacts.values()) {
      if (artifact.kind !== "checkpoint" || this.#done.has(artifact)) continue;
      const found = droppedOf(state, artifact);
      if (found.length === 0) this.#done.add(artifact);
      dropped.push(...found);
      if (dropped.length >= AT_ONCE_MAX) break;
    }
    return dropped.slice(0, AT_ONCE_MAX);
  }

  async #remove({ name, number, place }: Dropped): Promise<void> {
    const { stores } = this.#parts;
    const found = stores.placeOf(place.uri);
    // A store whose declaration was removed keeps its bytes, as `headroom store remove` says.
    if (found === null) return;
    const { declaration, key } = found;
    const prefix = prefixOf(declaration);
    if (declaration.name !== place.store || !isUploadOf(key.slice(prefix.length), name)) return;
    if (place.state !== "missing" && !(await this.#change({ name, number, place: { ...place, state: "missing" } })))
      return;
    const { store } = await stores.open(declaration);
    const signal = AbortSignal.any([this.#closing.signal, AbortSignal.timeout(REMOVAL_MS)]);
    await removeContent(store, key.replace(/\/+$/, ""), signal);
    await this.#change({ name, number, place: { ...place, state: "missing" } }, true);
  }

  /** Requests that the end of the control plane cut are no problem. */
  #warn(message: string): void {
    if (!this.#closing.signal.aborted) this.#parts.log.warn(message);
  }

  /** False: the engine refused it, since the version is forgotten. */
  async #change({ name, number, place }: Dropped, removed?: true): Promise<boolean> {
    const { kind } = await this.#parts.driver.command({
      kind: "changeArtifact",
      artifact: name,
      change: { kind: "place", number, place, ...(removed === undefined ? {} : { removed }) },
      reason: "the checkpoint was dropped by the rule of its workload",
      actor: PRUNER,
      idempotencyKey: null,
    });
    return kind !== "rejected";
  }
}

function droppedOf(state: ReadonlyState, { kind, team, name, deletedNumbers = [] }: Artifact): readonly Dropped[] {
  return deletedNumbers.flatMap((number) => {
    const version = state.artifactVersions.get(versionId({ kind, team, name }, number));
    const { deleted, places = [] } = version ?? {};
    if (deleted === undefined || deleted.actor !== null || deleted.reason !== CHECKPOINT_RULE) return [];
    return places.map((place) => ({ name: { kind, team, name }, number, place }));
  });
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
