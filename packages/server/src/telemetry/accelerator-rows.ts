/** Readings of accelerators in the telemetry store: one row for each accelerator, with its rolled-up series as text. */
import type { DatabaseSync } from "node:sqlite";
import type { AcceleratorHistory } from "@headroom/protocol";
import { AcceleratorSeries } from "@headroom/views";
import type { ReadingValues } from "@headroom/views";
import type { AcceleratorSample, ReadingsRequest } from "./telemetry-messages.ts";

export const ACCELERATOR_SCHEMA = `
  CREATE TABLE IF NOT EXISTS accelerators (
    position INTEGER PRIMARY KEY,
    node TEXT NOT NULL,
    accelerator INTEGER NOT NULL,
    newest_ms INTEGER NOT NULL,
    series TEXT NOT NULL,
    UNIQUE (node, accelerator)
  ) STRICT;
  CREATE INDEX IF NOT EXISTS accelerators_by_age ON accelerators (newest_ms);
`;
/** Time in ms for which readings are gathered before they are written, so that 20 readings go into a row at once. */
const WRITTEN_AFTER_MS = 300_000;
/** Maximum number of readings of one accelerator that wait for a slow disk. Older readings are dropped. */
const GATHERED_MAX = 80;
const NODE_ACCELERATORS_MAX = 1_024;

interface GatheredReadings {
  readonly node: string;
  readonly accelerator: number;
  readonly sinceMs: number;
  readonly samples: (readonly [atMs: number, values: ReadingValues])[];
}

export class AcceleratorRows {
  /**
   * Readings that are not written yet, by node and index; the accelerator whose first reading is oldest comes first.
   */
  readonly #gathered = new Map<string, GatheredReadings>();

  add(samples: readonly AcceleratorSample[]): void {
    for (const [node, accelerator, atMs, values] of samples) {
      const key = `${accelerator} ${node}`;
      const known = this.#gathered.get(key);
      if (known === undefined) this.#gathered.set(key, { node, accelerator, sinceMs: atMs, samples: [[atMs, values]] });
      else if (known.samples.push([atMs, values]) > GATHERED_MAX) known.samples.shift();
    }
  }

  /** Writes readings that were gathered long enough, at most `max` rows; `all`: writes all readings. */
  flush(
    database: DatabaseSync,
    { nowMs, all, max }: { readonly nowMs: number; readonly all: boolean; readonly max: number },
  ): void {
    const due: GatheredReadings[] = [];
    for (const gathered of this.#gathered.values()) {
      if (!all && (due.length >= max || nowMs - gathered.sinceMs < WRITTEN_AFTER_MS)) break;
      due.push(gathered);
    }
    if (due.length > 0) this.#write(database, due);
  }

  read(database: DatabaseSync, { node, ...range }: ReadingsRequest): readonly AcceleratorHistory[] {
    const own = [...this.#gathered.values()].filter((gathered) => gathered.node === node);
    if (own.length > 0) this.#write(database, own);
    return database
      .prepare("SELECT accelerator, series FROM accelerators WHERE node = ? ORDER BY accelerator LIMIT ?")
      .all(node, NODE_ACCELERATORS_MAX)
      .map((row) => AcceleratorSeries.fromText(String(row["series"])).view(Number(row["accelerator"]), range));
  }

  #write(database: DatabaseSync, due: readonly GatheredReadings[]): void {
    const find = database.prepare("SELECT series FROM accelerators WHERE node = ? AND accelerator = ?");
    const put = database.prepare(
      `INSERT INTO accelerators (node, accelerator, newest_ms, series) VALUES (?, ?, ?, ?)
       ON CONFLICT (node, accelerator) DO UPDATE SET newest_ms = excluded.newest_ms, series = excluded.series`,
    );
    database.exec("BEGIN");
    try {
      for (const { node, accelerator, samples } of due) {
        const row = find.get(node, accelerator);
        const series = row === undefined ? new AcceleratorSeries() : AcceleratorSeries.fromText(String(row["series"]));
        for (const [atMs, values] of samples) series.add(atMs, values);
        put.run(node, accelerator, samples.at(-1)?.[0] ?? 0, series.toText());
      }
      database.exec("COMMIT");
    } catch (error) {
      if (database.isTransaction) database.exec("ROLLBACK");
      throw error;
    }
    for (const { node, accelerator } of due) this.#gathered.delete(`${accelerator} ${node}`);
  }
}
