import { readFileSync } from "node:fs";
import { PrefixIndex } from "../src/index.ts";
import type { PrefixBlocks } from "../src/index.ts";

export interface TraceRequest {
  readonly atMs: number;
  readonly promptTokens: number;
  readonly outputTokens: number;
  readonly prefix: PrefixBlocks;
}

const BLOCK_TOKENS = 512;

/** Reads a trace in Mooncake's format: a JSON line for each request, with the hashes of its prefix blocks. */
export function readTrace(file: string): TraceRequest[] {
  const lines = readFileSync(file, "utf8").trim().split("\n");
  return lines.map((line) => {
    const row = JSON.parse(line) as {
      timestamp: number;
      input_length: number;
      output_length: number;
      hash_ids: number[];
    };
    const endTokens = Float64Array.from(row.hash_ids, (_, at) => Math.min((at + 1) * BLOCK_TOKENS, row.input_length));
    const prefix = { hashes: Float64Array.from(row.hash_ids), endTokens, count: row.hash_ids.length };
    const outputTokens = Math.max(row.output_length, 1);
    return { atMs: row.timestamp, promptTokens: row.input_length, outputTokens, prefix };
  });
}

/**
 * Share of blocks that one LRU cache with `capacityBlocks` blocks would hit. A hit counts only if every earlier block
 * of the request was a hit.
 */
export function cacheHitShare(trace: readonly TraceRequest[], capacityBlocks: number): number {
  const index = new PrefixIndex(1 << 19, 1);
  index.setCapacity(0, capacityBlocks);
  const matched = new Float64Array(1);
  let hits = 0;
  let blocks = 0;
  for (const { prefix } of trace) {
    const unit = { ...prefix, endTokens: Float64Array.from(prefix.hashes, (_, at) => at + 1) };
    index.match(unit, matched);
    index.touch(0, unit);
    hits += matched[0] as number;
    blocks += prefix.count;
  }
  return hits / blocks;
}
