/** Numbers of waiting and running workloads, shown in the navigation. */
import { useQuery } from "@tanstack/react-query";
import { grouped, plural } from "@headroom/views";
import { statusQuery } from "../data/queries.ts";
import { useClient } from "../connect/session.ts";
import { changesStatus } from "../live/interest.ts";
import { useLiveQuery } from "../live/use-live-query.ts";
import { placesOf, type Place } from "./nav.ts";

export interface PlaceCount {
  readonly text: string;
  readonly label: string;
}

export type PlaceCounts = Partial<Record<Place["to"], PlaceCount>>;

export function usePlaceCounts(): PlaceCounts {
  const query = statusQuery(useClient());
  const { data } = useQuery(query);
  useLiveQuery({ queryKey: query.queryKey, matters: changesStatus });
  if (data === undefined) return {};
  const { waiting, unfinished } = data.workloads;
  return {
    "/queue": { text: grouped(waiting), label: `${plural(waiting, "workload")} waiting` },
    "/workloads": { text: grouped(unfinished), label: `${plural(unfinished, "workload")} not ended` },
  };
}

/** The pages that this control plane has. */
export function usePlaces(): readonly Place[] {
  const { data } = useQuery(statusQuery(useClient()));
  return placesOf({ hasGateway: data?.hasGateway === true });
}
