/**
 * Brings the artifacts of a successful attempt to the store that its workload names, before its end is reported. The key
 * contains the digest, so a repeated upload writes the same bytes to the same place.
 */
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArtifactRef } from "@headroom/model";
import type { AttemptId, ReportedArtifact, WorkloadId } from "@headroom/model";
import { OperationalError, unlessAborted } from "@headroom/platform";
import { abandonLeft, mayWrite, prefixOf, removeContent, rootOf, upload, uploadedKey } from "@headroom/stores";
import type { PlaceDeclaration, StoreSet } from "@headroom/stores";
import { RealPaths } from "./real-paths.ts";
import type { AttemptTransfer } from "./input-staging.ts";
import { readableIn } from "./attempt-roots.ts";
import type { AttemptPlaces } from "./attempt-roots.ts";
import { sourceRefusal } from "./source-rules.ts";
import type { UploadRecord } from "./upload-record.ts";

/** Requests of one upload at the same time; the store bounds those of all together. */
const PARALLEL = 4;
/** A store that does not answer is tried again until the time of the upload is over. */
const PAUSE_MS = 10_000;
/** Time in which an upload abandons what it began, after its own time is over. */
const LEAVE_MS = 30_000;
/** Bytes of failed tries that a killed control plane can leave unreported. */
const FAILED_BYTES_MAX = 64 * 1024 * 1024;

/** The attempt for which bytes are sent. */
export interface UploadOwner {
  readonly workloadId: WorkloadId;
  readonly attemptId: AttemptId;
}

export class OutputUpload {
  readonly #stores: StoreSet;
  readonly #notesDir: string;
  readonly #paths = new RealPaths();
  /** Stores whose interrupted writings were abandoned by this process. */
  readonly #cleared = new Map<string, Promise<void>>();

  readonly #onTransferred: (moved: AttemptTransfer) => void;
  readonly #failed: FailedTries;

  /** `onTransferred`: called when an upload has ended. */
  constructor(stores: StoreSet, notesDir: string, onTransferred: (moved: AttemptTransfer) => void = () => {}) {
    this.#onTransferred = onTransferred;
    this.#failed = new FailedTries((of, moved) => onTransferred({ ...transferOf(of, moved), failed: true }));
    this.#stores = stores;
    this.#notesDir = notesDir;
  }

  /** The artifact with its place in the store, or with the problem that keeps it from being registered. */
  async store(
    artifact: ReportedArtifact,
    to: UploadRecord,
    { places, signal, of }: { readonly places: AttemptPlaces; readonly signal: AbortSignal; readonly of?: UploadOwner },
  ): Promise<ReportedArtifact> {
    if (artifact.problem !== undefined) return artifact;
    for (;;)
      try {
        return {
          ...artifact,
          stored: await this.#stored(to, () =>
            unlessAborted(this.#upload(artifact, to, { places, signal, of }), signal, LEAVE_MS),
          ),
        };
      } catch (error) {
        const mayPass = error instanceof OperationalError && error.retryable;
        const reason = error instanceof Error ? error.message : String(error);
        const problem = `it was not uploaded to the store ${to.store}. ${reason}`;
        if (mayPass && (await hasTimeLeft(signal))) continue;
        this.#failed.end(keyOf(to, withinOf(artifact, to) ?? "", of));
        return { ...artifact, problem };
      }
  }

  /** Bytes without a rule get that of their store, as registrations do. */
  async #stored(to: UploadRecord, send: () => Promise<string>): Promise<NonNullable<ReportedArtifact["stored"]>> {
    const uri = await send();
    const [rule, ...others] = this.#stores.named(to.store)?.rules ?? [];
    const inherits = to.rule === undefined && rule !== undefined && others.length === 0;
    return { store: to.store, uri, ...(inherits ? { rule } : {}) };
  }

  async #upload(
    { name, path: target, digest, bytes }: ReportedArtifact,
    to: UploadRecord,
    from: { readonly places: AttemptPlaces; readonly signal: AbortSignal; readonly of: UploadOwner | undefined },
  ): Promise<string> {
    const within = withinOf({ name, digest }, to);
    if (digest === undefined || bytes === undefined || within === null) throw unreadable(target);
    return this.put({ path: target, digest, bytes }, to, { within, ...from });
  }

  /** Writes the content to a key of the store, and returns its URI. */
  async put(
    { path: target, digest, bytes }: UploadedContent,
    to: UploadRecord,
    {
      within,
      places,
      signal,
      of,
    }: {
      readonly within: string;
      readonly places: AttemptPlaces;
      readonly signal: AbortSignal;
      readonly of?: UploadOwner | undefined;
    },
  ): Promise<string> {
    const declaration = this.#admitting(to);
    const source = await readableIn(target, places);
    if (source === null) throw unreadable(target);
    const refusal = await sourceRefusal(this.#stores, { source, homeDir: places.homeDir, paths: this.#paths }, to);
    if (refusal !== null) throw new OperationalError("sourceForbidden", `${target} must not be read. ${refusal}`);
    const { store, turns } = await this.#stores.open(declaration);
    await this.#clear(to.store, store);
    const uri = `${rootOf(declaration)}${within}`;
    const around = this.#stores.placeOf(uri)?.declaration.name;
    if (around !== to.store) throw otherStore(uri, around);
    const key = `${prefixOf(declaration)}${within}`;
    let sent = 0;
    const onBytes = (more: number): void => void (sent += more);
    const { uploadMemory: memory } = this.#stores;
    const transfer = { store, turns, memory, holder: {}, uri, parallel: PARALLEL, signal, onBytes };
    const sinceMs = performance.now();
    const moved = (): MovedBytes => ({ store: to.store, uri, bytes: sent, tookMs: performance.now() - sinceMs });
    try {
      await upload(transfer, source, { key, expected: { digest, bytes }, notesDir: this.#notesOf(to.store) });
    } catch (error) {
      if (of !== undefined) this.#failed.add(keyOf(to, within, of), of, moved());
      throw error;
    }
    this.#failed.end(keyOf(to, within, of));
    if (of !== undefined && sent > 0) this.#onTransferred(transferOf(of, moved()));
    return uri;
  }

  /** Removes what an upload left that will not be completed. */
  async remove(to: UploadRecord, within: string, signal: AbortSignal): Promise<void> {
    this.#failed.end(keyOf(to, within));
    const declaration = this.#declared(to.store);
    const { store } = await this.#stores.open(declaration);
    await removeContent(store, `${prefixOf(declaration)}${within}`, signal);
  }

  #declared(name: string): PlaceDeclaration {
    const declaration = this.#stores.named(name);
    if (declaration === null)
      throw new OperationalError("unknownStore", `No store ${name} is declared (headroom store add).`);
    return declaration;
  }

  #admitting({ store: name, team, rule }: UploadRecord): PlaceDeclaration {
    const declaration = this.#declared(name);
    if (!mayWrite(declaration, team))
      throw new OperationalError(
        "notOpenToTeam",
        `The store does not let the team ${team} write. Name another store in data.store, or add the team to its writers.`,
      );
    if (rule !== undefined && !declaration.rules.includes(rule))
      throw new OperationalError(
        "ruleForbids",
        `The store does not admit the data rule ${rule}. Name another store in data.store, or add the rule to its rules.`,
      );
    return declaration;
  }

  #clear(name: string, store: Parameters<typeof abandonLeft>[0]): Promise<void> {
    const cleared =
      this.#cleared.get(name) ??
      abandonLeft(store, this.#notesOf(name)).catch(() => {
        this.#cleared.delete(name);
      });
    this.#cleared.set(name, cleared);
    return cleared;
  }

  #notesOf(store: string): string {
    return path.join(this.#notesDir, store);
  }
}

/** Names an upload of an attempt: others may send equal bytes. Absent: the key of the store names the attempt. */
const keyOf = ({ store }: UploadRecord, within: string, of?: UploadOwner): string =>
  within.startsWith("artifacts/checkpoint/") ? `${store}/${within}` : `${store}/${within} ${of?.attemptId ?? ""}`;

/** The key of an artifact within its store; `null`: it has no content. */
function withinOf(
  { name, digest }: { readonly name: string; readonly digest?: string | undefined },
  to: UploadRecord,
): string | null {
  const ref = parseArtifactRef(name);
  if (digest === undefined || ref === null) return null;
  return uploadedKey({ ...ref, team: to.team }, digest.slice("sha256:".length));
}

interface MovedBytes {
  readonly store: string;
  readonly uri: string;
  readonly bytes: number;
  readonly tookMs: number;
}

const transferOf = (of: UploadOwner, { store, uri, bytes, tookMs }: MovedBytes): AttemptTransfer => {
  return { kind: "bytesTransferred", direction: "out", store, uri, bytes, tookMs: Math.round(tookMs), ...of };
};

interface FailedSum extends MovedBytes {
  readonly of: UploadOwner;
  readonly tries: number;
}

/**
 * Bytes of tries that failed, which were sent too, by store and key. A store that refuses for an hour is tried hundreds of times, so the
 * sum is reported at the first, second, fourth, eighth … failure of an upload, at every 64 MiB, and at its end.
 */
class FailedTries {
  readonly #sums = new Map<string, FailedSum>();
  readonly #report: (of: UploadOwner, moved: MovedBytes) => void;

  constructor(report: (of: UploadOwner, moved: MovedBytes) => void) {
    this.#report = report;
  }

  add(upload: string, of: UploadOwner, moved: MovedBytes): void {
    const known = this.#sums.get(upload);
    const tries = (known?.tries ?? 0) + 1;
    const sum = {
      ...moved,
      of,
      tries,
      bytes: moved.bytes + (known?.bytes ?? 0),
      tookMs: moved.tookMs + (known?.tookMs ?? 0),
    };
    const isDue = sum.bytes >= FAILED_BYTES_MAX || Number.isInteger(Math.log2(tries));
    if (isDue && sum.bytes > 0) this.#report(of, sum);
    this.#sums.set(upload, isDue ? { ...sum, bytes: 0, tookMs: 0 } : sum);
  }

  end(upload: string): void {
    const sum = this.#sums.get(upload);
    this.#sums.delete(upload);
    if (sum !== undefined && sum.bytes > 0) this.#report(sum.of, sum);
  }
}

interface UploadedContent {
  readonly path: string;
  readonly digest: string;
  readonly bytes: number;
}

/** A store within the store has rights and rules of its own. */
const otherStore = (uri: string, name: string | undefined): OperationalError =>
  new OperationalError(
    "ruleForbids",
    `${uri} lies in the store ${name ?? "of nobody"}. Name that store, or one that contains no other.`,
  );

const unreadable = (target: string): OperationalError =>
  new OperationalError(
    "unreadableContent",
    `${target} is outside the working directory and the checkpoint directory, or was not read in time.`,
  );

/** Waits before the next try; false: the time of the upload is over. */
const hasTimeLeft = (signal: AbortSignal): Promise<boolean> => sleep(PAUSE_MS, true, { signal }).catch(() => false);
