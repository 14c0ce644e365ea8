export { clusterManifest } from "./manifest.ts";
export { readPastJobs } from "./past-jobs.ts";
export type { ManifestOptions } from "./manifest.ts";
