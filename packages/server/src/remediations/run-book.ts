/** The runs of remediations: in memory, and written to their file after each change. */
import { wavesOf } from "@headroom/health";
import type { Proposal, RemediateChange } from "@headroom/model";
import { refuse } from "@headroom/protocol";
import type { RemediatedNode, RemediationRun } from "@headroom/protocol";
import type { DriverLog } from "../driver/driver-log.ts";
import { planOf } from "./remediation-file.ts";
import type { RemediationDocument } from "./remediation-file.ts";
import { keptRuns, readRuns, writeRuns } from "./run-file.ts";

export interface RemediateProposal extends Proposal {
  readonly change: RemediateChange;
  readonly actedAtMs: number;
}

const ACTIVE: ReadonlySet<RemediatedNode["phase"]> = new Set(["draining", "changing", "proving"]);
const WELL: ReadonlySet<RemediatedNode["phase"]> = new Set(["returned", "asDesired"]);

export const isActive = ({ phase }: RemediatedNode): boolean => ACTIVE.has(phase);
export const isWell = ({ phase }: RemediatedNode): boolean => WELL.has(phase);

export class RunBook {
  readonly #home: string;
  #runs: readonly RemediationRun[];
  /** `null`: no file of an earlier process, so proposals that were acted on before this start begin no run. */
  #begunUntilMs: number | null;
  #writing: Promise<void> = Promise.resolve();

  constructor(home: string, log: Pick<DriverLog, "warn">) {
    this.#home = home;
    const stored = readRuns(home, log);
    this.#runs = stored?.runs ?? [];
    this.#begunUntilMs = stored?.begunUntilMs ?? null;
  }

  /** The oldest first. */
  all(): readonly RemediationRun[] {
    return this.#runs;
  }

  open(): readonly RemediationRun[] {
    return this.#runs.filter(({ endedAtMs }) => endedAtMs === null);
  }

  find(id: string): RemediationRun {
    const found = this.#runs.find((run) => run.id === id);
    if (found !== undefined) return found;
    throw refuse(
      "unknownRemediationRun",
      `There is no run ${id} of a remediation. It begins when its proposal is approved. headroom drift waves lists runs.`,
    );
  }

  node(id: string, nodeId: string): RemediatedNode | undefined {
    return this.#runs.find((run) => run.id === id)?.nodes.find((node) => node.nodeId === nodeId);
  }

  /** Proposals that were acted on, and whose run has not begun. The first call only notes those of before. */
  unbegun(proposals: readonly RemediateProposal[]): readonly RemediateProposal[] {
    const newest = Math.max(0, ...proposals.map(({ actedAtMs }) => actedAtMs));
    if (this.#begunUntilMs === null) {
      this.#begunUntilMs = newest + 1;
      return [];
    }
    const untilMs = this.#begunUntilMs;
    const known = new Set(this.#runs.map(({ id }) => id));
    const fresh = proposals.filter(({ id, actedAtMs }) => actedAtMs >= untilMs && !known.has(id));
    this.#begunUntilMs = Math.max(untilMs, newest);
    return fresh;
  }

  begin({ id, change, steps }: RemediateProposal, document: RemediationDocument | undefined, nowMs: number): void {
    const plan = document === undefined ? { canary: 1, wave: { nodes: 1 } } : planOf(document);
    const waves = wavesOf(change.nodeIds.length, plan);
    const nodes = change.nodeIds.map((nodeId, index): RemediatedNode => ({
      nodeId,
      wave: waves[index] ?? 0,
      phase: "pending",
      sinceMs: nowMs,
      detail: "",
      drainProposal: null,
      wasDrained: false,
      begunAtMs: null,
      before: null,
      after: null,
    }));
    const { remediation, digest } = change;
    const approvedBy = steps.findLast(({ phase }) => phase === "approved")?.actor ?? null;
    const times = { startedAtMs: nowMs, endedAtMs: null, waveCount: (waves.at(-1) ?? 0) + 1 };
    const states = { phase: "running", reason: "", waitsFor: "" } as const;
    this.#runs = keptRuns([...this.#runs, { id, remediation, digest, ...states, approvedBy, ...times, nodes }]);
  }

  change(id: string, changes: Partial<Omit<RemediationRun, "nodes">>): void {
    this.#runs = this.#runs.map((run) => (run.id === id ? { ...run, ...changes } : run));
  }

  changeNode(id: string, nodeId: string, changes: Partial<RemediatedNode>): void {
    this.#runs = this.#runs.map((run) => {
      if (run.id !== id) return run;
      return { ...run, nodes: run.nodes.map((node) => (node.nodeId === nodeId ? { ...node, ...changes } : node)) };
    });
  }

  /** Writes the runs as they are. Writes follow each other. */
  save(): Promise<void> {
    const write = (): Promise<void> =>
      writeRuns(this.#home, { begunUntilMs: this.#begunUntilMs ?? 0, runs: this.#runs });
    this.#writing = this.#writing.then(write, write);
    return this.#writing;
  }
}
