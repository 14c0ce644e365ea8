/** The demo's proposals: other users ask, and the visitor decides. */
import { nodeId, teamName } from "@headroom/model";
import type { ProposedChange, ProposalGround } from "@headroom/model";

interface DemoProposal {
  readonly actor: string;
  readonly agent?: string;
  readonly change: ProposedChange;
  readonly reason: string;
  readonly ground: readonly ProposalGround[];
}

export const demoProposals = (team: string, node: string): readonly DemoProposal[] => [
  {
    actor: "mira",
    change: { kind: "quota", team: teamName(team), guarantee: { accelerators: 96 } },
    reason: "the conference deadline is in two weeks",
    ground: [],
  },
  {
    actor: "jonas",
    agent: "ops-agent",
    change: { kind: "drain", nodeId: nodeId(node), running: "wait" },
    reason: "steps on this node are slower than on its peers",
    ground: [
      { measure: "slowdown", valueMilli: 11_800, unit: "%" },
      { measure: "slow steps in a row", valueMilli: 240_000, unit: "" },
    ],
  },
  {
    actor: "headroom",
    agent: "triggers",
    change: { kind: "advice", about: "trigger busy", text: "review the plan, and order for the next quarter" },
    reason: "trigger busy fired: utilisation was above 0.85 for 24 h; review the plan",
    ground: [
      { measure: "utilisation", valueMilli: 912, unit: "" },
      { measure: "threshold", valueMilli: 850, unit: "" },
      { measure: "held for at least", valueMilli: 24_000, unit: "h" },
    ],
  },
];
