/**
 * Makes proposals of findings: the one place at which the control plane asks for changes of the fleet by itself. It only
 * asks. The engine decides by the rule of the kind (advise, approve, automatic) and within its budget of change, so any
 * number of findings at a time changes no more than the budget allows.
 */
import { setImmediate } from "node:timers/promises";
import type { Engine, ReadonlyState } from "@headroom/engine";
import { PeerWatch, StallWatch, lemonFindings, nodeFindings, stragglerFindings } from "@headroom/health";
import type { Finding, WatchedAttempt } from "@headroom/health";
import { CONTROL_PLANE_ACTOR } from "@headroom/model";
import type { Executor } from "@headroom/executors";
import { powerDraws } from "@headroom/explain";
import type { AttemptId, ExecutorId, Proposal } from "@headroom/model";
import type { DriverLog } from "../driver/driver-log.ts";
import type { Driver } from "../driver/driver.ts";
import { messageOf } from "../executors/within.ts";
import type { IncidentService } from "../incidents/incident-service.ts";
import type { RemediationService } from "../remediations/remediation-service.ts";
import { peerSets } from "../telemetry/peer-sets.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import { checkpointFindings } from "./checkpoint-findings.ts";
import { MeasuredRequests } from "./measured-requests.ts";
import { PowerWatch } from "./power-watch.ts";
import { requestFindings } from "./request-findings.ts";
import { FINDINGS_AGENT, dueOf, proposalOf } from "./due-proposals.ts";
import type { Due } from "./due-proposals.ts";
import { comparedGangs, slowFindings, watchedAttempts } from "./fleet-findings.ts";
import { effectOfProposal } from "./proposal-effect.ts";
import type { EffectParts } from "./proposal-effect.ts";

const LOOK_EVERY_MS = 1_000;
/** Spares and walltimes change in hours, and their rules read the whole history. */
const SLOW_LOOK_EVERY_MS = 600_000;
/** Means of an hour change little in a minute. */
const PEERS_EVERY_MS = 60_000;
/** Attempts in one turn of the event loop: about a millisecond. */
const WATCHED_A_TURN = 256;

interface RemedyParts extends EffectParts {
  readonly driver: Pick<Driver, "read" | "command" | "status">;
  readonly incidents: Pick<IncidentService, "fold">;
  readonly telemetry: Pick<Telemetry, "newest" | "comparePeers">;
  readonly remediations: EffectParts["remediations"] & Pick<RemediationService, "findings" | "awaitsCheck">;
  readonly executors: { readonly executors: { get(id: ExecutorId): Pick<Executor, "usage"> | undefined } };
  readonly log: DriverLog;
}

/** A finding with the proposal that was made of it; `null`: none yet. */
export interface FollowedFinding {
  readonly finding: Finding;
  readonly proposal: Proposal | null;
}

export class RemedyService {
  readonly #parts: RemedyParts;
  readonly #stalls = new StallWatch();
  readonly #closing = new AbortController();
  #findings: readonly Finding[] = [];
  readonly #requests = new MeasuredRequests();
  #measuring: Promise<void> | null = null;
  /** True: further runs were read since the findings of requests were computed. */
  #isMeasured = false;
  #oversized: readonly Finding[] = [];
  readonly #power = new PowerWatch();
  readonly #peers = new PeerWatch();
  #peersAtMs = 0;
  #comparing: Promise<void> | null = null;
  #slow: readonly Finding[] = [];
  #slowLookAtMs = 0;
  /** Sequence of the journal at the start. Before the incidents have it, findings are missing that have not ended. */
  #firstSequence = 0;
  #complaint = "";
  #timer: NodeJS.Timeout | null = null;
  #looking: Promise<void> | null = null;

  constructor(parts: RemedyParts) {
    this.#parts = parts;
  }

  start(): void {
    this.#firstSequence = this.#parts.driver.status().sequence;
    this.#timer = setInterval(() => {
      this.#looking ??= this.look().finally(() => (this.#looking = null));
    }, LOOK_EVERY_MS);
    this.#timer.unref();
  }

  async close(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#closing.abort();
    await this.#looking;
    await this.#measuring;
    await this.#comparing;
  }

  /** The findings of the newest look, each with its proposal. */
  findings(state: ReadonlyState): readonly FollowedFinding[] {
    return this.#findings.map((finding) => ({ finding, proposal: proposalOf(state, finding) }));
  }

  /** Looks at the fleet, makes proposals of findings that have none, and withdraws those whose finding is over. */
  async look(): Promise<void> {
    const { driver, incidents } = this.#parts;
    if (incidents.fold.sequence < this.#firstSequence) return;
    await this.#tried(async () => {
      const attempts = await this.#watched();
      // Beside the look: an executor that answers late keeps no other finding waiting.
      if (this.#isSlowLookDue())
        this.#measuring ??= this.#tried(() => this.#measure()).finally(() => (this.#measuring = null));
      if (Math.abs(this.#parts.nowMs() - this.#peersAtMs) >= PEERS_EVERY_MS)
        this.#comparing ??= this.#tried(() => this.#comparePeers()).finally(() => (this.#comparing = null));
      const due = await driver.read((engine) => this.#lookAt(engine, attempts));
      for (const id of due.over) await this.#tried(() => this.#withdraw(id));
      for (const finding of due.fresh) await this.#tried(() => this.#propose(finding));
      for (const id of due.unsimulated) await this.#tried(() => this.#simulate(id));
    });
  }

  #isSlowLookDue(): boolean {
    return this.#parts.nowMs() - this.#slowLookAtMs >= SLOW_LOOK_EVERY_MS;
  }

  /** Reads what further ended runs used. */
  async #measure(): Promise<void> {
    const { driver, executors, telemetry } = this.#parts;
    const parts = {
      read: <Answer>(ask: (state: ReadonlyState) => Answer) => driver.read(({ state }) => ask(state)),
      executorOf: (id: ExecutorId) => executors.executors.get(id),
      reportOf: (id: AttemptId) => telemetry.newest.get(id),
    };
    await this.#requests.look(parts, this.#closing.signal);
    this.#isMeasured = true;
  }

  /** A thread that is busy or begins again leaves the comparison to a later look. */
  async #comparePeers(): Promise<void> {
    const { driver, telemetry, nowMs } = this.#parts;
    this.#peersAtMs = nowMs();
    const sets = await driver.read(({ state }) => peerSets(state));
    const { harmful } = await telemetry.comparePeers(sets);
    this.#peers.look(harmful, this.#peersAtMs);
  }

  /** All attempts that can be watched, a portion in each turn of the event loop. */
  async #watched(): Promise<readonly WatchedAttempt[]> {
    const { driver, telemetry } = this.#parts;
    const ids = await driver.read(({ state }) => [...state.attempts.keys()]);
    const watched: WatchedAttempt[] = [];
    for (let from = 0; from < ids.length; from += WATCHED_A_TURN) {
      const portion = ids.slice(from, from + WATCHED_A_TURN);
      const found = await driver.read(({ state }) => watchedAttempts(state, portion, (id) => telemetry.newest.get(id)));
      watched.push(...found);
      await setImmediate();
    }
    return watched;
  }

  #lookAt(engine: Engine, attempts: readonly WatchedAttempt[]): Due {
    const { nowMs, incidents } = this.#parts;
    const atMs = nowMs();
    const facts = incidents.fold.incidents();
    const ofNodes = nodeFindings(facts, engine.state.nodes, atMs);
    if (this.#isSlowLookDue()) {
      this.#slowLookAtMs = atMs;
      this.#slow = [
        ...lemonFindings(incidents.fold, engine.state.nodes, { nowMs: atMs, others: ofNodes }),
        ...slowFindings(engine, facts, atMs),
        ...checkpointFindings(engine.state),
      ];
    }
    if (this.#isMeasured) {
      this.#isMeasured = false;
      this.#oversized = requestFindings(engine.state, this.#requests.runs);
    }
    const stalled = this.#stalls.look(attempts, atMs);
    this.#findings = [
      ...ofNodes,
      ...stalled,
      ...stragglerFindings(comparedGangs(engine.state, attempts, (id) => this.#parts.telemetry.newest.get(id))),
      ...this.#peers.findings(),
      ...this.#slow,
      ...this.#oversized,
      ...this.#power.look(powerDraws(engine), atMs),
      ...this.#parts.remediations.findings(),
    ];
    const due = dueOf(engine.state, this.#findings, attempts);
    return { ...due, over: due.over.filter((id) => !this.#isUnknown(engine.state.proposals.get(id))) };
  }

  /** After a restart nothing is known of drift before the first check, and of deviations for an hour, which is not the end of a finding. */
  #isUnknown(proposal: Proposal | undefined): boolean {
    const change = proposal?.change;
    if (change === undefined) return false;
    if (change.kind === "remediate") return this.#parts.remediations.awaitsCheck(change.remediation);
    return this.#peers.awaits(change);
  }

  /** A complaint is logged once, not in each look. */
  async #tried(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      const complaint = messageOf(error);
      if (this.#closing.signal.aborted || complaint === this.#complaint) return;
      this.#complaint = complaint;
      this.#parts.log.warn(`A finding became no proposal: ${complaint}`);
    }
  }

  async #propose({ change, reason, ground, team }: Finding): Promise<void> {
    const { driver } = this.#parts;
    const about = team === null ? {} : { team };
    const wanted = { kind: "createProposal", change, reason, ground, agent: FINDINGS_AGENT, ...about } as const;
    const reply = await driver.command({ ...wanted, actor: CONTROL_PLANE_ACTOR, idempotencyKey: null });
    // The subject can have left, or a user has proposed the same meanwhile.
    if (reply.kind === "rejected" && reply.rejection.code === "tooManyProposals")
      throw new Error(`${reply.rejection.maxCount} proposals of the control plane are open. Decide some of them.`);
    if (reply.kind === "rejected" || reply.result.kind !== "proposalSet") return;
    await this.#simulate(reply.result.id);
  }

  async #withdraw(id: string): Promise<void> {
    const reason = "the finding is over";
    const wanted = { kind: "decideProposal", id, verdict: "withdraw", reason } as const;
    await this.#parts.driver.command({ ...wanted, actor: CONTROL_PLANE_ACTOR, idempotencyKey: null });
  }

  /** A simulation that fails leaves the proposal advised. The next look tries again, and a user can. */
  async #simulate(id: string): Promise<void> {
    const { driver } = this.#parts;
    const effect = await effectOfProposal(this.#parts, id, { actor: CONTROL_PLANE_ACTOR, gone: this.#closing.signal });
    await driver.command({ kind: "simulateProposal", id, effect, actor: CONTROL_PLANE_ACTOR, idempotencyKey: null });
  }
}
