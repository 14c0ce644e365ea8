import { describe, expect, it } from "vitest";
import { nodeOfPath } from "./node-name.ts";
import { withVerdicts } from "./peer-verdicts.ts";
import { readResults } from "./read-results.ts";

const nccl = (
  host: string,
  average: number,
  wrong = 0,
): string => `# nThread 1 nGpus 8 minBytes 1048576 maxBytes 8589934592 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0
#
# Using devices
#  Rank  0 Group  0 Pid   6899 on ${host} device  0 [0000:04:00] NVIDIA H100 80GB HBM3
#  Rank  1 Group  0 Pid   6900 on ${host} device  1 [0000:05:00] NVIDIA H100 80GB HBM3
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
     1048576        262144     float     sum      -1    47.21   22.21   38.87      0    46.90   22.36   39.13      0
  8589934592    2147483648     float     sum      -1    31200  275.32  ${average + 30}      ${wrong}    31190  275.41  ${average + 31}    N/A
# Out of bounds values : ${wrong} ${wrong > 0 ? "FAILED" : "OK"}
# Avg bus bandwidth    : ${average}
#
`;

describe("results of nccl-tests", () => {
  it("reads the average and the largest message, with the node that the output names", () => {
    const { measurements, problems } = readResults(nccl("gpu07", 450), "run1/all_reduce.txt");
    expect(problems).toEqual([]);
    expect(measurements).toEqual([
      { node: "gpu07", test: "all_reduce_perf", value: 450, unit: "GB/s", verdict: null, source: "nccl-tests" },
      {
        node: "gpu07",
        test: "all_reduce_perf/busbw:8589934592",
        value: 481,
        unit: "GB/s",
        verdict: null,
        source: "nccl-tests",
      },
    ]);
  });

  it("fails a node with wrong values, and names the test from a command", () => {
    const { measurements } = readResults(`$ ./build/alltoall_perf -b 1M -e 8G\n${nccl("gpu07", 450, 3)}`, "x.txt");
    expect(measurements[0]).toMatchObject({ test: "alltoall_perf", verdict: "fail", detail: "3 wrong values" });
  });
});

describe("results of SuperBench", () => {
  it("reads the lines of a summary, and lists broken ones", () => {
    const lines = [
      JSON.stringify({
        node: "a",
        "kernel-launch/event_time:0": 0.006,
        "kernel-launch/return_code": 0,
        "nccl-bw/allreduce_8589934592_busbw:0": 230.1,
      }),
      '{"node": "b", "kernel-',
      JSON.stringify({ node: "c", "gemm-flops/return_code": 3, "monitor/gpu_temperature": 61, note: "x" }),
    ];
    const { measurements, problems } = readResults(lines.join("\n"), "results-summary.jsonl");
    expect(problems).toEqual(["line 2: no JSON"]);
    expect(measurements.map(({ node, test, value, unit, verdict }) => [node, test, value, unit, verdict])).toEqual([
      ["a", "kernel-launch/event_time:0", 0.006, "ms", null],
      ["a", "kernel-launch/return_code", 0, null, "pass"],
      ["a", "nccl-bw/allreduce_8589934592_busbw:0", 230.1, "GB/s", null],
      ["c", "gemm-flops/return_code", 3, null, "fail"],
      ["c", "monitor/gpu_temperature", 61, null, "unknown"],
    ]);
  });

  it("reads the results of one benchmark of a node", () => {
    const value = {
      name: "kernel-launch",
      type: "micro",
      run_count: 1,
      return_code: 0,
      raw_data: {},
      result: { event_time: [0.005, 0.007], return_code: [0] },
    };
    const { measurements } = readResults(
      JSON.stringify(value),
      "outputs/nodes/gpu03/benchmarks/kernel-launch/rank2/results.json",
    );
    expect(measurements).toMatchObject([
      { node: "gpu03", test: "kernel-launch/return_code:2", verdict: "pass" },
      { node: "gpu03", test: "kernel-launch/event_time:2", value: 0.006, unit: "ms" },
    ]);
  });
});

describe("results of dcgmi diag", () => {
  it("reads 2.x and 3.x: a test is as good as its worst device", () => {
    const value = {
      "DCGM GPU Diagnostic": {
        test_categories: [
          { category: "Deployment", tests: [{ name: "Denylist", results: [{ gpu_ids: "0,1", status: "Pass" }] }] },
          {
            category: "Hardware",
            tests: [
              {
                name: "GPU Memory",
                results: [
                  { gpu_id: "0", status: "PASS" },
                  { gpu_id: "1", status: "FAIL", warnings: "memory error at 0x12" },
                ],
              },
              {
                name: "Diagnostic",
                results: [
                  { gpu_id: "0", status: "Skip" },
                  { gpu_id: "1", status: "Skip" },
                ],
              },
              { name: "PCIe", results: [{ gpu_id: "0", status: "Warn", info: "slow" }] },
            ],
          },
        ],
      },
    };
    const { measurements } = readResults(`Warning: ignored\n${JSON.stringify(value)}`, "dcgm-diag-gpu07.json");
    expect(measurements.map(({ node, test, verdict, detail }) => [node, test, verdict, detail])).toEqual([
      ["gpu07", "Denylist", "pass", undefined],
      ["gpu07", "GPU Memory", "fail", "GPU 1: memory error at 0x12"],
      ["gpu07", "Diagnostic", "skip", undefined],
      ["gpu07", "PCIe", "warn", "GPU 0: slow"],
    ]);
  });

  it("reads 4.x", () => {
    const value = {
      "DCGM Diagnostic": {
        test_categories: [
          {
            category: "Hardware",
            tests: [
              {
                name: "memory",
                results: [
                  {
                    entity_group: "GPU",
                    entity_group_id: 1,
                    entity_id: 3,
                    status: "Fail",
                    warnings: [{ error_id: 1, warning: "ECC" }],
                  },
                ],
                test_summary: { status: "Fail" },
              },
            ],
          },
        ],
      },
      entity_groups: [],
      metadata: { "DCGM Version": "4.2.3", hostname: "gpu09" },
    };
    expect(readResults(JSON.stringify(value), "x.json").measurements).toEqual([
      { node: "gpu09", test: "memory", value: null, unit: null, verdict: "fail", source: "dcgm", detail: "GPU 3: ECC" },
    ]);
  });
});

describe("nodes and verdicts", () => {
  it.each([
    ["nodes/gpu01/benchmarks/x/rank0/results.json", "gpu01"],
    ["gpu-node-03_all_reduce.txt", "gpu-node-03"],
    ["dcgm_diag_gpu07.json", "gpu07"],
    ["node-1.dcgm.json", "node-1"],
    ["gpu12/dcgm.json", "gpu12"],
    ["nccl-tests.gpu12.out.txt", "gpu12"],
  ])("names the node of %s", (path, node) => {
    expect(nodeOfPath(path)).toBe(node);
  });

  const rows = (values: readonly number[], test: string, unit: string | null = null): ReturnType<typeof withVerdicts> =>
    withVerdicts(
      values.map((value, index) => ({
        node: `n${index}`,
        test,
        value,
        unit,
        verdict: null,
        source: "superbench",
      })),
    );

  it("fails the nodes that are worse than their peers", () => {
    const bandwidth = rows([450, 452, 449, 451, 405, 520], "all_reduce_perf");
    expect(bandwidth.map(({ verdict }) => verdict)).toEqual(["pass", "pass", "pass", "pass", "fail", "pass"]);
    const time = rows([5, 5.1, 4.9, 5, 6.2, 3], "kernel-launch/event_time");
    expect(time.map(({ verdict }) => verdict)).toEqual(["pass", "pass", "pass", "pass", "fail", "pass"]);
  });

  it("knows by the unit which figures are better, where the name does not say", () => {
    const verdicts = (unit: string | null) =>
      rows([1_100, 1_130, 1_110, 1_120, 800, 1_600], "disk", unit).map(({ verdict }) => verdict === "fail");
    expect(verdicts("MB/s")).toEqual([false, false, false, false, true, false]);
    expect(verdicts("GFLOP/s")).toEqual(verdicts("MB/s"));
    expect(verdicts("ms")).toEqual([false, false, false, false, false, true]);
    expect(verdicts("points")).toEqual([false, false, false, false, true, true]);
  });

  it("compares several figures of a node rank by rank, also with nodes that have another number of them", () => {
    // The lowest figure of each node is 6% below the median of its figures.
    const node = (name: string, figures: readonly number[]) =>
      figures.map((value) => ({
        node: name,
        test: "busbw",
        value,
        unit: null,
        verdict: null,
        source: "suite" as const,
      }));
    const peers = [0, 1, 2, 3].flatMap((index) => node(`n${index}`, [430, 400 + index, 420, 426]));
    const judged = (...figures: readonly number[]) =>
      withVerdicts([...peers, ...node("new", figures)])
        .slice(peers.length)
        .map(({ verdict, peer_median: median }) => [verdict, median]);
    expect(judged(420, 430, 426, 400)).toEqual([
      ["pass", 420],
      ["pass", 430],
      ["pass", 426],
      ["pass", 401],
    ]);
    expect(judged(420, 430, 426, 375)[3]).toEqual(["fail", 401]);
    expect(judged(430, 395).map(([verdict]) => verdict)).toEqual(["pass", "pass"]);
    expect(judged(395)).toEqual([["fail", 423]]);
  });

  it("passes equal nodes and noise, and does not judge few nodes", () => {
    expect(rows([450, 450, 450, 440, 450], "busbw").every(({ verdict }) => verdict === "pass")).toBe(true);
    expect(rows([450, 450, 300], "busbw").map(({ verdict }) => verdict)).toEqual(["unknown", "unknown", "unknown"]);
  });

  it("refuses other files", () => {
    for (const text of ["hello", "{}", "[1]", '{"__proto__": {"node": "x"}}', "# Rank 0\n"]) {
      expect(readResults(text, "x").measurements).toEqual([]);
      expect(readResults(text, "x").problems).toHaveLength(1);
    }
  });
});
