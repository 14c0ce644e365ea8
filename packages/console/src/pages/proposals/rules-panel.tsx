/** Rules of each kind of proposal: its approval and its budget of change. */
import type { ProposalRule } from "@headroom/protocol";
import { proposalRuleText } from "@headroom/views";
import type { ReactElement } from "react";
import { Panel } from "../../parts/page.tsx";

export function RulesPanel({ rules }: { readonly rules: readonly ProposalRule[] }): ReactElement {
  return (
    <Panel title="Rules">
      <ul className="divide-y divide-line">
        {rules.map((rule) => (
          <li key={rule.kind} className="flex flex-wrap gap-x-3 px-4 py-2">
            <span className="w-24 font-medium">{rule.kind}</span>
            <span className="text-ink-2">{proposalRuleText(rule)}</span>
          </li>
        ))}
      </ul>
    </Panel>
  );
}
