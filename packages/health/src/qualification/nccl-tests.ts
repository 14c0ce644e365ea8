/** Text output of nccl-tests and rccl-tests: `all_reduce_perf` and its siblings. */
import type { Measurement } from "./measurement.ts";
import { nodeOfPath } from "./node-name.ts";

const rankPattern = /^#\s+Rank\s+\d+\s+(?:Group\s+\d+\s+)?Pid\s+\d+\s+on\s+(\S+)\s+device\s+\d+/;
/** Size, count, type, operation and root, then time, two bandwidths and errors, out of place and in place. */
const rowPattern =
  /^\s*(\d+)\s+\d+\s+[a-z]\w*\s+\S+(?:\s+-?\d+)?\s+([\d.]+)\s+([\d.]+)\s+([\d.]+)\s+(\S+)(?:\s+([\d.]+)\s+([\d.]+)\s+([\d.]+)\s+(\S+))?\s*$/;
const testPattern =
  /\b((?:all_reduce|all_gather|reduce_scatter|alltoall|broadcast|sendrecv|reduce|gather|scatter|hypercube)_perf)\b/;
/** Hosts that the name of a node of a larger run lists. */
const HOSTS_SHOWN_MAX = 64;

export function isNcclTests(text: string): boolean {
  return /^#\s+(?:nThread \d+ nGpus|Rank\s+\d+\s)/m.test(text) || /^#\s*Avg bus bandwidth/m.test(text);
}

/** A row for the average bus bandwidth and one for that of the largest message. */
export function readNcclTests(text: string, path: string): readonly Measurement[] {
  const hosts = new Set<string>();
  let largest: { readonly size: number; readonly busbw: number } | null = null;
  let average: number | null = null;
  let wrong = 0;
  for (const line of text.split("\n")) {
    const host = rankPattern.exec(line)?.[1];
    if (host !== undefined) hosts.add(host);
    const row = rowPattern.exec(line);
    if (row !== null) {
      const size = Number(row[1]);
      const busbw = Math.max(Number(row[4]), Number(row[8] ?? 0));
      if (largest === null || size >= largest.size) largest = { size, busbw };
      for (const errors of [row[5], row[9]]) if (Number(errors) > 0) wrong += Number(errors);
    }
    const found = /^#\s*Avg bus bandwidth\s*:\s*([\d.]+)/.exec(line)?.[1];
    if (found !== undefined) average = Number(found);
    if (/^#\s*Out of bounds values\s*:\s*[1-9]\d*|^#\s*Out of bounds values\s*:.*FAILED/.test(line))
      wrong = Math.max(1, wrong);
  }
  const names = [...hosts];
  const node = names.length === 0 ? nodeOfPath(path) : names.slice(0, HOSTS_SHOWN_MAX).join(",");
  const test = testPattern.exec(text)?.[1] ?? testOfPath(path);
  const common = {
    node,
    unit: "GB/s",
    verdict: wrong > 0 ? ("fail" as const) : null,
    source: "nccl-tests" as const,
    ...(wrong > 0 ? { detail: `${wrong} wrong values` } : {}),
  };
  return [
    ...(average === null ? [] : [{ ...common, test, value: average }]),
    ...(largest === null ? [] : [{ ...common, test: `${test}/busbw:${largest.size}`, value: largest.busbw }]),
  ];
}

function testOfPath(path: string): string {
  const name = /(all[-_]?reduce|all[-_]?gather|reduce[-_]?scatter|all[-_]?to[-_]?all|broadcast|sendrecv)/i.exec(
    path,
  )?.[1];
  return name === undefined ? "nccl_perf" : `${name.toLowerCase().replaceAll("-", "_")}_perf`;
}
