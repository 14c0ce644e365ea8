/** The banner that appears while the control plane makes no decisions, with the reason and the remedy. */
import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { useClient } from "../connect/session.ts";
import { statusQuery } from "../data/queries.ts";
import { Icon } from "../parts/icon.tsx";

export function PausedBanner(): ReactElement {
  const { data } = useQuery(statusQuery(useClient()));
  const paused = data?.paused ?? null;
  return (
    <div role="alert" aria-label="Decisions">
      {paused === null ? null : (
        <div className="flex flex-wrap items-center gap-x-3 gap-y-1 border-b border-bad bg-bad-soft px-4 py-2 text-bad md:px-6">
          <Icon name="warning" />
          <p className="min-w-0 flex-1">
            <strong className="font-semibold">Decisions are paused.</strong> <span className="text-ink">{paused}</span>
          </p>
        </div>
      )}
    </div>
  );
}
