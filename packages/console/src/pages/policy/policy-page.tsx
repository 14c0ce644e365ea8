import type { Policy } from "@headroom/protocol";
import { canonicalJson, presetPurposes, presets as shipped } from "@headroom/engine";
import { policyLines, type PolicyLine } from "@headroom/views";
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
    onSuccess: ({ name, warnings = [] }) =>
      announcer.say([`Policy ${name} is in force.`, ...warnings.map(({ message }) => message)].join(" ")),
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
          inForce={inForce.data}
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

/** Compared by content: a user's policy may have a preset's name, and an older preset differs from today's. */
const isSame = (left: Policy, right: Policy): boolean => canonicalJson(left) === canonicalJson(right);

/** An active policy that is no preset is listed first. */
function withOwn(inForce: Policy, presets: readonly Policy[]): readonly Policy[] {
  return presets.some((preset) => isSame(preset, inForce)) ? presets : [inForce, ...presets];
}

interface PolicyListProps {
  readonly policies: readonly Policy[];
  readonly inForce: Policy;
  readonly isBusy: boolean;
  readonly onChoose: (policy: Policy) => void;
}

function PolicyList({ policies, inForce, isBusy, onChoose }: PolicyListProps): ReactElement {
  return (
    <ul className="grid max-w-6xl gap-4 px-4 pb-6 md:px-6 lg:grid-cols-2">
      {policies.map((policy) => {
        const isInForce = isSame(policy, inForce);
        return (
          <li
            key={canonicalJson(policy)}
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
            <p className="mt-1 text-base text-ink-2">{purposeOf(policy)}</p>
            <PolicySections lines={policyLines(policy)} />
          </li>
        );
      })}
    </ul>
  );
}

const purposeOf = (policy: Policy): string => {
  const preset = shipped.get(policy.name);
  const isPreset = preset !== undefined && canonicalJson(preset) === canonicalJson(policy);
  return (isPreset ? presetPurposes[policy.name] : undefined) ?? "A policy of your own, or one of an older version.";
};

/** Only the most important section is open at first. */
function PolicySections({ lines }: { readonly lines: readonly PolicyLine[] }): ReactElement {
  const isMain = ({ section }: PolicyLine): boolean => section === "Order" || section === "Round";
  return (
    <>
      <PolicyLines lines={lines.filter(isMain)} />
      <details className="mt-3 border-t border-line pt-2">
        <summary className="font-medium text-ink-2 hover:text-ink">Teams, eviction, fabric and the rest</summary>
        <PolicyLines lines={lines.filter((line) => !isMain(line))} />
      </details>
    </>
  );
}

function PolicyLines({ lines }: { readonly lines: readonly PolicyLine[] }): ReactElement {
  return (
    <dl className="mt-3 grid gap-x-4 gap-y-1 sm:grid-cols-[11.5rem_1fr]">
      {lines.map(({ section, knob, text }) => (
        <div key={`${section} ${knob}`} className="contents">
          <dt className="text-ink-3">{section === "Order" || section === "Round" ? knob : `${section}: ${knob}`}</dt>
          <dd>{text}</dd>
        </div>
      ))}
    </dl>
  );
}
