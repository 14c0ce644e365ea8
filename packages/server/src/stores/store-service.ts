/**
 * The declared stores of a control plane: `stores.yaml` in the state directory, and the connections of executors. A change
 * applies to transfers that begin afterwards.
 */
import { siteName } from "@headroom/model";
import type { StoreSpec } from "@headroom/model";
import { overlaps, readStore, rootOf, storeConflict, StoreSet } from "@headroom/stores";
import type { StoreDeclaration } from "@headroom/stores";
import type { DriverLog } from "../driver/driver-log.ts";
import type { Driver } from "../driver/driver.ts";
import { FileTriggers } from "./file-triggers.ts";
import { CheckpointPruner } from "./checkpoint-pruner.ts";
import { readDocuments, writeDocuments } from "../declarations/document-file.ts";
import { readSecret } from "../executors/secret-references.ts";

const FILE = "stores.yaml";
const HEADER = "# Stores of this control plane. `headroom store add` and `remove` write this file.\n";

export class StoreService {
  readonly #home: string;
  readonly stores: StoreSet;
  #declarations: readonly StoreDeclaration[];
  /** Reports the stores to the engine. */
  #tell: () => void = () => {};

  /** Throws `invalidStores` with every problem of the file. */
  constructor(home: string) {
    this.#home = home;
    this.#declarations = readStoreFile(home);
    this.stores = new StoreSet({ declarations: () => this.#declarations, readSecret, stateDir: home });
  }

  list(): readonly StoreDeclaration[] {
    return this.#declarations;
  }

  /** The reason for which a folder is no store: it has the records and secrets of this control plane. */
  stateConflict(declaration: StoreDeclaration): string | null {
    if (declaration.type !== "shared" || !overlaps(declaration.path, this.#home)) return null;
    return `${declaration.path} contains the state directory ${this.#home}, or lies in it. Name a folder beside it.`;
  }

  declare(declaration: StoreDeclaration): "created" | "changed" | "unchanged" {
    const known = this.#declarations.find(({ name }) => name === declaration.name);
    if (JSON.stringify(known) === JSON.stringify(declaration)) return "unchanged";
    this.#replace([...this.#declarations.filter(({ name }) => name !== declaration.name), declaration]);
    return known === undefined ? "created" : "changed";
  }

  /** False: there is no such store. */
  remove(name: string): boolean {
    const left = this.#declarations.filter((each) => each.name !== name);
    if (left.length === this.#declarations.length) return false;
    this.#replace(left);
    return true;
  }

  /** Reports the stores to the engine, removes checkpoints that the rules of workloads drop, and starts pipelines for new files. Returns how to end it. */
  begin(driver: Pick<Driver, "read" | "command" | "observe">, log: DriverLog): () => void {
    this.#tell = () => void driver.observe({ kind: "storesSeen", stores: this.#declarations.flatMap(storeSpec) });
    this.#tell();
    const services = [
      new CheckpointPruner({ driver, log, stores: this.stores }),
      new FileTriggers({ driver, log, stores: this.stores, home: this.#home }),
    ];
    for (const service of services) service.start();
    return () => {
      this.#tell = () => {};
      for (const service of services) void service.close();
    };
  }

  close(): Promise<void> {
    return this.stores.close();
  }

  /** The file comes first: a change that was answered survives a crash. */
  #replace(declarations: readonly StoreDeclaration[]): void {
    writeDocuments({ home: this.#home, name: FILE }, HEADER, declarations);
    this.#declarations = declarations;
    this.#tell();
  }
}

const KIB_PER_MIB = 1_024;
const MICRO = 1_000_000;

/** The store as the engine knows it. The cache of a node is no place of artifacts. */
function storeSpec(declaration: StoreDeclaration): readonly StoreSpec[] {
  if (declaration.type === "local") return [];
  const { name, site, throughput, egressPerGib } = declaration;
  const isInPlace = declaration.type === "shared" && !declaration.cached;
  return [
    {
      name,
      root: rootOf(declaration),
      site: site === undefined ? null : siteName(site),
      ...(isInPlace ? { inPlace: true } : {}),
      ...(throughput === undefined ? {} : { kibPerS: Math.max(1, Math.round(throughput * KIB_PER_MIB)) }),
      ...(egressPerGib === undefined ? {} : { egressMicroUsdPerGib: Math.round(egressPerGib * MICRO) }),
    },
  ];
}

const readStoreFile = (home: string): readonly StoreDeclaration[] =>
  readDocuments<StoreDeclaration>({
    home,
    name: FILE,
    code: "invalidStores",
    read(value) {
      const reading = readStore(value);
      if (reading.ok) return { item: reading.declaration };
      return { problems: reading.problems.map((each) => `${each.path.join(".")}: ${each.message}`) };
    },
    problemsOf(items) {
      const names = items.map(({ name }) => name);
      const twice = names.find((name, index) => names.indexOf(name) !== index);
      const conflicts = items.flatMap((each, index) => storeConflict(items.slice(0, index), each) ?? []);
      return [...(twice === undefined ? [] : [`the store ${twice} is declared twice`]), ...conflicts];
    },
  });
