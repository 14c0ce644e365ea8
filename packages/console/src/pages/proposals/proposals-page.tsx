/** Proposals: what users and agents ask for, its simulated effect on everybody, and the decision. */
import { isProposalOpen } from "@headroom/model";
import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { plural } from "@headroom/views";
import { useClient } from "../../connect/session.ts";
import { findingsQuery, proposalRulesQuery, proposalsQuery } from "../../data/queries.ts";
import { changesProposals } from "../../live/interest.ts";
import { useLiveQuery } from "../../live/use-live-query.ts";
import { Page, Panel } from "../../parts/page.tsx";
import { Empty, Failure, Loading, StaleNotice } from "../../parts/states.tsx";
import { AskPanel } from "./ask-panel.tsx";
import { ProposalCard } from "./proposal-card.tsx";
import { RulesPanel } from "./rules-panel.tsx";

/** The program that proposes changes for findings. */
const FINDINGS_AGENT = "health";

export function ProposalsPage(): ReactElement {
  const client = useClient();
  const { data, error, refetch } = useQuery(proposalsQuery(client));
  const rules = useQuery(proposalRulesQuery(client));
  useLiveQuery({ queryKey: ["proposals"], matters: changesProposals });
  const open = data?.items.filter(isProposalOpen) ?? [];
  const hasFindings = open.some(({ agent }) => agent === FINDINGS_AGENT);
  const findings = useQuery({ ...findingsQuery(client), enabled: hasFindings }).data?.items ?? [];
  const runbooks = new Map(findings.map(({ proposal, runbooks: own }) => [proposal?.id, own]));
  const decided = data?.items.filter((each) => !isProposalOpen(each)).toReversed() ?? [];
  return (
    <Page
      title="Proposals"
      layout="flow"
      summary={data === undefined ? "Changes that wait for a decision" : `${plural(open.length, "proposal")} to decide`}
    >
      {data === undefined ? (
        error === null ? (
          <Loading label="Loading the proposals" />
        ) : (
          <Failure error={error} onRetry={() => void refetch()} />
        )
      ) : (
        <>
          {error === null ? null : <StaleNotice error={error} />}
          <div className="flex max-w-6xl flex-col gap-4 px-4 pb-6 md:px-6">
            {open.length === 0 ? (
              <Empty icon="proposals" title="Nothing waits for a decision">
                <p>Users and agents propose changes of quota, priority and nodes. Another user decides.</p>
              </Empty>
            ) : (
              open.map((proposal) => (
                <ProposalCard key={proposal.id} proposal={proposal} runbooks={runbooks.get(proposal.id)} />
              ))
            )}
            <AskPanel />
            {rules.data === undefined ? null : <RulesPanel rules={rules.data.items} />}
            {decided.length === 0 ? null : (
              <Panel title="Decided lately">
                <ul className="divide-y divide-line">
                  {decided.map(({ id, sentence }) => (
                    <li key={id} className="px-4 py-2 break-words">
                      {sentence}
                    </li>
                  ))}
                </ul>
              </Panel>
            )}
          </div>
        </>
      )}
    </Page>
  );
}
