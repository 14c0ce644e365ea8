/**
 * Runs the suites of nodes that have to qualify, and reports each run as an observation. The state says which run is due;
 * the folder of a run says what became of it. So a restart continues, and begins no run twice. Start at `look`.
 */
import { spawn } from "node:child_process";
import { mkdirSync, readdirSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import type { Engine } from "@headroom/engine";
import { proofOf } from "@headroom/health";
import type { NodeQualification, Pool, PoolName, QualificationRule } from "@headroom/model";
import type { DriverLog } from "../driver/driver-log.ts";
import type { Driver } from "../driver/driver.ts";
import { messageOf } from "../executors/within.ts";
import { candidatesOf, idlePeers, NODE_NAME, type Candidate, type IdlePeers } from "./candidates.ts";
import { ResultFiles, type RunSummary, type StoredResult } from "./result-files.ts";
import {
  claimRun,
  isClaimed,
  isThere,
  killRun,
  makeRunFolder,
  readRequest,
  readResult,
  removeRun,
  runnerOf,
  stopRun,
  type RunResult,
} from "./run-folder.ts";
import { basisOf, readSuites, suiteOf, suitesStamp, type Suite } from "./suite-file.ts";

const TICK_MS = 1_000;
/** A run without a process may not have been claimed yet for this long. */
const CLAIM_MS = 15_000;
/** Time beyond the limit, or from the request to stop, after which everything of a run is killed. */
const OVERTIME_MS = 20_000;
/** A node that cannot begin for this long gets an incident. */
const STUCK_MS = 300_000;
/** A run waits this long for peers that other runs use, and then goes on with those that are free. */
const PEERS_WAIT_MS = 300_000;
const FOLDER = "qualifications";
const PASSED_ON = ["PATH", "HOME", "LANG", "TZ", "SSH_AUTH_SOCK"];
const REASON_CHARS_MAX = 300;
const ACTOR = "qualification";
/** Code of the fault of a node whose suite cannot begin. It ends when the node qualifies. */
const CANNOT_BEGIN = "qualification-cannot-begin";

interface SuiteParts {
  readonly home: string;
  readonly driver: Pick<Driver, "read" | "observe" | "command">;
  readonly log: Pick<DriverLog, "warn">;
  readonly nowMs: () => number;
}

export class QualificationService {
  readonly #parts: SuiteParts;
  readonly #results: ResultFiles;
  readonly #warned = new Set<string>();
  /** By folder of a run: since when this process has known it, and asked it to stop, on a clock that never goes back. */
  readonly #seenAtMs = new Map<string, number>();
  readonly #stoppedAtMs = new Map<string, number>();
  /** By folder of a run: the nodes with which it measures the network. */
  readonly #peersInUse = new Map<string, readonly string[]>();
  /** By qualification: since when it cannot begin; `null`: that is reported. */
  readonly #stuckSinceMs = new Map<number, number | null>();
  #suites: ReturnType<typeof readSuites> = [];
  #stamp: string | null = null;
  #timer: NodeJS.Timeout | null = null;
  #isLooking = false;

  constructor(parts: SuiteParts) {
    this.#parts = parts;
    this.#results = new ResultFiles(parts.home);
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

  historyOf(node: string): readonly RunSummary[] {
    return this.#results.historyOf(node);
  }

  /** The newest result of a node; `null`: there is none. */
  resultOf(node: string): StoredResult | null {
    return this.#results.of(node);
  }

  async look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    try {
      this.#readFile();
      const { candidates, nodes } = await this.#parts.driver.read((engine) => ({
        candidates: candidatesOf(engine, this.#suites),
        nodes: new Set<string>(engine.state.nodes.keys()),
      }));
      await this.#results.read(nodes);
      await this.#results.keepOnly(nodes);
      const busy = this.#endOthers(candidates);
      for (const { qualification } of candidates) this.#notePeers(this.#folderOf(qualification));
      for (const each of candidates)
        if (each.qualification.phase === "running" && !busy.has(each.nodeId))
          await this.#tried(each, () => this.#follow(each));
      await this.#beginRuns(candidates, busy);
    } catch (error) {
      this.#warn(`Qualifications were not looked at: ${messageOf(error)}`);
    } finally {
      this.#isLooking = false;
    }
  }

  /** A failure for one node does not keep the others from qualifying. */
  async #tried({ nodeId, qualification }: Candidate, step: () => Promise<void>): Promise<void> {
    try {
      await step();
      this.#stuckSinceMs.delete(qualification.id);
    } catch (error) {
      this.#warn(`The suite of node ${nodeId} cannot go on: ${messageOf(error)}`);
      await this.#stuck(qualification, nodeId, messageOf(error));
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

  /** `busy`: nodes on which something of an earlier run may still live. */
  async #beginRuns(candidates: readonly Candidate[], busy: ReadonlySet<string>): Promise<void> {
    const running = new Map<PoolName, number>();
    for (const { pool, qualification } of candidates)
      if (qualification.phase === "running") running.set(pool, (running.get(pool) ?? 0) + 1);
    const waiting = new Set<number>();
    for (const candidate of candidates) {
      const { nodeId, pool, rule, qualification, state, suite, name } = candidate;
      const { id, run, phase } = qualification;
      if (phase !== "failed") waiting.add(id);
      const count = running.get(pool) ?? 0;
      if (phase === "waiting" && rule !== null && state === "shared")
        await this.#stuck(qualification, nodeId, "work of others holds the node");
      if (phase !== "waiting" || rule === null || state !== "ready" || busy.has(nodeId)) continue;
      if (suite === null || !NODE_NAME.test(name)) {
        const why =
          suite === null ? `the suite ${rule.suite} is not declared for pool ${pool}` : "its name is no name of a host";
        this.#warn(
          `Node ${nodeId} cannot qualify: ${why}. Correct qualifications.yaml (docs/how-to/qualify-nodes.md).`,
        );
        await this.#stuck(qualification, nodeId, why);
        continue;
      }
      if (count >= rule.atOnce) continue;
      running.set(pool, count + 1);
      const expectedMs = this.#expectedMs(pool, rule);
      // The run is recorded before its process starts: the next look finds it in the state, and starts it.
      await this.#parts.driver.observe({ kind: "qualificationStarted", nodeId, id, run: run + 1, expectedMs });
    }
    for (const id of this.#stuckSinceMs.keys()) if (!waiting.has(id)) this.#stuckSinceMs.delete(id);
  }

  /** Reports a critical fault of a node whose suite cannot begin for some minutes. */
  async #stuck({ id }: NodeQualification, nodeId: Candidate["nodeId"], why: string): Promise<void> {
    const sinceMs = this.#stuckSinceMs.get(id);
    if (sinceMs === undefined) this.#stuckSinceMs.set(id, performance.now());
    if (sinceMs === undefined || sinceMs === null || performance.now() - sinceMs < STUCK_MS) return;
    this.#stuckSinceMs.set(id, null);
    const faults = [{ code: CANNOT_BEGIN, severity: "critical", detail: plain(why) }] as const;
    await this.#parts.driver.command({ kind: "reportFaults", nodeId, faults, actor: ACTOR, idempotencyKey: null });
  }

  /** Starts a recorded run that has no folder, or reports what became of it. */
  async #follow(candidate: Candidate): Promise<void> {
    const { qualification, rule, state, suite } = candidate;
    if (state === "silent") return;
    const folder = this.#folderOf(qualification);
    const result = await readResult(folder);
    // The process ends itself after it has written the result, with everything in its group.
    if (result !== null) {
      if (runnerOf(folder) !== null && !this.#isOver(folder, OVERTIME_MS)) return;
      killRun(folder);
      await this.#judge(candidate, result);
      return;
    }
    if (!isThere(folder)) {
      if (rule === null || state === "stop") this.#seenAtMs.delete(folder);
      if (rule === null || state === "stop")
        await this.#report(candidate, "the node was drained, lost or is leaving", 0);
      else if (suite === null) await this.#report(candidate, "the suite is not declared", 0);
      else await this.#startWithPeers(folder, candidate, { suite, limitMs: rule.limitMs });
      return;
    }
    const isAlive = runnerOf(folder) !== null;
    // It may have written its result since that was read; the next look judges it.
    if (!isAlive && (await readResult(folder)) !== null) return;
    if (isAlive && state === "stop") {
      this.#stop(folder);
      return;
    }
    const limitMs = readRequest(folder)?.limitMs ?? 0;
    if (isAlive && !this.#isOver(folder, limitMs + OVERTIME_MS)) return;
    if (!isAlive && !isClaimed(folder) && !this.#isOver(folder, CLAIM_MS)) return;
    // A process that starts later finds the claim, and does nothing. Processes that the dead one left behind are ended first.
    if (!claimRun(folder) && !this.#isEnded(folder)) return;
    const why = isAlive ? "the suite took longer than its limit" : "the suite was cut: its process is gone";
    await this.#report(candidate, state === "stop" ? "the node was drained, lost or is leaving" : why, 0);
  }

  /** Asks the process to stop, and kills everything of the run if it does not. */
  #stop(folder: string): void {
    const sinceMs = this.#stoppedAtMs.get(folder);
    if (sinceMs === undefined) {
      this.#stoppedAtMs.set(folder, performance.now());
      stopRun(folder);
    } else if (performance.now() - sinceMs > OVERTIME_MS) killRun(folder);
  }

  /** SIGTERM first, which srun, ssh and kubectl pass on; SIGKILL later. Returns whether nothing of the run is left. */
  #isEnded(folder: string): boolean {
    const sinceMs = this.#stoppedAtMs.get(folder);
    if (sinceMs === undefined) this.#stoppedAtMs.set(folder, performance.now());
    const isLate = sinceMs !== undefined && performance.now() - sinceMs > OVERTIME_MS;
    return !killRun(folder, isLate ? "SIGKILL" : "SIGTERM") || isLate;
  }

  /** Whether this process has known the run for longer. Clocks of the machine can be set back. */
  #isOver(folder: string, afterMs: number): boolean {
    const sinceMs = this.#seenAtMs.get(folder);
    if (sinceMs === undefined) this.#seenAtMs.set(folder, performance.now());
    return sinceMs !== undefined && performance.now() - sinceMs > afterMs;
  }

  /** The peers of a run that an earlier process began. */
  #notePeers(folder: string): void {
    if (!this.#peersInUse.has(folder) && isThere(folder))
      this.#peersInUse.set(folder, readRequest(folder)?.peers ?? []);
  }

  async #startWithPeers(
    folder: string,
    candidate: Candidate,
    declared: { readonly suite: Suite; readonly limitMs: number },
  ): Promise<void> {
    const isMeasuring = declared.suite.command.some((word) => word.includes("{peers}"));
    const { names, areOthersInUse } = isMeasuring ? await this.#peersOf(candidate) : NO_PEERS;
    if (areOthersInUse && !this.#isOver(folder, PEERS_WAIT_MS)) return;
    // The time of the claim begins with the folder.
    this.#seenAtMs.delete(folder);
    this.#start(folder, candidate, { ...declared, peers: names });
    this.#peersInUse.set(folder, names);
  }

  async #peersOf({ nodeId, pool, qualification }: Candidate): Promise<IdlePeers> {
    const proven = this.#results.others(pool, qualification.suite, nodeId).map(({ node }) => node);
    const inUse = new Set([...this.#peersInUse.values()].flat());
    return this.#parts.driver.read((engine) => idlePeers(engine, nodeId, { proven, inUse }));
  }

  #start(
    folder: string,
    { nodeId, name }: Pick<Candidate, "nodeId" | "name">,
    { suite, limitMs, peers }: { readonly suite: Suite; readonly limitMs: number; readonly peers: readonly string[] },
  ): void {
    const values = { "{node}": nodeId, "{name}": name, "{peers}": peers.join(",") };
    const words = suite.command.map((word) =>
      word.replaceAll(/\{(?:node|name|peers)\}/g, (key) => values[key as keyof typeof values]),
    );
    const passedOn = PASSED_ON.flatMap((each) =>
      process.env[each] === undefined ? [] : [[each, process.env[each]] as const],
    );
    const env = { ...Object.fromEntries(passedOn), ...suite.env, HEADROOM_NODE: nodeId };
    const { repeat, tests } = suite;
    if (!makeRunFolder(folder, { nodeId, words, env, limitMs, repeat, tests, peers, basis: basisOf(suite) })) return;
    const program = fileURLToPath(new URL("suite-runner.ts", import.meta.url));
    const child = spawn(process.execPath, [program, folder], { detached: true, stdio: "ignore" });
    // A process that cannot start leaves a run without a claim, which counts as cut.
    child.on("error", (error) => this.#warn(`The suite of node ${nodeId} cannot start: ${error.message}`));
    child.unref();
  }

  async #judge(candidate: Candidate, result: RunResult): Promise<void> {
    const { code, stdout, further = [], stderr, problem, durationMs } = result;
    const { nodeId, pool, qualification } = candidate;
    const { suite } = qualification;
    if (problem !== null) return this.#report(candidate, plain(problem), durationMs);
    const request = readRequest(this.#folderOf(qualification));
    if (request === null) return this.#report(candidate, "the request of the run is not readable", durationMs);
    const { tests: required, basis } = request;
    const of = { node: nodeId, pool, suite, ...(basis === undefined ? {} : { basis }) };
    const compared = this.#results.peers(of).flatMap((each) => each.measurements);
    const proof = proofOf({ node: nodeId, texts: [stdout, ...further], required, peers: compared });
    const failure = code === 0 ? "" : `the suite ended with code ${code}: ${plain(stderr)}; `;
    const isPassed = code === 0 && proof.isPassed;
    const detail = plain(`${failure}${proof.detail}`);
    // The result is stored before the report: a crash between both judges the same result again.
    const stored = { ...of, atMs: this.#parts.nowMs(), durationMs, isPassed, detail };
    await this.#results.keep({ ...stored, measurements: proof.measurements });
    const { id, run } = qualification;
    await this.#parts.driver.observe({ kind: "qualificationEnded", nodeId, id, run, isPassed, detail, durationMs });
  }

  /** Reports a run that proved nothing. */
  async #report({ nodeId, qualification }: Candidate, detail: string, durationMs: number): Promise<void> {
    const { id, run, suite } = qualification;
    const report = { nodeId, id, run, isPassed: false, detail, durationMs };
    // A full disk must not keep the run from ending.
    await this.#parts.driver.observe({ kind: "qualificationEnded", ...report });
    await this.#results.note(nodeId, { suite, atMs: this.#parts.nowMs(), durationMs, isPassed: false, detail });
  }

  /** The middle of the durations with which nodes of the pool passed; the limit, if none did. */
  #expectedMs(pool: string, { suite, limitMs }: QualificationRule): number {
    const known = this.#results
      .passed(pool, suite)
      .map(({ durationMs }) => durationMs)
      .toSorted((left, right) => left - right);
    return Math.min(limitMs, Math.round(known[known.length >> 1] ?? limitMs));
  }

  /** Ends runs that are over, of which nothing may live beside a further one. Returns the nodes where something does. */
  #endOthers(candidates: readonly Candidate[]): ReadonlySet<string> {
    const parent = path.join(this.#parts.home, FOLDER);
    const present = new Set(
      candidates
        .filter(({ qualification }) => qualification.phase === "running")
        .map(({ qualification }) => path.basename(this.#folderOf(qualification))),
    );
    mkdirSync(parent, { recursive: true, mode: 0o700 });
    const busy = new Set<string>();
    for (const name of readdirSync(parent)) {
      if (present.has(name)) continue;
      const folder = path.join(parent, name);
      const node = readRequest(folder)?.nodeId;
      // A process without a claim yet finds this one.
      claimRun(folder);
      const isAlive = runnerOf(folder) !== null;
      if (isAlive) this.#stop(folder);
      if (!isAlive && this.#isEnded(folder)) this.#remove(folder);
      else if (node !== undefined) busy.add(node);
    }
    return busy;
  }

  /** A folder that cannot be removed keeps no node from qualifying. */
  #remove(folder: string): void {
    try {
      removeRun(folder);
      this.#seenAtMs.delete(folder);
      this.#stoppedAtMs.delete(folder);
      this.#peersInUse.delete(folder);
    } catch (error) {
      this.#warn(`${folder} cannot be removed: ${messageOf(error)}`);
    }
  }

  #folderOf({ id, run }: NodeQualification): string {
    return path.join(this.#parts.home, FOLDER, `${id}-${run}`);
  }

  #warn(message: string): void {
    if (this.#warned.has(message)) return;
    this.#warned.add(message);
    this.#parts.log.warn(message);
  }
}

const NO_PEERS: IdlePeers = { names: [], areOthersInUse: false };

/** Text of a command without control characters, shortened. */
const plain = (text: string): string =>
  text
    .replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, " ")
    .trim()
    .slice(0, REASON_CHARS_MAX);
