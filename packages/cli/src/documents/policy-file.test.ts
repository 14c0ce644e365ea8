import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { defaultPolicy, presets } from "@headroom/model";
import { policyResource } from "@headroom/views";
import { afterEach, beforeEach, expect, it } from "vitest";
import { headroom } from "../testing/recorded-terminal.ts";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "headroom-policy-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Output of `headroom simulate` with the policy of a file: its report, or the error. */
async function simulated(text: string, name = "mine.yaml") {
  writeFileSync(path.join(folder, name), text);
  const args = ["simulate", "--gpus", "4", "--trace", "generated:jobs=5,load=1", "--policy", name, "--json"];
  const { code, stdout, stderr } = await headroom(args, { workingDirectory: folder });
  return { code, stderr, report: code === 0 ? (JSON.parse(stdout) as { readonly policy: string }) : null };
}

it("holds the knobs whole, in YAML or JSON", async () => {
  const whole = { ...policyResource(defaultPolicy), name: "mine" };
  expect((await simulated(JSON.stringify(whole), "mine.json")).report?.policy).toBe("mine");
  expect((await simulated(JSON.stringify(whole, null, 2))).report?.policy).toBe("mine");
});

it("holds what is different from a preset, and takes a section away", async () => {
  expect((await simulated("base: fifo\nname: mine\nplacement: spread\n")).report?.policy).toBe("mine");
  const without = await simulated("base: default\nname: mine\nbackfill: null\nteams: { nonPreemptible: limit }\n");
  expect(without.report?.policy).toBe("mine");
});

it.each([
  ["base: defualt\nname: x\n", `mine.yaml:1:7: base: must be`],
  ["base: default\n", "mine.yaml:1:1: name: must be a new name, because default is a preset"],
  ["base: default\nname: x\nplacment: pack\n", "mine.yaml:3:1: placment: unknown setting; did you mean placement?"],
  [
    "base: default\nname: x\nelastic: most\n",
    "mine.yaml:3:10: elastic: must be never or in-order or last or in-order-by-throughput or last-by-throughput",
  ],
  ["base: default\nname: x\nplacement: pak\n", "mine.yaml:3:12: placement: must be pack or spread or random"],
  [
    "base: fifo\nname: x\nplacement: { order: fragmentation, typicalDemand: [] }\n",
    "mine.yaml:3:51: placement.typicalDemand: must name a kind of worker",
  ],
  [
    "base: default\nname: x\nbackfill: { protectedStart: 2 }\n",
    "mine.yaml:3:13: backfill.protectedStart: unknown setting; did you mean protectedStarts?",
  ],
  ["name: x\n", "mine.yaml:1:1: order: is required"],
  ["- a\n", "mine.yaml:1:1: must be a mapping of settings, got a list of 1 entry"],
  ["base: fifo\nname: x\n---\nname: y\n", "mine.yaml: the file must contain one policy, but has 2"],
])("refuses %j with its place", async (text, message) => {
  const { code, stderr } = await simulated(text);
  expect(code).toBe(2);
  expect(stderr).toContain(message);
});

it("tells a preset's name from a file's", async () => {
  const { code, stderr } = await headroom(
    ["simulate", "--gpus", "4", "--trace", "generated:jobs=5,load=1", "--policy", "fifo-skp"],
    { workingDirectory: folder },
  );
  expect(code).toBe(2);
  expect(stderr).toContain(
    `there is no preset "fifo-skp" (did you mean fifo-skip?); the presets are ${[...presets.keys()].join(", ")}`,
  );
});
