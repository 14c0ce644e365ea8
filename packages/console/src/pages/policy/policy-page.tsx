import type { Policy } from "@headroom/protocol";
import { presetPurposes } from "@headroom/engine";
import { policyLines } from "@headroom/views";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { ReactElement } from "react";
import { useClient } from "../../connect/session.ts";
import { policyQuery, presetsQuery } from "../../data/queries.ts";
import { changesPolicy } from "../../live/interest.ts";
import { useLiveQuery } from "../../live/use-live-query.ts";
import { useAnnouncer } from "../../parts/announcer.tsx";
import { Button } from "../../parts/button.tsx";
import { Confirm } from "../../parts/dialog.tsx";
import { Page } from "../../parts/page.tsx";
import { Badge } from "../../parts/phase-badge.tsx";
import { Failure, Loading } from "../../parts/states.tsx";

export function PolicyPage(): ReactElement {
  const client = useClient();
  const announcer = useAnnouncer();
  const queryClient = useQueryClient();
  const inForce = useQuery(policyQuery(client));
  const presets = useQuery(presetsQuery(client));
  const [chosen, setChosen] = useState<Policy | null>(null);
  useLiveQuery({ queryKey: ["policy"], matters: changesPolicy });
  const set = useMutation({
    mutationFn: (preset: string) => client.setPolicy({ preset }),
    onSuccess: ({ name }) => announcer.say(`Policy ${name} is in force.`),
    onError: (error) => announcer.fail(error),
    onSettled: () => queryClient.invalidateQueries({ queryKey: ["policy"] }),
  });
  const error = inForce.error ?? presets.error;
  return (
    <Page title="Policy" layout="flow" summary="Who goes first, and what happens when that does not fit">
      {inForce.data === undefined || presets.data === undefined ? (
        error === null ? (
          <Loading label="Loading the policies" />
        ) : (
          <Failure error={error} onRetry={() => void Promise.all([inForce.refetch(), presets.refetch()])} />
        )
      ) : (
        <PolicyList
          policies={withOwn(inForce.data, presets.data.items)}
          inForce={inForce.data.name}
          isBusy={set.isPending}
          onChoose={setChosen}
        />
      )}
      <Confirm
        isOpen={chosen !== null}
        onClose={() => setChosen(null)}
        onConfirm={() => chosen !== null && set.mutate(chosen.name)}
        title={`Put ${chosen?.name ?? ""} in force?`}
        action="Put in force"
      >
        What waits is considered in the new order from the next decision on. What runs goes on.
      </Confirm>
    </Page>
  );
}

/** A policy of one's own that is in force stands first, above the presets. */
function withOwn(inForce: Policy, presets: readonly Policy[]): readonly Policy[] {
  return presets.some(({ name }) => name === inForce.name) ? presets : [inForce, ...presets];
}

interface PolicyListProps {
  readonly policies: readonly Policy[];
  readonly inForce: string;
  readonly isBusy: boolean;
  readonly onChoose: (policy: Policy) => void;
}

function PolicyList({ policies, inForce, isBusy, onChoose }: PolicyListProps): ReactElement {
  return (
    <ul className="grid max-w-6xl gap-4 px-4 pb-6 md:px-6 lg:grid-cols-2">
      {policies.map((policy) => {
        const isInForce = policy.name === inForce;
        return (
          <li
            key={policy.name}
            className={`flex flex-col rounded-lg border bg-surface p-4 ${isInForce ? "border-accent" : "border-line"}`}
          >
            <div className="flex items-center justify-between gap-2">
              <h2 className="font-mono text-base font-semibold">{policy.name}</h2>
              {isInForce ? (
                <Badge tone="good">In force</Badge>
              ) : (
                <Button disabled={isBusy} onClick={() => onChoose(policy)}>
                  <span>
                    Put <span className="sr-only">{policy.name} </span>in force
                  </span>
                </Button>
              )}
            </div>
            <p className="mt-1 text-base text-ink-2">{presetPurposes[policy.name] ?? "A policy of your own."}</p>
            <dl className="mt-3 grid sm:grid-cols-[11.5rem_1fr] gap-x-4 gap-y-1">
              {policyLines(policy).map(({ knob, text }) => (
                <div key={knob} className="contents">
                  <dt className="text-ink-3">{knob}</dt>
                  <dd>{text}</dd>
                </div>
              ))}
            </dl>
          </li>
        );
      })}
    </ul>
  );
}
