import { getCompileCacheDir } from "node:module";
import path from "node:path";
import { Worker } from "node:worker_threads";

/**
 * Starts a thread with the module at `url`. The thread gets the compile cache of the process, which threads do not use
 * by default. `heapMibMax`: maximum heap in MiB, beyond which the thread ends with an error; absent: that of the process.
 */
export function startThread(url: URL, data: unknown, heapMibMax?: number): Worker {
  const cache = getCompileCacheDir();
  // Node reports the cache directory of its version, but the variable names the directory above.
  const env = cache === undefined ? process.env : { ...process.env, NODE_COMPILE_CACHE: path.dirname(cache) };
  const limits = heapMibMax === undefined ? {} : { resourceLimits: { maxOldGenerationSizeMb: heapMibMax } };
  return new Worker(url, { workerData: data, env, ...limits });
}
