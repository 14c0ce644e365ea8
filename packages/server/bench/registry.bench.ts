/**
 * Measures how long pages and commands take with a full registry: 20,000 artifacts with 100 places each, registered through a real
 * control plane. Prints the wall time of each request (median and worst of `--rounds`, 9) and the processor time of the whole
 * process, and the time of commands beyond that with one artifact. Fails above 200 ms. Options: `--artifacts N` (20,000), `--places N` (100).
 */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { parseArgs, promisify } from "node:util";
import { teamName } from "@headroom/model";
import { startControlPlane } from "../src/server.ts";

const BAR_MS = 200;
const BATCH = 500;
/** Each version is made from the one before, in chains of this length. */
const CHAIN = 1_000;
const { values } = parseArgs({
  options: {
    artifacts: { type: "string", default: "20000" },
    places: { type: "string", default: "100" },
    rounds: { type: "string", default: "9" },
  },
});
const [artifacts, places, rounds] = [values.artifacts, values.places, values.rounds].map(Number) as [
  number,
  number,
  number,
];

const run = promisify(execFile);
const quiet = { info() {}, warn() {}, error: (message: string) => void process.stderr.write(`${message}\n`) };
const home = mkdtempSync(path.join(tmpdir(), "headroom-registry-"));
const running = await startControlPlane({
  home,
  port: 0,
  local: { slotCount: 1, accelerators: "declared" },
  log: quiet,
  onFatal: (error) => {
    throw error;
  },
});
const { driver, url, token } = running;

const nameOf = (index: number): string => `m${index}`;
const register = (index: number) => ({
  kind: "registerArtifact" as const,
  artifact: {
    kind: "model" as const,
    team: teamName("default"),
    name: nameOf(index),
    digest: `sha256:${index.toString(16).padStart(64, "0")}`,
    bytes: 1_000_000 + index,
    inputs: index % CHAIN === 0 ? [] : [`model:${nameOf(index - 1)}@1`],
    places: Array.from({ length: places }, (_, at) => ({
      store: `store-${at}`,
      uri: `s3://store-${at}/models/${nameOf(index)}`,
      state: "declared" as const,
    })),
  },
  aliases: index % 10 === 0 ? ["production"] : [],
  reason: "",
  actor: "bench",
  idempotencyKey: null,
});

const cli = path.resolve(import.meta.dirname, "../../cli/src/main.ts");
const commandsOf = (name: string): Readonly<Record<string, readonly string[]>> => ({
  "artifact list --json": ["artifact", "list", "--json"],
  "model show": ["model", "show", `${name}@1`],
  "model list": ["model", "list", name],
});
/** The shortest of the rounds: other work on the machine only adds to it. */
async function command(args: readonly string[]): Promise<number> {
  const walls: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const sinceMs = performance.now();
    await run(process.execPath, [cli, ...args], { env: { ...process.env, HEADROOM_HOME: home } });
    walls.push(performance.now() - sinceMs);
  }
  return Math.min(...walls);
}

// The start of a process, and the load of its modules, take as long with one artifact.
await driver.command(register(0));
const emptyMs = new Map<string, number>();
for (const [name, args] of Object.entries(commandsOf(nameOf(0)))) emptyMs.set(name, await command(args));

const filledMs = performance.now();
for (let from = 1; from < artifacts; from += BATCH) {
  const replies = await Promise.all(
    Array.from({ length: Math.min(BATCH, artifacts - from) }, (_, at) => driver.command(register(from + at))),
  );
  const refused = replies.find(({ kind }) => kind === "rejected");
  if (refused !== undefined) throw new Error(`an artifact was not registered: ${JSON.stringify(refused)}`);
}
process.stderr.write(`registered in ${Math.round((performance.now() - filledMs) / 1_000)} s\n`);

const last = nameOf(artifacts - 1);
const requests: Readonly<Record<string, string>> = {
  "first page of 100": "/v1/artifacts?limit=100",
  "last page": `/v1/artifacts?limit=100&cursor=${artifacts - 100}`,
  "search that finds one": `/v1/artifacts?search=${last}`,
  "search that finds none": "/v1/artifacts?search=nothing",
  versions: `/v1/artifacts/model:${last}/versions`,
  "one version with its places": `/v1/artifacts/model:${last}@1/version`,
  "lineage of a chain of 1,000": `/v1/artifacts/model:${last}@1/lineage?direction=up`,
  "which models saw it": `/v1/artifacts/model:${nameOf(0)}@1/lineage?direction=down`,
};

async function measure(target: string): Promise<{ readonly wallMs: number; readonly bytes: number }> {
  const sinceMs = performance.now();
  const response = await fetch(url + target, { headers: { authorization: `Bearer ${token}` } });
  const { length } = await response.text();
  if (!response.ok) throw new Error(`${target}: ${response.status}`);
  return { wallMs: performance.now() - sinceMs, bytes: length };
}

const rounded = (ms: number): number => Math.round(ms * 10) / 10;
let isKept = true;
for (const [name, target] of Object.entries(requests)) {
  const walls: number[] = [];
  const cpu = process.cpuUsage();
  let size = 0;
  for (let round = 0; round < rounds; round++) {
    const { wallMs, bytes } = await measure(target);
    walls.push(wallMs);
    size = bytes;
  }
  const { user, system } = process.cpuUsage(cpu);
  walls.sort((left, right) => left - right);
  const record = {
    request: name,
    medianMs: rounded(walls[rounds >> 1] ?? 0),
    worstMs: rounded(walls.at(-1) ?? 0),
    cpuMs: rounded((user + system) / 1_000 / rounds),
    kib: Math.round(size / 1_024),
  };
  isKept &&= record.medianMs <= BAR_MS;
  process.stdout.write(`${JSON.stringify(record)}\n`);
}
for (const [name, args] of Object.entries(commandsOf(last))) {
  const wholeMs = await command(args);
  const moreMs = rounded(Math.max(0, wholeMs - (emptyMs.get(name) ?? 0)));
  isKept &&= moreMs <= BAR_MS;
  process.stdout.write(`${JSON.stringify({ request: `headroom ${name}`, moreMs, wholeMs: rounded(wholeMs) })}\n`);
}
await running.close();
rmSync(home, { recursive: true });
process.exitCode = isKept ? 0 : 1;
