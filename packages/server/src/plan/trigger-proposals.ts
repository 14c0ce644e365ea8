/**
 * Proposals of scaling triggers. An active trigger has one proposal: made once, also over restarts, and withdrawn when the trigger
 * ends. A rejected or expired proposal is not made again while the trigger stays active. The engine decides by the rule of the kind;
 * nothing here approves or changes anything.
 */
import * as catalogue from "@headroom/perf/accelerator-types";
import { CONTROL_PLANE_ACTOR, isProposalOpen } from "@headroom/model";
import type { Proposal, ProposedChange } from "@headroom/model";
import type { TriggerProposal } from "@headroom/plan";
import type { ProposalRequest } from "@headroom/protocol";
import { engineChange } from "@headroom/views";
import type { DriverLog } from "../driver/driver-log.ts";
import type { Driver } from "../driver/driver.ts";
import { messageOf } from "../executors/within.ts";
import { effectOfProposal } from "../remedies/proposal-effect.ts";
import type { EffectParts } from "../remedies/proposal-effect.ts";
import type { FiredTrigger } from "./fired-triggers.ts";

const AGENT = "triggers";
/** Open proposals of triggers. The engine's bound for one user is shared with the proposals of findings. */
const OPEN_MAX = 20;
/** Simulations in one look: each takes seconds. */
const SIMULATIONS_AT_ONCE = 4;

interface TriggerProposalParts extends EffectParts {
  readonly driver: Pick<Driver, "read" | "command">;
  readonly log: Pick<DriverLog, "warn">;
}

interface WantedProposal {
  readonly fired: FiredTrigger;
  readonly proposal: TriggerProposal;
}

export class TriggerProposals {
  readonly #parts: TriggerProposalParts;
  readonly #closing = new AbortController();
  #complaint = "";

  constructor(parts: TriggerProposalParts) {
    this.#parts = parts;
  }

  close(): void {
    this.#closing.abort();
  }

  /** Makes missing proposals of active triggers, and withdraws those of triggers that ended. Returns the triggers with their proposals. */
  async follow(wanted: readonly WantedProposal[]): Promise<readonly FiredTrigger[]> {
    const open = await this.#open();
    const followed: FiredTrigger[] = [];
    let openCount = open.length;
    for (const { fired, proposal } of wanted) {
      const isDue = fired.proposalId === null && openCount < OPEN_MAX;
      const made = isDue ? await this.#tried(() => this.#propose(proposal)) : undefined;
      if (made !== undefined) openCount++;
      followed.push(made === undefined ? fired : { ...fired, proposalId: made });
    }
    const kept = new Set(followed.map(({ proposalId }) => proposalId));
    const ended = open.filter(({ id, phase }) => phase !== "approved" && !kept.has(id));
    for (const { id } of ended) await this.#tried(() => this.#withdraw(id));
    const advised = (await this.#open()).filter(({ phase }) => phase === "advised").slice(0, SIMULATIONS_AT_ONCE);
    for (const { id } of advised) await this.#tried(() => this.#simulate(id));
    return followed;
  }

  #open(): Promise<readonly Proposal[]> {
    return this.#parts.driver.read(({ state }) =>
      [...state.proposals.values()].filter(
        ({ actor, agent, phase }) => actor === CONTROL_PLANE_ACTOR && agent === AGENT && isProposalOpen({ phase }),
      ),
    );
  }

  /** The id of the proposal. A user's open proposal of the same change counts: the trigger asks for nothing else. */
  async #propose({ change, reason, ground }: TriggerProposal): Promise<string | undefined> {
    const { driver } = this.#parts;
    // Amounts may name accelerator types as the catalogue does.
    const named = await driver.read((engine): ProposedChange =>
      engineChange(engine, change as ProposalRequest["change"], catalogue),
    );
    const command = { kind: "createProposal", change: named, reason, ground, agent: AGENT } as const;
    const reply = await driver.command({ ...command, actor: CONTROL_PLANE_ACTOR, idempotencyKey: null });
    if (reply.kind === "accepted") return reply.result.kind === "proposalSet" ? reply.result.id : undefined;
    if (reply.rejection.code === "proposalExists") return reply.rejection.id;
    throw new Error(`the change is refused: ${reply.rejection.code}`);
  }

  async #withdraw(id: string): Promise<void> {
    const command = { kind: "decideProposal", id, verdict: "withdraw", reason: "the trigger ended" } as const;
    await this.#parts.driver.command({ ...command, actor: CONTROL_PLANE_ACTOR, idempotencyKey: null });
  }

  async #simulate(id: string): Promise<void> {
    const { driver } = this.#parts;
    const effect = await effectOfProposal(this.#parts, id, { actor: CONTROL_PLANE_ACTOR, gone: this.#closing.signal });
    await driver.command({ kind: "simulateProposal", id, effect, actor: CONTROL_PLANE_ACTOR, idempotencyKey: null });
  }

  /** A complaint is logged once, not in each look. The next look tries again. */
  async #tried<Answer>(work: () => Promise<Answer>): Promise<Answer | undefined> {
    try {
      return await work();
    } catch (error) {
      const complaint = messageOf(error);
      if (complaint !== this.#complaint && !this.#closing.signal.aborted)
        this.#parts.log.warn(`A trigger's proposal was not followed: ${complaint}`);
      this.#complaint = complaint;
      return undefined;
    }
  }
}
