/**
 * Checks a JSON value against the schema of OpenLineage 2-0-2. The schema accepts an event that matches exactly one of run event,
 * job event and dataset event; fields that it does not name are allowed everywhere. Start with `checkEvent`.
 */
import type { DatasetEvent, JobEvent, LineageEvent, RunEvent } from "./event.ts";
import { RUN_STATES } from "./event.ts";
import { isDateTime, isUri, isUuid } from "./formats.ts";

export type EventVerdict =
  | ({ readonly verdict: "accepted" } & LineageEvent)
  | { readonly verdict: "rejected"; readonly reason: string };

/** A problem with its place, such as `run.runId: expected a UUID`; `null`: there is none. */
type Problem = string | null;
type Check = (value: unknown, place: string) => Problem;
type Fields = Readonly<Record<string, unknown>>;

export function checkEvent(value: unknown): EventVerdict {
  if (!isObject(value)) return { verdict: "rejected", reason: `expected an object, got ${shown(value)}` };
  const problems = { run: runEvent(value, ""), job: jobEvent(value, ""), dataset: datasetEvent(value, "") };
  const matching = (["run", "job", "dataset"] as const).filter((kind) => problems[kind] === null);
  if (matching.length > 1)
    return {
      verdict: "rejected",
      reason: `expected one kind of event, but this is a ${matching.join(" and a ")} event`,
    };
  switch (matching[0]) {
    case "run":
      return { verdict: "accepted", kind: "run", event: value as unknown as RunEvent };
    case "job":
      return { verdict: "accepted", kind: "job", event: value as unknown as JobEvent };
    case "dataset":
      return { verdict: "accepted", kind: "dataset", event: value as unknown as DatasetEvent };
    default: {
      const kind = intendedKind(value);
      const reason = kind === null ? null : problems[kind];
      return { verdict: "rejected", reason: reason ?? "expected an event with run and job, job, or dataset" };
    }
  }
}

function intendedKind(value: Fields): LineageEvent["kind"] | null {
  if (has(value, "run")) return "run";
  if (has(value, "dataset")) return "dataset";
  return has(value, "job") ? "job" : null;
}

const isObject = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const has = (value: Fields, field: string): boolean => Object.hasOwn(value, field);
const join = (place: string, field: string): string => (place === "" ? field : `${place}.${field}`);

const SHOWN_MAX = 80;

function shown(value: unknown): string {
  if (Array.isArray(value)) return "an array";
  if (typeof value === "object" && value !== null) return "an object";
  const text = JSON.stringify(value);
  return text.length <= SHOWN_MAX ? text : `${text.slice(0, SHOWN_MAX)}…`;
}

const text: Check = (value, place) =>
  typeof value === "string" ? null : `${place}: expected a string, got ${shown(value)}`;

const formatted =
  (isValid: (text: string) => boolean, expected: string): Check =>
  (value, place) =>
    typeof value === "string" && isValid(value) ? null : `${place}: expected ${expected}, got ${shown(value)}`;

const dateTime = formatted(isDateTime, "a time of RFC 3339 with its zone, such as 2026-11-01T12:00:00Z");
const uri = formatted(isUri, "a URI");
const uuid = formatted(isUuid, "a UUID");
const flag: Check = (value, place) =>
  typeof value === "boolean" ? null : `${place}: expected true or false, got ${shown(value)}`;
const runState: Check = (value, place) =>
  RUN_STATES.some((state) => state === value)
    ? null
    : `${place}: expected one of ${RUN_STATES.join(", ")}, got ${shown(value)}`;

/** An object whose fields have these checks; required fields must exist, others may be absent. */
function object(required: Readonly<Record<string, Check>>, optional: Readonly<Record<string, Check>> = {}): Check {
  const checks = Object.entries({ ...required, ...optional });
  return (value, place) => {
    if (!isObject(value)) return `${place}: expected an object, got ${shown(value)}`;
    for (const [field, check] of checks) {
      if (!has(value, field)) {
        if (Object.hasOwn(required, field)) return `${join(place, field)}: is missing`;
        continue;
      }
      const problem = check(value[field], join(place, field));
      if (problem !== null) return problem;
    }
    return null;
  };
}

const listOf =
  (check: Check): Check =>
  (value, place) => {
    if (!Array.isArray(value)) return `${place}: expected an array, got ${shown(value)}`;
    for (const [index, item] of value.entries()) {
      const problem = check(item, `${place}[${index}]`);
      if (problem !== null) return problem;
    }
    return null;
  };

const mapOf =
  (check: Check): Check =>
  (value, place) => {
    if (!isObject(value)) return `${place}: expected an object, got ${shown(value)}`;
    for (const [name, item] of Object.entries(value)) {
      const problem = check(item, join(place, name));
      if (problem !== null) return problem;
    }
    return null;
  };

const facets = mapOf(object({ _producer: uri, _schemaURL: uri }));
/** Facets of jobs and datasets can delete the facet of an earlier event. */
const deletableFacets = mapOf(object({ _producer: uri, _schemaURL: uri }, { _deleted: flag }));

const datasetFields = { namespace: text, name: text };
const job = object({ namespace: text, name: text }, { facets: deletableFacets });
const run = object({ runId: uuid }, { facets });
const dataset = object(datasetFields, { facets: deletableFacets });
const inputs = listOf(object(datasetFields, { facets: deletableFacets, inputFacets: facets }));
const outputs = listOf(object(datasetFields, { facets: deletableFacets, outputFacets: facets }));

const baseFields = { eventTime: dateTime, producer: uri, schemaURL: uri };
const runEvent = object({ ...baseFields, run, job }, { eventType: runState, inputs, outputs });
const plainJobEvent = object({ ...baseFields, job }, { inputs, outputs });
const plainDatasetEvent = object({ ...baseFields, dataset });

const jobEvent: Check = (value, place) =>
  isObject(value) && has(value, "run") ? "run: a job event has no run" : plainJobEvent(value, place);
const datasetEvent: Check = (value, place) =>
  isObject(value) && has(value, "run") && has(value, "job")
    ? "dataset: an event with run and job is a run event"
    : plainDatasetEvent(value, place);
