import type { StorageTier } from "./axes.ts";

/** Storage of publicly described clusters, for comparison with a demand. Axes that were not published are absent. */
export const publishedTiers: readonly StorageTier[] = [
  {
    name: "tectonic-llama3",
    capacityBytes: 240e15,
    readGbPerS: 2000,
    writeGbPerS: 2000,
    source: "The Llama 3 Herd of Models §3.3.1: 240 PB on 7,500 servers, 2 TB/s sustained (7 TB/s peak)",
  },
  {
    name: "jean-zay-gpfs",
    writeGbPerS: 123,
    source: "bigscience-workshop/bigscience experiments/gpt2.md: 2.4 TB saved from 64 nodes in 19.5 s",
  },
  {
    name: "skt-b200",
    readGbPerS: 700,
    writeGbPerS: 250,
    source: "arXiv 2605.09370: 504 B200 on 700 GB/s read, 250 GB/s write",
  },
];

export function findTier(name: string): StorageTier | undefined {
  return publishedTiers.find((tier) => tier.name === name);
}
