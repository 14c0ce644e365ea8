/**
 * Runs the benchmark. There is one mock upstream, and every target is started once. Each case has rounds, and in each
 * round every target is measured once. Ratios are taken within a round, so that disturbances of the machine that last
 * longer than a round cancel out.
 */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import net from "node:net";
import { cpus, loadavg, tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { cases, frontierBoundsMs, frontierShares, type Case } from "./cases.ts";
import type { LoadOptions, LoadResult } from "./load/load.ts";
import { chooseCores, cpuSeconds, outputOf, residentMib, startPinned, stopProcess, type Cores } from "./processes.ts";
import { keptRate } from "./report/report.ts";
import type { BenchmarkReport, CaseReport, FrontierReport, Run } from "./report/report.ts";
import { targetOf, type MissingTarget, type Target, type TargetSources } from "./targets/targets.ts";

export interface BenchmarkOptions extends TargetSources {
  readonly targets: readonly string[];
  readonly cases: readonly string[];
  readonly rounds: number;
  readonly secondsPerRun: number;
  readonly withFrontier: boolean;
  readonly signal: AbortSignal;
  /** Progress lines for the terminal. */
  note(line: string): void;
}

interface Running {
  readonly target: Target;
  readonly port: number;
  readonly pid: number | undefined;
  stop(): Promise<void>;
}

const WARM_UP_MS = 700;
const START_TIMEOUT_MS = 30_000;
const PATH = "/v1/chat/completions";
const worker = fileURLToPath(new URL("worker.ts", import.meta.url));

export async function runBenchmark(options: BenchmarkOptions): Promise<BenchmarkReport> {
  const begun = { startedAt: new Date().toISOString(), loadAverage: loadavg()[0] ?? 0 };
  const cores = chooseCores();
  const directory = mkdtempSync(path.join(tmpdir(), "headroom-bench-"));
  const stops: (() => Promise<void>)[] = [];
  try {
    const upstream = await startUpstream(cores, options.signal);
    stops.push(upstream.stop);
    const missing: MissingTarget[] = [];
    const running: Running[] = [];
    for (const name of options.targets) {
      const started = await startNamed(name, options, { directory, upstreamPort: upstream.port, cores });
      if ("reason" in started) {
        missing.push(started);
        options.note(`${started.name}: left out: ${started.reason}`);
      } else {
        stops.push(started.stop);
        running.push(started);
      }
    }
    const measure = new Measurement(options, cores, upstream.port);
    const reports: CaseReport[] = [];
    for (const each of cases) {
      if (options.cases.includes(each.name)) reports.push(await measure.measureCase(each, running));
    }
    const frontier = options.withFrontier ? await measure.measureFrontier(running) : [];
    return {
      version: 1,
      ...begun,
      rounds: options.rounds,
      secondsPerRun: options.secondsPerRun,
      machine: { processor: cpus()[0]?.model ?? "unknown", coreCount: cpus().length, node: process.version },
      cores,
      sockets: upstream.sockets,
      targets: running.map(({ target: { name, description } }) => ({ name, description })),
      missing,
      cases: reports,
      frontier,
    };
  } finally {
    await Promise.all(stops.map((stop) => stop()));
    rmSync(directory, { recursive: true, force: true });
  }
}

class Measurement {
  readonly #options: BenchmarkOptions;
  readonly #cores: Cores | undefined;
  readonly #upstreamPort: number;

  constructor(options: BenchmarkOptions, cores: Cores | undefined, upstreamPort: number) {
    this.#options = options;
    this.#cores = cores;
    this.#upstreamPort = upstreamPort;
  }

  /** Sends requests of the case, so that the target compiles the code that they run through. They are not measured. */
  async #warmUp(running: Running, each: Case): Promise<void> {
    if (running.pid !== undefined) await this.#measure(running, each, 0, undefined);
  }

  async measureCase(each: Case, targets: readonly Running[]): Promise<CaseReport> {
    const runs: Run[] = [];
    for (const running of targets) await this.#warmUp(running, each);
    for (let round = 0; round < this.#options.rounds; round += 1) {
      for (const running of targets) {
        const run = await this.#measure(running, each, round, each.ratePerSecond);
        runs.push(run);
        this.#options.note(progress(each, run));
      }
    }
    const { name, description, compares } = each;
    return { name, description, compares, runs };
  }

  async measureFrontier(targets: readonly Running[]): Promise<FrontierReport[]> {
    const [small] = cases as readonly [Case];
    const reports: FrontierReport[] = [];
    for (const running of targets) {
      await this.#warmUp(running, small);
      const top = await this.#measure(running, small, 0, undefined);
      const points: FrontierReport["points"][number][] = [];
      for (const share of frontierShares) {
        const ratePerSecond = Math.max(1, Math.floor(top.result.requestsPerSecond * share));
        const { result } = await this.#measure(running, small, 0, ratePerSecond);
        const { requestsPerSecond, failed, latencyUs } = result;
        points.push({ ratePerSecond, requestsPerSecond, failed, p99Us: latencyUs.p99 });
      }
      const bounds = frontierBoundsMs.map((boundMs) => ({
        boundMs,
        requestsPerSecond: keptRate(points, boundMs),
      }));
      const shown = bounds.map(({ boundMs, requestsPerSecond }) => `${boundMs} ms: ${Math.round(requestsPerSecond)}/s`);
      this.#options.note(`frontier  ${running.target.name.padEnd(18)} ${shown.join("  ")}`);
      reports.push({ target: running.target.name, points, bounds });
    }
    return reports;
  }

  async #measure(running: Running, each: Case, round: number, ratePerSecond: number | undefined): Promise<Run> {
    const { target, port, pid } = running;
    const load: LoadOptions = {
      port,
      connections: each.connections,
      durationMs: this.#options.secondsPerRun * 1000,
      // A stream takes a second, so the warm-up lasts until the first streams have ended.
      warmUpMs: each.isStreaming ? 1500 : WARM_UP_MS,
      ratePerSecond,
      promptBytes: each.promptBytes,
      isStreaming: each.isStreaming,
      path: PATH,
      headers: target.headers(this.#upstreamPort),
      model: "bench",
    };
    const before = pid === undefined ? undefined : cpuSeconds(pid);
    const child = startPinned([process.execPath, worker, "load", JSON.stringify(load)], this.#cores?.load);
    const result = JSON.parse(await outputOf(child, this.#options.signal)) as LoadResult;
    const after = pid === undefined ? undefined : cpuSeconds(pid);
    return {
      target: target.name,
      round,
      result,
      targetCpuSeconds: before === undefined || after === undefined ? undefined : after - before,
      residentMib: pid === undefined ? undefined : residentMib(pid),
    };
  }
}

function progress(each: Case, { target, result, targetCpuSeconds }: Run): string {
  const { latencyUs, eventDelayUs, requestsPerSecond, failed, firstFailure } = result;
  const shown = eventDelayUs ?? latencyUs;
  const cpu = targetCpuSeconds === undefined ? "" : `  ${targetCpuSeconds.toFixed(2)} s CPU`;
  const failures = failed === 0 ? "" : `  ${failed} FAILED (${firstFailure})`;
  return `${each.name.padEnd(12)} ${target.padEnd(18)} ${Math.round(requestsPerSecond).toString().padStart(7)}/s  p50 ${shown.p50} µs  p99 ${shown.p99} µs${cpu}${failures}`;
}

async function startUpstream(
  cores: Cores | undefined,
  signal: AbortSignal,
): Promise<{ port: number; sockets: string; stop: () => Promise<void> }> {
  const setting = JSON.stringify({ port: 0, delayMs: 0, eventsPerStream: 100, eventIntervalMs: 10 });
  const child = startPinned([process.execPath, worker, "upstream", setting], cores?.load);
  signal.addEventListener("abort", () => child.kill("SIGKILL"), { once: true });
  const line = await new Promise<string>((resolve, reject) => {
    let errors = "";
    child.stderr?.on("data", (bytes: Buffer) => (errors += bytes.toString("utf8")));
    child.stdout?.once("data", (bytes: Buffer) => resolve(bytes.toString("utf8")));
    child.once("error", reject);
    child.once("exit", () => reject(new Error(`the mock upstream did not start: ${errors}`)));
  });
  const { port, sockets } = JSON.parse(line) as { port: number; sockets: string };
  return { port, sockets, stop: () => stopProcess(child) };
}

interface Surroundings {
  readonly directory: string;
  readonly upstreamPort: number;
  readonly cores: Cores | undefined;
}

async function startNamed(
  name: string,
  options: BenchmarkOptions,
  setting: Surroundings,
): Promise<Running | MissingTarget> {
  const target = targetOf(name, options);
  return "reason" in target ? target : await startTarget(target, setting, options.signal);
}

async function startTarget(
  target: Target,
  setting: Surroundings,
  signal: AbortSignal,
): Promise<Running | MissingTarget> {
  const { upstreamPort, cores } = setting;
  const directory = path.join(setting.directory, target.name);
  mkdirSync(directory, { recursive: true });
  const port = target.port ?? (target.name === "direct" ? upstreamPort : await freePort());
  const command = target.command({ directory, port, upstreamPort });
  if (command === undefined) return { target, port, pid: undefined, stop: () => Promise.resolve() };
  const child = startPinned(command, cores?.target, target.env);
  signal.addEventListener("abort", () => child.kill("SIGKILL"), { once: true });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on("data", (bytes: Buffer) => (output = (output + bytes.toString("utf8")).slice(-4000)));
  }
  const deadlineMs = performance.now() + START_TIMEOUT_MS;
  while (!(await answers(port, target.headers(upstreamPort)))) {
    if (child.exitCode !== null || performance.now() > deadlineMs || signal.aborted) {
      await stopProcess(child);
      return { name: target.name, reason: `it did not answer a request: ${output.trim() || "no output"}` };
    }
    await sleep(100);
  }
  return { target, port, pid: child.pid, stop: () => stopProcess(child) };
}

async function answers(port: number, headers: Readonly<Record<string, string>>): Promise<boolean> {
  const body = JSON.stringify({ model: "bench", messages: [{ role: "user", content: "hello" }] });
  try {
    const reply = await fetch(`http://127.0.0.1:${port}${PATH}`, {
      method: "POST",
      headers: { ...headers, "content-type": "application/json" },
      body,
      signal: AbortSignal.timeout(2000),
    });
    await reply.arrayBuffer();
    return reply.ok;
  } catch {
    return false;
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = net.createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0));
    });
  });
}
