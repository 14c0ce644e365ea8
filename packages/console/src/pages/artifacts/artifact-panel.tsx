/** One artifact: its versions, the moves of its aliases, and the lineage of its newest version. */
import type { ArtifactLineageNode, ArtifactResource, ArtifactVersionSummary } from "@headroom/protocol";
import { grouped } from "@headroom/views";
import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { useClient } from "../../connect/session.ts";
import { artifactQuery } from "../../data/queries.ts";
import { Panel } from "../../parts/page.tsx";
import { Badge } from "../../parts/phase-badge.tsx";
import { Failure, Loading } from "../../parts/states.tsx";
import { Moment } from "../../parts/time-text.tsx";

export function ArtifactPanel({ artifact }: { readonly artifact: string }): ReactElement {
  const { data, error, refetch } = useQuery(artifactQuery(useClient(), artifact));
  if (data === undefined)
    return error === null ? (
      <Loading label="Loading the artifact" />
    ) : (
      <Failure error={error} onRetry={() => void refetch()} />
    );
  return (
    <>
      <VersionsPanel title={data.artifact.ref} versions={data.versions} />
      <LineagePanel nodes={data.lineage} />
      <MovesPanel artifact={data.artifact} />
    </>
  );
}

function VersionsPanel({
  title,
  versions,
}: {
  readonly title: string;
  readonly versions: readonly ArtifactVersionSummary[];
}): ReactElement {
  return (
    <Panel title={`Versions of ${title}`}>
      <ul className="divide-y divide-line">
        {versions.map((version) => (
          <li key={version.id} className="flex flex-wrap items-baseline gap-x-4 gap-y-1 px-4 py-2">
            <span className="font-medium">{`@${version.number}`}</span>
            <span className="font-mono text-xs break-all text-ink-2">
              {version.digest === null ? "no digest" : version.digest.slice(0, 19)}
            </span>
            <span className="text-ink-2">
              {version.bytes === null ? "size unknown" : `${grouped(version.bytes)} bytes`}, by {version.actor},{" "}
              <Moment atMs={version.registeredAtMs} />
            </span>
            {version.aliases.map((alias) => (
              <Badge key={alias} tone="run">
                {alias}
              </Badge>
            ))}
            {version.held ? <Badge tone="wait">Legal hold</Badge> : null}
            {version.deleted ? <Badge tone="bad">Deleted</Badge> : null}
          </li>
        ))}
      </ul>
    </Panel>
  );
}

/** The graph by steps: sources on the left, everything that was made with the version on the right. */
function LineagePanel({ nodes }: { readonly nodes: readonly ArtifactLineageNode[] }): ReactElement | null {
  if (nodes.length < 2) return null;
  const steps = Map.groupBy(nodes, ({ depth }) => depth);
  return (
    <Panel title="Lineage of the newest version">
      <ol className="flex flex-col gap-2 overflow-x-auto px-4 py-3 md:flex-row md:items-center">
        {[...steps].map(([depth, atDepth]) => (
          <li key={depth} className="flex flex-col gap-2 md:flex-row md:items-center">
            <ul className="flex flex-col gap-2">
              {atDepth.map((node) => (
                <li
                  key={node.id}
                  className={`rounded border border-line px-3 py-1.5 break-all ${depth === 0 ? "bg-sunken font-medium" : ""}`}
                >
                  {node.title}
                  <span className="block text-xs text-ink-2">{node.deleted ? `${node.kind}, deleted` : node.kind}</span>
                </li>
              ))}
            </ul>
            {depth === nodes.at(-1)?.depth ? null : (
              <span aria-hidden="true" className="hidden text-ink-3 md:inline">
                →
              </span>
            )}
          </li>
        ))}
      </ol>
    </Panel>
  );
}

function MovesPanel({ artifact: { aliases } }: { readonly artifact: ArtifactResource }): ReactElement | null {
  const moves = aliases
    .flatMap(({ alias, moves: made }) => made.map((move) => ({ alias, ...move })))
    .toSorted((left, right) => right.atMs - left.atMs);
  if (moves.length === 0) return null;
  return (
    <Panel title="Moves of aliases">
      <ul className="divide-y divide-line">
        {moves.map(({ alias, number, actor, reason, atMs }) => (
          <li key={`${alias} ${atMs} ${number ?? "removed"}`} className="px-4 py-2">
            {number === null ? `${alias} was removed` : `${alias} points to @${number}`}{" "}
            <span className="text-ink-2">
              by {actor ?? "the retention"}
              {reason === "" ? "" : `: ${reason}`}, <Moment atMs={atMs} />
            </span>
          </li>
        ))}
      </ul>
    </Panel>
  );
}
