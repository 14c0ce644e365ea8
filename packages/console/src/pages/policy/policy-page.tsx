import type { Policy } from "@headroom/protocol";
import { plural } from "@headroom/views";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { ReactElement } from "react";
import { useClient } from "../../connect/session.ts";
import { policyQuery, presetsQuery } from "../../data/queries.ts";
import { changesPolicy } from "../../live/interest.ts";
import { useLiveQuery } from "../../live/use-live-query.ts";
import { useAnnouncer } from "../../parts/announcer.tsx";
import { Confirm } from "../../parts/dialog.tsx";
import { Page } from "../../parts/page.tsx";
import { Failure, Loading } from "../../parts/states.tsx";
import { LastWeek } from "./last-week.tsx";
import { PolicyTable, isSamePolicy, linesByName } from "./policy-table.tsx";

export function PolicyPage(): ReactElement {
  const client = useClient();
  const announcer = useAnnouncer();
  const queryClient = useQueryClient();
  const active = useQuery(policyQuery(client));
  const presets = useQuery(presetsQuery(client));
  const [chosen, setChosen] = useState<Policy | null>(null);
  useLiveQuery({ queryKey: ["policy"], matters: changesPolicy });
  const set = useMutation({
    mutationFn: (preset: string) => client.setPolicy({ preset }),
    onSuccess: ({ name, warnings = [] }) =>
      announcer.say([`Policy ${name} is active.`, ...warnings.map(({ message }) => message)].join(" ")),
    onError: (error) => announcer.fail(error),
    onSettled: () => queryClient.invalidateQueries({ queryKey: ["policy"] }),
  });
  const error = active.error ?? presets.error;
  return (
    <Page
      title="Policy"
      layout="flow"
      summary="The active policy beside the others; settings that differ from it are marked"
    >
      {active.data === undefined || presets.data === undefined ? (
        error === null ? (
          <Loading label="Loading the policies" />
        ) : (
          <Failure error={error} onRetry={() => void Promise.all([active.refetch(), presets.refetch()])} />
        )
      ) : (
        <PolicyTable
          policies={withOwn(active.data, presets.data.items)}
          active={active.data}
          isBusy={set.isPending}
          onChoose={setChosen}
        />
      )}
      <Confirm
        isOpen={chosen !== null}
        onClose={() => setChosen(null)}
        onConfirm={() => chosen !== null && set.mutate(chosen.name)}
        title={`Activate policy ${chosen?.name ?? ""}?`}
        action="Activate"
        isLong
      >
        {chosen === null || active.data === undefined ? null : (
          <>
            <p>The next decision uses it for all waiting work. Running work goes on.</p>
            <LastWeek preset={chosen.name} />
            <Differences before={active.data} after={chosen} />
          </>
        )}
      </Confirm>
    </Page>
  );
}

/** The presets. If the active policy is not a preset, it comes first. */
function withOwn(active: Policy, presets: readonly Policy[]): readonly Policy[] {
  return presets.some((preset) => isSamePolicy(preset, active)) ? presets : [active, ...presets];
}

function Differences({ before, after }: { readonly before: Policy; readonly after: Policy }): ReactElement {
  const [old, now] = [linesByName(before), linesByName(after)];
  const names = [...new Set([...old.keys(), ...now.keys()])].filter((name) => old.get(name) !== now.get(name));
  return (
    <section aria-label="Differences" className="mt-3 border-t border-line pt-3">
      <h3 className="mb-1 font-medium text-ink">{plural(names.length, "setting")} would change</h3>
      <dl className="flex flex-col gap-1">
        {names.map((name) => (
          <div key={name}>
            <dt className="text-xs text-ink-3">{name}</dt>
            <dd>
              <del className="text-ink-3">{old.get(name) ?? "none"}</del>
              <span aria-hidden="true"> → </span>
              <ins className="font-medium text-ink no-underline">{now.get(name) ?? "none"}</ins>
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
