/**
 * Inputs whose bytes lie in the cache of a node, as executors report them. Placement prefers nodes that hold the inputs
 * of the work, because each missing byte has to be transferred before the start.
 */
import type { NodeId } from "./ids.ts";

export interface CachedInput {
  /** `s3://bucket/key` or `file:///path`, from which the bytes were read. */
  readonly uri: string;
  /** Digest with which the bytes were compared; `null`: the version had none, or the URI was named directly. */
  readonly digest: string | null;
  /** Size in MiB, rounded up. */
  readonly mib: number;
}

/** All cached inputs of a node. */
export interface NodeCacheReport {
  readonly nodeId: NodeId;
  readonly inputs: readonly CachedInput[];
}

/** Cached inputs of a node that the state keeps: the largest ones, since they decide the time of transfers. */
export const CACHED_INPUTS_MAX = 256;
/** Longest URI that is recorded; the limit of a place of an artifact. */
export const CACHED_URI_LENGTH_MAX = 2_048;

const MIB = 1_048_576;

/** The unit of sizes in the state, rounded up, so that no input is free. */
export const mibOf = (bytes: number): number => Math.ceil(bytes / MIB);

/** Key of an input in a cache: equal bytes that were read from two places count as two inputs. */
export const cachedKey = ({ uri, digest }: Pick<CachedInput, "uri" | "digest">): string =>
  digest === null ? uri : `${digest} ${uri}`;
