/** Artifacts: datasets, checkpoints, models, images and reports, with versions, aliases and lineage. */
import type { ArtifactResource } from "@headroom/protocol";
import { plural } from "@headroom/views";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { ReactElement } from "react";
import { useClient } from "../../connect/session.ts";
import { artifactsQuery } from "../../data/queries.ts";
import { changesArtifacts } from "../../live/interest.ts";
import { useLiveQuery } from "../../live/use-live-query.ts";
import { Page, Panel } from "../../parts/page.tsx";
import { Badge } from "../../parts/phase-badge.tsx";
import { Empty, Failure, Loading, StaleNotice } from "../../parts/states.tsx";
import { ArtifactPanel } from "./artifact-panel.tsx";

/** Minimum interval in ms between fetches. */
const EVERY_MS = 2_000;

export function ArtifactsPage(): ReactElement {
  const query = artifactsQuery(useClient());
  const { data, error, refetch } = useQuery(query);
  const [chosen, choose] = useState<string | null>(null);
  useLiveQuery({ queryKey: ["artifacts"], matters: changesArtifacts, everyMs: EVERY_MS });
  return (
    <Page title="Artifacts" layout="flow" summary="Datasets, checkpoints, models, images and reports of the registry">
      {data === undefined ? (
        error === null ? (
          <Loading label="Loading the artifacts" />
        ) : (
          <Failure error={error} onRetry={() => void refetch()} />
        )
      ) : (
        <>
          {error === null ? null : <StaleNotice error={error} />}
          {data.items.length === 0 ? (
            <NothingRegistered />
          ) : (
            <div className="flex max-w-6xl flex-col gap-4 px-4 pb-6 md:px-6">
              <ListPanel items={data.items} chosen={chosen ?? data.items[0]?.key ?? ""} onChoose={choose} />
              {data.nextCursor === null ? null : (
                <p className="text-ink-2">
                  There are more. <code className="font-mono text-xs">headroom artifact list</code> shows all.
                </p>
              )}
              <ArtifactPanel key={chosen ?? data.items[0]?.key} artifact={chosen ?? data.items[0]?.key ?? ""} />
            </div>
          )}
        </>
      )}
    </Page>
  );
}

function NothingRegistered(): ReactElement {
  return (
    <Empty icon="artifacts" title="No artifact is registered">
      <p>A workload that declares what it makes registers a version when it succeeds:</p>
      <p className="mt-2 font-mono">produces: [model:chat]</p>
      <p className="mt-2 font-mono">headroom artifact register dataset:text ./corpus.txt</p>
    </Empty>
  );
}

interface ListProps {
  readonly items: readonly ArtifactResource[];
  readonly chosen: string;
  readonly onChoose: (key: string) => void;
}

function ListPanel({ items, chosen, onChoose }: ListProps): ReactElement {
  return (
    <Panel title="Registry">
      <ul className="divide-y divide-line" aria-label="Artifacts">
        {items.map((artifact) => (
          <li key={artifact.key}>
            <button
              type="button"
              aria-pressed={artifact.key === chosen}
              onClick={() => onChoose(artifact.key)}
              className="flex w-full flex-wrap items-baseline gap-x-4 gap-y-1 px-4 py-2 text-left hover:bg-hover aria-pressed:bg-accent-soft"
            >
              <span className="min-w-0 font-medium break-all">{artifact.ref}</span>
              <span className="text-ink-2">
                {artifact.newest === null ? "no version" : `newest @${artifact.newest.number}`},{" "}
                {plural(artifact.versionCount, "version")}, team {artifact.team}
              </span>
              {artifact.aliases.map(({ alias, number }) =>
                number === null ? null : (
                  <Badge key={alias} tone="run">
                    {`${alias} @${number}`}
                  </Badge>
                ),
              )}
            </button>
          </li>
        ))}
      </ul>
    </Panel>
  );
}
