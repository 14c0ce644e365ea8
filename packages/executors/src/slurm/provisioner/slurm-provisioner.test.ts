/** Answers about orders whose nodes are no longer chosen, and the ids that are remembered. `scontrol` is a script with recorded lines. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { answerOrder } from "./slurm-provisioner.ts";

let root = "";
beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), "headroom-provision-"));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const line = (name: string, state: string, comment: string): string =>
  `NodeName=${name} CPUTot=64 RealMemory=500000 Gres=gpu:h100:8 State=${state} Partitions=cloud Comment=${comment}`;

function scontrol(...nodes: readonly string[]): void {
  writeFileSync(path.join(root, "nodes"), `${nodes.join("\n")}\n`);
  const script = `#!/bin/sh\n[ "$1" = show ] && exec cat ${root}/nodes\necho "$@" >> ${root}/updates\n`;
  writeFileSync(path.join(root, "scontrol"), script, { mode: 0o700 });
}

const settings = (nodes: string) => ({ executor: "lab", partition: "cloud", directory: root, commands: root, nodes });
const order = { id: "spot-1-x", count: 1, accelerators: 8, release: "all" };

it("stops the nodes of an order though other nodes are chosen now, and starts only chosen ones", async () => {
  scontrol(line("c1", "IDLE+CLOUD", "headroom:spot-1-x"), line("c2", "IDLE+CLOUD+POWERED_DOWN", ""));
  expect(await answerOrder(settings("c9"), { verb: "release", order })).toEqual({
    state: "arriving",
    nodes: ["lab-c1"],
  });
  expect(readFileSync(path.join(root, "updates"), "utf8")).toBe("update nodename=c1 state=power_down_asap\n");
  const other = { ...order, id: "spot-2-x" };
  expect(await answerOrder(settings("c9"), { verb: "create", order: other })).toMatchObject({ state: "failed" });
});

it("forgets ids of orders that were released long ago", async () => {
  scontrol(line("c2", "IDLE+CLOUD+POWERED_DOWN", ""));
  const released = path.join(root, "released");
  mkdirSync(released);
  for (const name of ["old", "new"]) writeFileSync(path.join(released, name), "");
  utimesSync(path.join(released, "old"), 1, 1);
  expect(await answerOrder(settings("c2"), { verb: "release", order })).toEqual({ state: "gone" });
  expect(readdirSync(released).toSorted()).toEqual(["new", "spot-1-x"]);
  expect(await answerOrder(settings("c2"), { verb: "create", order })).toEqual({ state: "gone" });
});
