/** Part of the recorded journal: proposals from the advice to the score, and those that end before. */
import { nodeId, poolName, teamName, usualProposalRules } from "@headroom/model";
import type { Command, ProposedChange, SimulatedStart } from "@headroom/model";
import type { Drive } from "../lab/drive.ts";
import { applied, command, node, pool, site, team } from "../lab/make.ts";
import { simulated } from "../lab/proposals.ts";
import { exited, code, running, submit } from "./life-lines.ts";

const lead = { actor: "lead" } as const;
const drain = (id: string): ProposedChange => ({ kind: "drain", nodeId: nodeId(id), running: "wait" });

/** The newest proposal. */
const newestOf = ({ engine }: Drive): string => [...engine.state.proposals.keys()].at(-1) ?? "";

function propose(drive: Drive, change: ProposedChange, starts: readonly SimulatedStart[] = []): string {
  const ground = [{ measure: "slowdown", valueMilli: 12_000, unit: "%" }];
  drive.receive(command({ kind: "createProposal", change, reason: "slow", ground, agent: "ops" }));
  const id = newestOf(drive);
  drive.receive(simulated(id, drive.nowMs, starts));
  return id;
}

const decide = (id: string, verdict: "approve" | "reject" | "withdraw"): Command =>
  command({ kind: "decideProposal", id, verdict, reason: "" });

/** One proposal is only advised, one waits for its decision, one was acted on. */
export function beginProposals(drive: Drive): void {
  const nodes = ["n191", "n192", "n193"].map((id) => ({ kind: "nodeSeen", node: node(id, "P100") }) as const);
  drive.receive(applied({ sites: [site], pools: [pool("P100")], teams: [team("asks", null, { P100: 4 })] }), ...nodes);
  const rule = { ...usualProposalRules.drain, perHourMax: 100, poolPercentPerHourMax: 100, expiresAfterMs: 60_000 };
  drive.receive(command({ kind: "setProposalRule", rule }));
  drive.receive(submit("larger", { team: "asks", gang: { accelerators: 8 }, acceleratorTypes: ["P100"] }));
  const larger = [...drive.engine.state.workloads.values()].find(({ spec }) => spec.name === "larger");
  if (larger === undefined) throw new Error("no workload larger");
  const start = { workloadId: larger.id, presentAtMs: null, changedAtMs: drive.nowMs };
  const quota = propose(drive, { kind: "quota", team: teamName("asks"), limit: { P100: 8 } }, [start]);
  drive.receive({ ...decide(quota, "approve"), ...lead });
  propose(drive, drain("n192"));
  const advice = { kind: "advice", about: "trigger busy", text: "ask for quotes" } as const;
  drive.receive(command({ kind: "createProposal", change: advice, reason: "use is at 93%", ground: [] }));
  propose(drive, { kind: "remediate", remediation: "nccl", digest: "0f3a", nodeIds: [nodeId("n192")] });
  const priority = { kind: "priority", workloadId: larger.id, priority: 9 } as const;
  drive.receive(command({ kind: "createProposal", change: priority, reason: "demo", ground: [] }));
}

/** The other ends: rejected, withdrawn, failed, automatic, a defragmentation, and expired. */
export function endProposals(drive: Drive): void {
  drive.receive({ ...decide(propose(drive, drain("n193")), "reject"), ...lead });
  drive.receive(decide(propose(drive, drain("n193")), "withdraw"));
  const failing = propose(drive, drain("n193"));
  drive.receive({ ...decide(failing, "approve"), ...lead }, { kind: "noRound" });
  drive.receive(command({ kind: "removeNode", nodeId: nodeId("n193"), running: "requeue" }));
  drive.receive({ ...decide(propose(drive, { kind: "defragment", migrationsMax: 2 }), "approve"), ...lead });
  drive.receive(command({ kind: "setProposalRule", rule: { ...usualProposalRules.drain, mode: "automatic" } }));
  propose(drive, drain("n191"));
  drive.receive(command({ kind: "setProposalRule", rule: { ...usualProposalRules.quota, expiresAfterMs: 60_000 } }));
  propose(drive, { kind: "quota", team: teamName("asks"), weight: 2 });
  drive.passTo(drive.nowMs + 61_000);
  remedy(drive);
}

/** A drained node that passed its tests is resumed, work is restarted, and spares and a request change. */
function remedy(drive: Drive): void {
  const free = { gang: { accelerators: 0, workers: 1 }, acceleratorTypes: [] };
  drive.receive(submit("stalls", { ...free, walltimeMs: 3_600_000 }));
  const stalls = [...drive.engine.state.workloads.values()].find(({ spec }) => spec.name === "stalls");
  if (stalls === undefined) throw new Error("no workload stalls");
  const { id: workloadId } = stalls;
  drive.receive(running(`${workloadId}.1`));
  const arrival = { kind: "leadTime", p50Ms: 86_400_000, p95Ms: 172_800_000 } as const;
  const order = { name: "proposed", pool: poolName("P100"), nodeCount: 2, arrival } as const;
  const changes: readonly ProposedChange[] = [
    { kind: "resume", nodeId: nodeId("n191") },
    { kind: "spares", pool: poolName("P100"), hotSpares: 1 },
    { kind: "request", workloadId, walltimeMs: 60_000 },
    { kind: "restart", workloadId },
    { kind: "order", order },
    { kind: "remediate", remediation: "nccl", digest: "0f3a", nodeIds: [nodeId("n191"), nodeId("n192")] },
  ];
  for (const change of changes) drive.receive({ ...decide(propose(drive, change), "approve"), ...lead });
  drive.receive(exited(`${workloadId}.1`, { kind: "signalled", worker: 0, signal: "SIGTERM" }));
  drive.receive(exited(`${workloadId}.2`, code(0, 0)));
}
