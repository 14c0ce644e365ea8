/**
 * Measures the fairness of a start storm: 50 transfers of different sizes that begin at once, from an S3 server behind a proxy with
 * a bounded rate. The fair share of a transfer is its time under processor sharing (Kleinrock, "Queueing Systems" 2, 4.4): all
 * transfers that are left share the rate equally. 32 requests of one of them come from as many workers of the node. Prints how
 * many times their fair shares the transfers took, and how often the shared content was read. Option: `--transfers N` (50). A server of
 * another kind: `--endpoint URL --bucket NAME`, with AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.
 */
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { NodeCache, readStore, StoreSet } from "@headroom/stores";
import { SmallS3Server } from "@headroom/stores/testing";
import { PacedProxy } from "./paced-proxy.ts";

const MIB = 1_048_576;
const RATE_BYTES_S = 24 * MIB;
/** A sixty-fourth of the usual parts, as the contents are of usual ones. */
const PART_BYTES = MIB / 4;
const SIZES = [1, 16] as const;
const WORKERS = 32;
const { values } = parseArgs({
  options: {
    transfers: { type: "string", default: "50" },
    endpoint: { type: "string" },
    bucket: { type: "string", default: "lake" },
  },
});
const { bucket } = values;
const transfers = Number(values.transfers);

/** Times under processor sharing, in the order of `sizes`. */
function fairTimes(sizes: readonly number[], rateBytesMs: number): readonly number[] {
  const order = [...sizes.keys()].toSorted((left, right) => (sizes[left] ?? 0) - (sizes[right] ?? 0));
  const times: number[] = [];
  let [atMs, servedBytes] = [0, 0];
  for (const [rank, index] of order.entries()) {
    const size = sizes[index] ?? 0;
    atMs += ((size - servedBytes) * (sizes.length - rank)) / rateBytesMs;
    servedBytes = size;
    times[index] = atMs;
  }
  return times;
}

const dir = mkdtempSync(path.join(tmpdir(), "headroom-storm-"));
const server = new SmallS3Server();
const proxy = new PacedProxy(values.endpoint ?? (await server.listen()), RATE_BYTES_S);
const secrets = { accessKey: "env:AWS_ACCESS_KEY_ID", secretKey: "env:AWS_SECRET_ACCESS_KEY" };
const settings = { bucket, endpoint: await proxy.listen(), ...secrets };
const readSecret = (name: string): string => process.env[name.slice("env:".length)] ?? "secret";
const reading = readStore({ kind: "store", name: "lake", type: "s3", ...settings });
if (!reading.ok) throw new Error(JSON.stringify(reading.problems));
const { declaration } = reading;
const stores = new StoreSet({ declarations: () => [declaration], readSecret, partBytes: PART_BYTES });
const cache = new NodeCache({ dir: path.join(dir, "cache"), capacity: 1 << 30, bootId: "bench" });
await cache.report();
const sizes = Array.from({ length: transfers }, (_, index) =>
  Math.round(MIB * SIZES[0] * (SIZES[1] / SIZES[0]) ** (((index * 37) % transfers) / transfers)),
);
const contents = sizes.map((size, index) => Buffer.alloc(size, index));
const digests = contents.map((content) => `sha256:${createHash("sha256").update(content).digest("hex")}`);
for (const [index, content] of contents.entries())
  if (values.endpoint === undefined) server.objects.set(`d${index}`, content);
  else await put(`d${index}`, content);

/** Past the proxy, in one piece. */
async function put(key: string, content: Buffer): Promise<void> {
  const direct = readStore({ kind: "store", name: "direct", type: "s3", ...settings, endpoint: values.endpoint });
  if (!direct.ok) throw new Error(JSON.stringify(direct.problems));
  const set = new StoreSet({ declarations: () => [direct.declaration], readSecret });
  const place = set.placeOf(`s3://${bucket}/${key}`);
  if (place === null) throw new Error(`${key} is in no store`);
  const { signal } = new AbortController();
  const writing = await (await set.open(place.declaration)).store.write(key, content.length, signal);
  await writing.part(0, content, signal);
  await writing.complete(signal);
  await set.close();
}

async function bring(index: number, holder: string): Promise<number> {
  const uri = `s3://${bucket}/d${index}`;
  const place = stores.placeOf(uri);
  if (place === null) throw new Error(`${uri} is in no store`);
  const open = await stores.open(place.declaration);
  const sinceMs = performance.now();
  const watched = { signal: new AbortController().signal, onStaged: () => {} };
  await cache.obtain({ ...open, key: place.key, uri, digest: digests[index] ?? null, parallel: 8 }, holder, watched);
  return performance.now() - sinceMs;
}

const beganMs = performance.now();
const shared = Array.from({ length: WORKERS - 1 }, (_, worker) => bring(0, `worker ${worker}`));
const tookMs = await Promise.all(sizes.map((_, index) => bring(index, `job ${index}`)));
const wholeMs = performance.now() - beganMs;
await Promise.all(shared);
const total = sizes.reduce((sum, size) => sum + size, 0);
const fair = fairTimes(sizes, total / wholeMs);
const ratios = tookMs.map((ms, index) => ms / (fair[index] ?? 1)).toSorted((left, right) => left - right);
const at = (share: number): number => Math.round((ratios[Math.floor(share * (ratios.length - 1))] ?? 0) * 100) / 100;
const readsPerPart = proxy.readsOf(`/${bucket}/d0`) / Math.ceil((sizes[0] ?? 1) / PART_BYTES);
const record = {
  transfers,
  wholeMs: Math.round(wholeMs),
  medianOfFairShare: at(0.5),
  p90OfFairShare: at(0.9),
  worstOfFairShare: at(1),
  readsPerPart,
};
process.stdout.write(`${JSON.stringify(record)}\n`);
await cache.close();
await stores.close();
await server.close();
proxy.close();
rmSync(dir, { recursive: true });
