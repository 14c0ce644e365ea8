import { exitCode } from "../cli-error.ts";
import { defineCommand, jsonOption } from "../command.ts";
import type { FailureOptions } from "../size/size-failures.ts";
import type { NetworkOptions } from "../size/size-network.ts";
import type { StorageOptions } from "../size/size-storage.ts";

const networkCommand = defineCommand<NetworkOptions>({
  name: "network",
  summary: "Switches and cables of a fabric",
  details: `Examples:
  headroom size network --nodes 1024
  headroom size network --nodes 300 --switch-ports 144 --oversubscription 3
  headroom size network --nodes 4096 --kind dragonfly --ports 4`,
  options: [
    { flags: "--nodes <count>", description: "nodes to join" },
    {
      flags: "--kind <kind>",
      description: "fat-tree, rail-optimised (default) or dragonfly",
      complete: ["fat-tree", "rail-optimised", "dragonfly"],
    },
    { flags: "--ports <count>", description: "ports per node and plane (default: 8)" },
    { flags: "--switch-ports <count>", description: "ports of a switch (default: 64)" },
    { flags: "--port-gbps <speed>", description: "Gbit/s of a port (default: 400)" },
    { flags: "--oversubscription <ratio>", description: "down to up at the leaves (default: 1)" },
    { flags: "--spine-oversubscription <ratio>", description: "down to up at the spines of three tiers (default: 1)" },
    { flags: "--planes <count>", description: "separate fabrics side by side (default: 1)" },
    jsonOption,
  ],
  async run(context, { options }) {
    const { runSizeNetwork } = await import("../size/size-network.ts");
    return runSizeNetwork(context, options);
  },
});

const storageCommand = defineCommand<StorageOptions>({
  name: "storage",
  summary: "Capacity, throughput and concurrency that jobs need, and which breaks first",
  details: `Published tiers: tectonic-llama3, jean-zay-gpfs, skt-b200. Rates of --offer are GB/s; 80% of what was bought is counted on.

Examples:
  headroom size storage --gpus 64 --sample 146600628 --batch 7 --compute 0.323 --utilisation 90%
  headroom size storage --gpus 16384 --parameters 405B --every 10m --stall 10s --image 20GB --tier tectonic-llama3
  headroom size storage --gpus 512 --parameters 70B --overlapped --offer capacity=2PB,read=80,write=40,operations=50k`,
  options: [
    { flags: "--gpus <count>", description: "accelerators of the job (default: 1)" },
    { flags: "--gpus-per-node <count>", description: "accelerators per node (default: 8)" },
    { flags: "--sample <bytes>", description: "training data: size of a sample" },
    { flags: "--batch <samples>", description: "training data: samples per accelerator and step (default: 1)" },
    { flags: "--compute <seconds>", description: "training data: computing per step" },
    { flags: "--utilisation <share>", description: "training data: share of time spent computing (default: 100%)" },
    { flags: "--samples-per-file <count>", description: "training data: samples in a file (default: 1)" },
    { flags: "--threads <count>", description: "training data: reader threads per accelerator (default: 4)" },
    { flags: "--dataset <bytes>", description: "training data: all of it" },
    { flags: "--parameters <count>", description: "checkpoints: 14 bytes for each of so many parameters" },
    { flags: "--checkpoint <bytes>", description: "checkpoints: size of one" },
    { flags: "--every <duration>", description: "checkpoints: interval (default: 30m)" },
    { flags: "--stall <duration>", description: "checkpoints: the job may stand so long for one (default: 30s)" },
    { flags: "--overlapped", description: "checkpoints: written while the job computes" },
    { flags: "--kept <count>", description: "checkpoints: kept besides the one being written (default: 2)" },
    { flags: "--image <bytes>", description: "starts: container image per node (default: 20GB)" },
    { flags: "--files <count>", description: "starts: files that a process opens (default: 5000)" },
    { flags: "--start <duration>", description: "starts: all must be read in this time (default: 5m)" },
    { flags: "--tier <name>", description: "compare with a published tier", repeatable: true },
    {
      flags: "--offer <rates>",
      description: "compare with capacity=…,read=…,write=…,operations=…,clients=…",
      repeatable: true,
    },
    jsonOption,
  ],
  async run(context, { options }) {
    const { runSizeStorage } = await import("../size/size-storage.ts");
    return runSizeStorage(context, options);
  },
});

const failuresCommand = defineCommand<FailureOptions>({
  name: "failures",
  summary: "How often a job fails, how often to save, what is left, how many spares",
  details: `Published rates: llama3-h100 (3.79 failures per 1,000 node-days), rsc1-a100 (6.5), rsc2-a100 (2.34).

Examples:
  headroom size failures --nodes 2048 --stall 11s --restart 5m
  headroom size failures --nodes 128 --record rsc1-a100 --domain node=1 --domain rack=4 --domain leaf=32`,
  options: [
    { flags: "--nodes <count>", description: "nodes of the job" },
    { flags: "--gpus-per-node <count>", description: "accelerators per node (default: 8)" },
    { flags: "--record <name>", description: "published failure rates to take (default: llama3-h100)" },
    { flags: "--rate <number>", description: "your own: failures per 1,000 node-days" },
    { flags: "--other <number>", description: "failures of the job per day that belong to no node (default: 0)" },
    { flags: "--restart <duration>", description: "from a failure to the first new step (default: 5m)" },
    { flags: "--stall <duration>", description: "one checkpoint stops the job for so long (default: 10s)" },
    { flags: "--every <duration>", description: "checkpoint interval (default: the best)" },
    { flags: "--stragglers <share>", description: "time lost to slow ranks (default: 0%)" },
    { flags: "--repair <duration>", description: "a failed node is away for so long (default: 1d)" },
    { flags: "--coverage <share>", description: "share of the time that spares should suffice (default: 99%)" },
    { flags: "--burstiness <ratio>", description: "variance over mean of nodes away (default: 1, independent)" },
    { flags: "--fleet <count>", description: "nodes of the fleet (default: the job's)" },
    { flags: "--scattered", description: "jobs lie anywhere in the fleet, not side by side" },
    { flags: "--domain <name=nodes>", description: "what fails as one: node=1, rack=8 …", repeatable: true },
    jsonOption,
  ],
  async run(context, { options }) {
    const { runSizeFailures } = await import("../size/size-failures.ts");
    return runSizeFailures(context, options);
  },
});

export const sizeCommand = defineCommand({
  name: "size",
  summary: "What will it take: time, memory, network, storage, failures, before anyone buys or waits",
  commands: [networkCommand, storageCommand, failuresCommand],
  run(context) {
    context.note("Say what to size: network, storage or failures. `headroom size --help` says more.");
    return Promise.resolve(exitCode.usage);
  },
});
