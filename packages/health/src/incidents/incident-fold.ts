/**
 * Folds the journal into incidents: failures that happen within one window are a burst, and the topology says which of them have
 * one cause. Deterministic: the same events give the same incidents, whenever they are read. It reads no clock.
 */
import { isWithdrawnDetail } from "@headroom/model";
import type { Event, NodeFault, NodeId } from "@headroom/model";
import { FAILED_MIN, failingCohorts } from "./cohorts.ts";
import type { FailingCohort } from "./cohorts.ts";
import { domainKey } from "./domains.ts";
import { isOneNode } from "./failure.ts";
import type { Failure, IncidentRecord } from "./failure.ts";
import { FleetTopology } from "./fleet-topology.ts";
import { FaultScores, type StoredScores } from "./fault-scores.ts";
import type { FleetState, StoredTopology } from "./fleet-topology.ts";
import { groupFailures } from "./group-failures.ts";
import { compareScores, sharedIncidents } from "./shared-cause.ts";
import type { ComparedScores } from "./shared-cause.ts";

/** Failures at most this far apart can have one cause. Executors report a lost node after up to five minutes (`SlurmdTimeout`). */
const WINDOW_MS = 300_000;
/** A burst ends after this time, so that the single failures of a large fleet do not become one endless burst. */
const BURST_MS = 1_800_000;
/** Incidents that are kept. Beyond it, the oldest that is over is dropped, else the oldest. */
const INCIDENTS_MAX = 500;
const RECORDS_MAX = 200;
const CODES_MAX = 20;
/** Code of a node that did not pass the suite of its pool. */
const NOT_QUALIFIED = "not-qualified";
/** Codes that a proof of the node ends. */
const UNPROVEN: ReadonlySet<string> = new Set([NOT_QUALIFIED, "qualification-cannot-begin"]);

/** Failures with one cause. */
export interface IncidentFacts {
  /** `i` and the sequence of the first event. An id of any failure of the incident names it too. */
  readonly id: string;
  readonly domain: string;
  readonly sameNodesAs: readonly string[];
  readonly extent: { readonly nodes: number; readonly accelerators: number };
  readonly failures: readonly Failure[];
}

interface Burst {
  readonly failures: Failure[];
  readonly sizes: Map<string, number>;
}

interface StoredFold {
  readonly format: 1;
  readonly sequence: number;
  readonly topology: StoredTopology;
  readonly closed: readonly IncidentFacts[];
  /** Absent: an earlier version stored the fold. */
  readonly scores?: StoredScores;
  readonly burst: {
    readonly failures: readonly Failure[];
    readonly sizes: readonly (readonly [string, number])[];
  } | null;
}

const FLEET = domainKey({ level: "fleet", path: ["fleet"], isFabric: false });
const executorDomain = (id: string): string => domainKey({ level: "executor", path: [id], isFabric: false });
const nodeDomain = (id: string): string => domainKey({ level: "node", path: [id], isFabric: false });

export class IncidentFold {
  readonly #topology = new FleetTopology();
  /** Nodes that fail again and again. */
  readonly scores: FaultScores = new FaultScores();
  #sequence = 0;
  #closed: IncidentFacts[] = [];
  #burst: Burst | null = null;
  /** Incidents of the burst; `null`: it has changed. */
  #ofBurst: readonly IncidentFacts[] | null = null;
  /** Failures of nodes that are not back, by node. */
  readonly #openOf = new Map<string, Failure>();
  /** Changes with every change of an incident. */
  revision = 0;

  /** Begins after the newest event of the state. Earlier incidents are unknown. */
  static after(state: FleetState): IncidentFold {
    const fold = new IncidentFold();
    fold.#topology.begin(state);
    fold.#sequence = state.sequence;
    return fold;
  }

  /** Continues from `stored()`. Throws an error if the text is of another format. */
  static restore(text: string): IncidentFold {
    const stored = JSON.parse(text) as StoredFold;
    if (stored.format !== 1) throw new Error("the incidents are stored in another format");
    const fold = new IncidentFold();
    fold.#topology.restore(stored.topology);
    fold.#sequence = stored.sequence;
    fold.#closed = [...stored.closed];
    fold.scores.restore(stored.scores ?? []);
    if (stored.burst !== null)
      fold.#burst = { failures: [...stored.burst.failures], sizes: new Map(stored.burst.sizes) };
    for (const { failures } of fold.incidents())
      for (const failure of failures) if (failure.backAtMs === null) fold.#openOf.set(openKey(failure), failure);
    return fold;
  }

  stored(): string {
    const burst = this.#burst === null ? null : { failures: this.#burst.failures, sizes: [...this.#burst.sizes] };
    const scores = this.scores.stored();
    const { topology, ...rest } = { topology: this.#topology.stored(), closed: this.#closed, scores, burst };
    return JSON.stringify({ format: 1, sequence: this.#sequence, topology, ...rest } satisfies StoredFold);
  }

  get sequence(): number {
    return this.#sequence;
  }

  get topology(): FleetTopology {
    return this.#topology;
  }

  /** The oldest first. */
  incidents(): readonly IncidentFacts[] {
    if (this.#burst === null) return this.#closed;
    this.#ofBurst ??= this.#grouped(this.#burst);
    return [...this.#closed, ...this.#ofBurst];
  }

  /** Nodes of the present burst that share the cause of their failures with others, as things stand. */
  #sharedNodes(): ReadonlySet<string> {
    if (this.#burst === null) return new Set();
    const shared = sharedIncidents(this.incidents());
    const ofBurst = (this.#ofBurst ?? []).filter((incident) => shared.has(incident));
    return new Set(ofBurst.flatMap(({ failures }) => failures.map(({ node }) => node)));
  }

  /** Nodes with at least this score, and domains whose nodes have such scores together. */
  repeatedFailures(least: number, nowMs: number): ComparedScores {
    const shared = this.#sharedNodes();
    const found = this.scores.above(least, nowMs, shared);
    if (found.length === 0) return { own: [], shared: new Map() };
    return compareScores(found, { least, scoreOf: this.scores.now(nowMs, shared), nodes: this.#topology.nodes });
  }

  /** Cohorts of nodes that fail more often than the others of their pool. `explained`: nodes whose failures have a known cause. */
  failingCohorts(nowMs: number, explained: ReadonlySet<NodeId>): readonly FailingCohort[] {
    const failed = this.scores.above(FAILED_MIN, nowMs, this.#sharedNodes());
    return failingCohorts(
      failed.filter(({ node }) => !explained.has(node)),
      this.#topology.nodes,
    );
  }

  /** The incident with a failure of this id; `null`: there is none. */
  find(id: string): IncidentFacts | null {
    const sequence = Number(/^i([1-9][0-9]{0,15})$/.exec(id)?.[1] ?? Number.NaN);
    return this.incidents().find(({ failures }) => failures.some((each) => each.sequence === sequence)) ?? null;
  }

  apply(sequence: number, event: Event): void {
    this.#sequence = sequence;
    switch (event.kind) {
      case "nodeLost":
        this.#lose(sequence, event);
        break;
      case "nodeRemoved":
        this.scores.forget(event.nodeId);
        this.#end(event.nodeId, event.atMs);
        break;
      case "nodeReturned":
        this.#end(event.nodeId, event.atMs);
        break;
      case "nodeResumed":
        // A lost node can be resumed, too: it is back when it answers.
        if (this.#openOf.get(event.nodeId)?.isLost === false) this.#end(event.nodeId, event.atMs);
        break;
      case "nodeQualificationEnded":
        this.#judge(sequence, event);
        break;
      case "faultsReported":
        this.#report(sequence, event);
        break;
      case "executorLost":
        this.#loseExecutor(sequence, event);
        break;
      case "executorReturned":
      case "executorRemoved":
        this.#end(`executor ${event.executor}`, event.atMs);
        break;
      case "incidentAnnotated":
        this.#record(sequence, event);
        break;
      default:
        break;
    }
    this.#topology.apply(event);
  }

  #lose(sequence: number, { nodeId, atMs, detail }: Event & { readonly kind: "nodeLost" }): void {
    const hits = this.#topology.hitsOn(nodeId);
    const failure = this.#openOf.get(nodeId) ?? this.#begin(sequence, nodeId, atMs);
    // The cause of an earlier incident has counted, or is shared: further reports about it add nothing. A node that is drained, here or at its cluster, is lost to maintenance.
    const isMaintained = this.#topology.nodes.get(nodeId)?.isDraining === true || isWithdrawnDetail(detail);
    if (!isMaintained && this.#isOfBurst(failure, atMs)) this.scores.lost(nodeId, { atMs, isOpen: true });
    if (isMaintained && !failure.isLost) failure.isMaintained = true;
    failure.isLost = true;
    failure.detail = detail;
    failure.alerts += 1 + hits.length;
    failure.lastAtMs = atMs;
    failure.hits.push(...hits);
    this.#changed();
  }

  /** Only critical faults begin an incident. Others are added to one that is open. */
  #report(sequence: number, { nodeId, atMs, faults }: Event & { readonly kind: "faultsReported" }): void {
    const critical = faults.find(({ severity }) => severity === "critical");
    const failure = this.#openOf.get(nodeId) ?? (critical === undefined ? null : this.#begin(sequence, nodeId, atMs));
    const isOpen = failure !== null && this.#isOfBurst(failure, atMs);
    if (isOpen || failure === null) this.scores.reported(nodeId, { atMs, isOpen }, faults);
    if (failure === null) return;
    if (!failure.isLost && critical !== undefined) failure.detail = faultText(critical);
    failure.alerts += faults.length;
    failure.lastAtMs = atMs;
    for (const { code } of faults)
      if (!failure.codes.includes(code) && failure.codes.length < CODES_MAX) failure.codes.push(code);
    this.#changed();
  }

  /** A node that did not qualify has failed until it qualifies. */
  #judge(
    sequence: number,
    { nodeId, atMs, outcome, detail }: Event & { readonly kind: "nodeQualificationEnded" },
  ): void {
    const known = this.#openOf.get(nodeId);
    if (outcome === "retried") return;
    if (outcome !== "failed") {
      this.#endUnproven(nodeId, known, atMs);
      return;
    }
    const failure = known ?? this.#begin(sequence, nodeId, atMs);
    if (!failure.isLost) failure.detail = `did not qualify: ${detail}`;
    failure.alerts++;
    failure.lastAtMs = atMs;
    if (!failure.codes.includes(NOT_QUALIFIED)) failure.codes.push(NOT_QUALIFIED);
    this.#changed();
  }

  /** A proof ends the failure to qualify. Faults of other sources stay. */
  #endUnproven(nodeId: NodeId, failure: Failure | undefined, atMs: number): void {
    if (failure === undefined || failure.isLost || !failure.codes.some((code) => UNPROVEN.has(code))) return;
    if (failure.codes.every((code) => UNPROVEN.has(code))) return this.#end(nodeId, atMs);
    const others = failure.codes.filter((code) => !UNPROVEN.has(code));
    failure.codes.splice(0, failure.codes.length, ...others);
    this.#changed();
  }

  #loseExecutor(sequence: number, { executor, atMs, detail }: Event & { readonly kind: "executorLost" }): void {
    const key = `executor ${executor}`;
    if (this.#openOf.has(key)) return;
    const { nodes: _nodes, accelerators } = this.#topology.extentOf(executorDomain(executor));
    const failure: Failure = {
      ...emptyFailure(sequence, "", atMs),
      domains: [executorDomain(executor)],
      accelerators,
      detail,
      alerts: 1,
    };
    this.#openOf.set(key, failure);
    this.#keep({ ...this.#facts(executorDomain(executor), [failure]), sameNodesAs: [] });
    this.#changed();
  }

  #begin(sequence: number, nodeId: NodeId, atMs: number): Failure {
    const known = this.#topology.nodes.get(nodeId);
    const { domains = [], accelerators = 0 } = known ?? {};
    const failure: Failure = { ...emptyFailure(sequence, nodeId, atMs), domains, accelerators };
    this.#closeBurst(atMs);
    this.#burst ??= { failures: [], sizes: this.#topology.sizes().set(FLEET, this.#topology.nodes.size) };
    this.#burst.failures.push(failure);
    this.#openOf.set(nodeId, failure);
    return failure;
  }

  #end(key: string, atMs: number): void {
    const failure = this.#openOf.get(key);
    if (failure === undefined) return;
    failure.backAtMs = atMs;
    this.#openOf.delete(key);
    this.#changed();
  }

  #record(
    sequence: number,
    { incident, atMs, actor, annotation }: Event & { readonly kind: "incidentAnnotated" },
  ): void {
    const found = this.find(incident);
    const failure = found?.failures[0];
    if (found === null || failure === undefined) return;
    const { records } = failure;
    records.push({ sequence, atMs, actor, annotation } satisfies IncidentRecord);
    // Notes make room first, so that any number of them leaves an acknowledgement and the end.
    if (records.length > RECORDS_MAX) {
      const note = records.findIndex((each) => each.annotation.kind === "note");
      records.splice(Math.max(0, note), 1);
    }
    if (annotation.kind === "resolve") this.#endFaults(found, atMs);
    this.#changed();
  }

  /** Faults have no end of their own. A fault after the resolution is a new failure, and no further report of the resolved one. */
  #endFaults({ failures }: IncidentFacts, atMs: number): void {
    for (const { node, isLost } of failures) if (node !== "" && !isLost) this.#end(node, atMs);
  }

  #changed(): void {
    this.#ofBurst = null;
    this.revision++;
  }

  /** Ends the burst if the next failure does not belong to it. */
  #closeBurst(atMs: number): void {
    if (this.#burst === null) return;
    const { failures } = this.#burst;
    const [first, last] = [failures[0], failures.at(-1)];
    if (first === undefined || last === undefined) return;
    if (atMs - last.atMs <= WINDOW_MS && atMs - first.atMs <= BURST_MS) return;
    const incidents = this.#grouped(this.#burst);
    const shared = sharedIncidents([...this.#closed, ...incidents]);
    for (const incident of incidents) {
      const nodes = new Set(incident.failures.flatMap(({ node }) => (node === "" ? [] : [node])));
      this.scores.settle(nodes, shared.has(incident));
      this.#keep(incident);
    }
    this.#burst = null;
  }

  /** Whether a report about the failure is part of the burst, the cause of which further failures can still show. */
  #isOfBurst({ sequence }: Failure, atMs: number): boolean {
    const first = this.#burst?.failures[0];
    return first !== undefined && sequence >= first.sequence && atMs - first.atMs <= BURST_MS;
  }

  #grouped({ failures, sizes }: Burst): readonly IncidentFacts[] {
    const groups = groupFailures(failures, sizes, sizes.get(FLEET) ?? 0);
    return groups
      .map((group) => ({
        ...this.#facts(group.domain ?? this.#ownDomain(group.failures), group.failures),
        sameNodesAs: group.sameNodesAs,
      }))
      .toSorted((left, right) => firstOf(left.failures) - firstOf(right.failures));
  }

  #ownDomain(failures: readonly Failure[]): string {
    const [only] = failures;
    return only !== undefined && isOneNode(failures) ? nodeDomain(only.node) : FLEET;
  }

  #facts(domain: string, failures: readonly Failure[]): Omit<IncidentFacts, "sameNodesAs"> {
    const [only] = failures;
    const isNode = isOneNode(failures) && domain === nodeDomain(only?.node ?? "");
    const extent =
      isNode && only !== undefined
        ? { nodes: 1, accelerators: only.accelerators }
        : domain === FLEET
          ? { nodes: failures.length, accelerators: failures.reduce((sum, each) => sum + each.accelerators, 0) }
          : this.#topology.extentOf(domain);
    return { id: `i${firstOf(failures)}`, domain, extent, failures };
  }

  #keep(incident: IncidentFacts): void {
    this.#closed.push(incident);
    if (this.#closed.length <= INCIDENTS_MAX) return;
    const over = this.#closed.findIndex(({ failures }) => failures.every(({ backAtMs }) => backAtMs !== null));
    const [dropped] = this.#closed.splice(Math.max(0, over), 1);
    for (const failure of dropped?.failures ?? []) this.#openOf.delete(openKey(failure));
  }
}

const firstOf = (failures: readonly Failure[]): number => Math.min(...failures.map(({ sequence }) => sequence));

function openKey({ node, domains }: Failure): string {
  if (node !== "") return node;
  const [, , executor = ""] = JSON.parse(domains[0] ?? "[]") as readonly string[];
  return `executor ${executor}`;
}

const faultText = ({ code, device, detail }: NodeFault): string =>
  [device === undefined ? code : `${code} of ${device}`, detail].filter((part) => part !== "").join(": ");

const emptyFailure = (sequence: number, node: NodeId | "", atMs: number): Failure => ({
  sequence,
  atMs,
  node,
  accelerators: 0,
  domains: [],
  isLost: false,
  backAtMs: null,
  detail: "",
  alerts: 0,
  lastAtMs: atMs,
  codes: [],
  hits: [],
  records: [],
});
