/** Names of segments of usage files: `usage-<first sequence number>-<process number>.jsonl`. */
import { readdirSync } from "node:fs";

export interface Segment {
  readonly name: string;
  readonly firstSeq: number;
  readonly life: number;
}

const pattern = /^usage-(\d{16})-(\d{8})\.jsonl$/;

export function segmentName(firstSeq: number, life: number): string {
  return `usage-${String(firstSeq).padStart(16, "0")}-${String(life).padStart(8, "0")}.jsonl`;
}

/** The segments in the order in which they were written. */
export function segmentsOf(directory: string): readonly Segment[] {
  return readdirSync(directory)
    .flatMap((name) => {
      const match = pattern.exec(name);
      return match === null ? [] : [{ name, firstSeq: Number(match[1]), life: Number(match[2]) }];
    })
    .toSorted((a, b) => a.life - b.life || a.firstSeq - b.firstSeq);
}
