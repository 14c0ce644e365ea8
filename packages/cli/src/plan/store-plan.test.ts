import { writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startLive, type LiveControlPlane } from "../testing/live-control-plane.ts";

const plan = `
kind: plan
name: lab
start: 2027-01
months: 6
demand: { train: { p50: { 2027-01: 16, 2027-06: 32 } } }
existing: [{ name: old, pool: train, accelerators: 16, monthlyUsd: 100 }]
options:
  - { name: h100, kind: own, pool: train, upfrontUsd: 2400, monthlyUsd: 300, leadTime: 30d, block: 8, lifeMonths: 48 }
  - { name: cloud, kind: onDemand, pool: train, usdPerHour: 4, max: 8 }
`;

let live: LiveControlPlane;
beforeAll(async () => {
  live = await startLive();
  writeFileSync(path.join(live.folder, "plan.yaml"), plan);
});
afterAll(() => live.close());

it("a stored plan is printed in short, and a variant without a plan is named", async () => {
  const { code, stdout } = await live.headroom(["plan", "store", "plan.yaml"]);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^accelerators runs out first, in 2027-02 \(probability 100%\)\.$/m);
  expect(stdout).toMatch(/^The first order: \d+ h100 by 2027-0\d-\d\d, in service in 2027-0\d\.$/m);
  expect(stdout).toMatch(/^every order 3 months late +no plan from 2027-0\d on/m);
  expect(stdout).toMatch(/^stored$/m);
});

it("the line of a wrong field is named before anything is sent, and a plan that is too large is refused", async () => {
  writeFileSync(path.join(live.folder, "wrong.yaml"), plan.replace("months: 6", "months: none"));
  const wrong = await live.headroom(["plan", "store", "wrong.yaml"]);
  expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining("wrong.yaml:5:9: months: ")]);
  writeFileSync(path.join(live.folder, "large.yaml"), plan.replace("months: 6", "months: 90"));
  const large = await live.headroom(["plan", "store", "large.yaml"]);
  expect(large.code).not.toBe(0);
  expect(large.stderr).toContain("/plan/months: a stored plan has at most 60, this one has 90");
});
