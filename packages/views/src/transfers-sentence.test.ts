import { expect, it } from "vitest";
import { transfersSentence } from "./transfers-sentence.ts";

const reason = { kind: "transfers", direction: "out", workers: 2, placeableWorkers: 0 } as const;

it("names the directory from which nothing is uploaded, the pools that would, and what to do", () => {
  const todo =
    "Leave out checkpoint.dir, and write dir: own (in the API null); or add a parent of /home/a to uploadsFrom of an executor, if its nodes share it with the control plane.";
  expect(transfersSentence({ ...reason, pools: [], from: "/home/a" })).toBe(
    `Uploads: no pool uploads from /home/a. ${todo}`,
  );
  expect(transfersSentence({ ...reason, pools: ["local"], from: "/home/a" })).toBe(
    `Uploads: 0 of 2 workers fit in pools that upload what work produces from /home/a (local). ${todo}`,
  );
  expect(transfersSentence({ ...reason, pools: ["local"] })).toMatch(/produces \(local\)\.$/);
});
