import { describe, expect, it } from "vitest";
import { checkEvent } from "./check-event.ts";
import { isDateTime, isUri, isUuid } from "./formats.ts";
import { facetWarnings } from "./known-facets.ts";

const base = {
  eventTime: "2026-11-01T12:00:00.123456Z",
  producer: "https://example.org/etl/v1",
  schemaURL: "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
};
const run = { runId: "3b452093-782c-4ef2-9c0c-aafe2aa6f34d" };
const job = { namespace: "etl", name: "orders.daily" };
const dataset = { namespace: "postgres://db:5432", name: "shop.orders" };
const facet = { _producer: "https://example.org", _schemaURL: "https://example.org/f.json#/$defs/F" };
const runEvent = { ...base, eventType: "START", run, job };

const verdictOf = (value: unknown): string => {
  const verdict = checkEvent(value);
  return verdict.verdict === "accepted" ? verdict.kind : verdict.reason;
};

describe("checkEvent", () => {
  it.each<[string, unknown]>([
    ["run", runEvent],
    ["run", { ...base, run, job }],
    ["run", { ...runEvent, inputs: [dataset], outputs: [{ ...dataset, outputFacets: { outputStatistics: facet } }] }],
    ["run", { ...runEvent, run: { ...run, facets: { acme_cost: { ...facet, usd: 3 } } }, unknown: 1 }],
    // The schema excludes dataset events with run and job, so a dataset is one more unknown field here.
    ["run", { ...runEvent, dataset: 7 }],
    ["job", { ...base, job, inputs: [dataset] }],
    ["dataset", { ...base, dataset }],
    ["dataset", { ...base, dataset: { ...dataset, facets: { schema: { ...facet, _deleted: true } } } }],
    // A dataset event may have a run or a job that is none, but not both.
    ["dataset", { ...base, dataset, run: 7 }],
    ["run", { ...runEvent, job: { namespace: "", name: "" } }],
  ])("accepts a %s event: %j", (kind, value) => {
    expect(verdictOf(value)).toBe(kind);
  });

  it.each<[string, unknown]>([
    ["expected an object, got null", null],
    ["expected an object, got an array", [runEvent]],
    ["expected an event with run and job, job, or dataset", base],
    ["eventTime: is missing", { run, job, producer: base.producer, schemaURL: base.schemaURL }],
    ["eventTime: expected a time of RFC 3339", { ...runEvent, eventTime: "2026-11-01T12:00:00" }],
    ["producer: expected a URI", { ...runEvent, producer: "my producer" }],
    ["schemaURL: is missing", { ...base, schemaURL: undefined, run, job }],
    ["eventType: expected one of START, RUNNING", { ...runEvent, eventType: "STARTED" }],
    ["eventType: expected one of START, RUNNING", { ...runEvent, eventType: null }],
    ['run.runId: expected a UUID, got "1"', { ...runEvent, run: { runId: "1" } }],
    ["run: expected an object, got null", { ...runEvent, run: null }],
    ["job: is missing", { ...base, run }],
    ["job.name: is missing", { ...runEvent, job: { namespace: "etl" } }],
    ["job.name: expected a string, got 7", { ...base, job: { namespace: "etl", name: 7 } }],
    ["inputs[1].namespace: is missing", { ...runEvent, inputs: [dataset, { name: "x" }] }],
    ["outputs: expected an array, got an object", { ...runEvent, outputs: {} }],
    ["run.facets: expected an object, got null", { ...runEvent, run: { ...run, facets: null } }],
    ["run.facets.parent._producer: is missing", { ...runEvent, run: { ...run, facets: { parent: { run, job } } } }],
    ["run.facets.x: expected an object, got true", { ...runEvent, run: { ...run, facets: { x: true } } }],
    [
      "job.facets.sql._deleted: expected true or false",
      { ...runEvent, job: { ...job, facets: { sql: { ...facet, _deleted: 1 } } } },
    ],
    [
      "inputs[0].inputFacets.q._schemaURL: expected a URI",
      { ...runEvent, inputs: [{ ...dataset, inputFacets: { q: { ...facet, _schemaURL: "f.json" } } }] },
    ],
    ["dataset.name: is missing", { ...base, dataset: { namespace: "n" } }],
    ["expected one kind of event, but this is a job and a dataset event", { ...base, job, dataset }],
  ])("rejects: %s", (reason, value) => {
    expect(verdictOf(value === null ? null : JSON.parse(JSON.stringify(value)))).toContain(reason);
  });

  it("reads own fields only", () => {
    expect(verdictOf(JSON.parse('{"__proto__": {"run": 1}}'))).toContain("expected an event with");
  });

  it("warns of standard facets that lack fields of their schema, and keeps custom facets", () => {
    const event = { ...runEvent, run: { ...run, facets: { parent: { ...facet, run, job: {} }, acme_x: facet } } };
    const verdict = checkEvent(event);
    expect(verdict.verdict === "accepted" && facetWarnings(verdict)).toEqual([
      "run.facets.parent: job.namespace is missing",
      "run.facets.parent: job.name is missing",
    ]);
  });
});

describe("formats", () => {
  it.each([
    ["2026-02-28T23:59:59Z", true],
    ["2024-02-29t00:00:00.1z", true],
    ["2026-02-29T00:00:00Z", false],
    ["2026-04-31T00:00:00Z", false],
    ["2026-11-01T24:00:00Z", false],
    ["2026-11-01T12:00:00+14:00", true],
    ["2026-11-01T12:00:00+24:00", false],
    ["2026-11-01T12:00:00+0100", false],
    ["2026-11-01 12:00:00Z", false],
    ["2016-12-31T23:59:60Z", true],
    ["2017-01-01T00:59:60+01:00", true],
    ["2016-12-31T22:59:60Z", false],
    ["2026-11-01T12:00Z", false],
    ["12026-11-01T12:00:00Z", false],
  ])("date-time %s: %s", (text, isValid) => expect(isDateTime(text)).toBe(isValid));

  it.each([
    ["https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent", true],
    ["urn:headroom:0.1.0", true],
    ["https://[2001:db8::1]:8080/x?y=%20", true],
    ["mailto:a@b.org", true],
    ["file:///tmp/x", true],
    ["//example.org/x", false],
    ["x/y", false],
    ["", false],
    ["https://a b", false],
    ["https://a/%zz", false],
    ["https://a/<x>", false],
    ["https://a:port/", false],
    ["https://a/#x#y", false],
    ["1https://a", false],
    [`https://a/${"x".repeat(100_000)}`, false],
  ])("uri %j: %s", (text, isValid) => expect(isUri(text)).toBe(isValid));

  it.each([
    ["3b452093-782c-4ef2-9c0c-aafe2aa6f34d", true],
    ["3B452093-782C-4EF2-9C0C-AAFE2AA6F34D", true],
    ["00000000-0000-0000-0000-000000000000", true],
    ["3b452093782c4ef29c0caafe2aa6f34d", false],
    ["{3b452093-782c-4ef2-9c0c-aafe2aa6f34d}", false],
    ["urn:uuid:3b452093-782c-4ef2-9c0c-aafe2aa6f34d", false],
    ["3b452093-782c-4ef2-9c0c-aafe2aa6f34g", false],
  ])("uuid %s: %s", (text, isValid) => expect(isUuid(text)).toBe(isValid));
});
