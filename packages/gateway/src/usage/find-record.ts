/** Finds the usage record of one request in the files of a gateway. The process number in the id names the files. */
import { createReadStream, statSync } from "node:fs";
import path from "node:path";
import { createInterface } from "node:readline";
import type { UsageRecord } from "./record.ts";
import { segmentsOf } from "./segments.ts";

/** The newest record of the request. Undefined if none is found in the newest `bytesMax` bytes of its process. */
export async function findUsageRecord(
  directory: string,
  id: string,
  bytesMax: number,
): Promise<UsageRecord | undefined> {
  const [, life] = /-(\d{1,8})-[0-9a-z]{1,12}$/.exec(id) ?? [];
  if (life === undefined) return undefined;
  const needle = `"id":${JSON.stringify(id)},`;
  let left = bytesMax;
  for (const segment of segmentsOf(directory).toReversed()) {
    if (segment.life !== Number(life)) continue;
    const file = path.join(directory, segment.name);
    left -= statSync(file).size;
    if (left < 0) return undefined;
    let found: UsageRecord | undefined;
    for await (const line of createInterface({ input: createReadStream(file), crlfDelay: Infinity })) {
      if (line.includes(needle)) found = JSON.parse(line) as UsageRecord;
    }
    if (found !== undefined) return found;
  }
  return undefined;
}
