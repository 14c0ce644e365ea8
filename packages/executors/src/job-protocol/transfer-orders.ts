/**
 * Uploads that the control plane owes to attempts, one file each in its own directory: a job of the same user could forge the
 * launch record in the shared directory, with paths of this machine or the store of another team.
 */
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { WorkloadId } from "@headroom/model";
import { syncPath } from "@headroom/platform";
import type { DrainRecord } from "./drain-record.ts";
import type { UploadRecord } from "./upload-record.ts";

export interface TransferOrder {
  readonly workloadId: WorkloadId;
  readonly workingDir: string;
  readonly checkpointDir: string;
  /** Absent: what the work makes stays where it is. */
  readonly upload?: UploadRecord;
  /** Absent: its checkpoints stay where they are. */
  readonly drain?: DrainRecord;
}

export class TransferOrders {
  readonly #dir: string;
  readonly #known = new Map<string, TransferOrder | null>();

  constructor(dir: string) {
    this.#dir = dir;
    mkdirSync(dir, { recursive: true, mode: 0o700 });
  }

  /** On the disk when it returns. */
  save(name: string, order: TransferOrder): void {
    const target = this.#fileOf(name);
    writeFileSync(`${target}.new`, JSON.stringify(order), { mode: 0o600 });
    syncPath(`${target}.new`);
    renameSync(`${target}.new`, target);
    syncPath(this.#dir);
    this.#known.set(name, order);
  }

  /** `null`: nothing of the attempt is uploaded. */
  of(name: string): TransferOrder | null {
    const known = this.#known.get(name);
    if (known !== undefined) return known;
    const order = this.#read(name);
    this.#known.set(name, order);
    return order;
  }

  drop(name: string): void {
    this.#known.delete(name);
    rmSync(this.#fileOf(name), { force: true });
  }

  #read(name: string): TransferOrder | null {
    try {
      return JSON.parse(readFileSync(this.#fileOf(name), "utf8")) as TransferOrder;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
      throw error;
    }
  }

  #fileOf(name: string): string {
    return path.join(this.#dir, `${name}.json`);
  }
}
