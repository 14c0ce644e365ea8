/**
 * The small suite for this machine, a program of its own: a matrix product, memory, and the disk of the temporary files.
 * Each test compares what it computed or read with what is right. All nodes of this machine share its hardware, so their
 * figures are stated and not compared.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { performance } from "node:perf_hooks";

interface Result {
  readonly test: string;
  readonly value: number | null;
  readonly unit: string | null;
  readonly verdict: "pass" | "fail";
  readonly detail?: string;
}

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
  ...(isRight ? { verdict: "pass" } : { verdict: "fail", detail: "the data read back differ from those written" }),
});

function tried(test: string, run: () => Result): Result {
  try {
    return run();
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error);
    return { test, value: null, unit: null, verdict: "fail", detail };
  }
}

const results = [
  tried("matmul", () => matmul("matmul", wallMs)),
  // The processor time does not count what other programs take of a shared machine.
  tried("matmul-cpu", () => matmul("matmul-cpu", processorMs)),
  tried("memory", memory),
  tried("disk", disk),
];
process.stdout.write(`${JSON.stringify({ suite: "quick", results, complete: true })}\n`);
