import { isOfBasis } from "@headroom/health";
import { expect, it } from "vitest";
import { basisOf, suiteOf } from "./suite-file.ts";

const suite = { command: ["/opt/suite", "{node}"], tests: [], env: { TOKEN: "a" }, repeat: 3 };

it("compares results of one command whatever its environment, and those of a new baseline alone", () => {
  const basis = basisOf(suite);
  expect(basisOf({ ...suite, env: { TOKEN: "b" } })).toBe(basis);
  expect(basisOf({ ...suite, command: ["/opt/suite-2", "{node}"] })).not.toBe(basis);
  const later = basisOf({ ...suite, baseline: "2026" });
  expect([basis, later].map((each) => isOfBasis({ basis }, each))).toEqual([true, false]);
});

it("compares results of builds that stored no basis until a baseline is stated", () => {
  expect(isOfBasis({}, basisOf(suite))).toBe(true);
  expect(isOfBasis({}, basisOf({ ...suite, baseline: "2026" }))).toBe(false);
  expect(isOfBasis({ basis: basisOf(suite) }, undefined)).toBe(true);
});

it("counts versions of the suite that comes along, not its path", () => {
  const built = suiteOf([], { executors: new Map() }, { name: "own", executor: "local" }, "quick");
  if (built === null) throw new Error("there is no suite");
  expect(basisOf({ ...built, command: ["/elsewhere/node", "/elsewhere/small-suite.ts"] })).toBe(basisOf(built));
});
