/** The thread that matches lines against one regular expression. */
import { parentPort, workerData } from "node:worker_threads";
import type { MatchThreadData } from "./line-matcher.ts";

const { source, flags } = workerData as MatchThreadData;
const pattern = new RegExp(source, flags);

parentPort?.postMessage([]);
parentPort?.on("message", (lines: readonly string[]) => {
  parentPort?.postMessage(lines.map((line) => pattern.exec(line)?.index ?? -1));
});
