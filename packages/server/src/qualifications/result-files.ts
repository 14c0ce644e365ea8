/** The newest result of the suite on each node, one file for each in the state directory: other nodes are compared with them. */
import { createHash } from "node:crypto";
import { mkdir, readFile, readdir, rename, rm, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import { isOfBasis, type Measurement } from "@headroom/health";
import type { QualificationSuite } from "@headroom/model";

const FOLDER = "qualification-results";
const MEASUREMENTS_MAX = 2_000;
const FILE_BYTES_MAX = 4 << 20;
/** Nodes with which one is compared. A median needs no more. */
const PEERS_MAX = 32;
/** Names of nodes can be too long for names of files, so these are digests. */
const NAME_CHARS = 32;

export interface StoredResult {
  readonly node: string;
  readonly pool: string;
  readonly suite: QualificationSuite;
  readonly atMs: number;
  readonly durationMs: number;
  readonly isPassed: boolean;
  readonly detail: string;
  readonly measurements: readonly Measurement[];
  /** `basisOf` the suite. Absent: an earlier build stored it. */
  readonly basis?: string;
}

/** One run of a suite, without its measurements. */
export type RunSummary = Pick<StoredResult, "suite" | "atMs" | "durationMs" | "isPassed" | "detail">;

/** Runs of each node that are kept. */
const HISTORY_MAX = 20;

/** A file; earlier versions wrote the result alone. */
interface StoredNode {
  readonly node: string;
  /** `null`: no run of the node had a result yet. */
  readonly result: StoredResult | null;
  /** The newest first. */
  readonly history: readonly RunSummary[];
}

export class ResultFiles {
  readonly #folder: string;
  readonly #known = new Map<string, StoredResult>();
  readonly #history = new Map<string, readonly RunSummary[]>();
  #reading: Promise<void> | null = null;

  constructor(home: string) {
    this.#folder = path.join(home, FOLDER);
  }

  /** Reads the files, once. An unreadable one counts as none: nodes are then compared with those that follow. */
  async read(nodes: ReadonlySet<string>): Promise<void> {
    this.#reading ??= this.#read(nodes);
    await this.#reading;
  }

  of(node: string): StoredResult | null {
    return this.#known.get(node) ?? null;
  }

  /** The newest runs of a node, the newest first. */
  historyOf(node: string): readonly RunSummary[] {
    return this.#history.get(node) ?? [];
  }

  /** Results with which nodes of the pool passed the suite. */
  passed(pool: string, suite: QualificationSuite): readonly StoredResult[] {
    return [...this.#known.values()].filter((each) => each.isPassed && each.pool === pool && each.suite === suite);
  }

  /** The newest results with which other nodes of the pool passed. */
  others(pool: string, suite: QualificationSuite, node: string): readonly StoredResult[] {
    const others = this.passed(pool, suite).filter((each) => each.node !== node);
    return others.toSorted((left, right) => right.atMs - left.atMs);
  }

  /** Those with which a result of the node is compared. */
  peers({
    pool,
    suite,
    node,
    basis,
  }: Pick<StoredResult, "pool" | "suite" | "node" | "basis">): readonly StoredResult[] {
    return this.others(pool, suite, node)
      .filter((each) => isOfBasis(each, basis))
      .slice(0, PEERS_MAX);
  }

  async keep(result: StoredResult): Promise<void> {
    const kept = { ...result, measurements: result.measurements.slice(0, MEASUREMENTS_MAX) };
    this.#known.set(result.node, kept);
    await this.note(result.node, result);
  }

  /** Adds a run to the history of a node. A run that is reported again after a crash is one entry. */
  async note(node: string, run: RunSummary): Promise<void> {
    const before = this.historyOf(node).filter((each) => each.atMs !== run.atMs);
    const history = [summaryOf(run), ...before].slice(0, HISTORY_MAX);
    this.#history.set(node, history);
    const stored: StoredNode = { node, result: this.of(node), history };
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    const file = this.#fileOf(node);
    await writeFile(`${file}.draft`, JSON.stringify(stored), { mode: 0o600 });
    await rename(`${file}.draft`, file);
  }

  /** Forgets nodes that have left the fleet. */
  async keepOnly(nodes: ReadonlySet<string>): Promise<void> {
    for (const node of this.#history.keys()) {
      if (nodes.has(node)) continue;
      this.#known.delete(node);
      this.#history.delete(node);
      await rm(this.#fileOf(node), { force: true });
    }
  }

  async #read(nodes: ReadonlySet<string>): Promise<void> {
    for (const name of await readdir(this.#folder).catch((): string[] => [])) {
      const file = path.join(this.#folder, name);
      try {
        if (!name.endsWith(".json") || (await stat(file)).size > FILE_BYTES_MAX) continue;
        const read = JSON.parse(await readFile(file, "utf8")) as StoredNode | StoredResult;
        const { node, result, history } =
          "measurements" in read ? { node: read.node, result: read, history: [summaryOf(read)] } : read;
        if (nodes.has(node)) {
          if (result !== null) this.#known.set(node, result);
          this.#history.set(node, history);
        } else await rm(file, { force: true });
      } catch {
        // The next result of the node replaces the file.
      }
    }
  }

  #fileOf(node: string): string {
    return path.join(this.#folder, `${createHash("sha256").update(node).digest("hex").slice(0, NAME_CHARS)}.json`);
  }
}

const summaryOf = ({ suite, atMs, durationMs, isPassed, detail }: RunSummary): RunSummary => ({
  suite,
  atMs,
  durationMs,
  isPassed,
  detail,
});
