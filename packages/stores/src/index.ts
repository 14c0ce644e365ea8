/**
 * Stores of bytes, and the cache of a node. It knows nothing of workloads: executors say which content an attempt needs.
 *
 * - `registry/`: OCI registries and ModelPack manifests.
 * - `objects/`: declarations, the port `ObjectStore`, and its implementations (S3, folders, OCI repositories).
 * - `transfers/`: what lies behind a URI, downloads that are continued after a cut, uploads, fair turns.
 * - `cache/`: what a node has, bounded, kept over restarts.
 *
 * Start with `store-set.ts`. A name is never given to bytes that were not compared with the digest.
 */
export { NodeCache } from "./cache/node-cache.ts";
export type { CacheReport } from "./cache/node-cache.ts";
export type { TransferredBytes, StagedBytes } from "./cache/flights.ts";
export { prefixOf, readStore, rootOf, storeConflict, storeDeclaration } from "./objects/store-declaration.ts";
export type { PlaceDeclaration, StoreDeclaration } from "./objects/store-declaration.ts";
export { overlaps } from "./objects/state-directory.ts";
export { isUploadOf, mayRead, mayWrite, uploadedKey } from "./objects/store-rights.ts";
export { contentRule, isBelow, outsideOf, readingRefusal, storeAround } from "./objects/store-access.ts";
export type { ReadAccess } from "./objects/store-access.ts";
export { ociUri, parseOciReference } from "./registry/oci-reference.ts";
export type { OciReference } from "./registry/oci-reference.ts";
export { pushModel } from "./registry/push-model.ts";
export { RegistryClient } from "./registry/registry-client.ts";
export { StoreSet } from "./store-set.ts";
export { listFiles } from "./transfers/list-files.ts";
export { pullModel } from "./transfers/pull-model.ts";
export { removeContent } from "./transfers/remove-content.ts";
export { abandonLeft, upload } from "./transfers/upload.ts";
