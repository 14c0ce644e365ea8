/** Queries of the pages. An answer stays valid until an event invalidates it (`live/`), so nothing here polls. */
import type { Endpoint, HeadroomClient, Node, NodeReadings, QueryFor, Team } from "@headroom/protocol";
import { keepPreviousData, queryOptions } from "@tanstack/react-query";

/** Maximum page size of the API. */
const PAGE_LIMIT = 500;

interface Paging {
  readonly cursor: string | null;
  readonly limit: number;
}

/** Lists of which pages need every item, such as all nodes for the map. */
async function allPages<Item>(
  fetchPage: (page: Paging) => Promise<{ readonly items: readonly Item[]; readonly nextCursor: string | null }>,
): Promise<readonly Item[]> {
  const items: Item[] = [];
  let cursor: string | null = null;
  do {
    const page: { readonly items: readonly Item[]; readonly nextCursor: string | null } = await fetchPage({
      cursor,
      limit: PAGE_LIMIT,
    });
    items.push(...page.items);
    cursor = page.nextCursor;
  } while (cursor !== null);
  return items;
}

export const statusQuery = (client: HeadroomClient) =>
  queryOptions({ queryKey: ["status"], queryFn: ({ signal }) => client.status({ signal }) });

export const fleetQuery = (client: HeadroomClient) =>
  queryOptions({ queryKey: ["fleet"], queryFn: ({ signal }) => client.fleet({ signal }) });

export const capacityHistoryQuery = (client: HeadroomClient) =>
  queryOptions({ queryKey: ["capacity history"], queryFn: ({ signal }) => client.capacityHistory({ signal }) });

/** Interval in ms. Subjects are sampled once a minute, and no event announces it. */
const SERIES_EVERY_MS = 60_000;
const SERIES_POINTS = 300;

export const subjectSeriesQuery = (client: HeadroomClient, subject: string) =>
  queryOptions({
    queryKey: ["series", subject],
    queryFn: ({ signal }) => client.series({ subject, points: SERIES_POINTS }, { signal }),
    refetchInterval: SERIES_EVERY_MS,
  });

export const nodesQuery = (client: HeadroomClient) =>
  queryOptions({
    queryKey: ["nodes"],
    queryFn: ({ signal }): Promise<readonly Node[]> => allPages((page) => client.listNodes(page, { signal })),
  });

/** Interval in ms. A plan is stored a few times a year, and no event announces it. */
const PLAN_EVERY_MS = 60_000;

export const planQuery = (client: HeadroomClient) =>
  queryOptions({
    queryKey: ["plan"],
    queryFn: ({ signal }) => client.plan({ signal }),
    refetchInterval: PLAN_EVERY_MS,
  });

/** Interval in ms. Each answer folds the journal. */
const COSTS_EVERY_MS = 120_000;
const DAY_MS = 24 * 3_600_000;

export const costsByDayQuery = (
  client: HeadroomClient,
  { group, days }: { readonly group: NonNullable<QueryFor<"costs">["group"]>; readonly days: number },
) =>
  queryOptions({
    queryKey: ["costs", group, days],
    queryFn: async ({ signal }) => {
      const { nowMs } = await client.status({ signal });
      const fromMs = (Math.floor(nowMs / DAY_MS) - days + 1) * DAY_MS;
      return client.costs({ group, by: "day", fromMs }, { signal });
    },
    refetchInterval: COSTS_EVERY_MS,
  });

/** Interval in ms. Feeds are read a few times a day, and no event announces them. */
const OFFERS_EVERY_MS = 120_000;

export const offersQuery = (
  client: HeadroomClient,
  question: { readonly accelerator?: string | undefined; readonly interruptionEveryHours: number },
) =>
  queryOptions({
    queryKey: ["offers", question.accelerator ?? "", question.interruptionEveryHours],
    queryFn: ({ signal }) => client.offers(question, { signal }),
    refetchInterval: OFFERS_EVERY_MS,
    placeholderData: keepPreviousData,
  });

/** Interval at which the control plane reads the accelerators, in ms. */
const READINGS_EVERY_MS = 15_000;

/** No event announces new readings, so they are polled while a page shows them. */
export const readingsQuery = (client: HeadroomClient) =>
  queryOptions({
    queryKey: ["readings"],
    queryFn: async ({ signal }): Promise<ReadonlyMap<string, NodeReadings>> => {
      const read = await allPages((page) => client.acceleratorReadings(page, { signal }));
      return new Map(read.map((each) => [each.node, each]));
    },
    refetchInterval: READINGS_EVERY_MS,
  });

export const nodeTelemetryQuery = (client: HeadroomClient, node: string) =>
  queryOptions({
    queryKey: ["node telemetry", node],
    queryFn: ({ signal }) => client.nodeTelemetry(node, { points: 120 }, { signal }),
    refetchInterval: READINGS_EVERY_MS,
  });

/** Number of rows for which there is space beside the map. */
const GLANCE = 6;

export const newestRunningQuery = (client: HeadroomClient) =>
  queryOptions({
    queryKey: ["workloads", "newest running"],
    queryFn: ({ signal }) => client.listWorkloads({ phase: "running", limit: GLANCE }, { signal }),
  });

/** Only one page of the list is read. It has enough names for the newest events. */
export const newestWorkloadsQuery = (client: HeadroomClient) =>
  queryOptions({
    queryKey: ["workloads", "newest"],
    queryFn: ({ signal }) => client.listWorkloads({ limit: PAGE_LIMIT }, { signal }),
  });

export const firstInQueueQuery = (client: HeadroomClient) =>
  queryOptions({
    queryKey: ["queue", "first"],
    queryFn: ({ signal }) => client.queue({ limit: GLANCE }, { signal }),
  });

export const teamsQuery = (client: HeadroomClient) =>
  queryOptions({
    queryKey: ["teams"],
    queryFn: ({ signal }): Promise<readonly Team[]> => allPages((page) => client.teams(page, { signal })),
  });

const PROPOSALS_SHOWN = 200;

/** Interval in ms. Steps and incidents change by many events, so they are polled while a page shows them. */
const CHANGES_EVERY_MS = 5_000;
const RUNS_SHOWN = 20;
const STEPS_SHOWN = 100;

export const pipelinesQuery = (client: HeadroomClient) =>
  queryOptions({
    queryKey: ["pipelines", "list"],
    queryFn: ({ signal }) => client.listPipelines({}, { signal }),
    refetchInterval: CHANGES_EVERY_MS,
  });

export const pipelineRunsQuery = (client: HeadroomClient) =>
  queryOptions({
    queryKey: ["pipelines", "runs"],
    queryFn: ({ signal }) => client.listPipelineRuns({ limit: RUNS_SHOWN }, { signal }),
    refetchInterval: CHANGES_EVERY_MS,
  });

export const pipelineRunQuery = (client: HeadroomClient, id: string) =>
  queryOptions({
    queryKey: ["pipelines", id],
    queryFn: ({ signal }) => client.getPipelineRun(id, { signal }),
    refetchInterval: CHANGES_EVERY_MS,
  });

export const pipelineStepsQuery = (client: HeadroomClient, id: string) =>
  queryOptions({
    queryKey: ["pipelines", id, "steps"],
    queryFn: ({ signal }) => client.listPipelineSteps(id, { limit: STEPS_SHOWN }, { signal }),
    refetchInterval: CHANGES_EVERY_MS,
  });

/** Accelerator-hours of the last seven days by cause. Each answer folds the journal. */
export const causeHoursQuery = (client: HeadroomClient) =>
  queryOptions({
    queryKey: ["health", "hours"],
    queryFn: ({ signal }) => client.causeHours({ group: "team" }, { signal }),
    refetchInterval: COSTS_EVERY_MS,
  });

export const fleetHealthQuery = (client: HeadroomClient) =>
  queryOptions({
    queryKey: ["health", "fleet"],
    queryFn: ({ signal }) => client.fleetHealth({ signal }),
    refetchInterval: CHANGES_EVERY_MS,
  });

/** Readings that differ from those of the comparable set. They are means of an hour. */
export const peersQuery = (client: HeadroomClient) =>
  queryOptions({
    queryKey: ["health", "peers"],
    queryFn: ({ signal }) => client.comparePeers({ signal }),
    refetchInterval: COSTS_EVERY_MS,
  });

/** Links that are slow beside their peers. Suites measure them seldom. */
export const linksQuery = (client: HeadroomClient) =>
  queryOptions({
    queryKey: ["health", "links"],
    queryFn: ({ signal }) => client.linkMap({ signal }),
    refetchInterval: COSTS_EVERY_MS,
  });

export const remediationsQuery = (client: HeadroomClient) =>
  queryOptions({
    queryKey: ["health", "remediations"],
    queryFn: ({ signal }) => client.listRemediations({ signal }),
    refetchInterval: CHANGES_EVERY_MS,
  });

export const remediationRunsQuery = (client: HeadroomClient) =>
  queryOptions({
    queryKey: ["health", "remediationRuns"],
    queryFn: ({ signal }) => client.listRemediationRuns({ signal }),
    refetchInterval: CHANGES_EVERY_MS,
  });

export const incidentsQuery = (client: HeadroomClient) =>
  queryOptions({
    queryKey: ["health", "incidents"],
    queryFn: ({ signal }) => client.listIncidents({}, { signal }),
    refetchInterval: CHANGES_EVERY_MS,
  });

/** Proposals, those that are over included, as many as are kept at once. */
export const proposalsQuery = (client: HeadroomClient) =>
  queryOptions({
    queryKey: ["proposals"],
    queryFn: async ({ signal }) => client.listProposals({ all: true, limit: PROPOSALS_SHOWN }, { signal }),
  });

/** Findings with their proposals. They follow the proposals, and are refused to readers of no fleet. */
export const findingsQuery = (client: HeadroomClient) =>
  queryOptions({
    queryKey: ["proposals", "findings"],
    queryFn: ({ signal }) => client.listFindings({ signal }),
    retry: false,
  });

export const proposalRulesQuery = (client: HeadroomClient) =>
  queryOptions({
    queryKey: ["proposals", "rules"],
    queryFn: ({ signal }) => client.proposalRules({ signal }),
  });

const ORDERS_SHOWN = 50;

/** Orders that are not over, as many as a page shows. */
export const ordersQuery = (client: HeadroomClient) =>
  queryOptions({
    queryKey: ["capacity orders"],
    queryFn: ({ signal }) => client.listCapacityOrders({ limit: ORDERS_SHOWN }, { signal }),
  });

const ARTIFACTS_SHOWN = 100;
const VERSIONS_SHOWN = 20;

/** Artifacts, as many as a page shows. */
export const artifactsQuery = (client: HeadroomClient) =>
  queryOptions({
    queryKey: ["artifacts"],
    queryFn: ({ signal }) => client.listArtifacts({ limit: ARTIFACTS_SHOWN }, { signal }),
  });

/** One artifact with its newest versions, and the lineage of the newest one. */
export const artifactQuery = (client: HeadroomClient, key: string) =>
  queryOptions({
    queryKey: ["artifacts", key],
    queryFn: async ({ signal }) => {
      const artifact = await client.getArtifact(key, { signal });
      const { items: versions } = await client.listArtifactVersions(
        key,
        { limit: VERSIONS_SHOWN, deleted: true },
        { signal },
      );
      const lineage = artifact.newest === null ? null : await client.artifactLineage(key, { depth: 6 }, { signal });
      return { artifact, versions, lineage: lineage?.nodes ?? [] };
    },
  });

export const executorsQuery = (client: HeadroomClient) =>
  queryOptions({ queryKey: ["executors"], queryFn: ({ signal }) => client.executors({ signal }) });

export const calendarQuery = (client: HeadroomClient) =>
  queryOptions({ queryKey: ["calendar"], queryFn: ({ signal }) => client.calendar({ signal }) });

export const schedulesQuery = (client: HeadroomClient) =>
  queryOptions({ queryKey: ["schedules"], queryFn: ({ signal }) => client.schedules({ signal }) });

export const policyQuery = (client: HeadroomClient) =>
  queryOptions({ queryKey: ["policy"], queryFn: ({ signal }) => client.policy({ signal }) });

export const presetsQuery = (client: HeadroomClient) =>
  queryOptions({ queryKey: ["presets"], queryFn: ({ signal }) => client.presets({ signal }) });

export const workloadQuery = (client: HeadroomClient, id: string) =>
  queryOptions({ queryKey: ["workload", id], queryFn: ({ signal }) => client.getWorkload(id, { signal }) });

export const verdictQuery = (client: HeadroomClient, id: string) =>
  queryOptions({ queryKey: ["verdict", id], queryFn: ({ signal }) => client.explainWorkload(id, { signal }) });

/**
 * Start estimate of a workload. An estimate simulates many timelines, so it is fetched only on request and not cached.
 */
export const startEstimateQuery = (client: HeadroomClient, id: string) =>
  queryOptions({
    queryKey: ["start estimate", id],
    queryFn: ({ signal }) => client.estimateStart(id, { signal }),
    gcTime: 0,
  });

/**
 * Changes that would start a workload. Each change is tried on a copy of the scheduler, so they are fetched only on
 * request and not cached.
 */
export const startingChangesQuery = (client: HeadroomClient, id: string) =>
  queryOptions({
    queryKey: ["starting changes", id],
    queryFn: ({ signal }) => client.startingChanges(id, { signal }),
    gcTime: 0,
  });

/** Idle resources of all workloads, or of one workload if its id is given. */
export const wasteQuery = (client: HeadroomClient, workload?: string) =>
  queryOptions({
    queryKey: ["waste", workload ?? null],
    queryFn: ({ signal }) => client.waste({ workload }, { signal }),
  });

const GATEWAY_EVERY_MS = 5_000;

export const gatewayQuery = (client: HeadroomClient) =>
  queryOptions({
    queryKey: ["gateway"],
    queryFn: ({ signal }) => client.gateway({ signal }),
    refetchInterval: GATEWAY_EVERY_MS,
  });

const ENDPOINTS_EVERY_MS = 3_000;

/** Endpoints with their load, which changes without any event. */
export const endpointsQuery = (client: HeadroomClient) =>
  queryOptions({
    queryKey: ["endpoints"],
    queryFn: ({ signal }) => client.endpoints({ signal }),
    refetchInterval: ENDPOINTS_EVERY_MS,
  });

/** Events of an endpoint. They are read again when its number of replicas or its rollout changed. */
export const decisionsQuery = (client: HeadroomClient, { workloadId, lastChange, revision, rollout }: Endpoint) =>
  queryOptions({
    queryKey: ["decisions", workloadId, lastChange.atMs, revision, rollout?.number, rollout?.step, rollout?.phase],
    queryFn: ({ signal }) => client.workloadHistory(workloadId, {}, { signal }),
    placeholderData: keepPreviousData,
  });

/** Predicted and measured steps of the workload's attempts. */
export const performanceQuery = (client: HeadroomClient, id: string) =>
  queryOptions({
    queryKey: ["performance", id],
    queryFn: ({ signal }) => client.workloadPerformance(id, { signal }),
  });

export const predictionsQuery = (client: HeadroomClient, id: string) =>
  queryOptions({ queryKey: ["predictions", id], queryFn: ({ signal }) => client.predictions(id, { signal }) });

/** Predictions compared with measured runs of the fleet, and the resulting correction. */
export const fleetPredictionsQuery = (client: HeadroomClient) =>
  queryOptions({ queryKey: ["fleet predictions"], queryFn: ({ signal }) => client.fleetPredictions({ signal }) });

export const usageQuery = (client: HeadroomClient, id: string) =>
  queryOptions({ queryKey: ["usage", id], queryFn: ({ signal }) => client.usage(id, { signal }) });

export const identityQuery = (client: HeadroomClient) =>
  queryOptions({ queryKey: ["identity"], queryFn: ({ signal }) => client.identity({ signal }) });

/** Interval in ms. No event announces tokens, their use, and denied requests. */
const ACCESS_EVERY_MS = 15_000;

export const tokensQuery = (client: HeadroomClient, { all }: { readonly all: boolean }) =>
  queryOptions({
    queryKey: ["tokens", all],
    queryFn: ({ signal }) => allPages((page) => client.listTokens({ ...page, all }, { signal })),
    refetchInterval: ACCESS_EVERY_MS,
  });

export const denialsQuery = (client: HeadroomClient) =>
  queryOptions({
    queryKey: ["denials"],
    queryFn: ({ signal }) => client.listDenials({ signal }),
    refetchInterval: ACCESS_EVERY_MS,
  });
