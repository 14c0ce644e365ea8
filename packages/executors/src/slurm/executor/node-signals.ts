/** States of Slurm's nodes as signals. slurm.schedmd.com/scontrol.html#SECTION_NODES names the states. */
import type { NodeId } from "@headroom/model";
import { clusterText, type NodeSignal } from "../../node-signals.ts";
import type { NodeRow } from "../reading/rows.ts";

export const DRAIN_CODE = "slurm-drain";

interface Rule {
  readonly words: RegExp;
  readonly code: string;
  readonly severity: NodeSignal["severity"];
  readonly action: string;
}

/** The first rule that holds names the node's state. States of power saving are no signals; CLOUD and PLANNED are flags beside a state. */
const rules: readonly Rule[] = [
  {
    words: /\b(?:powered_down|powering_down|powering_up|power_down|power_up|future)\b/,
    code: "",
    severity: "info",
    action: "",
  },
  {
    words: /\b(?:invalid_reg|inval)\b/,
    code: "slurm-invalid-registration",
    severity: "critical",
    action: "compare slurmd -C with slurm.conf",
  },
  {
    words: /\bfail(?:ing)?\b/,
    code: "slurm-fail",
    severity: "critical",
    action: "repair the node, then scontrol update state=resume",
  },
  { words: /\berror\b/, code: "slurm-error", severity: "critical", action: "look at the log of slurmd" },
  {
    words: /\bdown\b/,
    code: "slurm-down",
    severity: "critical",
    action: "look at slurmd and the machine, then scontrol update state=resume",
  },
  {
    words: /\b(?:not_responding|no_respond)\b|\*$/,
    code: "slurm-not-responding",
    severity: "warning",
    action: "look at slurmd and the network",
  },
  {
    words: /\bdrain(?:ed|ing)?\b/,
    code: DRAIN_CODE,
    severity: "warning",
    action: "repair the node, then scontrol update state=resume",
  },
];

/** `rows`: without the drains that this executor has set, which are drains of Headroom. */
export function slurmSignals(
  rows: readonly Pick<NodeRow, "name" | "state" | "reason">[],
  nodeIdOf: (name: string) => NodeId,
): readonly NodeSignal[] {
  return rows.flatMap(({ name, state, reason }): readonly NodeSignal[] => {
    const text = (state ?? "").toLowerCase();
    const rule = rules.find(({ words }) => words.test(text));
    if (rule === undefined || rule.code === "") return [];
    const { code, severity, action } = rule;
    return [{ nodeId: nodeIdOf(name), code, severity, detail: `${clusterText(text, reason)}; ${action}` }];
  });
}
