/** One open proposal: reason, ground, simulated effect by team, and the buttons of the decision. */
import type { Incident, Proposal } from "@headroom/protocol";
import { proposalPhaseText } from "@headroom/views";
import { useState } from "react";
import type { ReactElement } from "react";
import { useProposalCommand } from "../../commands/use-proposal-command.ts";
import { Button } from "../../parts/button.tsx";
import { Confirm } from "../../parts/dialog.tsx";
import { Panel } from "../../parts/page.tsx";
import { Badge } from "../../parts/phase-badge.tsx";
import { RunbookLines } from "../../parts/runbook-lines.tsx";
import { Moment } from "../../parts/time-text.tsx";

interface ProposalCardProps {
  readonly proposal: Proposal;
  /** Those of the finding that the proposal answers. */
  readonly runbooks: Incident["runbooks"];
}

export function ProposalCard({ proposal, runbooks }: ProposalCardProps): ReactElement {
  const { id, phase, sentence, reason, ground, actor, agent, expiresAtMs } = proposal;
  return (
    <Panel
      title={`Proposal ${id}`}
      aside={<Badge tone={phase === "simulated" ? "run" : "wait"}>{proposalPhaseText(phase)}</Badge>}
    >
      <div className="flex flex-col gap-2 px-4 py-3">
        <p className="font-medium break-words">{sentence}</p>
        <p className="break-words">
          {reason}{" "}
          <span className="text-ink-2">
            ({actor}
            {agent === undefined ? "" : `, by the program ${agent}`})
          </span>
        </p>
        {ground.length === 0 ? null : (
          <dl className="flex flex-wrap gap-x-6 gap-y-1">
            {ground.map(({ measure, value, unit }) => (
              <div key={measure}>
                <dt className="inline text-ink-2">{measure} </dt>
                <dd className="inline font-medium">
                  {value} {unit}
                </dd>
              </div>
            ))}
          </dl>
        )}
        <RunbookLines runbooks={runbooks} />
        <Effect proposal={proposal} />
        <p className="text-xs text-ink-3">
          Expires <Moment atMs={expiresAtMs} />
        </p>
        <Decision proposal={proposal} />
      </div>
    </Panel>
  );
}

function Effect({ proposal: { effect, effectSentence } }: { readonly proposal: Proposal }): ReactElement {
  if (effect === null) return <p className="text-ink-2">The effect has not been simulated yet.</p>;
  return (
    <>
      <p className="break-words">{effectSentence}</p>
      {effect.teams.length === 0 ? null : (
        <table className="w-full max-w-xl text-sm">
          <thead>
            <tr className="text-left text-ink-2">
              <th className="font-medium">Team</th>
              <th className="text-right font-medium">Earlier</th>
              <th className="text-right font-medium">Later</th>
              <th className="text-right font-medium">Interrupted</th>
            </tr>
          </thead>
          <tbody>
            {effect.teams.map(({ team, earlierCount, laterCount, interruptedCount }) => (
              <tr key={team} className="border-t border-line">
                <td className="break-all">{team}</td>
                <td className="text-right text-good">{earlierCount}</td>
                <td className="text-right text-bad">{laterCount}</td>
                <td className="text-right text-bad">{interruptedCount}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </>
  );
}

function Decision({
  proposal: { id, phase, sentence, effectSentence, change },
}: {
  readonly proposal: Proposal;
}): ReactElement {
  const { mutate, isPending } = useProposalCommand();
  const [isAsked, setAsked] = useState(false);
  return (
    <div className="flex flex-wrap gap-2">
      {change.kind === "advice" ? null : (
        <Button look="primary" disabled={isPending || phase !== "simulated"} onClick={() => setAsked(true)}>
          Approve
        </Button>
      )}
      <Button disabled={isPending} onClick={() => mutate({ verb: "reject", id })}>
        Reject
      </Button>
      <Button disabled={isPending} onClick={() => mutate({ verb: "simulate", id })}>
        {phase === "advised" ? "Simulate" : "Simulate again"}
      </Button>
      <Button look="quiet" disabled={isPending} onClick={() => mutate({ verb: "withdraw", id })}>
        Withdraw
      </Button>
      <Confirm
        isOpen={isAsked}
        onClose={() => setAsked(false)}
        onConfirm={() => mutate({ verb: "approve", id })}
        title={`Approve ${id}?`}
        action="Approve"
      >
        <p>{sentence}</p>
        <p className="mt-2">{effectSentence}</p>
        <p className="mt-2">The change is made at once.</p>
      </Confirm>
    </div>
  );
}
