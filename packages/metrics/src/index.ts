/**
 * Metrics of other programs: their text formats, what their names mean, and the sources that operators declare. Pure: the server
 * reads the addresses. Start at `sources/declaration.ts`.
 */
export { readExposition } from "./formats/exposition.ts";
export type { ExpositionOutcome, Labels } from "./formats/exposition.ts";
export { readWriteRequest, writeRequest } from "./formats/remote-write.ts";
export type { WrittenSeries } from "./formats/remote-write.ts";
export { otlpMetricsAnswer, readOtlpMetrics } from "./formats/otlp-metrics.ts";
export type { OtlpMetrics } from "./formats/otlp-metrics.ts";
export { MappedReading, MappingIndex } from "./mapping/mapped-reading.ts";
export type { LocalSubject, MappedSample } from "./mapping/mapped-reading.ts";
export { builtInMappings, mappedUnits } from "./mapping/built-in.ts";
export { combineReplicas } from "./mapping/combine-replicas.ts";
export { customMapping, metricSourceTypes, readMetricSource } from "./sources/declaration.ts";
export type { MetricSource, MetricSourceReading, PrometheusQuery } from "./sources/declaration.ts";
export { addressProblem, expandTargets, hostOf, isLinkLocal } from "./sources/targets.ts";
export type { Expansion, MetricTarget, RefusedTarget, SourceNode, SourceReplica } from "./sources/targets.ts";
