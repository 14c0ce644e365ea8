/**
 * Repositories of an OCI registry as a store: the files of an artifact are its objects. Work reads them; artifacts are pushed
 * with `headroom model push`. Keys are `NAME:TAG` or `NAME@sha256:DIGEST`, with the path of a file behind a slash.
 */
import type { FileHandle } from "node:fs/promises";
import { OperationalError } from "@headroom/platform";
import { missingObject } from "./object-store.ts";
import { writtenPieces } from "./written-pieces.ts";
import type { ByteRange, ObjectStore, ObjectWriting, StoredObject } from "./object-store.ts";
import { readModelPack } from "../registry/model-pack.ts";
import type { PackedModel } from "../registry/model-pack.ts";
import { ociUri, parseOciReference } from "../registry/oci-reference.ts";
import type { OciReference } from "../registry/oci-reference.ts";
import type { RegistryClient } from "../registry/registry-client.ts";

export class OciStore implements ObjectStore {
  readonly #client: RegistryClient;
  readonly #registry: string;
  readonly partBytes: number;
  readonly tagsAreDigests = true as const;

  constructor(client: RegistryClient, registry: string, partBytes: number) {
    this.#client = client;
    this.#registry = registry;
    this.partBytes = partBytes;
  }

  /** Only an artifact whose content is one file is an object by itself. */
  async head(key: string, signal: AbortSignal): Promise<StoredObject | null> {
    const reference = this.#reference(key);
    const model = reference === null ? null : await this.#model(reference, signal);
    const [file] = model?.files ?? [];
    return model?.isOneFile === true && file !== undefined ? { key, bytes: file.bytes, tag: file.digest } : null;
  }

  async *list(prefix: string, signal: AbortSignal): AsyncGenerator<readonly StoredObject[]> {
    const key = prefix.replace(/\/$/, "");
    const reference = this.#reference(key);
    const model = reference === null ? null : await this.#model(reference, signal);
    if (model !== null)
      yield model.files.map(({ name, bytes, digest }) => ({ key: `${key}/${name}`, bytes, tag: digest }));
  }

  copy(object: StoredObject, range: ByteRange, file: FileHandle, signal: AbortSignal): AsyncIterable<number> {
    const uri = `oci://${this.#registry}/${object.key}`;
    return writtenPieces(this.#read(object, range, signal), { uri, ...range }, file);
  }

  /** The tag of an object is the digest of its blob, so it cannot change while it is read. */
  async *#read(
    { key, tag }: StoredObject,
    { from, to }: ByteRange,
    signal: AbortSignal,
  ): AsyncGenerator<readonly Uint8Array[]> {
    if (to <= from) return;
    const reference = this.#reference(key) ?? this.#reference(artifactKey(key));
    if (reference === null) throw missingObject(`oci://${this.#registry}/${key}`);
    for await (const piece of this.#client.readBlob(reference.name, tag, { from, to, signal })) yield [piece];
  }

  write(): Promise<ObjectWriting> {
    return Promise.reject(this.#isReadOnly());
  }

  remove(): Promise<void> {
    return Promise.reject(this.#isReadOnly());
  }

  async abandon(): Promise<void> {}

  close(): void {}

  #reference(key: string): OciReference | null {
    return parseOciReference(`${this.#registry}/${key}`);
  }

  async #model(reference: OciReference, signal: AbortSignal): Promise<PackedModel | null> {
    const manifest = await this.#client.manifest(reference.name, reference.at, signal);
    return manifest === null ? null : readModelPack(manifest, ociUri(reference));
  }

  #isReadOnly(): OperationalError {
    return new OperationalError(
      "storeForbidden",
      `Work does not write to the registry ${this.#registry}. Name another store, and push the version with headroom model push.`,
    );
  }
}

/** The part of a key that names the artifact: up to the first slash behind its tag or digest. */
function artifactKey(key: string): string {
  const [, artifact = key] = /^([^:@]*[:@](?:sha256:)?[^/:@]*)\//.exec(key) ?? [];
  return artifact;
}
