/** The declared stores of a control plane: which one holds a URI, and its connection, opened with the first use. */
import { FileStore } from "./objects/file-store.ts";
import { OciStore } from "./objects/oci-store.ts";
import { RegistryClient } from "./registry/registry-client.ts";
import { PART_BYTES } from "./objects/object-store.ts";
import type { ObjectStore } from "./objects/object-store.ts";
import { RangeReader } from "./objects/range-reader.ts";
import { readingRefusal } from "./objects/store-access.ts";
import type { ReadAccess } from "./objects/store-access.ts";
import { prefixOf, rootOf } from "./objects/store-declaration.ts";
import type { PlaceDeclaration, StoreDeclaration } from "./objects/store-declaration.ts";
import { ByteBudget } from "./transfers/byte-budget.ts";
import { FairTurns } from "./transfers/fair-turns.ts";

/** Parts of 16 MiB of 64 uploads that send one each. Files of more than 150 GB have larger parts. */
const UPLOAD_BYTES_MAX = 1024 * 1024 * 1024;

export interface OpenStore {
  readonly declaration: PlaceDeclaration;
  readonly store: ObjectStore;
  /** Shared by all transfers of the store. */
  readonly turns: FairTurns;
}

export interface StorePlace {
  readonly declaration: PlaceDeclaration;
  /** Key of the object or directory in the store. */
  readonly key: string;
}

interface StoreSetSetup {
  readonly declarations: () => readonly StoreDeclaration[];
  readonly readSecret: (reference: string) => string;
  /** State directory of the control plane: no folder that overlaps it is read or written. */
  readonly stateDir?: string;
  /** Size of the parts of large objects; default 16 MiB. S3 wants at least 5 MiB. */
  readonly partBytes?: number;
}

interface Opened {
  /** The declaration as text: a replaced one is opened again. */
  readonly text: string;
  readonly store: Promise<OpenStore>;
}

export class StoreSet {
  readonly #setup: StoreSetSetup;
  readonly #opened = new Map<string, Opened>();
  readonly #reader = new RangeReader();
  /** Bounds the parts of all uploads, whatever their store and executor. */
  readonly uploadMemory = new ByteBudget(UPLOAD_BYTES_MAX);

  constructor(setup: StoreSetSetup) {
    this.#setup = setup;
  }

  get declarations(): readonly StoreDeclaration[] {
    return this.#setup.declarations();
  }

  named(name: string): PlaceDeclaration | null {
    return this.#places().find((each) => each.name === name) ?? null;
  }

  /** The store with the longest place that contains the URI; `null`: none does. */
  placeOf(uri: string): StorePlace | null {
    if (!isPlainUri(uri)) return null;
    const [found] = this.#places()
      .filter((each) => uri.startsWith(rootOf(each)) && uri.length > rootOf(each).length)
      .toSorted((left, right) => rootOf(right).length - rootOf(left).length);
    if (found === undefined) return null;
    return { declaration: found, key: `${prefixOf(found)}${uri.slice(rootOf(found).length)}` };
  }

  /** The reason for which work must not read the URI; `null`: it may. */
  readingRefusal(uri: string, access: ReadAccess): string | null {
    return readingRefusal(this.#places(), uri, access);
  }

  async open(declaration: PlaceDeclaration): Promise<OpenStore> {
    const text = JSON.stringify(declaration);
    const known = this.#opened.get(declaration.name);
    if (known?.text === text) return known.store;
    known?.store.then(({ store }) => store.close()).catch(() => {});
    const store = connect(declaration, this.#setup, this.#reader);
    this.#opened.set(declaration.name, { text, store });
    store.catch(() => this.#opened.delete(declaration.name));
    return store;
  }

  async close(): Promise<void> {
    for (const { store } of this.#opened.values()) await store.then((each) => each.store.close()).catch(() => {});
    this.#opened.clear();
    await this.#reader.close();
  }

  #places(): readonly PlaceDeclaration[] {
    return this.#setup.declarations().filter((each) => each.type !== "local");
  }
}

/** A path with `..` could name the bytes of another store, or none. */
const isPlainUri = (uri: string): boolean =>
  /^(?:s3|oci|file):\/\//.test(uri) && !uri.split("/").some((each) => each === ".." || each === ".");

async function connect(
  declaration: PlaceDeclaration,
  { readSecret, stateDir, partBytes = PART_BYTES }: StoreSetSetup,
  reader: RangeReader,
): Promise<OpenStore> {
  const turns = new FairTurns(declaration.concurrency);
  if (declaration.type === "shared")
    return { declaration, turns, store: new FileStore(declaration, partBytes, stateDir) };
  if (declaration.type === "oci")
    return { declaration, turns, store: openRegistry(declaration, readSecret, partBytes) };
  const { openS3Store } = await import("./objects/s3-store.ts");
  return { declaration, turns, store: await openS3Store(declaration, readSecret, { partBytes, reader }) };
}

function openRegistry(
  { registry, plainHttp, username, password }: PlaceDeclaration & { readonly type: "oci" },
  readSecret: (reference: string) => string,
  partBytes: number,
): ObjectStore {
  const credentials =
    username === undefined || password === undefined ? null : () => ({ username, password: readSecret(password) });
  return new OciStore(new RegistryClient({ registry, plainHttp, credentials }), registry, partBytes);
}
