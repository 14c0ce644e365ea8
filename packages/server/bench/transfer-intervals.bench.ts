/**
 * Measures how often the 80% interval of a transfer holds the time that the transfer takes: real transfers from an S3 server into
 * the cache of a node, through a proxy whose rate differs from transfer to transfer, and drifts. Before each transfer the engine
 * states its interval from the transfers before. Prints a record for each kind of noise. Option: `--transfers N` (200).
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { createEngine, transferBefore } from "@headroom/engine";
import type { Engine, ExpectedTransfer } from "@headroom/engine";
import { commandId, draw, nodeId, poolName, siteName, teamName } from "@headroom/model";
import type { AttemptId, Command, Input, WorkloadId, WorkloadSpec } from "@headroom/model";
import { NodeCache, readStore, StoreSet } from "@headroom/stores";
import type { TransferredBytes } from "@headroom/stores";
import { SmallS3Server } from "@headroom/stores/testing";
import { PacedProxy } from "./paced-proxy.ts";

/** Transfers before the first interval that counts. */
const LEARNT = 20;
const MIB = 1_048_576;
const RATE_BYTES_S = 96 * MIB;
const PART_BYTES = 4 * MIB;
/** MiB. Shorter transfers are no readings. */
const SIZES = { least: 16, most: 40 } as const;
const { values } = parseArgs({ options: { transfers: { type: "string", default: "200" } } });
const node = nodeId("n1");

const uniform = (sequence: number, purpose: string): number => (draw(1, sequence, purpose) + 0.5) / 2 ** 32;
/** Normally distributed (Box and Muller). */
const normal = (sequence: number, purpose: string): number =>
  Math.sqrt(-2 * Math.log(uniform(sequence, `${purpose} r`))) *
  Math.cos(2 * Math.PI * uniform(sequence, `${purpose} a`));

const asking = (id: string) => ({ commandId: commandId(id), actor: "bench", idempotencyKey: null });

function receive(engine: Engine, ...inputs: readonly Input[]): void {
  engine.receive(inputs, Date.now());
  engine.advance();
}

const specOf = (inputs: readonly string[]): WorkloadSpec => ({
  kind: "train",
  name: "reader",
  team: teamName("default"),
  run: "true",
  dir: null,
  env: {},
  gang: { workers: 1, accelerators: 1, coresMilli: 0, memoryMib: 0 },
  acceleratorTypes: [],
  priority: 0,
  walltimeMs: null,
  retries: { max: 0, backoffMs: 10_000, backoffMaxMs: 600_000 },
  graceTimeoutMs: 30_000,
  checkpointDir: null,
  data: { inputs },
});

/** An engine with a node, the store, and a workload for which bytes move. */
function engineWithStore(root: string): Engine {
  const engine = createEngine();
  const place = { site: siteName("dc"), pool: poolName("a") };
  const documents = {
    sites: [{ name: place.site, fabricLevels: ["leaf"] }],
    pools: [
      { name: place.pool, site: place.site, executor: "local", acceleratorType: "H100", priceMicroUsdPerHour: 0 },
    ],
  };
  const apply: Command = { ...asking("apply"), kind: "apply", ...documents, teams: [], workloads: [] };
  receive(
    engine,
    apply,
    {
      kind: "nodeSeen",
      node: {
        id: node,
        pool: place.pool,
        fabric: ["leaf"],
        acceleratorCount: 8,
        coresMilli: 64_000,
        memoryMib: 65_536,
      },
    },
    { kind: "storesSeen", stores: [{ name: "lake", root, site: null }] },
  );
  receive(engine, { ...asking("submit"), kind: "submitWorkload", spec: specOf([]) });
  return engine;
}

function expected(engine: Engine, name: string, uri: string, bytes: number): ExpectedTransfer | null {
  const artifact = {
    kind: "dataset" as const,
    team: teamName("default"),
    name,
    digest: null,
    bytes,
    inputs: [],
    places: [{ store: "lake", uri, state: "declared" as const }],
  };
  receive(engine, { ...asking(name), kind: "registerArtifact", artifact, aliases: [], reason: "" });
  return transferBefore(engine, specOf([`dataset:${name}`]), [node]);
}

interface Tally {
  early: number;
  within: number;
  late: number;
  readonly widths: number[];
}

/** The rate of a transfer: lognormal with a standard deviation of a half, or a drift of that size. */
function rateOf(noise: "independent" | "drifting", number: number, before: number): number {
  const step = normal(number, noise);
  return noise === "independent" ? step : 0.6 * before + Math.sqrt(1 - 0.36) * step;
}

async function measure(noise: "independent" | "drifting", transfers: number): Promise<void> {
  const dir = mkdtempSync(path.join(tmpdir(), "headroom-intervals-"));
  const server = new SmallS3Server();
  const proxy = new PacedProxy(await server.listen(), RATE_BYTES_S);
  const settings = { bucket: "lake", endpoint: await proxy.listen(), accessKey: "env:A", secretKey: "env:B" };
  const reading = readStore({ kind: "store", name: "lake", type: "s3", ...settings });
  if (!reading.ok) throw new Error(JSON.stringify(reading.problems));
  const { declaration } = reading;
  const stores = new StoreSet({ declarations: () => [declaration], readSecret: () => "secret", partBytes: PART_BYTES });
  const cache = new NodeCache({ dir: path.join(dir, "cache"), capacity: 1 << 30, bootId: "bench" });
  const engine = engineWithStore("s3://lake/");
  const tally: Tally = { early: 0, within: 0, late: 0, widths: [] };
  let level = 0;
  for (let number = 0; number < LEARNT + transfers; number++) {
    level = rateOf(noise, number, level);
    proxy.rateBytesS = RATE_BYTES_S * Math.exp(0.5 * level);
    const bytes = Math.round((SIZES.least + (SIZES.most - SIZES.least) * uniform(number, "size")) * MIB);
    const name = `d${noise.slice(0, 1)}${number}`;
    const uri = `s3://lake/${name}`;
    server.objects.set(name, Buffer.alloc(bytes, number));
    const times = expected(engine, name, uri, bytes)?.times ?? null;
    const moved = await bring({ stores, cache }, { uri, name });
    server.objects.delete(name);
    if (number >= LEARNT && times !== null) count(tally, times, moved.tookMs);
    const work = { workloadId: "w1" as WorkloadId, attemptId: "w1.1" as AttemptId };
    const { tookMs } = moved;
    receive(engine, {
      kind: "bytesTransferred",
      direction: "in",
      ...work,
      nodeId: node,
      store: "lake",
      uri,
      bytes: moved.bytes,
      tookMs,
    });
  }
  const of = tally.early + tally.within + tally.late;
  const share = (part: number): number => Math.round((1_000 * part) / of) / 10;
  const median = tally.widths.toSorted((left, right) => left - right)[of >> 1] ?? 0;
  process.stdout.write(
    `${JSON.stringify({ noise, transfers: of, withinPercent: share(tally.within), earlyPercent: share(tally.early), latePercent: share(tally.late), medianP90OverP10: Math.round(median * 100) / 100 })}\n`,
  );
  await cache.close();
  await stores.close();
  await server.close();
  proxy.close();
  rmSync(dir, { recursive: true });
}

async function bring(
  { stores, cache }: { readonly stores: StoreSet; readonly cache: NodeCache },
  { uri, name }: { readonly uri: string; readonly name: string },
): Promise<TransferredBytes> {
  const place = stores.placeOf(uri);
  if (place === null) throw new Error(`${uri} is in no store`);
  const open = await stores.open(place.declaration);
  let moved: TransferredBytes | null = null;
  const wanted = {
    ...open,
    key: place.key,
    uri,
    digest: null,
    parallel: 8,
    onTransferred: (each: TransferredBytes) => void (moved = each),
  };
  await cache.obtain(wanted, name, { signal: new AbortController().signal, onStaged: () => {} });
  cache.release(name);
  if (moved === null) throw new Error(`${uri} was not transferred`);
  return moved;
}

function count(tally: Tally, { p10Ms, p90Ms }: NonNullable<ExpectedTransfer["times"]>, tookMs: number): void {
  if (tookMs < p10Ms) tally.early++;
  else if (tookMs > p90Ms) tally.late++;
  else tally.within++;
  tally.widths.push(p90Ms / Math.max(1, p10Ms));
}

for (const noise of ["independent", "drifting"] as const) await measure(noise, Number(values.transfers));
