import { describe, expect, it } from "vitest";
import { proofOf } from "./proof.ts";

const suite = (results: readonly object[], complete = true): string =>
  JSON.stringify({ suite: "quick", complete, results });
const figure = (node: string, value: number) => ({
  node,
  test: "busbw",
  value,
  unit: "GB/s",
  verdict: null,
  source: "suite" as const,
});
const peers = [448, 450, 451, 452].map((value, at) => figure(`p${at}`, value));
const of = (text: string, required: readonly string[] = []) => proofOf({ node: "n1", texts: [text], required, peers });

describe("proofOf", () => {
  it("proves nothing by results that are empty, cut, incomplete or foreign", () => {
    const whole = suite([{ test: "matmul", value: 3, unit: "GFLOP/s", verdict: "pass" }]);
    expect(of(whole).isPassed).toBe(true);
    for (let length = 0; length < whole.length; length++)
      expect(of(whole.slice(0, length)).isPassed, `${length}`).toBe(false);
    expect(of(suite([{ test: "matmul", value: 3, verdict: "pass" }], false)).detail).toContain("not complete");
    expect(of(suite([])).isPassed).toBe(false);
    expect(of(suite([{ test: "matmul", verdict: "skip" }])).detail).toBe("no test of the suite passed");
    expect(of("everything is fine\n").isPassed).toBe(false);
  });

  it("names required tests that are missing or skipped", () => {
    expect(of(suite([{ test: "a", verdict: "pass" }]), ["a", "b"]).detail).toBe("the result lacks b");
    expect(
      of(
        suite([
          { test: "a", verdict: "pass" },
          { test: "b", verdict: "skip" },
        ]),
        ["a", "b"],
      ).detail,
    ).toBe("the suite did not pass b");
  });

  it("takes verdicts in any case, and none that it does not know", () => {
    for (const verdict of ["FAIL", "Fail"])
      expect(of(suite([{ test: "hbm", value: 1, verdict }])).isPassed).toBe(false);
    for (const verdict of ["failed", "error", "ok", 1, true])
      expect(of(suite([{ test: "hbm", value: 1, verdict }])).detail).toContain("not complete");
    expect(of(suite([{ test: "hbm", verdict: "PASS" }])).isPassed).toBe(true);
    expect(
      of(
        suite([
          { test: "hbm", value: null },
          { test: "a", verdict: "pass" },
        ]),
        ["hbm"],
      ).isPassed,
    ).toBe(false);
    expect(of(suite([{ value: 1 }, { test: "a", verdict: "pass" }])).isPassed).toBe(false);
    const many = Array.from({ length: 1_001 }, (_, at) => ({ test: `t${at}`, verdict: "pass" }));
    expect(of(suite(many)).isPassed).toBe(false);
  });

  it("requires the summary of nccl-tests", () => {
    const rows =
      "# nThread 1 nGpus 8 minBytes 8\n  8589934592  2147483648  float  sum  -1  1  480.1  450.2  0  1  480.1  450.3  0\n";
    const summary = "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 450.1\n";
    expect(of(`all_reduce_perf\n${rows}${summary}`).isPassed).toBe(true);
    expect(of(`all_reduce_perf\n${rows}`).detail).toContain("before its summary");
    expect(of(`all_reduce_perf\n${rows}# Out of bounds values : 0 OK\n`).isPassed).toBe(false);
  });

  it("compares each of several figures of one test, and the medians of several runs in any order", () => {
    const accelerators = (slow: number | null): string =>
      suite(Array.from({ length: 8 }, (_, at) => ({ test: "busbw", value: at === slow ? 225 : 450, unit: "GB/s" })));
    const proof = (...slow: readonly (number | null)[]) =>
      proofOf({ node: "n1", texts: slow.map(accelerators), required: [], peers });
    expect([proof(null).isPassed, proof(null, null, null).isPassed, proof(null, 3, null).isPassed]).toEqual([
      true,
      true,
      true,
    ]);
    expect(proof(2).detail).toBe("busbw: 225 GB/s, its peers 450");
    expect(proof(2, 7, 0).detail).toBe("busbw: 225 GB/s, its peers 450");
    expect(proof(2, 7, 0).measurements).toHaveLength(8);
  });

  it("compares figures with the peers, and states the difference", () => {
    expect(of(suite([{ test: "busbw", value: 449, unit: "GB/s" }])).isPassed).toBe(true);
    expect(of(suite([{ test: "busbw", value: 405, unit: "GB/s" }])).detail).toBe("busbw: 405 GB/s, its peers 450");
    expect(
      proofOf({ node: "n1", texts: [suite([{ test: "busbw", value: 405 }])], required: [], peers: [] }).isPassed,
    ).toBe(true);
    expect(of(suite([{ test: "disk", value: 1, verdict: "fail", detail: "read back other data" }])).detail).toBe(
      "disk: 1 (read back other data)",
    );
  });
});
