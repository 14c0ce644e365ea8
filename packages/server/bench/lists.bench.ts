/**
 * Measures how the processor time of one request grows with each list that the request may carry: the time of the whole
 * process for a quarter of the list, and for the whole list. Linear work takes four times as long, quadratic work
 * sixteen times. Prints a record for each list, and fails above `GROWTH_MAX`. Options: `--only TEXT`, `--nodes N` (2,000).
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { startControlPlane } from "../src/server.ts";
import { BusyExecutor } from "./busy-executor.ts";

/** Growth from a quarter to the whole: sums of linear work and sorting stay below it. */
const GROWTH_MAX = 7;
/** Times below this are the constant cost of a request and its noise. */
const CPU_MS_MIN = 150;
const HOUR_MS = 3_600_000;

const { values } = parseArgs({
  options: { only: { type: "string", default: "" }, nodes: { type: "string", default: "2000" } },
});
const nodeCount = Number(values.nodes);

interface List {
  readonly count: number;
  readonly method?: "POST" | "PUT";
  readonly target?: string;
  /** Body with `count` entries; `round` is another number for each request, for names of its own. */
  body(count: number, round: number): object;
}

const many = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));
const entries = <T>(count: number, make: (index: number) => [string, T]): Record<string, T> =>
  Object.fromEntries(many(count, make));
const batch = (name: string, more: object = {}): object => ({
  kind: "batch",
  name,
  run: "true",
  taskCount: 1,
  hold: true,
  ...more,
});
const single = (more: (count: number, round: number) => object, count: number): List => ({
  count,
  target: "/v1/workloads",
  body: (size, round) => batch(`w-${round}`, more(size, round)),
});
const applied = (field: string, count: number, make: (index: number, round: number) => object): List => ({
  count,
  body: (size, round) => ({ [field]: many(size, (index) => make(index, round)) }),
});
const startMs = Date.now() + HOUR_MS;

const lists: Readonly<Record<string, List>> = {
  teams: applied("teams", 10_000, (index, round) => ({ name: `t-${round}-${index}` })),
  "teams with limits": applied("teams", 8_000, (index, round) => ({
    name: `t-${round}-${index}`,
    limit: { H100: index },
  })),
  "teams in a tree": applied("teams", 10_000, (index, round) => ({
    name: `t-${round}-${index}`,
    parent: index === 0 ? null : `t-${round}-${Math.floor((index - 1) / 3)}`,
  })),
  "teams with budgets": applied("teams", 8_000, (index, round) => ({
    name: `t-${round}-${index}`,
    budget: { gpuHours: 1 + index, period: "month", over: "hold" },
  })),
  "types of a team's limit": {
    count: 64,
    body: (size, round) => ({ teams: [{ name: `t-${round}`, limit: entries(size, (index) => [`T${index}`, 1]) }] }),
  },
  sites: applied("sites", 100, (index, round) => ({ name: `s-${round}-${index}`, fabricLevels: [] })),
  pools: applied("pools", 1_000, (index, round) => ({
    name: `p-${round}-${index}`,
    site: "bench",
    executor: "simulated",
    acceleratorType: "H100",
  })),
  workloads: applied("workloads", 2_000, (index, round) => batch(`w-${round}-${index}`)),
  "workloads that start": applied("workloads", 2_000, (index, round) =>
    batch(`w-${round}-${index}`, { hold: undefined }),
  ),
  "workloads with checkpoints": applied("workloads", 2_000, (index, round) =>
    batch(`w-${round}-${index}`, { checkpointEvery: "auto", gang: { accelerators: 1 } }),
  ),
  "workloads one after the other": applied("workloads", 2_000, (index, round) =>
    batch(`w-${round}-${index}`, index === 0 ? {} : { after: [{ workload: `w-${round}-${index - 1}`, on: "ok" }] }),
  ),
  "workloads after one": applied("workloads", 2_000, (index, round) =>
    batch(`w-${round}-${index}`, index === 0 ? {} : { after: [{ workload: `w-${round}-0`, on: "ok" }] }),
  ),
  schedules: applied("schedules", 1_000, (index, round) => ({
    name: `s-${round}-${index}`,
    times: { minutes: [0], hours: [3], daysOfMonth: [1], months: [1], daysOfWeek: [0] },
    concurrency: "forbid",
    spec: { ...batch(`w-${round}-${index}`), hold: undefined },
  })),
  maintenance: applied("calendar", 1_000, (index, round) => ({
    kind: "maintenance",
    name: `m-${round}-${index}`,
    startMs: startMs + index * HOUR_MS,
    endMs: startMs + (index + 1) * HOUR_MS,
    nodes: [`node-${index % nodeCount}`],
  })),
  "nodes of an entry": {
    count: nodeCount,
    body: (size, round) => ({
      calendar: [
        {
          kind: "maintenance",
          name: `m-${round}`,
          startMs,
          endMs: startMs + HOUR_MS,
          nodes: many(size, (index) => `node-${index}`),
        },
      ],
    }),
  },
  environment: single((size) => ({ env: entries(size, (index) => [`V${index}`, "x".repeat(1_000)]) }), 500),
  artifacts: single((size) => ({ produces: many(size, (index) => `a${index}`) }), 64),
  command: single((size) => ({ run: "x ".repeat(size / 2) }), 65_536),
  tasks: single((size) => ({ taskCount: size, hold: undefined, gang: { coresMilli: 0 } }), 1_000_000),
  workers: single(
    (size) => ({ kind: "train", taskCount: undefined, hold: undefined, gang: { workers: size, accelerators: 0 } }),
    20_000,
  ),
  "nodes of a what-if": {
    count: nodeCount / 2,
    target: "/v1/what-if",
    body: (size) => ({ loseNodes: many(size, (index) => `node-${index}`) }),
  },
};

/** Processor time in ms of the process for one request. */
async function cost(
  plane: Awaited<ReturnType<typeof startControlPlane>>,
  list: List,
  size: number,
  round: number,
): Promise<number> {
  const body = JSON.stringify(list.body(size, round));
  const began = process.cpuUsage();
  const answer = await fetch(`${plane.url}${list.target ?? "/v1/apply"}`, {
    method: list.method ?? "POST",
    headers: { authorization: `Bearer ${plane.token}`, "content-type": "application/json" },
    body,
  });
  const text = await answer.text();
  // The event loop is free again when the next small request is answered.
  await fetch(`${plane.url}/healthz`);
  const { user, system } = process.cpuUsage(began);
  if (!answer.ok) throw new Error(`${answer.status} ${text.slice(0, 300)}`);
  return (user + system) / 1_000;
}

for (const [name, list] of Object.entries(lists)) {
  if (!name.includes(values.only)) continue;
  const home = mkdtempSync(path.join(tmpdir(), "headroom-lists-"));
  const executors = [new BusyExecutor(nodeCount, HOUR_MS)];
  const plane = await startControlPlane({ home, port: 0, executors });
  try {
    for (let round = 0; round < 3; round++) await cost(plane, list, Math.max(1, Math.floor(list.count / 40)), round);
    const quarterMs = await cost(plane, list, Math.floor(list.count / 4), 3);
    const wholeMs = await cost(plane, list, list.count, 4);
    const growth = wholeMs / Math.max(quarterMs, CPU_MS_MIN / 4);
    const met = wholeMs < CPU_MS_MIN || growth <= GROWTH_MAX;
    process.stdout.write(`${JSON.stringify({ list: name, entries: list.count, quarterMs, wholeMs, growth, met })}\n`);
    if (!met) process.exitCode = 1;
  } catch (error) {
    process.stdout.write(
      `${JSON.stringify({ list: name, failed: error instanceof Error ? error.message : String(error) })}\n`,
    );
    process.exitCode = 1;
  } finally {
    await plane.close();
    rmSync(home, { recursive: true, force: true });
  }
}
process.exit();
