/**
 * Carries out remediations of drift: reads the facts of nodes, and changes the nodes of approved proposals in waves. It
 * only runs commands of `remediations.yaml`. Start at `look`; the steps of a node are in `node-steps.ts`.
 */
import type { Engine } from "@headroom/engine";
import { factDeviations, ground, shortReason, waveSize } from "@headroom/health";
import type { Finding } from "@headroom/health";
import { canonicalJson } from "@headroom/model";
import type { NodeId, ProposedChange, RemediateChange } from "@headroom/model";
import { REMEDIATED_NODES_MAX, refuse } from "@headroom/protocol";
import type { DriftCheck, DriftingNode, Remediation, RemediationList, RemediationRun } from "@headroom/protocol";
import type { DriverLog } from "../driver/driver-log.ts";
import { messageOf } from "../executors/within.ts";
import type { EffectParts } from "../remedies/proposal-effect.ts";
import { readFacts } from "./node-commands.ts";
import { NodeSteps, isApproved } from "./node-steps.ts";
import type { StepParts } from "./node-steps.ts";
import { digestOf, planOf, readRemediations, remediationsStamp } from "./remediation-file.ts";
import type { RemediationDocument } from "./remediation-file.ts";
import { RunBook, isActive, isWell } from "./run-book.ts";
import type { RemediateProposal } from "./run-book.ts";

const LOOK_EVERY_MS = 1_000;
/** Nodes of all runs that are worked on at a time. */
const NODES_AT_ONCE = 16;
/** Nodes whose facts are read at a time by a check. */
const READ_AT_ONCE = 8;

interface RemediationParts {
  readonly home: string;
  readonly driver: StepParts["driver"];
  readonly forecast: EffectParts["forecast"];
  readonly log: Pick<DriverLog, "warn">;
  readonly nowMs: () => number;
}

export class RemediationService {
  readonly #parts: RemediationParts;
  readonly #closing = new AbortController();
  readonly #book: RunBook;
  readonly #steps: NodeSteps;
  readonly #busy = new Map<string, Promise<void>>();
  readonly #checks = new Map<string, DriftCheck>();
  readonly #checking = new Map<string, Promise<DriftCheck>>();
  /** The instant since which the same nodes drift. */
  readonly #since = new Map<string, { readonly nodes: string; readonly sinceMs: number }>();
  #documents: ReadonlyMap<string, RemediationDocument> = new Map();
  #problem: string | null = null;
  #stamp: string | null = null;
  #timer: NodeJS.Timeout | null = null;
  #looking: Promise<void> | null = null;

  constructor(parts: RemediationParts) {
    this.#parts = parts;
    this.#book = new RunBook(parts.home, parts.log);
    const { driver, forecast, nowMs } = parts;
    const signal = this.#closing.signal;
    this.#steps = new NodeSteps({ driver, forecast, nowMs, remediations: this, book: this.#book, signal });
  }

  /** The first look notes what was approved before this start, so it does not wait. */
  start(): void {
    this.#lookOnce();
    this.#timer = setInterval(() => this.#lookOnce(), LOOK_EVERY_MS);
    this.#timer.unref();
  }

  #lookOnce(): void {
    if (this.#closing.signal.aborted) return;
    this.#looking ??= this.look().finally(() => (this.#looking = null));
  }

  async close(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#closing.abort();
    await this.#looking;
    await Promise.allSettled([...this.#busy.values(), ...this.#checking.values()]);
  }

  async look(): Promise<void> {
    try {
      this.#readFile();
      this.#checkWhatIsDue();
      const fresh = this.#book.unbegun(await this.#parts.driver.read(actedRemediations));
      for (const proposal of fresh)
        this.#book.begin(proposal, this.#documents.get(proposal.change.remediation), this.#parts.nowMs());
      if (fresh.length > 0) await this.#book.save();
      for (const run of this.#book.open()) await this.#advance(run);
    } catch (error) {
      if (!this.#closing.signal.aborted) this.#parts.log.warn(`Remediations were not looked at: ${messageOf(error)}`);
    }
  }

  list(): RemediationList {
    this.#readFile();
    return { items: [...this.#documents.values()].map((each) => this.#view(each)), problem: this.#problem };
  }

  /** The newest first. */
  runs(): readonly RemediationRun[] {
    return this.#book.all().toReversed();
  }

  run(id: string): RemediationRun {
    return this.#book.find(id);
  }

  /** The findings of the newest checks: nodes that differ from the desired facts. */
  findings(): readonly Finding[] {
    const busy = new Set(this.#book.open().map(({ remediation }) => remediation));
    return [...this.#documents.values()].flatMap((document): Finding[] => {
      const check = this.#checks.get(document.name);
      const nodeIds = (check?.nodes ?? []).filter(({ problem }) => problem === null).map(({ nodeId }) => nodeId);
      if (document.checkEvery === undefined || nodeIds.length === 0 || busy.has(document.name)) return [];
      const change = changeOf(document, nodeIds);
      // A document that did harm is not proposed again before it was changed.
      if (this.#book.all().some(({ digest, phase }) => digest === change.digest && phase === "stopped")) return [];
      const sinceMs = this.#since.get(document.name)?.sinceMs ?? check?.atMs ?? 0;
      const facts = [...new Set(check?.nodes.flatMap(({ deviations }) => deviations.map(({ fact }) => fact)))];
      const reason = shortReason(`${nodeIds.length} nodes differ from ${document.name}: ${facts.join(", ")}`);
      const numbers = [ground("nodes that differ", nodeIds.length), ground("nodes read", check?.nodeCount ?? 0)];
      return [
        {
          id: `drift:${document.name}:${sinceMs}`,
          kind: "drift",
          sinceMs,
          change,
          team: null,
          reason,
          ground: numbers,
        },
      ];
    });
  }

  /** Whether the facts are read by themselves, and were not read since the start or the last run. */
  awaitsCheck(name: string): boolean {
    this.#readFile();
    return this.#documents.get(name)?.checkEvery !== undefined && !this.#checks.has(name);
  }

  /** The change of a proposal, with the digest of the document. Refused: an unknown document, nodes of other pools. */
  async proposed(remediation: string, nodeIds: readonly string[]): Promise<ProposedChange> {
    const document = this.#document(remediation);
    const outside = await this.#parts.driver.read(({ state }) =>
      nodeIds.filter((id) => !document.pools.includes(state.nodes.get(id as NodeId)?.pool ?? "")),
    );
    if (outside.length > 0)
      throw refuse(
        "remediationNotAllowed",
        `${outside.slice(0, 5).join(", ")}: no nodes of ${document.pools.join(", ")}, the pools of remediation ${remediation}.`,
      );
    return changeOf(document, nodeIds);
  }

  /** The drains of the largest wave: the most nodes that are out of service at a time. A live remediation has none. */
  drainsOf({ remediation, nodeIds }: RemediateChange): readonly ProposedChange[] {
    const document = this.#documents.get(remediation);
    if (document === undefined || document.mode === "live") return [];
    const size = Math.max(document.canary, waveSize(nodeIds.length, planOf(document)));
    return nodeIds.slice(0, size).map((nodeId) => ({ kind: "drain", nodeId, running: document.running }));
  }

  /** Reads the facts of all nodes of the pools. A second request during a check gets its answer. */
  check(name: string): Promise<DriftCheck> {
    const document = this.#document(name);
    const present = this.#checking.get(name);
    if (present !== undefined) return present;
    const checking = this.#check(document).finally(() => this.#checking.delete(name));
    this.#checking.set(name, checking);
    return checking;
  }

  async cancel(id: string, actor: string): Promise<RemediationRun> {
    const { phase } = this.#book.find(id);
    if (phase !== "running") throw refuse("remediationRunOver", `The run ${id} is ${phase}.`);
    this.#book.change(id, { phase: "cancelling", reason: `${actor} cancelled it`, waitsFor: "" });
    await this.#book.save();
    return this.#book.find(id);
  }

  #document(name: string): RemediationDocument {
    this.#readFile();
    const found = this.#documents.get(name);
    if (found !== undefined) return found;
    throw refuse(
      "unknownRemediation",
      `There is no remediation ${name}. Operators declare them in remediations.yaml: docs/how-to/remedy-drift.md`,
    );
  }

  /** A file that is not valid leaves the documents as they were. */
  #readFile(): void {
    const stamp = remediationsStamp(this.#parts.home);
    if (stamp === this.#stamp) return;
    this.#stamp = stamp;
    try {
      this.#documents = readRemediations(this.#parts.home);
      this.#problem = null;
      for (const name of this.#checks.keys()) if (!this.#documents.has(name)) this.#checks.delete(name);
    } catch (error) {
      this.#problem = messageOf(error);
      this.#parts.log.warn(this.#problem);
    }
  }

  #view(document: RemediationDocument): Remediation {
    const { name, pools, desired, command, ansible, mode, canary, wave, checkEvery = null } = document;
    const change = command?.join(" ") ?? `ansible-playbook ${ansible?.playbook ?? ""}`;
    const size = "nodes" in wave ? String(wave.nodes) : `${wave.percent}%`;
    const lastCheck = this.#checks.get(name) ?? null;
    const plan = { change, mode, canary, wave: size, checkEveryMs: checkEvery };
    return { name, digest: digestOf(document), pools: [...pools], desired, ...plan, lastCheck };
  }

  #checkWhatIsDue(): void {
    for (const { name, checkEvery } of this.#documents.values()) {
      const last = this.#checks.get(name)?.atMs ?? 0;
      if (checkEvery === undefined || this.#checking.has(name) || last + checkEvery > this.#parts.nowMs()) continue;
      this.check(name).catch((error: unknown) => {
        if (!this.#closing.signal.aborted) this.#parts.log.warn(`Drift was not checked: ${messageOf(error)}`);
      });
    }
  }

  async #check(document: RemediationDocument): Promise<DriftCheck> {
    const { driver, nowMs } = this.#parts;
    const ids = await driver.read(({ state }) =>
      [...state.nodes.values()]
        .filter(({ pool, health }) => document.pools.includes(pool) && health === "up")
        .map(({ id }) => id)
        .slice(0, REMEDIATED_NODES_MAX),
    );
    const found: DriftingNode[] = [];
    const waiting = [...ids];
    const read = async (): Promise<void> => {
      for (let id = waiting.shift(); id !== undefined; id = waiting.shift()) {
        if (this.#closing.signal.aborted) return;
        const node = await driftOf(document, id, this.#closing.signal);
        if (node !== null) found.push(node);
      }
    };
    await Promise.all(Array.from({ length: READ_AT_ONCE }, read));
    this.#closing.signal.throwIfAborted();
    const nodes = found.toSorted((left, right) => (left.nodeId < right.nodeId ? -1 : 1));
    const check = { atMs: nowMs(), nodeCount: ids.length, nodes };
    this.#checks.set(document.name, check);
    const drifting = canonicalJson(nodes.filter(({ problem }) => problem === null).map(({ nodeId }) => nodeId));
    if (this.#since.get(document.name)?.nodes !== drifting)
      this.#since.set(document.name, { nodes: drifting, sinceMs: check.atMs });
    return check;
  }

  async #advance(run: RemediationRun): Promise<void> {
    const document = this.#documents.get(run.remediation);
    if (run.phase === "running" && !isApproved(document, run))
      return this.#stop(run, "the document was changed or removed after the approval; propose it again");
    const failed = run.nodes.find(({ phase }) => phase === "failed");
    if (run.phase === "running" && failed !== undefined)
      return this.#stop(run, `${failed.nodeId} failed: ${failed.detail}`);
    if (run.phase !== "running") return this.#wind(run, document);
    if (run.nodes.every(isWell)) return this.#end(run, "done");
    const wave = Math.min(...run.nodes.filter((node) => !isWell(node)).map((node) => node.wave));
    for (const node of run.nodes) if (node.wave === wave && !isWell(node)) this.#step(run, node.nodeId, document);
  }

  /** Brings begun nodes to their end, and leaves the others. */
  async #wind(run: RemediationRun, document: RemediationDocument | undefined): Promise<void> {
    for (const node of run.nodes) {
      if (this.#busy.has(`${run.id} ${node.nodeId}`)) continue;
      if (node.phase === "pending" || node.phase === "draining") await this.#steps.release(run, node);
      else if (isActive(node)) this.#step(run, node.nodeId, document);
    }
    const isOver = !this.#book.find(run.id).nodes.some((node) => isActive(node) || node.phase === "pending");
    if (isOver) await this.#end(run, run.phase === "cancelling" ? "cancelled" : "stopped");
  }

  #step(run: RemediationRun, nodeId: string, document: RemediationDocument | undefined): void {
    const key = `${run.id} ${nodeId}`;
    const node = this.#book.node(run.id, nodeId);
    if (node === undefined || this.#busy.has(key) || this.#busy.size >= NODES_AT_ONCE) return;
    if (!this.#steps.isDue(run, node)) return;
    if (document === undefined || !isApproved(document, run)) {
      const detail = "the document was changed or removed after the approval";
      this.#book.changeNode(run.id, nodeId, { phase: "failed", detail, sinceMs: this.#parts.nowMs() });
      return;
    }
    const step = this.#steps
      .advance({ run, node, document })
      .then(() => this.#book.save())
      .catch((error: unknown) => this.#parts.log.warn(`Run ${run.id} is not written: ${messageOf(error)}`))
      .finally(() => {
        this.#busy.delete(key);
        this.#lookOnce();
      });
    this.#busy.set(key, step);
  }

  async #stop({ id }: RemediationRun, reason: string): Promise<void> {
    this.#parts.log.warn(`Remediation ${id} stops: ${reason}`);
    this.#book.change(id, { phase: "stopping", reason, waitsFor: "" });
    await this.#book.save();
  }

  async #end({ id }: RemediationRun, phase: RemediationRun["phase"]): Promise<void> {
    this.#book.change(id, { phase, endedAtMs: this.#parts.nowMs(), waitsFor: "" });
    // The nodes have changed since the last check.
    this.#checks.delete(this.#book.find(id).remediation);
    await this.#book.save();
  }
}

function changeOf(document: RemediationDocument, nodeIds: readonly string[]): RemediateChange {
  const { name: remediation } = document;
  return { kind: "remediate", remediation, digest: digestOf(document), nodeIds: nodeIds as readonly NodeId[] };
}

async function driftOf(
  document: RemediationDocument,
  nodeId: string,
  signal: AbortSignal,
): Promise<DriftingNode | null> {
  try {
    const facts = await readFacts(document, nodeId, signal);
    const deviations = factDeviations(facts, new Map(Object.entries(document.desired)));
    return deviations.length === 0 ? null : { nodeId, deviations: [...deviations], problem: null };
  } catch (error) {
    return { nodeId, deviations: [], problem: messageOf(error) };
  }
}

function actedRemediations({ state }: Engine): readonly RemediateProposal[] {
  const acted = [...state.proposals.values()].filter(
    (each): each is RemediateProposal => each.change.kind === "remediate" && each.actedAtMs !== null,
  );
  return acted.toSorted((left, right) => left.actedAtMs - right.actedAtMs);
}
