/**
 * Runs whose results must be identical to the byte in every JavaScript engine: three kinds of trace, every preset, five
 * seeds. Each run is forked in the middle. This module runs unchanged in Node and in a browser, and returns plain data.
 */
import { hashText, presetNames, presets } from "@headroom/model";
import {
  generateTrace,
  TraceSimulation,
  uniformFleet,
  usualGangs,
  type TraceSimulationOptions,
  type GangShare,
} from "@headroom/sim";

export const seeds: readonly number[] = [1, 2, 3, 4_294_967_295, 1_234_567_891];

/**
 * Values that must agree: the metrics, the digest of the state, the hash chain of the journal, and the same values of a
 * fork from the middle.
 */
export interface RunBytes {
  readonly digest: string;
  readonly chain: string;
  readonly ledgers: string;
  readonly forkDigest: string;
  readonly forkChain: string;
  readonly forkSnapshot: string;
}

interface Kind {
  readonly load: number;
  readonly gangs: readonly GangShare[];
  readonly durationMaxS: number;
  readonly options: (seed: number) => Pick<TraceSimulationOptions, "fleet" | "faults" | "startupMs">;
}

const onNodes: readonly GangShare[] = [
  { accelerators: 1, weight: 3 },
  { accelerators: 3, weight: 2 },
  { accelerators: 8, weight: 1 },
];

const kinds: Readonly<Record<string, Kind>> = {
  onePool: {
    load: 1.2,
    gangs: usualGangs,
    durationMaxS: 90_000,
    options: () => ({ fleet: uniformFleet({ nodeCount: 1, acceleratorsPerNode: 128 }), faults: null, startupMs: 0 }),
  },
  manyNodes: {
    load: 0.9,
    gangs: onNodes,
    durationMaxS: 9_000,
    options: () => ({
      fleet: uniformFleet({ nodeCount: 16, acceleratorsPerNode: 8 }),
      faults: null,
      startupMs: 20_000,
    }),
  },
  troubled: {
    load: 0.8,
    gangs: onNodes,
    durationMaxS: 30_000,
    options: (seed) => ({
      fleet: uniformFleet({ nodeCount: 16, acceleratorsPerNode: 8 }),
      faults: { seed, nodeMeanUpMs: 400_000_000, nodeMeanDownMs: 7_200_000, attemptFailuresPer10000: 500 },
      startupMs: 1000,
    }),
  },
};

export const runNames: readonly string[] = Object.keys(kinds).flatMap((kind) =>
  presetNames.flatMap((preset) => seeds.map((seed) => `${kind} ${preset} ${seed}`)),
);

const jobs = 400;

export function runBytes(name: string): RunBytes {
  const [kindName = "", preset = "", seed = ""] = name.split(" ");
  const { load, gangs, durationMaxS, options } = kinds[kindName]!;
  const trace = generateTrace({
    seed: Number(seed),
    jobs,
    accelerators: 128,
    load,
    gangs,
    durationMinS: 60,
    durationMaxS,
  });
  const run = new TraceSimulation({ trace, policy: presets.get(preset)!, ...options(Number(seed)) });
  run.advance(jobs);
  const fork = run.fork();
  const forkSnapshot = hashBytes(fork.simulation.engine.snapshot());
  // The fork runs first. If it shared state with the original run, the original would now give another result.
  while (!fork.advance(1000));
  while (!run.advance(1000));
  const result = run.result();
  // The number of rounds may differ: a fork may have one more wakeup without effect.
  const ledgers = hashText(JSON.stringify({ ...result, rounds: 0 }));
  const forked = fork.result();
  return {
    digest: result.digest,
    chain: result.chain,
    ledgers,
    forkDigest: forked.digest,
    forkChain: forked.chain,
    forkSnapshot,
  };
}

function hashBytes(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return hashText(text);
}
