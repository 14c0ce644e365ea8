import { defineCommand, jsonOption } from "../command.ts";
import type { ServingSimulationOptions } from "../serving/run-simulate-serving.ts";
import type { SimulateOptions } from "../simulate/run-simulate.ts";

const details = `Traces: itp:FILE, openb:NODES,PODS, swf:FILE, sacct:FILE, generated:jobs=N,load=L[,seed=S]
        [,duration=MIN..MAX (seconds)][,gangs=SIZE*WEIGHT+SIZE*WEIGHT…]
Faults: --faults mtbf=30d,repair=2h,notice=2m,failures=1%   (each part may be left out)
        --faults leaf=90d,rack=365d,feed=730d   (whole failure domains: a level of the fabric, pool, site, or a label of the nodes)
        --lose leaf-3@10h+30m   (lost 10 hours after the first submission, for 30 minutes)
On the nodes of --fleet a job that is larger than a node is a gang of like workers, as few as can be. It belongs to the team
of the files that its account means (sacct: Account, swf: group), by path or last name, else to a team trace of its own.

Traffic: azure:FILE, mooncake:FILE, vllm:FILE, gateway:FILE (its access or usage log), genai:FILE; .gz is unpacked
Variants: model, accelerator, replicas, weights, kv, tp, sequences, step-tokens, router, store (pages of a shared prefix store,
        or unlimited), cold-start, load-time

Endpoints: traffic=FORMAT:FILE (required), name, model, accelerator, tp, weights, min, max, ttft, tpot, cold-start, priority

Examples:
  headroom simulate --gpus 128 --trace itp:cluster02.csv --policy fifo,sjf
  headroom simulate --gpus 512 --trace generated:jobs=20000,load=1.2 --policy fifo-skip --html report.html
  headroom simulate --fleet fleet.yaml --fleet teams.yaml --trace sacct:year.txt --policy default,mine.yaml
  headroom simulate --fleet fleet.yaml --trace sacct:year.txt --inputs datasets=40,size=20GiB,cache=100GiB,rate=2GiB
  headroom simulate --gpus 1000 --trace itp:cluster02.csv --endpoint name=chat,traffic=azure:conv.csv,cold-start=60s
  headroom simulate --trace openb:nodes.csv,pods.csv --demand 1.3 --seeds 10
  headroom simulate --serving gateway:access.jsonl --replicas 8 --variant replicas=6 --variant weights=fp8 \\
        --variant router=predicted-latency`;

export const simulateCommand = defineCommand<SimulateOptions & Partial<ServingSimulationOptions>>({
  name: "simulate",
  summary: "Simulate the scheduler on a recorded or generated trace",
  details,
  options: [
    {
      flags: "--trace <name>",
      description: "trace of the work, as FORMAT:FILE (formats below) (required, or --serving)",
    },
    { flags: "--gpus <count>", description: "number of accelerators in one pool without topology (default: none)" },
    {
      flags: "--fleet <file>",
      description:
        "fleet and teams of your own: documents as for apply, with simulated pools; can be repeated (default: none)",
      repeatable: true,
      complete: "file",
    },
    {
      flags: "--endpoint <settings>",
      description:
        "with --trace: an endpoint whose replicas follow traffic on the same fleet, as KEY=VALUE,… (keys below); can be repeated (default: none)",
      repeatable: true,
    },
    {
      flags: "--policy <policies>",
      description: "policies to simulate: presets or FILE.yaml, separated by commas (default: default)",
      complete: "preset",
    },
    { flags: "--seed <number>", description: "seed of generated traces, of faults and of drawn demand (default: 1)" },
    {
      flags: "--demand <times>",
      description:
        "draw random pods of an openb trace until they request this multiple of the fleet; pods never end, and those that do not fit are dropped (default: none)",
    },
    {
      flags: "--seeds <count>",
      description:
        "with --demand: number of runs; the first has the seed --seed, each further run the next one (default: 1)",
    },
    {
      flags: "--faults <rates>",
      description:
        "simulate faults: rates at which nodes and failure domains are lost, and attempts fail (default: none)",
    },
    {
      flags: "--lose <loss>",
      description:
        "lose a node, switch, rack, power feed, pool or site at a time, as NAME@TIME+DURATION; can be repeated (default: none)",
      repeatable: true,
    },
    {
      flags: "--inputs <settings>",
      description:
        "data sets that jobs read before they start, as datasets=40,size=20GiB,cache=100GiB,rate=2GiB: their number and size, the cache of a node, and the rate at which it reads in a second; known=no: placement does not know the caches (default: none)",
    },
    { flags: "--startup <duration>", description: "delay from the placement of work until it runs (default: 0s)" },
    {
      flags: "--walltimes <which>",
      description:
        "walltime of work: `actual` run time, `stated` in the trace, or a multiple of the run time such as 5x (default: actual)",
    },
    {
      flags: "--skip-broken",
      description: "skip broken rows instead of refusing the trace",
    },
    {
      flags: "--html <file>",
      description: "also write a report with plots to this HTML file (default: none)",
      complete: "file",
    },
    {
      flags: "--serving <traffic>",
      description:
        "trace of inference requests, instead of a trace of work: FORMAT:FILE (formats below) (default: none)",
    },
    { flags: "--model <name>", description: "with --serving: name of a model in the catalogue (default: llama-3-8b)" },
    { flags: "--accelerator <name>", description: "with --serving: accelerator type of the replicas (default: H100)" },
    {
      flags: "--replicas <mix>",
      description: "with --serving: number of replicas, 8, or by type, 4*H100+4*L40S (default: 1)",
    },
    {
      flags: "--weights <format>",
      description: "with --serving: number format of the weights: bf16, fp8, … (default: bf16)",
    },
    {
      flags: "--router <policy>",
      description:
        "with --serving: routing policy: round-robin, least-requests, prefix, predicted-latency, … (default: prefix)",
    },
    {
      flags: "--variant <changes>",
      description:
        "with --serving: simulate another variant in which KEY=VALUE,… differ (keys below); can be repeated (default: none)",
      repeatable: true,
    },
    {
      flags: "--slo <promise>",
      description:
        "with --serving: latency objectives, as ttft=1s,tpot=50ms (the default): time to the first token, time for each further token",
    },
    { flags: "--speed <times>", description: "with --serving: factor on the arrival rate of the trace (default: 1)" },
    jsonOption,
  ],
  async run(context, { options }) {
    const { serving } = options;
    if (serving !== undefined) {
      const { runSimulateServing } = await import("../serving/run-simulate-serving.ts");
      return runSimulateServing(context, { ...options, serving });
    }
    const { runSimulate } = await import("../simulate/run-simulate.ts");
    return runSimulate(context, options);
  },
});
