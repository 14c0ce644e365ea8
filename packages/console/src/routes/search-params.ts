/** The part of a page's state that is in its address, so that users can share it. Unknown parameters are dropped. */
import { workloadPhases } from "@headroom/protocol";
import type { WorkloadPhase } from "@headroom/protocol";

type Search = Readonly<Record<string, unknown>>;

function text(value: unknown): string | undefined {
  return typeof value === "string" && value !== ""
    ? value.slice(0, 200)
    : typeof value === "number"
      ? String(value)
      : undefined;
}

function choice<Value extends string>(value: unknown, values: readonly Value[]): Value | undefined {
  return values.find((each) => each === value);
}

/** Keys without a value are left out, because `?team=` would mean something else. */
function present<T extends object>(search: T): T {
  return Object.fromEntries(Object.entries(search).filter(([, value]) => value !== undefined)) as T;
}

export const colourings = ["team", "state", "workload", "use"] as const;
/** Default colouring of the map. Teams are more informative than phases, because nearly all work runs. */
export const colouringDefault = "team";
export type Colouring = (typeof colourings)[number];

export interface FleetSearch {
  readonly node?: string | undefined;
  readonly view?: "table" | undefined;
  readonly colour?: Colouring | undefined;
}

export const fleetSearch = (search: Search): FleetSearch =>
  present({
    node: text(search["node"]),
    view: choice(search["view"], ["table"]),
    colour: choice(search["colour"], colourings),
  });

export interface QueueSearch {
  readonly team?: string | undefined;
  readonly search?: string | undefined;
}

export const queueSearch = (search: Search): QueueSearch =>
  present({ team: text(search["team"]), search: text(search["search"]) });

/** Number of hours before now. */
export const timeRanges = ["1", "24", "168"] as const;
export type TimeRange = (typeof timeRanges)[number];

export interface WorkloadsSearch extends QueueSearch {
  readonly phase?: WorkloadPhase | undefined;
  readonly user?: string | undefined;
  readonly node?: string | undefined;
  readonly range?: TimeRange | undefined;
}

export interface NewWorkloadSearch {
  /** The id of the workload whose values a new workload starts from. */
  readonly from?: string | undefined;
}

export const newWorkloadSearch = (search: Search): NewWorkloadSearch => present({ from: text(search["from"]) });

export const workloadsSearch = (search: Search): WorkloadsSearch =>
  present({
    ...queueSearch(search),
    phase: choice(search["phase"], workloadPhases),
    user: text(search["user"]),
    node: text(search["node"]),
    range: choice(String(search["range"]), timeRanges),
  });

export interface EventsSearch extends QueueSearch {
  /** A kind of event, or a subject of events. */
  readonly kind?: string | undefined;
  /** The id of a workload, to show only its events. */
  readonly workload?: string | undefined;
  readonly internal?: true | undefined;
}

export const eventsSearch = (search: Search): EventsSearch =>
  present({
    ...queueSearch(search),
    kind: text(search["kind"]),
    workload: text(search["workload"]),
    internal: search["internal"] === true ? true : undefined,
  });

/** Number of hours before now. */
export const logHours = ["1", "24", "168", "720"] as const;

export interface LogsSearch extends QueueSearch {
  readonly regex?: true | undefined;
  readonly hours?: (typeof logHours)[number] | undefined;
}

export const logsSearch = (search: Search): LogsSearch =>
  present({
    ...queueSearch(search),
    regex: search["regex"] === true ? true : undefined,
    hours: choice(String(search["hours"]), logHours),
  });

export const whatIfTimes = ["next", "past"] as const;
export type WhatIfTime = (typeof whatIfTimes)[number];
export const whatIfDefault: WhatIfTime = "next";

export interface WhatIfSearch {
  readonly of?: WhatIfTime | undefined;
}

export const whatIfSearch = (search: Search): WhatIfSearch => present({ of: choice(search["of"], whatIfTimes) });

export const sizingKinds = ["training", "serving", "network", "failures"] as const;
export type SizingKind = (typeof sizingKinds)[number];
export const sizingDefault: SizingKind = "training";

export interface SizeSearch {
  readonly of?: SizingKind | undefined;
}

export const sizeSearch = (search: Search): SizeSearch => present({ of: choice(search["of"], sizingKinds) });
