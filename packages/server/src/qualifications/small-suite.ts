/**
 * The small suite, a program of its own: a matrix product, memory, the disk of the temporary files, the network to proven nodes, the layout
 * of links and versions of software. Each test compares what it computed or read with what is right. Arguments:
 *
 *     small-suite.ts NODE [PEER,PEER [WORDS…]]
 *
 * `WORDS` and the name of the peer begin a program on that peer (`ssh`, `srun --overlap -N1 -w`). Without them NODE and its peers are nodes
 * of this machine, which share its hardware: their figures are stated and not compared.
 */
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { performance } from "node:perf_hooks";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { layoutFacts } from "./node-layout.ts";
import { measurePair, type PairAddress, type PairFigures } from "./network-pair.ts";

interface Result {
  readonly test: string;
  readonly value: number | null;
  readonly unit: string | null;
  /** Absent: the figure is compared with those of other nodes. */
  readonly verdict?: "pass" | "fail" | "skip";
  readonly detail?: string;
}

const [, , , peerNames = "", ...peerWords] = process.argv;
const isSharedMachine = peerWords.length === 0;
const PEERS_MAX = 2;

const SIZE = 256;
const MEMORY_BYTES = 64 << 20;
const DISK_BYTES = 16 << 20;
const FACTOR = 3;

/** The first rounds compile the code and touch the memory. Other load only slows a round down, so the fastest one is stated. */
const ROUNDS = 12;

const wallMs = (): number => performance.now();

function processorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

function fastestMs(round: () => void, clockMs = wallMs): number {
  let fastest = Number.POSITIVE_INFINITY;
  for (let count = 0; count < ROUNDS; count++) {
    const begin = clockMs();
    round();
    fastest = Math.min(fastest, clockMs() - begin);
  }
  return fastest;
}

/** With rows of ones and columns of threes each element of the product is `SIZE * FACTOR`. */
function matmul(test: string, clockMs: () => number): Result {
  const [left, right, product] = [SIZE, SIZE, SIZE].map((size) => new Float64Array(size * size)) as [
    Float64Array,
    Float64Array,
    Float64Array,
  ];
  left.fill(1);
  right.fill(FACTOR);
  const multiply = (): void => {
    product.fill(0);
    for (let row = 0; row < SIZE; row++)
      for (let inner = 0; inner < SIZE; inner++) {
        const factor = left[row * SIZE + inner] as number;
        for (let column = 0; column < SIZE; column++)
          product[row * SIZE + column] =
            (product[row * SIZE + column] as number) + factor * (right[inner * SIZE + column] as number);
      }
  };
  const gflops = (2 * SIZE ** 3) / (fastestMs(multiply, clockMs) * 1e6);
  return result(
    test,
    { value: gflops, unit: "GFLOP/s" },
    product.every((each) => each === SIZE * FACTOR),
  );
}

function memory(): Result {
  const source = new Uint32Array(MEMORY_BYTES / Uint32Array.BYTES_PER_ELEMENT);
  for (let index = 0; index < source.length; index++) source[index] = (index * 2_654_435_761) >>> 0;
  const copy = new Uint32Array(source.length);
  const rate = MEMORY_BYTES / (fastestMs(() => copy.set(source)) * 1e6);
  const isRight = Buffer.compare(Buffer.from(source.buffer), Buffer.from(copy.buffer)) === 0;
  return result("memory", { value: rate, unit: "GB/s" }, isRight);
}

function disk(): Result {
  const folder = mkdtempSync(path.join(tmpdir(), "headroom-suite-"));
  try {
    const bytes = Buffer.alloc(DISK_BYTES, "headroom");
    const write = (): void => writeFileSync(path.join(folder, "bytes"), bytes, { flush: true });
    const rate = DISK_BYTES / (fastestMs(write) * 1e3);
    const isRight = Buffer.compare(readFileSync(path.join(folder, "bytes")), bytes) === 0;
    return result("disk", { value: rate, unit: "MB/s" }, isRight);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const result = (
  test: string,
  { value, unit }: { readonly value: number; readonly unit: string },
  isRight: boolean,
): Result => ({
  test,
  value: Math.round(value * 100) / 100,
  unit,
  ...(isRight ? stated : { verdict: "fail", detail: "the data read back differ from those written" }),
});

const stated = isSharedMachine ? ({ verdict: "pass" } as const) : {};

function tried(test: string, run: () => Result): Result {
  try {
    return run();
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error);
    return { test, value: null, unit: null, verdict: "fail", detail };
  }
}

/** Starts the other end on the peer, and measures. */
async function measureWith(peer: string): Promise<PairFigures> {
  const program = fileURLToPath(new URL("network-pair.ts", import.meta.url));
  const local = [process.execPath, program, "127.0.0.1"];
  const [file = "", ...words] = isSharedMachine ? local : [...peerWords, peer, "node", program, "0.0.0.0"];
  const child = spawn(file, words, { stdio: ["ignore", "pipe", "ignore"] });
  const gone = new Promise<never>((_, reject) => {
    child.once("error", reject);
    child.once("exit", (code) => reject(new Error(`the program on ${peer} ended with ${String(code)}`)));
  });
  gone.catch(() => undefined);
  const late = setTimeout(() => child.kill(), PAIR_MS);
  try {
    const lines = createInterface({ input: child.stdout });
    const line = new Promise<string>((resolve) => void lines.once("line", resolve));
    const { port, token } = JSON.parse(await Promise.race([line, gone])) as PairAddress;
    return await measurePair({ host: isSharedMachine ? "127.0.0.1" : peer, port, token });
  } finally {
    clearTimeout(late);
    child.kill();
  }
}

/** A pair whose figures are low can have its cause at the peer: the node counts with its best pair. The link map reads all of them. */
async function network(): Promise<readonly Result[]> {
  const measured: PairFigures[] = [];
  const rows: Result[] = [];
  const problems: string[] = [];
  const skipped = { value: null, unit: null, verdict: "skip" } as const;
  for (const peer of peerNames.split(",").filter(Boolean).slice(0, PEERS_MAX))
    try {
      const figures = await measureWith(peer);
      measured.push(figures);
      const value = rounded(figures.gigabytesPerSecond);
      rows.push({ test: `${THROUGHPUT}/${peer}`, value, unit: "GB/s", verdict: "pass" });
    } catch (error) {
      const problem = `${peer}: ${error instanceof Error ? error.message : String(error)}`;
      problems.push(problem);
      // Further runs of the suite may measure it: without a row this run would seem to lack an accelerator.
      rows.push({ test: `${THROUGHPUT}/${peer}`, ...skipped, detail: `not measured: ${problem}` });
    }
  const detail = `not measured: ${problems.length === 0 ? "no proven node is idle" : problems.join("; ")}`;
  if (measured.length === 0) return [...[THROUGHPUT, LATENCY].map((test) => ({ test, ...skipped, detail })), ...rows];
  const best = Math.max(...measured.map(({ gigabytesPerSecond }) => gigabytesPerSecond));
  const least = Math.min(...measured.map(({ roundTripUs }) => roundTripUs));
  return [
    { test: THROUGHPUT, value: rounded(best), unit: "GB/s", ...stated },
    { test: LATENCY, value: rounded(least), unit: "us", ...stated },
    ...rows,
  ];
}

const THROUGHPUT = "network-throughput";
const LATENCY = "network-latency";
const PAIR_MS = 25_000;

const rounded = (value: number): number => Math.round(value * 1_000) / 1_000;

const results = [
  tried("matmul", () => matmul("matmul", wallMs)),
  // The processor time does not count what other programs take of a shared machine.
  tried("matmul-cpu", () => matmul("matmul-cpu", processorMs)),
  tried("memory", memory),
  tried("disk", disk),
  ...(await network()),
  ...layoutFacts(),
];
process.stdout.write(`${JSON.stringify({ suite: "quick", results, complete: true })}\n`);
