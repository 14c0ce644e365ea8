import { CliError, exitCode } from "../cli-error.ts";
import { defineCommand, jsonOption, type OptionDefinition } from "../command.ts";
import { mixCommand } from "./size-mix.ts";
import type { CatalogueOptions } from "../size/size-catalogue.ts";
import type { ClusterOptions } from "../size/size-cluster.ts";
import type { FailureOptions } from "../size/size-failures.ts";
import type { FleetOptions } from "../size/size-fleet.ts";
import type { NetworkOptions } from "../size/size-network.ts";
import type { PathOptions } from "../size/size-path.ts";
import type { ServingOptions } from "../size/size-serving.ts";
import type { StorageOptions } from "../size/size-storage.ts";
import type { TrainingOptions } from "../size/size-training.ts";

const tierOptions: readonly OptionDefinition[] = [
  { flags: "--tier <name>", description: "compare with a published storage tier (default: none)", repeatable: true },
  {
    flags: "--offer <rates>",
    description: "compare with an offer of storage: capacity=…,read=…,write=…,operations=…,clients=… (default: none)",
    repeatable: true,
  },
];

const modelOptions: readonly OptionDefinition[] = [
  {
    flags: "--model <name>",
    description: "model: a preset, or the path of a config.json (required)",
    complete: "file",
  },
  {
    flags: "--accelerator <name>",
    description: "accelerator, by name or alias: H100, B200-SXM, MI300X … (default: all types, side by side)",
  },
  {
    flags: "--profile <file>",
    description: "profile of the accelerator, written by `headroom calibrate` (default: none)",
    complete: "file",
  },
  {
    flags: "--catalogue <file>",
    description: "YAML file with more accelerators and fabrics (default: none)",
    complete: "file",
  },
  { flags: "--price <USD>", description: "price of an accelerator per hour (default: none, and no cost is stated)" },
];

const trainingOptions: readonly OptionDefinition[] = [
  ...modelOptions,
  { flags: "--gpus <count>", description: "number of accelerators (default: the fewest whose memory holds the model)" },
  {
    flags: "--gpus-per-node <count>",
    description: "number of accelerators of a node (default: that of the usual server)",
  },
  {
    flags: "--node-network <GB/s>",
    description:
      "network bandwidth of a node, all ports together, in one direction; or the name of a server's network in headroom size catalogue (default: that of the usual server)",
  },
  {
    flags: "--fabric <name>",
    description: "a fabric from the catalogue file, instead of --oversubscription (default: none)",
  },
  {
    flags: "--oversubscription <ratio>",
    description: "ratio of downlink to uplink bandwidth of leaf switches, as 2 (default: 1, non-blocking)",
  },
  { flags: "--sequence <tokens>", description: "tokens per sequence (default: as in the model's recipe)" },
  { flags: "--batch <sequences>", description: "sequences per optimizer step (default: as in the model's recipe)" },
  { flags: "--tokens <count>", description: "number of tokens of the whole run: 15T (default: none)" },
  {
    flags: "--correction <file>",
    description:
      "correct the prediction by measured runs of a fleet: a file of `size --fleet --export`, or none (default: the connected fleet)",
    complete: "file",
  },
  {
    flags: "--precision <format>",
    description:
      "number format in linear layers: bf16, fp8, mxfp8, nvfp4 … (default: as the model was trained, else bf16, or fp16 on V100 and T4)",
  },
  {
    flags: "--stack <name>",
    description: "training software: fused (Megatron; the default), eager (PyTorch FSDP), compiled (JAX)",
    complete: ["fused", "eager", "compiled"],
  },
  {
    flags: "--plan <widths>",
    description: "parallelism plan, as tp=,pp=,cp=,dp=,ep=,vpp=,mb=,zero=,recompute= (default: the fastest plan)",
  },
  {
    flags: "--scaling <kind>",
    description:
      "how other sizes are compared: with the same batch (strong, default) or the same batch per accelerator (weak)",
    complete: ["strong", "weak"],
  },
  { flags: "--alternatives", description: "also show the Pareto-optimal plans by time, memory and cost" },
  {
    flags: "--rate <number>",
    description: "failure rate, as failures per 1,000 node-days (default: 3.79, that of the Llama 3 run)",
  },
  { flags: "--restart <duration>", description: "time from a failure to the first new step (default: 5m)" },
  { flags: "--overlapped", description: "checkpoints are written while the job computes" },
  {
    flags: "--checkpoint-rate <GB/s>",
    description: "write rate of the storage for checkpoints, in GB/s (default: 100)",
  },
  { flags: "--submit", description: "submit the plan as a workload; needs --accelerator and --name" },
  { flags: "--name <name>", description: "with --submit: name of the workload (default: none)" },
  {
    flags: "--team <team>",
    description: "with --submit: team whose quota the workload uses (default: none)",
    complete: "team",
  },
  {
    flags: "--dir <path>",
    description: "with --submit: directory of the program (default: the current one)",
    complete: "file",
  },
  { flags: "--walltime <duration>", description: "with --submit: longest run time, like 12h (default: none)" },
  {
    flags: "--arguments <text>",
    description: "with --submit: more arguments for the program, such as its data (default: none)",
  },
  {
    flags: "--wait-for-type",
    description: "with --submit: wait until a node has the accelerator (otherwise a type that no node has is refused)",
  },
  { flags: "--dry-run", description: "with --submit: show the workload and a forecast, without submitting it" },
  ...tierOptions,
  jsonOption,
];

const trainCommand = defineCommand<TrainingOptions>({
  name: "train",
  summary: "Plan, step time, memory, scaling, failures and storage of a training run",
  details: `Examples:
  headroom size train --model llama-3-70b --accelerator H100 --gpus 512 --batch 1024 --sequence 8192 --tokens 15T --price 2.5
  headroom size train --model ./config.json --accelerator B200 --gpus 64 --batch 512 --plan tp=4,pp=2,mb=2 --precision fp8
  headroom size train --model llama-3-8b --accelerator H100 --submit --name llama --arguments "--data-path corpus" --dry-run`,
  options: trainingOptions,
  async run(context, { options }) {
    const { runSizeTraining } = await import("../size/size-training.ts");
    return runSizeTraining(context, options, "train");
  },
});

const finetuneCommand = defineCommand<TrainingOptions>({
  name: "finetune",
  summary: "Predict a fine-tuning run, with adapters (LoRA) or of all parameters",
  details: `Examples:
  headroom size finetune --model llama-3-8b --accelerator H100 --gpus 1 --batch 16 --sequence 2048 --stack eager
  headroom size finetune --model llama-3-70b --accelerator H100 --gpus 16 --batch 64 --full`,
  options: [
    { flags: "--lora-rank <rank>", description: "rank of the adapters (default: 16)" },
    { flags: "--full", description: "train every parameter instead of adapters" },
    ...trainingOptions,
  ],
  async run(context, { options }) {
    const { runSizeTraining } = await import("../size/size-training.ts");
    return runSizeTraining(context, options, "finetune");
  },
});

const serveCommand = defineCommand<ServingOptions>({
  name: "serve",
  summary: "Replicas, latency and cost of an endpoint for given traffic",
  details: `Examples:
  headroom size serve --model llama-3-70b --accelerator H100 --weights fp8 --requests 20 --prompt 2000 --output 300 --price 2.5
  headroom size serve --model deepseek-v3 --requests 5
  headroom size serve --model deepseek-v3 --accelerator H200 --weights fp8 --requests 5 --ttft 2s --tpot 50ms --layout tp=8,ep=8`,
  options: [
    ...modelOptions,
    {
      flags: "--weights <format>",
      description:
        "number format of the weights: bf16, fp8, mxfp4, nvfp4, int4 … (default: as in the published checkpoint)",
    },
    { flags: "--kv <format>", description: "number format of the KV cache (default: the usual one for these weights)" },
    { flags: "--prompt <tokens>", description: "mean length of a prompt in tokens (default: 1000)" },
    { flags: "--output <tokens>", description: "mean length of an answer in tokens (default: 250)" },
    { flags: "--prefix-hits <share>", description: "share of the prompt that a cache already holds (default: 0%)" },
    { flags: "--requests <rate>", description: "requests per second of the whole endpoint (required)" },
    { flags: "--ttft <duration>", description: "objective for the time to the first token (default: 1s)" },
    { flags: "--tpot <duration>", description: "objective for the time of each further token (default: 50ms)" },
    { flags: "--share <share>", description: "share of requests that must meet both objectives (default: 95%)" },
    {
      flags: "--layout <widths>",
      description: "parallelism of a replica, as tp=,pp=,dp=,ep= (default: the usual layouts are compared)",
    },
    {
      flags: "--weight-rate <GB/s>",
      description: "rate at which a starting node reads the weights, in GB/s (default: 5)",
    },
    { flags: "--provisioning <duration>", description: "time until a starting replica gets a node (default: 0s)" },
    {
      flags: "--image <bytes>",
      description: "size of the container image that a starting node must fetch (default: none)",
    },
    {
      flags: "--storage-rate <GB/s>",
      description: "total rate of the store from which starting replicas read the weights (default: it never limits)",
    },
    {
      flags: "--starting <replicas>",
      description: "replicas that start at once and share the store (default: all replicas of the plan)",
    },
    jsonOption,
  ],
  async run(context, { options }) {
    const { runSizeServing } = await import("../size/size-serving.ts");
    return runSizeServing(context, options);
  },
});

const networkCommand = defineCommand<NetworkOptions>({
  name: "network",
  summary: "Switches and cables of a fabric",
  details: `Examples:
  headroom size network --nodes 1024
  headroom size network --nodes 300 --switch-ports 144 --oversubscription 3
  headroom size network --nodes 4096 --kind dragonfly --ports 4
  headroom size network --nodes 512 --oversubscription 7 --accelerator H100 --job model=llama-3-70b,gpus=64,batch=64`,
  options: [
    { flags: "--nodes <count>", description: "number of nodes that the fabric connects (required)" },
    {
      flags: "--kind <kind>",
      description: "kind of fabric: fat-tree, rail-optimised (default) or dragonfly",
      complete: ["fat-tree", "rail-optimised", "dragonfly"],
    },
    { flags: "--ports <count>", description: "network ports of a node in each plane (default: 8)" },
    { flags: "--switch-ports <count>", description: "number of ports of a switch (default: 64)" },
    { flags: "--port-gbps <speed>", description: "bandwidth of a port in Gbit/s (default: 400)" },
    {
      flags: "--oversubscription <ratio>",
      description: "ratio of downlink to uplink bandwidth of leaf switches (default: 1)",
    },
    {
      flags: "--spine-oversubscription <ratio>",
      description: "ratio of downlink to uplink bandwidth of spine switches in a fabric of three tiers (default: 1)",
    },
    {
      flags: "--planes <count>",
      description: "number of planes, which are separate fabrics side by side (default: 1)",
    },
    {
      flags: "--job <mix>",
      description:
        "a kind of job on the fabric, as model=,gpus=,batch=[,sequence=,share=,scaling=,stack=]; finds the largest size that is worth its network (default: none)",
      repeatable: true,
    },
    { flags: "--accelerator <name>", description: "with --job: accelerator type of the nodes (default: none)" },
    {
      flags: "--loss <share>",
      description: "with --job: largest share of the time that the network may cost (default: 10%)",
    },
    jsonOption,
  ],
  async run(context, { options }) {
    const { runSizeNetwork } = await import("../size/size-network.ts");
    return runSizeNetwork(context, options);
  },
});

const storageCommand = defineCommand<StorageOptions>({
  name: "storage",
  summary: "Capacity, throughput and concurrency of storage that jobs need, and the bottleneck",
  details: `Published tiers: tectonic-llama3, jean-zay-gpfs, skt-b200. Rates of --offer are in GB/s. The answer assumes that 80% of the offered figures can be used.

Examples:
  headroom size storage --gpus 64 --sample 146600628 --batch 7 --compute 0.323 --utilisation 90%
  headroom size storage --gpus 16384 --parameters 405B --every 10m --stall 10s --image 20GB --tier tectonic-llama3
  headroom size storage --gpus 512 --parameters 70B --overlapped --offer capacity=2PB,read=80,write=40,operations=50k`,
  options: [
    { flags: "--gpus <count>", description: "number of accelerators of the job (default: 1)" },
    { flags: "--gpus-per-node <count>", description: "number of accelerators of a node (default: 8)" },
    { flags: "--sample <bytes>", description: "training data: size of one sample in bytes (default: none)" },
    { flags: "--batch <samples>", description: "training data: samples per accelerator and step (default: 1)" },
    {
      flags: "--compute <seconds>",
      description: "training data: time in seconds that a step computes (default: none)",
    },
    {
      flags: "--utilisation <share>",
      description: "training data: share of the time that accelerators must spend computing (default: 100%)",
    },
    { flags: "--samples-per-file <count>", description: "training data: number of samples in a file (default: 1)" },
    { flags: "--threads <count>", description: "training data: reader threads per accelerator (default: 4)" },
    { flags: "--dataset <bytes>", description: "training data: size of the whole dataset (default: none)" },
    {
      flags: "--parameters <count>",
      description: "checkpoints: number of parameters of the model (14 bytes are written for each) (default: none)",
    },
    {
      flags: "--checkpoint <bytes>",
      description: "checkpoints: size of one checkpoint, instead of --parameters (default: none)",
    },
    { flags: "--every <duration>", description: "checkpoints: time between two checkpoints (default: 30m)" },
    {
      flags: "--stall <duration>",
      description: "checkpoints: longest time that a save may block the job (default: 30s)",
    },
    { flags: "--overlapped", description: "checkpoints: they are written while the job computes" },
    { flags: "--kept <count>", description: "checkpoints: number of complete checkpoints that are kept (default: 2)" },
    {
      flags: "--image <bytes>",
      description: "starts: size of the container image that each node reads (default: 20GB)",
    },
    { flags: "--files <count>", description: "starts: number of files that a process opens (default: 5000)" },
    {
      flags: "--start <duration>",
      description: "starts: time in which all nodes must have read image and files (default: 5m)",
    },
    ...tierOptions,
    jsonOption,
  ],
  async run(context, { options }) {
    const { runSizeStorage } = await import("../size/size-storage.ts");
    return runSizeStorage(context, options);
  },
});

const failuresCommand = defineCommand<FailureOptions>({
  name: "failures",
  summary: "Failure rate of a job, best checkpoint interval, effective training time, spare nodes",
  details: `Published rates: llama3-h100 (3.79 failures per 1,000 node-days), rsc1-a100 (6.5), rsc2-a100 (2.34).

Examples:
  headroom size failures --nodes 2048 --stall 11s --restart 5m
  headroom size failures --nodes 128 --record rsc1-a100 --domain node=1 --domain rack=4 --domain leaf=32`,
  options: [
    { flags: "--nodes <count>", description: "number of nodes of the job (required)" },
    { flags: "--gpus-per-node <count>", description: "number of accelerators of a node (default: 8)" },
    { flags: "--record <name>", description: "published failure rates to use (default: llama3-h100)" },
    { flags: "--rate <number>", description: "failures per 1,000 node-days that you measured (default: none)" },
    { flags: "--other <number>", description: "failures of the job per day that no node caused (default: 0)" },
    { flags: "--restart <duration>", description: "time from a failure to the first new step (default: 5m)" },
    { flags: "--stall <duration>", description: "time for which a checkpoint stops the job (default: 10s)" },
    { flags: "--every <duration>", description: "time between two checkpoints (default: the best)" },
    { flags: "--stragglers <share>", description: "share of time lost to slow ranks (default: 0%)" },
    { flags: "--repair <duration>", description: "repair time of a node (default: 1d)" },
    { flags: "--coverage <share>", description: "share of time in which the spare nodes must suffice (default: 99%)" },
    {
      flags: "--burstiness <ratio>",
      description: "variance divided by mean of the number of nodes in repair (default: 1, independent failures)",
    },
    { flags: "--fleet <count>", description: "number of nodes of the fleet (default: those of the job)" },
    { flags: "--scattered", description: "jobs are spread over the fleet, not on adjacent nodes" },
    {
      flags: "--domain <name=nodes>",
      description: "failure domains, with the number of nodes in each: node=1, rack=8 … (default: none)",
      repeatable: true,
    },
    jsonOption,
  ],
  async run(context, { options }) {
    const { runSizeFailures } = await import("../size/size-failures.ts");
    return runSizeFailures(context, options);
  },
});

const catalogueCommand = defineCommand<CatalogueOptions>({
  name: "catalogue",
  summary: "List known accelerators, links and models, with figures and sources",
  options: [
    {
      flags: "--catalogue <file>",
      description: "YAML file with more accelerators and fabrics (default: none)",
      complete: "file",
    },
    jsonOption,
  ],
  async run(context, { options }) {
    const { runSizeCatalogue } = await import("../size/size-catalogue.ts");
    return runSizeCatalogue(context, options);
  },
});

const clusterCommand = defineCommand<ClusterOptions>({
  name: "cluster",
  summary: "Design a cluster for expected demand: nodes, fabric, storage, power, spares, price, risks",
  details: `FILE is a demand document (docs/how-to/plan-capacity.md). The cluster meets its demand at P95; every assumption is listed.

Example:
  headroom size cluster examples/plan/demand.yaml --accelerator-usd 38000`,
  arguments: [{ syntax: "<file>", description: "demand document", complete: "file" }],
  options: [
    { flags: "--month <month>", description: "month whose demand counts, such as 2028-06 (default: the last)" },
    {
      flags: "--oversubscription <ratio>",
      description: "ratio of downlink to uplink bandwidth of leaf switches (default: 1)",
    },
    {
      flags: "--accelerator-usd <USD>",
      description: "price of an accelerator with its share of the server (default: none, and no price is stated)",
    },
    { flags: "--flash-usd <USD>", description: "price of a TB of flash, with servers (default: 250)" },
    { flags: "--disk-usd <USD>", description: "price of a TB of disks, with servers (default: 40)" },
    { flags: "--kwh-usd <USD>", description: "price of a kWh (default: 0.1)" },
    jsonOption,
  ],
  async run(context, { args, options }) {
    const { runSizeCluster } = await import("../size/size-cluster.ts");
    return runSizeCluster(context, args[0] ?? "", options);
  },
});

const pathCommand = defineCommand<PathOptions>({
  name: "path",
  summary: "Growth path: what changes from a small cluster to a large one, and where the next doubling stops paying",
  details: `Example:
  headroom size path --model llama-3-8b --accelerator H100 --tokens 1T --price 2.5`,
  options: [
    {
      flags: "--model <name>",
      description: "model: a preset, or the path of a config.json (required)",
      complete: "file",
    },
    { flags: "--accelerator <name>", description: "accelerator, by name or alias (required)" },
    { flags: "--counts <list>", description: "numbers of accelerators (default: 8,128,1024)" },
    { flags: "--tokens <count>", description: "number of tokens of the whole run: 15T (default: none)" },
    { flags: "--price <USD>", description: "price of an accelerator per hour (default: none)" },
    jsonOption,
  ],
  async run(context, { options }) {
    const { runSizePath } = await import("../size/size-path.ts");
    return runSizePath(context, options);
  },
});

export const sizeCommand = defineCommand<FleetOptions>({
  name: "size",
  summary: "Size training and serving: time, memory, network, storage, failures",
  commands: [
    trainCommand,
    finetuneCommand,
    serveCommand,
    mixCommand,
    networkCommand,
    storageCommand,
    failuresCommand,
    pathCommand,
    clusterCommand,
    catalogueCommand,
  ],
  details: `Examples:
  headroom size --fleet
  headroom size --fleet --export correction.json`,
  options: [
    { flags: "--fleet", description: "compare predictions with the measured runs of the connected fleet" },
    {
      flags: "--export <file>",
      description:
        "with --fleet: write the correction to this file, for --correction on another machine (default: none)",
      complete: "file",
    },
    jsonOption,
  ],
  async run(context, { options }) {
    if (options.fleet === true) {
      const { runSizeFleet } = await import("../size/size-fleet.ts");
      return runSizeFleet(context, options);
    }
    if (options.export !== undefined) throw new CliError("--export needs --fleet", exitCode.usage);
    context.note(
      "Say what to size: train, finetune, serve, mix, network, storage, failures, path or catalogue. See `headroom size --help`.",
    );
    return exitCode.usage;
  },
});
