import { tmpdir } from "node:os";
import { describe, expect, it } from "vitest";
import type { FleetChoice } from "@headroom/autoscale";
import { headroom, type Said } from "../testing/recorded-terminal.ts";

const mix = (...args: string[]): Promise<Said> =>
  headroom(["size", "mix", "--model", "llama-3-8b", ...args], { workingDirectory: tmpdir() });
const offers = ["--offer", "L4=0.7", "--offer", "A100=3.67"];
/** Short requests; the few long ones are too slow on an L4. */
const traffic = ["--traffic", "15.2,300,180", "--traffic", "0.8,4500,280", "--ttft", "2s", "--tpot", "120ms"];

describe("headroom size mix", () => {
  it("adds a cheap accelerator for short requests instead of a second expensive one", async () => {
    const { code, stdout } = await mix(...offers, ...traffic, "--json");
    const { fleet, oneType, unfit } = JSON.parse(stdout) as FleetChoice;
    expect([code, unfit]).toEqual([0, []]);
    expect(fleet?.replicas.map(({ accelerator }) => accelerator)).toEqual(["L4", "A100-SXM-80GB"]);
    expect(oneType?.replicas).toEqual([{ accelerator: "A100-SXM-80GB", count: 2 }]);
    expect(fleet?.pricePerHour).toBeLessThan(0.8 * (oneType?.pricePerHour ?? 0));
    expect(Math.min(fleet?.attainmentPct ?? 0, oneType?.attainmentPct ?? 0)).toBeGreaterThanOrEqual(99);
  });

  it("serves requests with loose objectives of their own on cheap accelerators", async () => {
    const chat = ["--traffic", "6.4,300,180", "--ttft", "2s", "--tpot", "40ms", "--json"];
    const strict = await mix(...offers, ...chat, "--traffic", "1.6,4500,280");
    const loose = await mix(...offers, ...chat, "--traffic", "1.6,4500,280,15s,150ms");
    const [strictChoice, looseChoice] = [strict, loose].map(({ stdout }) => JSON.parse(stdout) as FleetChoice);
    expect(strictChoice?.fleet?.replicas).toEqual([{ accelerator: "A100-SXM-80GB", count: 2 }]);
    expect(looseChoice?.fleet?.replicas.map(({ accelerator }) => accelerator)).toEqual(["L4", "A100-SXM-80GB"]);
    expect(looseChoice?.fleet?.pricePerHour).toBeLessThan(strictChoice?.fleet?.pricePerHour ?? 0);
  });

  it("says that no fleet reaches the objectives, and what to change", async () => {
    const { code, stderr } = await mix("--offer", "L4=0.7", ...traffic);
    expect(code).toBe(3);
    expect(stderr).toContain("Raise --ttft or --tpot");
  });

  it.each([
    [[...traffic], "--offer is needed"],
    [[...offers], "--traffic is needed"],
    [["--offer", "L5=1", ...traffic], "no accelerator L5"],
    [["--offer", "L4=0", ...traffic], "--offer, price: expected a positive number"],
    [[...offers, "--traffic", "1,2"], "--traffic, output tokens"],
    [[...offers, "--traffic", "1,2,3,4s"], "expected RATE,PROMPT,OUTPUT"],
    [[...offers, "--traffic", "1,2,3,0s,40ms"], "--traffic, TTFT: expected a duration above 0"],
    [[...offers, "--traffic", "1000,300,180"], "at most 200 requests a second"],
    [[...offers, ...traffic, "--share", "2"], "--share: expected a share"],
  ])("refuses %j", async (given, message) => {
    const { code, stderr } = await mix(...given);
    expect(code).toBe(2);
    expect(stderr).toContain(message);
  });
});
