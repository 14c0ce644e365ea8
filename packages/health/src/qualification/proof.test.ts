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
    expect(proof(2).detail).toBe("busbw: 225 GB/s, its peers 450 (measured difference -50%)");
    expect(proof(2, 7, 0).detail).toBe("busbw: 225 GB/s, its peers 450 (measured difference -50%)");
    expect(proof(2, 7, 0).measurements).toHaveLength(8);
  });

  it("compares figures with the peers, and states the difference", () => {
    expect(of(suite([{ test: "busbw", value: 449, unit: "GB/s" }])).isPassed).toBe(true);
    expect(of(suite([{ test: "busbw", value: 405, unit: "GB/s" }])).detail).toBe(
      "busbw: 405 GB/s, its peers 450 (measured difference -10%)",
    );
    expect(
      proofOf({ node: "n1", texts: [suite([{ test: "busbw", value: 405 }])], required: [], peers: [] }).isPassed,
    ).toBe(true);
    expect(of(suite([{ test: "disk", value: 1, verdict: "fail", detail: "read back other data" }])).detail).toBe(
      "disk: 1 (read back other data)",
    );
  });

  it("fails a node of which one run, or every run, lacks an accelerator that its peers have", () => {
    const run = (count: number): string =>
      suite(Array.from({ length: count }, (_, at) => ({ test: "gpu", value: 100 + at / 10, unit: "GB/s" })));
    const known = [0, 1, 2, 3].flatMap((peer) =>
      Array.from({ length: 8 }, (_, at) => ({ ...figure(`p${peer}`, 100 + at / 10), test: "gpu" })),
    );
    const texts = (...counts: readonly number[]) =>
      proofOf({ node: "n1", texts: counts.map(run), required: ["gpu"], peers: known });
    expect(texts(8, 8, 8).isPassed).toBe(true);
    expect(texts(8, 7, 8).detail).toBe("gpu: 7 figures in one run and 8 in another");
    expect(texts(7, 7, 7).detail).toBe("gpu: 7 figures, its peers 8");
    const skipping = [
      run(8),
      suite([
        { test: "gpu", value: null, verdict: "skip" },
        { test: "a", verdict: "pass" },
      ]),
    ];
    expect(proofOf({ node: "n1", texts: skipping, required: [], peers: known }).isPassed).toBe(true);
  });

  it("compares facts with those of most peers: a layout fails, and a version warns", () => {
    const fact = (node: string, test: string, text: string) => ({
      node,
      test,
      value: null,
      unit: null,
      verdict: null,
      source: "suite" as const,
      text,
    });
    const known = [0, 1, 2].flatMap((at) => [fact(`p${at}`, "nics", "8 x 400 Gb/s"), fact(`p${at}`, "kernel", "6.1")]);
    const proof = (nics: string, kernel: string, others = known) =>
      proofOf({
        node: "n1",
        texts: [
          suite([
            { test: "nics", text: nics },
            { test: "kernel", text: kernel, differs: "warn" },
          ]),
        ],
        required: [],
        peers: others,
      });
    expect(proof("8 x 400 Gb/s", "6.1")).toMatchObject({ isPassed: true, detail: "2 of 2 tests passed" });
    expect(proof("7 x 400 Gb/s", "6.1").detail).toBe("nics: measured difference: 7 x 400 Gb/s, its peers 8 x 400 Gb/s");
    expect(proof("8 x 400 Gb/s", "6.6")).toMatchObject({
      isPassed: true,
      detail: "1 of 2 tests passed; kernel: measured difference: 6.6, its peers 6.1",
    });
    // The first nodes of a pool prove what the next ones are compared with; nodes that do not agree prove nothing about a further one.
    expect(proof("7 x 400 Gb/s", "6.1", []).isPassed).toBe(true);
    expect(
      proof("7 x 400 Gb/s", "6.1", [...known, ...[3, 4, 5].map((at) => fact(`p${at}`, "nics", "x"))]).isPassed,
    ).toBe(true);
    const strange = suite([{ test: "nics", text: "x", differs: "ignore" }]);
    expect(proofOf({ node: "n1", texts: [strange], required: [], peers: known }).detail).toContain("not complete");
  });
});
