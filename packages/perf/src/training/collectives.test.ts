import { describe, expect, it } from "vitest";
import { trainingConstantsOf, trainingConstants } from "../constants.ts";
import { dispatchSeconds, gatherSeconds, groupOf, linksOf, reduceSeconds } from "./collectives.ts";
import { bubbleSeconds, stagesOf } from "./pipeline.ts";
import { gptModel, planWith, systemOf } from "./testing/jobs.ts";

const ideal = trainingConstantsOf((name) => (name.startsWith("scale") ? 1 : trainingConstants[name].value));
const links = linksOf(systemOf("H100", 64).cluster, ideal, undefined);
const gigabyte = 1e9;

describe("collectives of large messages follow the volume formulas", () => {
  it("inside a domain: (n - 1)/n of the tensor over the link, twice for an all-reduce", () => {
    const group = groupOf(links, 8, 1);
    expect([group.nearCount, group.farCount]).toEqual([8, 1]);
    expect(gatherSeconds(links, group, 45 * gigabyte)).toBeCloseTo((7 / 8) * (45 / 450), 3);
    expect(reduceSeconds(links, group, 45 * gigabyte)).toBeCloseTo(2 * (7 / 8) * (45 / 450), 3);
  });

  it("across nodes: the ranks of a node share the tensor, each over its own port", () => {
    const group = groupOf(links, 64, 1);
    expect([group.nearCount, group.farCount]).toEqual([8, 8]);
    const near = (7 / 8) * (45 / 450);
    const far = (7 / 8) * (45 / 8 / 50);
    expect(gatherSeconds(links, group, 45 * gigabyte)).toBeCloseTo(near + far, 3);
  });

  it("with a stride as wide as a node every rank is alone there", () => {
    expect(groupOf(links, 8, 8)).toMatchObject({ nearCount: 1, farCount: 8 });
  });

  it("a token that experts of one node want several times crosses the network once", () => {
    const group = groupOf(links, 16, 1);
    const many = dispatchSeconds(links, group, gigabyte, 1000);
    const wanted = (7 / 8) * 1000 * (1 / 450) + 1 / 50;
    expect(many).toBeCloseTo(wanted, 3);
  });
});

describe("stages", () => {
  const model = gptModel(32, 4096, 32);
  const seconds = { dense: 1, expert: 0, head: 0 };

  it("leave (p - 1)/m idle under 1F1B, a v-th of it interleaved, a third of it under ZB-H1", () => {
    const stages = stagesOf(model, planWith({ pipeline: 8 }), seconds);
    expect(stages.slowestSeconds).toBe(4);
    const idle = (change: Parameters<typeof planWith>[0]): number =>
      bubbleSeconds(stages, planWith({ pipeline: 8, ...change })) / stages.slowestSeconds;
    expect(idle({})).toBeCloseTo(7, 12);
    expect(idle({ virtualStages: 4, schedule: "interleaved" })).toBeCloseTo(7 / 4, 12);
    expect(idle({ schedule: "zero-bubble" })).toBeCloseTo(7 / 3, 12);
  });

  it("are paced by the one with the head, unless layers were left for it", () => {
    const withHead = { dense: 1, expert: 0, head: 2 };
    expect(stagesOf(model, planWith({ pipeline: 8 }), withHead)).toMatchObject({ slowestSeconds: 6, allSeconds: 34 });
    const uneven = stagesOf(gptModel(30, 4096, 32), planWith({ pipeline: 8 }), withHead);
    expect(uneven).toMatchObject({ slowestSeconds: 4, slowest: { dense: 4, head: 0 } });
  });
});
