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
];
