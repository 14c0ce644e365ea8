/**
 * Measures the cold load of one object from an S3 server to an empty folder: the cache of a node, with the digest check and without
 * it, beside those of `rclone`, `s3cmd` and `aws s3 cp` that are installed. Prints a record for each, in turns, with the best of
 * `--rounds` (2), and the ratio to the best client. Fails below 0.8. Options: `--mib N` (2,048), `--target DIR`. A server of
 * another kind: `--endpoint URL --bucket NAME --key KEY`, with AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.
 */
import { execFile, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { parseArgs, promisify } from "node:util";
import { contentDigest } from "@headroom/platform";
import { NodeCache, readStore, StoreSet } from "@headroom/stores";

const run = promisify(execFile);
const MIB = 1_048_576;
const BAR = 0.8;
const PARALLEL = 8;
const { values } = parseArgs({
  options: {
    mib: { type: "string", default: "2048" },
    rounds: { type: "string", default: "2" },
    target: { type: "string", default: tmpdir() },
    endpoint: { type: "string" },
    bucket: { type: "string", default: "lake" },
    key: { type: "string", default: "big" },
  },
});
const { bucket, key } = values;
const env = {
  ...process.env,
  AWS_ACCESS_KEY_ID: process.env["AWS_ACCESS_KEY_ID"] ?? "key",
  AWS_SECRET_ACCESS_KEY: process.env["AWS_SECRET_ACCESS_KEY"] ?? "secret",
  AWS_DEFAULT_REGION: "us-east-1",
  // rclone 1.60 refuses its own transport where it is set.
  AWS_CA_BUNDLE: undefined,
};
const server =
  values.endpoint === undefined
    ? spawn(process.execPath, [path.join(import.meta.dirname, "s3-process.ts"), values.mib], {
        stdio: ["pipe", "pipe", "inherit"],
      })
    : null;
const endpoint =
  values.endpoint ??
  (await new Promise<string>((resolve) =>
    server?.stdout?.once("data", (data: Buffer) => resolve(String(data).trim())),
  ));
const uri = `s3://${bucket}/${key}`;

/** The digest of the content, which the first load computes. */
let digest: string | null = null;

async function throughCache(dir: string, expected: string | null): Promise<string> {
  const secrets = { accessKey: "env:AWS_ACCESS_KEY_ID", secretKey: "env:AWS_SECRET_ACCESS_KEY" };
  const reading = readStore({ kind: "store", name: "lake", type: "s3", bucket, endpoint, ...secrets });
  if (!reading.ok) throw new Error(JSON.stringify(reading.problems));
  const { declaration } = reading;
  const readSecret = (name: string): string => String(env[name.slice("env:".length) as "AWS_ACCESS_KEY_ID"]);
  const stores = new StoreSet({ declarations: () => [declaration], readSecret });
  const cache = new NodeCache({ dir, capacity: 2 ** 40, bootId: "bench" });
  const place = stores.placeOf(uri);
  if (place === null) throw new Error(`${uri} is in no store`);
  const wanted = {
    ...(await stores.open(place.declaration)),
    key: place.key,
    uri,
    digest: expected,
    parallel: PARALLEL,
  };
  const at = await cache.obtain(wanted, "bench", { signal: new AbortController().signal, onStaged: () => {} });
  await cache.close();
  await stores.close();
  return at;
}

const host = new URL(endpoint).host;
const remote = `:s3,provider=Other,env_auth=true,endpoint='${endpoint}',region=us-east-1:${bucket}/${key}`;
const s3cmd = ["--no-ssl", `--host=${host}`, `--host-bucket=${host}`, "--no-check-md5", "--config=/dev/null"];
const keys = [`--access_key=${env.AWS_ACCESS_KEY_ID}`, `--secret_key=${env.AWS_SECRET_ACCESS_KEY}`];
const clients: Readonly<Record<string, (dir: string) => Promise<unknown>>> = {
  headroom: (dir) => throughCache(path.join(dir, "cache"), null),
  "headroom with its digest": (dir) => throughCache(path.join(dir, "cache"), digest),
  rclone: (dir) =>
    run("rclone", ["copyto", remote, path.join(dir, "out"), `--multi-thread-streams=${PARALLEL}`], { env }),
  s3cmd: (dir) => run("s3cmd", [...s3cmd, ...keys, "get", uri, path.join(dir, "out")], { env }),
  "aws s3 cp": (dir) => run("aws", ["--endpoint-url", endpoint, "s3", "cp", uri, path.join(dir, "out")], { env }),
};

const bestMs = new Map<string, number>();
const first = mkdtempSync(path.join(values.target, "headroom-cold-"));
const content = await contentDigest(await throughCache(first, null));
({ digest } = content);
rmSync(first, { recursive: true });
for (let round = 0; round < Number(values.rounds); round++)
  for (const [name, load] of Object.entries(clients)) {
    const dir = mkdtempSync(path.join(values.target, "headroom-cold-"));
    const sinceMs = performance.now();
    try {
      await load(dir);
      bestMs.set(name, Math.min(bestMs.get(name) ?? Number.POSITIVE_INFINITY, performance.now() - sinceMs));
    } catch (error) {
      const text = error instanceof Error ? error.message.trim().split("\n").at(-1) : String(error);
      process.stderr.write(`${name}: ${text ?? ""}\n`);
    }
    rmSync(dir, { recursive: true });
  }
server?.stdin?.end();
const others = [...bestMs].filter(([name]) => !name.startsWith("headroom")).map(([, ms]) => ms);
const best = Math.min(...others);
let isKept = others.length > 0 && bestMs.has("headroom with its digest");
for (const [client, ms] of bestMs) {
  const ratio = Math.round((100 * best) / ms) / 100;
  if (client === "headroom with its digest") isKept &&= ratio >= BAR;
  const mibPerS = Math.round((content.bytes / MIB / ms) * 1_000);
  process.stdout.write(`${JSON.stringify({ client, seconds: Math.round(ms / 100) / 10, mibPerS, ratio })}\n`);
}
process.exitCode = isKept ? 0 : 1;
