import { describe, expect, it } from "vitest";
import { openApiDocument } from "./openapi.ts";
import { operationNames, operations, type Operation } from "./operations.ts";
import { problemKinds } from "./problems.ts";

type Json = Record<string, unknown>;
const document = openApiDocument("1.2.3");
const schemas = (document["components"] as { schemas: Json }).schemas;
const paths = document["paths"] as Record<string, Record<string, Json>>;

function references(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => (key === "$ref" ? [String(inner)] : references(inner)));
}

const described = (name: keyof typeof operations): Json => {
  const operation: Operation = operations[name];
  return paths[operation.path]?.[operation.method.toLowerCase()] ?? {};
};

describe("the OpenAPI document", () => {
  it("refers only to schemas that it has, and has none that nothing refers to", () => {
    const targets = new Set(references(document));
    const known = Object.keys(schemas).map((name) => `#/components/schemas/${name}`);
    expect([...targets].filter((target) => !known.includes(target))).toEqual([]);
    expect(known.filter((name) => !targets.has(name))).toEqual([]);
  });

  it("describes every operation once, with named bodies and answers", () => {
    expect(operationNames.map((name) => described(name)["operationId"])).toEqual(operationNames);
    const count = Object.values(paths).flatMap((methods) => Object.keys(methods)).length;
    expect(count).toBe(operationNames.length);
    for (const name of operationNames) {
      const operation: Operation = operations[name];
      expect(references(described(name)["responses"]).length, name).toBeGreaterThan(1);
      expect(references(described(name)["requestBody"]), name).toHaveLength(operation.body === null ? 0 : 1);
    }
  });

  it("names every parameter of a path", () => {
    for (const name of operationNames) {
      const operation: Operation = operations[name];
      const inPath = [...operation.path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]);
      expect(Object.keys(operation.params.shape), name).toEqual(inPath);
    }
  });

  it("takes a user and an idempotency key with everything that changes something", () => {
    for (const name of operationNames) {
      const headers = (described(name)["parameters"] as Json[]).filter((each) => each["in"] === "header");
      const expected = operations[name].method === "GET" ? [] : ["Headroom-User", "Idempotency-Key"];
      expect(
        headers.map((each) => each["name"]),
        name,
      ).toEqual(expected);
    }
  });

  it("keeps what may be left out of a request apart from what is always in an answer", () => {
    expect((schemas["GangSpecInput"] as Json)["required"]).toBeUndefined();
    expect((schemas["GangSpec"] as Json)["required"]).toEqual(["workers", "accelerators", "coresMilli", "memoryMib"]);
    expect(references(described("submitWorkload")["requestBody"])).toEqual(["#/components/schemas/SubmittedSpec"]);
    expect(references(schemas["SubmittedSpec"])).toEqual([
      "#/components/schemas/TrainSpecInput",
      "#/components/schemas/BatchSpecInput",
      "#/components/schemas/ServeSpecInput",
    ]);
    expect(references(schemas["Workload"])).toContain("#/components/schemas/WorkloadSpec");
  });

  it("is closed where requests are and open where answers may grow", () => {
    expect((schemas["TrainSpecInput"] as Json)["additionalProperties"]).toBe(false);
    expect(schemas["Status"]).not.toHaveProperty("additionalProperties");
    expect(JSON.stringify(schemas["TrainSpecInput"])).toMatch(
      /"env":\{"default":\{\},"description":"[^"]*","type":"object","propertyNames"/,
    );
  });
});

describe("the registry of problems", () => {
  it("gives every code a status of a failure and an exit code that is not success", () => {
    for (const [code, { status, exitCode, title }] of Object.entries(problemKinds)) {
      expect(status >= 400 && status < 600, code).toBe(true);
      expect([1, 2, 3], code).toContain(exitCode);
      expect(title, code).not.toMatch(/\.$/);
    }
  });
});
