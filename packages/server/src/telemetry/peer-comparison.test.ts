import { expect, it } from "vitest";
import { peerDeviations, type PeerMeans } from "@headroom/health";
import { listedDeviations } from "./peer-comparison.ts";

it("lists harmful deviations behind any number of larger harmless ones", () => {
  const subject = (at: number, temperatureC: number): PeerMeans => ({
    subject: `accelerator:n${at}#0`,
    set: "accelerator h100",
    values: new Map([["temperatureC", temperatureC]]),
  });
  // 300 of 2,000 are better cooled, and one is hot.
  const means = Array.from({ length: 2_000 }, (_, at) => subject(at, at < 300 ? 30 : 60 + ((at % 7) - 3) / 2));
  const { deviations, harmful } = listedDeviations(peerDeviations([...means, subject(2_000, 75)]));
  expect(deviations).toHaveLength(200);
  expect(deviations.every((each) => each.deviations < 0)).toBe(true);
  expect(harmful.map((each) => each.subject)).toEqual(["accelerator:n2000#0"]);
});
