/** Manifests of Kubernetes. The room is exported on its own (`@headroom/spec/kubernetes`), so that other commands do not load it. */
export { isManifest, readKubernetesManifest, type ManifestReading } from "./read-kubernetes-manifest.ts";
export type { Manifest } from "./manifest-fields.ts";
