/**
 * Samples the fleet's capacity on a timer and saves the samples in a file of the state directory, so that a restart
 * does not lose the samples of the day.
 */
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import path from "node:path";
import { capacityHistory } from "@headroom/protocol";
import type { CapacityHistory, CapacitySample } from "@headroom/protocol";
import { CapacityRecorder } from "@headroom/views";
import type { DriverLog } from "../driver/driver-log.ts";
import type { Driver } from "../driver/driver.ts";

const FILE = "capacity-history.json";
/** Interval of the timer in ms. The recorder decides whether a sample is due. */
const LOOK_EVERY_MS = 60_000;

interface CapacityServiceOptions {
  readonly home: string;
  readonly driver: Driver;
  readonly log: DriverLog;
  readonly nowMs: () => number;
}

export class CapacityService {
  readonly #options: CapacityServiceOptions;
  readonly #recorder: CapacityRecorder;
  readonly #timer: NodeJS.Timeout;

  constructor(options: CapacityServiceOptions) {
    this.#options = options;
    this.#recorder = new CapacityRecorder(savedSamples(options.home));
    this.#timer = setInterval(() => void this.#sample(), LOOK_EVERY_MS);
    this.#timer.unref();
    void this.#sample();
  }

  get history(): CapacityHistory {
    return this.#recorder.history;
  }

  close(): void {
    clearInterval(this.#timer);
  }

  async #sample(): Promise<void> {
    const { driver, home, log, nowMs } = this.#options;
    try {
      const isNew = await driver.read((engine) => this.#recorder.sampleIfDue(engine, nowMs()));
      if (isNew) save(home, this.#recorder.history);
    } catch (error) {
      // A failed save must not fail the control plane; the next sample tries again.
      log.warn(`The capacity history was not saved: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
}

/**
 * Samples of an earlier process. If the file is missing or unreadable, the list is empty and the history begins now.
 */
function savedSamples(home: string): readonly CapacitySample[] {
  try {
    return capacityHistory.parse(JSON.parse(readFileSync(path.join(home, FILE), "utf8"))).samples;
  } catch {
    return [];
  }
}

function save(home: string, history: CapacityHistory): void {
  const file = path.join(home, FILE);
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, JSON.stringify(history), { mode: 0o600 });
  renameSync(draft, file);
}
