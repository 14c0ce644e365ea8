/**
 * Samples the fleet on a timer: its capacity, which is saved in a file of the state directory so that a restart does not lose the samples
 * of the day, and the amounts of all subjects, which go to the telemetry store.
 */
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import path from "node:path";
import { capacityHistory } from "@headroom/protocol";
import type { CapacityHistory, CapacitySample } from "@headroom/protocol";
import { CapacityRecorder, subjectSamples } from "@headroom/views";
import type { AcceleratorReadings } from "@headroom/views";
import type { DriverLog } from "../driver/driver-log.ts";
import type { Driver } from "../driver/driver.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";

const FILE = "capacity-history.json";
/** Interval of the timer in ms. The recorder of the capacity decides whether a sample is due. */
const LOOK_EVERY_MS = 60_000;

interface CapacityServiceOptions {
  readonly home: string;
  readonly driver: Driver;
  readonly telemetry: Pick<Telemetry, "recordSubjects">;
  readonly readings: AcceleratorReadings;
  readonly log: DriverLog;
  readonly nowMs: () => number;
  /** Interval of the timer in ms, for tests; default one minute. */
  readonly everyMs?: number | undefined;
}

export class CapacityService {
  readonly #options: CapacityServiceOptions;
  readonly #recorder: CapacityRecorder;
  readonly #timer: NodeJS.Timeout;

  constructor(options: CapacityServiceOptions) {
    this.#options = options;
    this.#recorder = new CapacityRecorder(savedSamples(options.home));
    this.#timer = setInterval(() => void this.#sample(), options.everyMs ?? LOOK_EVERY_MS);
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
    const { driver, home, log, nowMs, readings, telemetry } = this.#options;
    try {
      const { isNew, samples } = await driver.read((engine) => ({
        isNew: this.#recorder.sampleIfDue(engine, nowMs()),
        samples: subjectSamples(engine, readings, nowMs()),
      }));
      telemetry.recordSubjects(samples);
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
