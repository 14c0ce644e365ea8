/** A thread of `forecast.ts`: reads and scores its share of the files. */
import { parentPort, workerData } from "node:worker_threads";
import { scoreSeries, type Scored } from "./forecast-score.ts";
import { readSeries } from "./forecast-series.ts";
import { InputError } from "./input-error.ts";

export interface WorkerShare {
  readonly folder: string;
  readonly files: readonly string[];
}

export type WorkerAnswer =
  | { readonly kind: "scored"; readonly series: readonly { scored: readonly Scored[]; lines: readonly string[] }[] }
  | { readonly kind: "refused"; readonly message: string };

function answer({ folder, files }: WorkerShare): WorkerAnswer {
  try {
    const series = files.map((file) => {
      const lines: string[] = [];
      return { scored: scoreSeries(readSeries(folder, file), lines), lines };
    });
    return { kind: "scored", series };
  } catch (error) {
    if (error instanceof InputError) return { kind: "refused", message: error.message };
    throw error;
  }
}

parentPort?.postMessage(answer(workerData as WorkerShare));
