/** `headroom bench`: a reproducible benchmark of gateways with its own load generator and mock upstream. */
export { cases } from "./cases.ts";
export { measureLevel, type LevelResult } from "./endpoint/measure-endpoint.ts";
export { isOver, levelsFor, proposedTargets, type Proposal } from "./endpoint/propose-targets.ts";
export { runBenchmark } from "./run-benchmark.ts";
export { htmlReport } from "./report/html.ts";
export { isFailed, rowsOf } from "./report/report.ts";
export { textReport } from "./report/text.ts";
export { isTargetName, targetNames } from "./targets/targets.ts";
