import { exitCode } from "../cli-error.ts";
import { defineCommand, jsonOption, type OptionDefinition } from "../command.ts";
import type { CatalogueOptions } from "../size/size-catalogue.ts";
import type { FailureOptions } from "../size/size-failures.ts";
import type { FleetOptions } from "../size/size-fleet.ts";
import type { NetworkOptions } from "../size/size-network.ts";
import type { ServingOptions } from "../size/size-serving.ts";
import type { StorageOptions } from "../size/size-storage.ts";
import type { TrainingOptions } from "../size/size-training.ts";

const tierOptions: readonly OptionDefinition[] = [
  { flags: "--tier <name>", description: "compare with a published tier", repeatable: true },
  {
    flags: "--offer <rates>",
    description: "compare with capacity=…,read=…,write=…,operations=…,clients=…",
    repeatable: true,
  },
];

const modelOptions: readonly OptionDefinition[] = [
  { flags: "--model <name>", description: "a preset, or the path of a config.json", complete: "file" },
  {
    flags: "--accelerator <name>",
    description: "name or alias: H100, B200-SXM, MI300X … (default: all, side by side)",
  },
  {
    flags: "--profile <file>",
    description: "profile written by `headroom calibrate`",
    complete: "file",
  },
  {
    flags: "--catalogue <file>",
    description: "YAML with further accelerators and fabrics",
    complete: "file",
  },
  { flags: "--price <USD>", description: "per accelerator and hour" },
];

const trainingOptions: readonly OptionDefinition[] = [
  ...modelOptions,
  { flags: "--gpus <count>", description: "accelerators (default: the fewest that hold it)" },
  {
    flags: "--gpus-per-node <count>",
    description: "accelerators per node (default: of the usual server)",
  },
  {
    flags: "--node-network <GB/s>",
    description: "all network ports of a node together, per direction, or a server's network by name (size catalogue)",
  },
  { flags: "--fabric <name>", description: "a fabric of the catalogue file, instead of --oversubscription" },
  {
    flags: "--oversubscription <ratio>",
    description: "downlink to uplink bandwidth of leaf switches, as 2 (default: 1, non-blocking)",
  },
  { flags: "--sequence <tokens>", description: "tokens per sequence (default: of the model's recipe)" },
  { flags: "--batch <sequences>", description: "sequences per optimizer step (default: of the model's recipe)" },
  { flags: "--tokens <count>", description: "tokens of the whole run: 15T" },
  {
    flags: "--correction <file>",
    description:
      "correct by the runs of a fleet: a file of `size --fleet --export`, or none (default: the connected fleet)",
    complete: "file",
  },
  {
    flags: "--precision <format>",
    description:
      "bf16, fp8, mxfp8, nvfp4 …: operands of the linear layers (default: as the model was trained, else bf16, or fp16 on V100 and T4)",
  },
  {
    flags: "--stack <name>",
    description: "fused (default; Megatron), eager (PyTorch FSDP), compiled (JAX)",
    complete: ["fused", "eager", "compiled"],
  },
  {
    flags: "--plan <widths>",
    description: "tp=,pp=,cp=,dp=,ep=,vpp=,mb=,zero=,recompute= (default: the best)",
  },
  {
    flags: "--scaling <kind>",
    description: "other sizes with the same batch (strong, default) or the same per accelerator (weak)",
    complete: ["strong", "weak"],
  },
  { flags: "--alternatives", description: "also the Pareto-optimal plans by time, memory and cost" },
  {
    flags: "--rate <number>",
    description: "failures per 1,000 node-days (default: 3.79, Llama 3's)",
  },
  { flags: "--restart <duration>", description: "from a failure to the first new step (default: 5m)" },
  { flags: "--overlapped", description: "checkpoints are written while the job computes" },
  {
    flags: "--checkpoint-rate <GB/s>",
    description: "storage takes a checkpoint at this rate (default: 100)",
  },
  { flags: "--submit", description: "submit the plan as a workload: needs --accelerator and --name" },
  { flags: "--name <name>", description: "with --submit: name of the workload" },
  { flags: "--team <team>", description: "with --submit: the team whose quota it uses", complete: "team" },
  {
    flags: "--dir <path>",
    description: "with --submit: directory of the program (default: this one)",
    complete: "file",
  },
  { flags: "--walltime <duration>", description: "with --submit: how long it may run, like 12h" },
  { flags: "--arguments <text>", description: "with --submit: further arguments of the program, such as its data" },
  {
    flags: "--wait-for-type",
    description: "with --submit: wait until a node has the accelerator (otherwise a type that no node has is refused)",
  },
  { flags: "--dry-run", description: "with --submit: show the workload and a forecast, submit nothing" },
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
  summary: "The same for fine-tuning, with adapters (LoRA) or in full",
  details: `Examples:
  headroom size finetune --model llama-3-8b --accelerator H100 --gpus 1 --batch 16 --sequence 2048 --stack eager
  headroom size finetune --model llama-3-70b --accelerator H100 --gpus 16 --batch 64 --full`,
  options: [
    { flags: "--lora-rank <rank>", description: "rank of the adapters (default: 16)" },
    { flags: "--full", description: "every parameter instead of adapters" },
    ...trainingOptions,
  ],
  async run(context, { options }) {
    const { runSizeTraining } = await import("../size/size-training.ts");
    return runSizeTraining(context, options, "finetune");
  },
});

const serveCommand = defineCommand<ServingOptions>({
  name: "serve",
  summary: "Replicas, latency and cost of an endpoint under traffic",
  details: `Examples:
  headroom size serve --model llama-3-70b --accelerator H100 --weights fp8 --requests 20 --prompt 2000 --output 300 --price 2.5
  headroom size serve --model deepseek-v3 --requests 5
  headroom size serve --model deepseek-v3 --accelerator H200 --weights fp8 --requests 5 --ttft 2s --tpot 50ms --layout tp=8,ep=8`,
  options: [
    ...modelOptions,
    {
      flags: "--weights <format>",
      description: "bf16, fp8, mxfp4, nvfp4, int4 … (default: the format of the published checkpoint)",
    },
    { flags: "--kv <format>", description: "format of the cache (default: the usual one for these weights)" },
    { flags: "--prompt <tokens>", description: "mean prompt (default: 1000)" },
    { flags: "--output <tokens>", description: "mean answer (default: 250)" },
    { flags: "--prefix-hits <share>", description: "share of the prompt that is cached (default: 0%)" },
    { flags: "--requests <rate>", description: "requests per second" },
    { flags: "--ttft <duration>", description: "promised time to the first token (default: 1s)" },
    { flags: "--tpot <duration>", description: "promised time per further token (default: 50ms)" },
    { flags: "--share <share>", description: "share of requests that meet both (default: 95%)" },
    {
      flags: "--layout <widths>",
      description: "tp=,pp=,dp=,ep= (default: the usual ones are compared)",
    },
    {
      flags: "--weight-rate <GB/s>",
      description: "a starting node reads weights at this rate (default: 5)",
    },
    { flags: "--provisioning <duration>", description: "time until a starting replica has a node (default: 0s)" },
    {
      flags: "--image <bytes>",
      description: "container image that a starting node lacks (default: none)",
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
    { flags: "--nodes <count>", description: "nodes to join" },
    {
      flags: "--kind <kind>",
      description: "fat-tree, rail-optimised (default) or dragonfly",
      complete: ["fat-tree", "rail-optimised", "dragonfly"],
    },
    { flags: "--ports <count>", description: "ports per node and plane (default: 8)" },
    { flags: "--switch-ports <count>", description: "ports of a switch (default: 64)" },
    { flags: "--port-gbps <speed>", description: "Gbit/s of a port (default: 400)" },
    {
      flags: "--oversubscription <ratio>",
      description: "downlink to uplink bandwidth of leaf switches (default: 1)",
    },
    {
      flags: "--spine-oversubscription <ratio>",
      description: "the same for spine switches, with three tiers (default: 1)",
    },
    {
      flags: "--planes <count>",
      description: "separate fabrics side by side (default: 1)",
    },
    {
      flags: "--job <mix>",
      description:
        "a kind of job on it: model=,gpus=,batch=[,sequence=,share=,scaling=,stack=]; finds the scaling limit",
      repeatable: true,
    },
    { flags: "--accelerator <name>", description: "with --job: accelerator of the nodes" },
    {
      flags: "--loss <share>",
      description: "with --job: share of the time that the network may cost (default: 10%)",
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
  summary: "Capacity, throughput and concurrency that jobs need, and the bottleneck",
  details: `Published tiers: tectonic-llama3, jean-zay-gpfs, skt-b200. Rates of --offer are GB/s; 80% of what was bought is counted on.

Examples:
  headroom size storage --gpus 64 --sample 146600628 --batch 7 --compute 0.323 --utilisation 90%
  headroom size storage --gpus 16384 --parameters 405B --every 10m --stall 10s --image 20GB --tier tectonic-llama3
  headroom size storage --gpus 512 --parameters 70B --overlapped --offer capacity=2PB,read=80,write=40,operations=50k`,
  options: [
    { flags: "--gpus <count>", description: "accelerators of the job (default: 1)" },
    { flags: "--gpus-per-node <count>", description: "accelerators per node (default: 8)" },
    { flags: "--sample <bytes>", description: "training data: size of one sample" },
    { flags: "--batch <samples>", description: "training data: samples per accelerator and step (default: 1)" },
    { flags: "--compute <seconds>", description: "training data: compute time of a step" },
    {
      flags: "--utilisation <share>",
      description: "training data: required share of time spent computing (default: 100%)",
    },
    { flags: "--samples-per-file <count>", description: "training data: samples in a file (default: 1)" },
    { flags: "--threads <count>", description: "training data: reader threads per accelerator (default: 4)" },
    { flags: "--dataset <bytes>", description: "training data: size of the whole dataset" },
    {
      flags: "--parameters <count>",
      description: "checkpoints: parameters of the model (14 bytes each are written)",
    },
    { flags: "--checkpoint <bytes>", description: "checkpoints: size of one checkpoint, instead of --parameters" },
    { flags: "--every <duration>", description: "checkpoints: interval (default: 30m)" },
    {
      flags: "--stall <duration>",
      description: "checkpoints: longest time that a save may block the job (default: 30s)",
    },
    { flags: "--overlapped", description: "checkpoints: written while the job computes" },
    { flags: "--kept <count>", description: "checkpoints: complete ones that are kept (default: 2)" },
    {
      flags: "--image <bytes>",
      description: "starts: container image per node (default: 20GB)",
    },
    { flags: "--files <count>", description: "starts: files that a process opens (default: 5000)" },
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
  summary: "Failure rate of a job, checkpoint interval, effective training time, spares",
  details: `Published rates: llama3-h100 (3.79 failures per 1,000 node-days), rsc1-a100 (6.5), rsc2-a100 (2.34).

Examples:
  headroom size failures --nodes 2048 --stall 11s --restart 5m
  headroom size failures --nodes 128 --record rsc1-a100 --domain node=1 --domain rack=4 --domain leaf=32`,
  options: [
    { flags: "--nodes <count>", description: "nodes of the job" },
    { flags: "--gpus-per-node <count>", description: "accelerators per node (default: 8)" },
    { flags: "--record <name>", description: "published failure rates to take (default: llama3-h100)" },
    { flags: "--rate <number>", description: "measured failures per 1,000 node-days" },
    { flags: "--other <number>", description: "failures of the job per day that belong to no node (default: 0)" },
    { flags: "--restart <duration>", description: "from a failure to the first new step (default: 5m)" },
    { flags: "--stall <duration>", description: "stall of the job for a checkpoint (default: 10s)" },
    { flags: "--every <duration>", description: "checkpoint interval (default: the best)" },
    { flags: "--stragglers <share>", description: "time lost to slow ranks (default: 0%)" },
    { flags: "--repair <duration>", description: "repair time of a node (default: 1d)" },
    { flags: "--coverage <share>", description: "share of time in which the spares suffice (default: 99%)" },
    {
      flags: "--burstiness <ratio>",
      description: "variance over mean of nodes away (default: 1, independent)",
    },
    { flags: "--fleet <count>", description: "nodes of the fleet (default: the job's)" },
    { flags: "--scattered", description: "jobs are scattered over the fleet, not on adjacent nodes" },
    {
      flags: "--domain <name=nodes>",
      description: "failure domains: node=1, rack=8 …",
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
      description: "YAML with more of them",
      complete: "file",
    },
    jsonOption,
  ],
  async run(context, { options }) {
    const { runSizeCatalogue } = await import("../size/size-catalogue.ts");
    return runSizeCatalogue(context, options);
  },
});

export const sizeCommand = defineCommand<FleetOptions>({
  name: "size",
  summary: "Size training and serving: time, memory, network, storage, failures",
  commands: [
    trainCommand,
    finetuneCommand,
    serveCommand,
    networkCommand,
    storageCommand,
    failuresCommand,
    catalogueCommand,
  ],
  details: `Examples:
  headroom size --fleet
  headroom size --fleet --export correction.json`,
  options: [
    { flags: "--fleet", description: "compare predictions with the measured runs of the connected fleet" },
    {
      flags: "--export <file>",
      description: "with --fleet: write the correction, for --correction on another machine",
      complete: "file",
    },
    jsonOption,
  ],
  async run(context, { options }) {
    if (options.fleet === true) {
      const { runSizeFleet } = await import("../size/size-fleet.ts");
      return runSizeFleet(context, options);
    }
    context.note(
      "Choose what to size: train, finetune, serve, network, storage, failures or catalogue. See `headroom size --help`.",
    );
    return exitCode.usage;
  },
});
