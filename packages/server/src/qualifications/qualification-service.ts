/**
 * Runs the suites of nodes that have to qualify, and reports each run as an observation. The state says which run is due;
 * the folder of a run says what became of it. So a restart continues, and begins no run twice. Start at `look`.
 */
import { spawn } from "node:child_process";
import { mkdirSync, readdirSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { mayRunSuite, type Engine } from "@headroom/engine";
import { nodeUse } from "@headroom/explain";
import { proofOf } from "@headroom/health";
import type { NodeId, NodeQualification, Pool, PoolName, QualificationRule } from "@headroom/model";
import type { DriverLog } from "../driver/driver-log.ts";
import type { Driver } from "../driver/driver.ts";
import { messageOf } from "../executors/within.ts";
import { readResults, writeResults, type StoredResult } from "./result-file.ts";
import { claimRun, endRun, madeAtMs, makeRunFolder, readResult, removeRun, runnerOf } from "./run-folder.ts";
import type { RunResult } from "./run-folder.ts";
import { readSuites, suiteOf, suitesStamp, type Suite } from "./suite-file.ts";

const TICK_MS = 1_000;
/** A run without a process may not have been claimed yet for this long. */
const CLAIM_MS = 15_000;
/** Time beyond the limit after which the process of a run is ended. It ends its command itself at the limit. */
const OVERTIME_MS = 30_000;
const FOLDER = "qualifications";
const PASSED_ON = ["PATH", "HOME", "LANG", "TZ", "SSH_AUTH_SOCK"];
/** Names of hosts. The first character keeps a name from being an option. */
const NODE_NAME = /^[A-Za-z0-9][-_.A-Za-z0-9]{0,252}$/;
const REASON_CHARS_MAX = 300;

interface SuiteParts {
  readonly home: string;
  readonly driver: Pick<Driver, "read" | "observe">;
  readonly log: Pick<DriverLog, "warn">;
  readonly nowMs: () => number;
}

/** A node that has to qualify, and what the service needs to know about it. */
interface Candidate {
  readonly nodeId: NodeId;
  readonly pool: Pick<Pool, "name" | "executor">;
  readonly rule: QualificationRule;
  readonly qualification: NodeQualification;
  /** Whether a run can begin, or go on. */
  readonly isReady: boolean;
  readonly suite: Suite | null;
}

export class QualificationService {
  readonly #parts: SuiteParts;
  readonly #warned = new Set<string>();
  #results: Map<string, StoredResult> | null = null;
  #suites: ReturnType<typeof readSuites> = [];
  #stamp: string | null = null;
  #timer: NodeJS.Timeout | null = null;
  #isLooking = false;

  constructor(parts: SuiteParts) {
    this.#parts = parts;
  }

  start(): void {
    this.#timer = setInterval(() => void this.look(), TICK_MS);
    this.#timer.unref();
  }

  /** Runs in progress go on, and the next start finds them. */
  close(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }

  /** Pools with a rule whose suite no executor can run, each with what to do. Read when a pool is declared. */
  problems(engine: Pick<Engine, "state">, pools: readonly Pool[]): readonly string[] {
    this.#readFile();
    return pools.flatMap((pool) => {
      const { name, executor, qualification: rule } = pool;
      if (rule === undefined || suiteOf(this.#suites, engine.state, pool, rule.suite) !== null) return [];
      return [
        `Pool ${name} requires the suite ${rule.suite}, and executor ${executor} has none of its own. Declare it for the pool in qualifications.yaml of the state directory (docs/how-to/qualify-nodes.md).`,
      ];
    });
  }

  /** The newest result of a node; `null`: there is none. */
  resultOf(node: string): StoredResult | null {
    return this.#known().get(node) ?? null;
  }

  async look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    try {
      this.#readFile();
      const candidates = await this.#parts.driver.read((engine) => candidatesOf(engine, this.#suites));
      for (const each of candidates) if (each.qualification.phase === "running") await this.#follow(each);
      await this.#beginRuns(candidates);
      this.#removeOthers(candidates);
    } catch (error) {
      this.#warn(`Qualifications were not looked at: ${messageOf(error)}`);
    } finally {
      this.#isLooking = false;
    }
  }

  /** A file that is not valid leaves the suites as they were. */
  #readFile(): void {
    const stamp = suitesStamp(this.#parts.home);
    if (stamp === this.#stamp) return;
    this.#stamp = stamp;
    try {
      this.#suites = readSuites(this.#parts.home);
      this.#warned.clear();
    } catch (error) {
      this.#warn(messageOf(error));
    }
  }

  async #beginRuns(candidates: readonly Candidate[]): Promise<void> {
    const running = new Map<PoolName, number>();
    for (const { pool, qualification } of candidates)
      if (qualification.phase === "running") running.set(pool.name, (running.get(pool.name) ?? 0) + 1);
    for (const { nodeId, pool, rule, qualification, isReady, suite } of candidates) {
      const count = running.get(pool.name) ?? 0;
      if (qualification.phase !== "waiting" || !isReady || count >= rule.atOnce) continue;
      if (suite === null || !NODE_NAME.test(nodeId)) {
        this.#warn(
          `Node ${nodeId} waits for the suite ${rule.suite} of pool ${pool.name}. Declare it in qualifications.yaml, for nodes with names of hosts.`,
        );
        continue;
      }
      running.set(pool.name, count + 1);
      const { id, run } = qualification;
      const expectedMs = this.#expectedMs(pool.name, rule);
      // The run is recorded before its process starts: the next look finds it in the state, and starts it.
      await this.#parts.driver.observe({ kind: "qualificationStarted", nodeId, id, run: run + 1, expectedMs });
    }
  }

  /** Starts a recorded run that has no folder, or reports what became of it. */
  async #follow(candidate: Candidate): Promise<void> {
    const { nodeId, qualification, rule, suite, isReady } = candidate;
    const folder = this.#folderOf(qualification);
    const sinceMs = madeAtMs(folder);
    const elapsedMs = Math.max(0, this.#parts.nowMs() - (sinceMs ?? 0));
    if (!isReady) {
      endRun(folder);
      return this.#report(candidate, { isPassed: false, detail: "the node was drained, lost or is leaving" }, 0);
    }
    const result = readResult(folder);
    if (result !== null) return this.#judge(candidate, result);
    if (sinceMs === null) {
      if (suite === null) return this.#report(candidate, { isPassed: false, detail: "the suite is not declared" }, 0);
      return this.#start(folder, { nodeId, suite, limitMs: rule.limitMs });
    }
    if (runnerOf(folder) !== null) {
      if (elapsedMs <= rule.limitMs + OVERTIME_MS) return undefined;
      endRun(folder);
      return this.#report(candidate, { isPassed: false, detail: "the suite took longer than its limit" }, elapsedMs);
    }
    if (elapsedMs <= CLAIM_MS && qualification.run > 0 && !claimedBefore(folder)) return undefined;
    // A process that starts later finds the claim, and does nothing.
    claimRun(folder);
    const late = readResult(folder);
    if (late !== null) return this.#judge(candidate, late);
    return this.#report(candidate, { isPassed: false, detail: "the suite was cut: its process is gone" }, elapsedMs);
  }

  #start(
    folder: string,
    { nodeId, suite, limitMs }: { readonly nodeId: NodeId; readonly suite: Suite; readonly limitMs: number },
  ): void {
    const words = suite.command.map((word) => word.replaceAll("{node}", nodeId));
    const passedOn = PASSED_ON.flatMap((name) =>
      process.env[name] === undefined ? [] : [[name, process.env[name]] as const],
    );
    const env = { ...Object.fromEntries(passedOn), ...suite.env, HEADROOM_NODE: nodeId };
    if (!makeRunFolder(folder, { words, env, limitMs })) return;
    const program = fileURLToPath(new URL("suite-runner.ts", import.meta.url));
    const child = spawn(process.execPath, [program, folder], { detached: true, stdio: "ignore" });
    // A process that cannot start leaves a run without a claim, which counts as cut.
    child.on("error", (error) => this.#warn(`The suite of node ${nodeId} cannot start: ${error.message}`));
    child.unref();
  }

  async #judge(candidate: Candidate, result: RunResult): Promise<void> {
    const { nodeId, pool, rule, suite } = candidate;
    const { code, stdout, stderr, problem, durationMs } = result;
    if (problem !== null) return this.#report(candidate, { isPassed: false, detail: plain(problem) }, durationMs);
    const peers = [...this.#known().values()].filter(
      (each) => each.isPassed && each.node !== nodeId && each.pool === pool.name && each.suite === rule.suite,
    );
    const proof = proofOf({
      node: nodeId,
      text: stdout,
      required: suite?.tests ?? [],
      peers: peers.flatMap(({ measurements }) => measurements),
    });
    const failure = code === 0 ? "" : `the suite ended with code ${code}: ${plain(stderr)}; `;
    const isPassed = code === 0 && proof.isPassed;
    const detail = plain(`${failure}${proof.detail}`);
    await this.#keep(candidate, { ...proof, isPassed, detail, durationMs });
    return this.#report(candidate, { isPassed, detail }, durationMs);
  }

  /** The result is stored before the report: a crash between both judges the same result again. */
  async #keep(
    { nodeId: node, pool, rule: { suite } }: Candidate,
    result: Pick<StoredResult, "isPassed" | "detail" | "measurements" | "durationMs">,
  ): Promise<void> {
    const known = this.#known();
    const present = await this.#parts.driver.read(({ state }) => new Set<string>(state.nodes.keys()));
    for (const each of known.keys()) if (!present.has(each)) known.delete(each);
    known.set(node, { ...result, node, pool: pool.name, suite, atMs: this.#parts.nowMs() });
    writeResults(this.#parts.home, known.values());
  }

  async #report(
    { nodeId, qualification: { id, run } }: Candidate,
    { isPassed, detail }: { readonly isPassed: boolean; readonly detail: string },
    durationMs: number,
  ): Promise<void> {
    const report = { nodeId, id, run, isPassed, detail, durationMs: Math.round(durationMs) };
    await this.#parts.driver.observe({ kind: "qualificationEnded", ...report });
  }

  /** The middle of the durations with which nodes of the pool passed; the limit, if none did. */
  #expectedMs(pool: string, { suite, limitMs }: QualificationRule): number {
    const known = [...this.#known().values()]
      .filter((each) => each.isPassed && each.pool === pool && each.suite === suite)
      .map(({ durationMs }) => durationMs)
      .toSorted((left, right) => left - right);
    return Math.min(limitMs, Math.round(known[known.length >> 1] ?? limitMs));
  }

  /** Removes folders of runs that are over. Their processes, if they live, belong to nodes that have left. */
  #removeOthers(candidates: readonly Candidate[]): void {
    const parent = path.join(this.#parts.home, FOLDER);
    const present = new Set(candidates.map(({ qualification }) => path.basename(this.#folderOf(qualification))));
    mkdirSync(parent, { recursive: true, mode: 0o700 });
    for (const name of readdirSync(parent)) {
      if (present.has(name)) continue;
      endRun(path.join(parent, name));
      removeRun(path.join(parent, name));
    }
  }

  #folderOf({ id, run }: NodeQualification): string {
    return path.join(this.#parts.home, FOLDER, `${id}-${run}`);
  }

  #known(): Map<string, StoredResult> {
    this.#results ??= readResults(this.#parts.home);
    return this.#results;
  }

  #warn(message: string): void {
    if (this.#warned.has(message)) return;
    this.#warned.add(message);
    this.#parts.log.warn(message);
  }
}

/** Nodes in the order in which they joined. */
function candidatesOf(engine: Engine, suites: ReturnType<typeof readSuites>): readonly Candidate[] {
  const { nodes, pools } = engine.state;
  const candidates: Candidate[] = [];
  for (const node of nodes.values()) {
    const { qualification } = node;
    const pool = pools.get(node.pool);
    if (qualification === undefined || pool?.qualification === undefined) continue;
    const isEmpty = nodeUse(engine, node.id).attempts.length === 0;
    candidates.push({
      nodeId: node.id,
      pool,
      rule: pool.qualification,
      qualification,
      isReady: mayRunSuite(node) && (isEmpty || qualification.phase === "running"),
      suite: suiteOf(suites, engine.state, pool, qualification.suite),
    });
  }
  return candidates;
}

const claimedBefore = (folder: string): boolean => madeAtMs(path.join(folder, "claim.json")) !== null;

/** Text of a command without control characters, shortened. */
const plain = (text: string): string =>
  text
    .replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, " ")
    .trim()
    .slice(0, REASON_CHARS_MAX);
