import { getCompileCacheDir } from "node:module";
import path from "node:path";
import { Worker } from "node:worker_threads";

/** A thread that runs the module at `url`. It loads from the process's compile cache, which threads do not use by themselves. */
export function startThread(url: URL, data: unknown): Worker {
  const cache = getCompileCacheDir();
  // What is told is the directory of this version of Node, what is asked for the one above.
  const env = cache === undefined ? process.env : { ...process.env, NODE_COMPILE_CACHE: path.dirname(cache) };
  return new Worker(url, { workerData: data, env });
}
