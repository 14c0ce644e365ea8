/**
 * The protocol of the API: schemas of every resource, the table of operations, the registry of problems, and one client
 * interface with two transports. The package does no I/O of its own and does not import the engine. Start with
 * `operations.ts` and `client.ts`.
 */
export * from "@headroom/spec";
export * from "./accelerator-readings.ts";
export * from "./apply.ts";
export * from "./apply-warning.ts";
export * from "./artifact.ts";
export * from "./attempt.ts";
export * from "./calendar.ts";
export * from "./capacity-order.ts";
export * from "./finding.ts";
export * from "./incident.ts";
export * from "./endpoint.ts";
export * from "./endpoint-trial.ts";
export * from "./overflow.ts";
export * from "./rollout.ts";
export * from "./capacity-history.ts";
export * from "./cause-hours.ts";
export * from "./cost.ts";
export { ADVISED_NODES_DEFAULT, adviceQuery } from "./order-advice.ts";
export type { AdviceQuery, OrderAdvice } from "./order-advice.ts";
export { offers, offersQuery, type Offers, type OffersQuery } from "./offers.ts";
export * from "./drill.ts";
export * from "./remediation.ts";
export * from "./series.ts";
export * from "./client.ts";
export * from "./defragmentation.ts";
export type { EvictionPlan } from "./event-parts.ts";
export * from "./event.ts";
export * from "./event-search.ts";
export * from "./exec.ts";
export * from "./executor.ts";
export * from "./imported-history.ts";
export * from "./fleet.ts";
export * from "./log-search.ts";
export * from "./qualification.ts";
export * from "./history.ts";
export * from "./metrics.ts";
export * from "./http-client.ts";
export { queryTexts, type HttpClientOptions, type HttpRequest, type HttpResponse } from "./http.ts";
export * from "./ndjson.ts";
export * from "./openapi.ts";
export * from "./operations.ts";
export * from "./forecast.ts";
export * from "./output.ts";
export * from "./page.ts";
export * from "./permissions.ts";
export * from "./roles.ts";
export * from "./token.ts";
export * from "./pipeline.ts";
export * from "./plan.ts";
export * from "./proposal.ts";
export * from "./policy.ts";
export * from "./performance.ts";
export * from "./predictions.ts";
export * from "./problems.ts";
export * from "./replay.ts";
export * from "./schedule.ts";
export * from "./session-fragment.ts";
export * from "./sizing.ts";
export * from "./snapshot.ts";
export * from "./status.ts";
export type {
  MetricSource,
  MetricSourceDeclared,
  MetricSourceList,
  MetricSourceRemoved,
  MetricSourceRequestInput,
  MetricTarget,
  MetricTargetPage,
} from "./metric-source.ts";
export type { Store, StoreCacheList, StoreList, StoreRemoved, StoreRequestInput, StoreDeclared } from "./store.ts";
export * from "./team.ts";
export * from "./user.ts";
export * from "./verdict.ts";
export * from "./gateway.ts";
export * from "./waste.ts";
export { createWorkerClient, type MessageEndpoint } from "./worker-client.ts";
export { serveWorkerClient } from "./worker-server.ts";
export * from "./workload.ts";
export * from "./workload-phases.ts";
export * from "./workload-changes.ts";
