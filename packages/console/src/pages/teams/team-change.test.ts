import type { Team } from "@headroom/protocol";
import { describe, expect, it } from "vitest";
import { changesBetween, faultIn, fieldsOf, specOf, withFields } from "./team-change.ts";

const team: Team = {
  name: "research/vision",
  parent: "research",
  limit: { "H100-SXM": 144, memory: 1_024 },
  guarantee: { "H100-SXM": 32 },
  lendingLimit: { "H100-SXM": 8 },
  budget: { microUsd: 250_000_000, period: "month", over: "warn" },
  held: { "H100-SXM": 12 },
  heldInAll: { accelerators: 12, coresMilli: 0, memoryMib: 0 },
};

describe("editing a team", () => {
  it("keeps what the form does not show, and counts no field as changed that is not", () => {
    const spec = withFields(team, fieldsOf(team, ["H100-SXM"]));
    expect(spec).toEqual(specOf(team));
    expect(changesBetween(specOf(team), spec)).toEqual([]);
  });

  it("lists what differs, before and after", () => {
    const fields = fieldsOf(team, ["H100-SXM"]);
    const quotas = fields.quotas.map((each) =>
      each.resource === "H100-SXM" ? { ...each, limit: "", guarantee: "40" } : each,
    );
    const spec = withFields(team, { ...fields, quotas, gpuHours: "500", over: "hold" });
    expect(changesBetween(specOf(team), spec)).toEqual([
      { name: "Guarantee of H100-SXM", before: "32", after: "40" },
      { name: "Limit of H100-SXM", before: "144", after: "none" },
      { name: "When used up", before: "record it only", after: "start nothing more" },
      { name: "Budget in GPU-hours", before: "none", after: "500" },
    ]);
  });

  it("places a new team below the one its name says, and names the field that is no number", () => {
    const fields = { ...fieldsOf(null, []), name: "research/nlp", weight: "two" };
    expect(withFields(null, { ...fields, weight: "2" })).toEqual({
      name: "research/nlp",
      parent: "research",
      limit: {},
      weight: 2,
    });
    expect(faultIn(fields)).toBe("Weight: must be a number of 0 or more, or empty.");
    expect(faultIn(fieldsOf(null, []))).toBe("Name: a team needs a name.");
  });
});
