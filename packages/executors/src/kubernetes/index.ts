export { clusterManifest } from "./manifest.ts";
export type { ManifestOptions } from "./manifest.ts";
