/** The measurements of the benchmark. Bodies are in bytes, times in milliseconds. */
export interface Case {
  readonly name: string;
  readonly description: string;
  readonly connections: number;
  readonly promptBytes: number;
  readonly isStreaming: boolean;
  readonly ratePerSecond?: number;
  /** The figure that is compared between targets. */
  readonly compares: "requests per second" | "latency" | "event delay";
}

export const cases: readonly Case[] = [
  {
    name: "small",
    description: "400-byte requests, 64 connections, closed loop",
    connections: 64,
    promptBytes: 400,
    isStreaming: false,
    compares: "requests per second",
  },
  {
    name: "prompt-32k",
    description: "32 kB prompts, 64 connections, closed loop",
    connections: 64,
    promptBytes: 32_000,
    isStreaming: false,
    compares: "requests per second",
  },
  {
    name: "prompt-220k",
    description: "220 kB prompts, 150 connections, closed loop",
    connections: 150,
    promptBytes: 220_000,
    isStreaming: false,
    compares: "requests per second",
  },
  {
    name: "latency",
    description: "400-byte requests, one connection, closed loop",
    connections: 1,
    promptBytes: 400,
    isStreaming: false,
    compares: "latency",
  },
  {
    name: "rate",
    description: "400-byte requests at 2,000 a second, 64 connections, open loop",
    connections: 64,
    promptBytes: 400,
    isStreaming: false,
    ratePerSecond: 2000,
    compares: "latency",
  },
  {
    name: "streams",
    description: "200 streams of 100 tokens a second",
    connections: 200,
    promptBytes: 400,
    isStreaming: true,
    compares: "event delay",
  },
];

/** Bounds of p99 for which the highest throughput is determined, in milliseconds. */
export const frontierBoundsMs = [1, 5, 10, 50, 100] as const;
/** Request rates of these runs, as shares of the target's closed-loop rate. */
export const frontierShares = [0.1, 0.25, 0.4, 0.55, 0.7, 0.8, 0.9, 1] as const;
