/** Power readings of a telemetry store for reports of energy. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { acceleratorSubject } from "@headroom/views";
import { expect, it } from "vitest";
import { openPowerReadings } from "./power-readings.ts";
import { SERIES_SCHEMA, SeriesRows } from "./series-rows.ts";

const MINUTE_MS = 60_000;
const START_MS = 1_000 * MINUTE_MS;

it("covers no time twice when the clock was set back", () => {
  const home = mkdtempSync(path.join(tmpdir(), "headroom-power-"));
  const database = new DatabaseSync(path.join(home, "telemetry.db"));
  database.exec(SERIES_SCHEMA);
  const rows = new SeriesRows();
  const subject = acceleratorSubject("n1", 0);
  for (const minute of [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 5, 6, 7, 8, 9, 10, 11, 12])
    rows.add([{ subject, atMs: START_MS + minute * MINUTE_MS, values: { powerMilliwatts: 400_000 } }]);
  rows.flush(database, { nowMs: START_MS, all: true, max: 1 });
  database.close();
  const { meter, close } = openPowerReadings(home, 0);
  const range = { fromMs: START_MS, toMs: START_MS + 12 * MINUTE_MS };
  expect(meter?.mean("n1", "0", range)).toEqual({ kilowatts: 0.4, covered: 1 });
  close();
  rmSync(home, { recursive: true });
});
