/**
 * The steps of one node in a run of a remediation: pending → draining → changing → proving → returned. Each call makes at
 * most one step. Every step can be made again after a restart; for commands this is a demand on the document.
 */
import type { ReadonlyState } from "@headroom/engine";
import { factDeviations, slowerPercent } from "@headroom/health";
import { CONTROL_PLANE_ACTOR, HOUR_MS, isProposalOpen, usualProposalRules } from "@headroom/model";
import type { NodeId, Proposal } from "@headroom/model";
import type { RemediatedNode, RemediationRun } from "@headroom/protocol";
import { plural, rejectionProblem } from "@headroom/views";
import type { CommandRequest } from "../driver/driver.ts";
import { messageOf } from "../executors/within.ts";
import { effectOfProposal } from "../remedies/proposal-effect.ts";
import type { EffectParts } from "../remedies/proposal-effect.ts";
import type { Driver } from "../driver/driver.ts";
import { change, measure, readFacts } from "./node-commands.ts";
import { digestOf } from "./remediation-file.ts";
import type { RemediationDocument } from "./remediation-file.ts";
import { isActive } from "./run-book.ts";
import type { RunBook } from "./run-book.ts";

const AGENT = "remediation";
/** Pause between two readings of a node that is not yet as it should be: it may be restarting. */
const PROOF_EVERY_MS = 5_000;
/** Pause before the state of a node is looked at again. */
const LOOK_EVERY_MS = 1_000;
/** Pause before a node for which the budget of change has no room is tried again. */
const BUDGET_EVERY_MS = 10_000;

export interface StepParts extends EffectParts {
  readonly driver: Pick<Driver, "read" | "command">;
  readonly book: RunBook;
  readonly signal: AbortSignal;
}

interface Step {
  readonly run: RemediationRun;
  readonly node: RemediatedNode;
  readonly document: RemediationDocument;
}

export class NodeSteps {
  readonly #parts: StepParts;
  /** The instant before which a node is not tried again, by run and node. */
  readonly #notBefore = new Map<string, number>();

  constructor(parts: StepParts) {
    this.#parts = parts;
  }

  isDue(run: RemediationRun, { nodeId }: RemediatedNode): boolean {
    return (this.#notBefore.get(`${run.id} ${nodeId}`) ?? 0) <= this.#parts.nowMs();
  }

  async advance(step: Step): Promise<void> {
    try {
      await this.#advance(step);
    } catch (error) {
      if (!this.#parts.signal.aborted) this.#to(step, "failed", messageOf(error));
    }
  }

  #advance(step: Step): Promise<void> {
    switch (step.node.phase) {
      case "pending":
        return this.#begin(step);
      case "draining":
        return this.#drain(step);
      case "changing":
        return this.#change(step);
      case "proving":
        return this.#prove(step);
      default:
        return Promise.resolve();
    }
  }

  /** A node of a run that ends, and that was not changed, takes work again. */
  async release({ id, approvedBy }: RemediationRun, node: RemediatedNode): Promise<void> {
    const { drainProposal, wasDrained } = node;
    if (drainProposal !== null && !wasDrained) {
      const proposal = await this.#parts.driver.read(({ state }) => state.proposals.get(drainProposal));
      if (proposal !== undefined && proposal.actedAtMs !== null) await this.#resume(approvedBy, node);
      else if (proposal !== undefined && isProposalOpen(proposal) && proposal.actor === CONTROL_PLANE_ACTOR) {
        const reason = `remediation ${id} has ended`;
        const wanted = { kind: "decideProposal", id: drainProposal, verdict: "withdraw", reason } as const;
        await this.#command({ ...wanted, actor: CONTROL_PLANE_ACTOR, idempotencyKey: null });
      }
    }
    this.#parts.book.changeNode(id, node.nodeId, { phase: "left", sinceMs: this.#parts.nowMs() });
  }

  async #begin(step: Step): Promise<void> {
    const { run, node, document } = step;
    const { driver, signal } = this.#parts;
    const facts = await readFacts(document, node.nodeId, signal);
    if (deviationsOf(facts, document).length === 0) return this.#to(step, "asDesired", "its facts are as desired");
    // The check and the note that the node counts are one turn, so nodes of one wave do not share the same room.
    await driver.read(({ state }) => {
      const known = state.nodes.get(node.nodeId as NodeId);
      if (known === undefined) return this.#to(step, "failed", "the node left the fleet");
      if (!document.pools.includes(known.pool))
        return this.#to(step, "failed", `the remediation does not name the pool ${known.pool}`);
      const other = this.#otherRun(step);
      if (other !== undefined) return this.#wait(step, `run ${other}, which changes ${node.nodeId}`, BUDGET_EVERY_MS);
      const full = this.#budgetText(state, known.pool);
      if (full !== null) return this.#wait(step, full, BUDGET_EVERY_MS);
      this.#parts.book.change(run.id, { waitsFor: "" });
      const begunAtMs = this.#parts.nowMs();
      const changes = { begunAtMs, wasDrained: document.mode === "drain" && known.draining };
      this.#to(step, document.mode === "drain" ? "draining" : "changing", "", changes);
    });
  }

  /** Another run that changes the node now: its end would put the node into service during the change of this run. */
  #otherRun({ run, node: { nodeId } }: Step): string | undefined {
    const others = this.#parts.book.open().filter(({ id }) => id !== run.id);
    return others.find(({ nodes }) => nodes.some((each) => each.nodeId === nodeId && isActive(each)))?.id;
  }

  /** The reason why no node of the pool may be changed now by the rule of remediations; `null`: one may. */
  #budgetText({ proposalRules, nodes }: ReadonlyState, pool: string): string | null {
    const { poolPercentPerHourMax: percent } = proposalRules.get("remediate") ?? usualProposalRules.remediate;
    const ofPool = [...nodes.values()].filter((node) => node.pool === pool).length;
    const most = Math.max(1, Math.floor((ofPool * percent) / 100));
    const fromMs = this.#parts.nowMs() - HOUR_MS;
    const begun = this.#parts.book
      .all()
      .flatMap((run) => run.nodes)
      .filter(({ nodeId, begunAtMs }) => (begunAtMs ?? 0) > fromMs && nodes.get(nodeId as NodeId)?.pool === pool);
    if (begun.length < most) return null;
    const changed = `${plural(begun.length, "node")} of pool ${pool} ${begun.length === 1 ? "was" : "were"} changed`;
    return `${changed} within the last hour, and the budget of change is ${most}: headroom proposal rule remediate`;
  }

  async #drain(step: Step): Promise<void> {
    const { run, node, document } = step;
    const { driver, nowMs, book } = this.#parts;
    const { isPresent, isDraining, isEmpty, proposal } = await driver.read(({ state }) => ({
      ...placeOf(state, node),
      proposal: node.drainProposal === null ? undefined : state.proposals.get(node.drainProposal),
    }));
    if (!isPresent) return this.#to(step, "failed", "the node left the fleet");
    if (nowMs() - node.sinceMs > document.drainTimeout)
      return this.#to(step, "failed", `the node was not empty within ${document.drainTimeout / 1000} s`);
    if (isDraining && (node.wasDrained || proposal === undefined || proposal.actedAtMs !== null)) {
      if (!isEmpty) return this.#wait(step, `work on ${node.nodeId} to end`, LOOK_EVERY_MS);
      book.change(run.id, { waitsFor: "" });
      return this.#to(step, "changing", "");
    }
    if (node.drainProposal === null) return this.#proposeDrain(step);
    if (node.wasDrained) return this.#follow(step, proposal);
    switch (proposal?.phase) {
      case "advised":
        return this.#simulate(node.drainProposal);
      case "simulated":
        return this.#approve(step, node.drainProposal);
      case "approved":
        return this.#wait(step, "", LOOK_EVERY_MS);
      case "acted":
      case "scored":
        return this.#to(step, "failed", RESUMED);
      default:
        return this.#to(step, "failed", `proposal ${node.drainProposal} to drain it is ${proposal?.phase ?? "gone"}`);
    }
  }

  async #proposeDrain(step: Step): Promise<void> {
    const { run, node, document } = step;
    const change = { kind: "drain", nodeId: node.nodeId as NodeId, running: document.running } as const;
    const reason = `wave ${node.wave} of remediation ${run.remediation}, proposal ${run.id}`;
    const wanted = { kind: "createProposal", change, reason, ground: [], agent: AGENT } as const;
    const reply = await this.#parts.driver.command({ ...wanted, actor: CONTROL_PLANE_ACTOR, idempotencyKey: null });
    if (reply.kind === "accepted" && reply.result.kind === "proposalSet")
      return this.#note(step, { drainProposal: reply.result.id });
    if (reply.kind === "rejected" && reply.rejection.code === "proposalExists") {
      const { id } = reply.rejection;
      // The own proposal was made before a restart. The drain of another one stays after the change, as its ground does.
      const present = await this.#parts.driver.read(({ state }) => state.proposals.get(id));
      const isOwn = present?.actor === CONTROL_PLANE_ACTOR && present.agent === AGENT && present.reason === reason;
      return this.#note(step, { drainProposal: id, wasDrained: !isOwn });
    }
    throw new Error(
      reply.kind === "rejected" ? rejectionProblem(reply.rejection).detail : "the drain was not recorded",
    );
  }

  /** Another one proposes the drain. Approval of the remediation is none of that proposal. */
  #follow(step: Step, proposal: Proposal | undefined): void {
    if (proposal !== undefined && isProposalOpen(proposal))
      return this.#wait(step, `a decision about proposal ${proposal.id}`, LOOK_EVERY_MS);
    if (proposal?.phase === "acted" || proposal?.phase === "scored") return this.#to(step, "failed", RESUMED);
    this.#note(step, { drainProposal: null, wasDrained: false });
  }

  async #simulate(id: string): Promise<void> {
    const effect = await effectOfProposal(this.#parts, id, { actor: CONTROL_PLANE_ACTOR, gone: this.#parts.signal });
    await this.#command({ kind: "simulateProposal", id, effect, actor: CONTROL_PLANE_ACTOR, idempotencyKey: null });
  }

  /** The user who approved the remediation approved its drains. The engine counts them for the budget of drains. */
  async #approve(step: Step, id: string): Promise<void> {
    const { run } = step;
    if (run.approvedBy === null) return this.#wait(step, `a decision about proposal ${id}`, BUDGET_EVERY_MS);
    const reason = `part of ${run.id}`;
    const wanted = { kind: "decideProposal", id, verdict: "approve", reason, actor: run.approvedBy } as const;
    const reply = await this.#parts.driver.command({ ...wanted, idempotencyKey: null });
    if (reply.kind !== "rejected") return this.#parts.book.change(run.id, { waitsFor: "" });
    const { code } = reply.rejection;
    const detail = rejectionProblem(reply.rejection).detail;
    if (code === "changeBudgetUsed" || code === "proposalDecided") return this.#wait(step, detail, BUDGET_EVERY_MS);
    throw new Error(detail);
  }

  async #change(step: Step): Promise<void> {
    const { node, document } = step;
    const { signal } = this.#parts;
    if (!(await this.#isOut(step))) return;
    if (document.test !== undefined && node.before === null) {
      const before = await measure(document, document.test, { node: node.nodeId, signal });
      this.#parts.book.changeNode(step.run.id, node.nodeId, { before });
      await this.#parts.book.save();
      if (!(await this.#isOut(step))) return;
    }
    await change(document, node.nodeId, signal);
    this.#to(step, "proving", "");
  }

  /** Whether the node may be changed: the fleet can have changed since its drain, in particular before a restart. */
  async #isOut(step: Step): Promise<boolean> {
    const { node, document } = step;
    const { isPresent, isDraining, isEmpty } = await this.#parts.driver.read(({ state }) => placeOf(state, node));
    if (!isPresent) this.#to(step, "failed", "the node left the fleet");
    else if (document.mode === "live") return true;
    else if (!isDraining) this.#to(step, "failed", RESUMED);
    else if (!isEmpty) this.#to(step, "draining", "");
    else return true;
    return false;
  }

  /** The facts must be as desired, and the node no slower than before. */
  async #prove(step: Step): Promise<void> {
    const { run, node, document } = step;
    const { signal, nowMs } = this.#parts;
    const isLate = nowMs() - node.sinceMs > document.proofTimeout;
    try {
      const wrong = deviationsOf(await readFacts(document, node.nodeId, signal), document);
      const [first] = wrong;
      if (first !== undefined)
        throw new Error(`${first.fact} is ${first.value ?? "absent"} after the change, expected ${first.expected}`);
    } catch (error) {
      if (isLate || signal.aborted) throw error;
      return this.#wait(step, `${node.nodeId}: ${messageOf(error)}`, Math.min(PROOF_EVERY_MS, document.proofTimeout));
    }
    if (document.test !== undefined) {
      const after = await measure(document, document.test, { node: node.nodeId, signal });
      this.#note(step, { after });
      const slower = slowerPercent(node.before ?? after, after);
      if (slower > document.worseByPercent) throw new Error(`it is ${slower}% slower than before the change`);
    }
    if (document.mode === "drain" && !node.wasDrained) await this.#resume(run.approvedBy, node);
    this.#parts.book.change(run.id, { waitsFor: "" });
    this.#to(step, "returned", node.wasDrained ? "proven; it stays drained, as before" : "proven");
  }

  async #resume(approvedBy: string | null, { nodeId }: RemediatedNode): Promise<void> {
    const id = nodeId as NodeId;
    await this.#command({
      kind: "resumeNode",
      nodeId: id,
      actor: approvedBy ?? CONTROL_PLANE_ACTOR,
      idempotencyKey: null,
    });
  }

  async #command(request: CommandRequest): Promise<void> {
    const reply = await this.#parts.driver.command(request);
    if (reply.kind === "rejected") throw new Error(rejectionProblem(reply.rejection).detail);
  }

  #wait({ run, node }: Step, waitsFor: string, ms: number): void {
    this.#notBefore.set(`${run.id} ${node.nodeId}`, this.#parts.nowMs() + ms);
    this.#parts.book.change(run.id, { waitsFor });
  }

  #note({ run, node }: Step, changes: Partial<RemediatedNode>): void {
    this.#parts.book.changeNode(run.id, node.nodeId, changes);
  }

  #to(step: Step, phase: RemediatedNode["phase"], detail: string, more: Partial<RemediatedNode> = {}): void {
    this.#notBefore.delete(`${step.run.id} ${step.node.nodeId}`);
    this.#note(step, { ...more, phase, detail: detail.slice(0, DETAIL_CHARS_MAX), sinceMs: this.#parts.nowMs() });
  }
}

const DETAIL_CHARS_MAX = 500;
const RESUMED = "somebody resumed the node before it was changed";

interface NodePlace {
  readonly isPresent: boolean;
  readonly isDraining: boolean;
  /** No attempt has a worker on the node. */
  readonly isEmpty: boolean;
}

function placeOf({ nodes, attempts }: ReadonlyState, { nodeId }: RemediatedNode): NodePlace {
  const node = nodes.get(nodeId as NodeId);
  const isEmpty = ![...attempts.values()].some(({ workers }) => workers.some((each) => each.node === nodeId));
  return { isPresent: node !== undefined, isDraining: node?.draining === true, isEmpty };
}

const deviationsOf = (
  facts: ReadonlyMap<string, string>,
  { desired }: RemediationDocument,
): ReturnType<typeof factDeviations> => factDeviations(facts, new Map(Object.entries(desired)));

/** Whether the document is still the one that was approved. */
export const isApproved = (document: RemediationDocument | undefined, { digest }: RemediationRun): boolean =>
  document !== undefined && digestOf(document) === digest;
