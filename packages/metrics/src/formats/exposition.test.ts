import { describe, expect, it } from "vitest";
import { readExposition } from "./exposition.ts";
import type { ExpositionOutcome } from "./exposition.ts";

type Read = readonly [metric: string, labels: object, value: number];

function read(
  text: string,
  except: readonly string[] = [],
): { readonly samples: Read[]; readonly outcome: ExpositionOutcome } {
  const samples: Read[] = [];
  const outcome = readExposition<string>(text, {
    wanted: (metric) => (except.includes(metric) ? undefined : metric),
    sample: (metric, labels, value) => samples.push([metric, { ...labels }, value]),
  });
  return { samples, outcome };
}

describe("the reader of the text format", () => {
  it("reads the example of the format's specification", () => {
    const { samples, outcome } = read(`# HELP http_requests_total The total number of HTTP requests.
# TYPE http_requests_total counter
http_requests_total{method="post",code="200"} 1027 1395066363000
http_requests_total{method="post",code="400"}    3 1395066363000

# Escaping in label values:
msdos_file_access_time_seconds{path="C:\\\\DIR\\\\FILE.TXT",error="Cannot find file:\\n\\"FILE.TXT\\""} 1.458255915e9

# Minimalistic line:
metric_without_timestamp_and_labels 12.47

# A weird metric from before the epoch:
something_weird{problem="division by zero"} +Inf -3982045
http_request_duration_seconds_bucket{le="+Inf"} 144320
rpc_duration_seconds{quantile="0.5", } NaN
`);
    expect(samples).toEqual([
      ["http_requests_total", { method: "post", code: "200" }, 1027],
      ["http_requests_total", { method: "post", code: "400" }, 3],
      [
        "msdos_file_access_time_seconds",
        { path: "C:\\DIR\\FILE.TXT", error: 'Cannot find file:\n"FILE.TXT"' },
        1.458255915e9,
      ],
      ["metric_without_timestamp_and_labels", {}, 12.47],
      ["something_weird", { problem: "division by zero" }, Number.POSITIVE_INFINITY],
      ["http_request_duration_seconds_bucket", { le: "+Inf" }, 144320],
      ["rpc_duration_seconds", { quantile: "0.5" }, Number.NaN],
    ]);
    expect(outcome).toEqual({ sampleCount: 7, rejectedCount: 0, firstRejected: null });
  });

  it("reads OpenMetrics with exemplars, line ends of Windows and a text without a last line end", () => {
    const { samples, outcome } = read('a_bucket{le="1"} 2 # {trace="x"} 0.5\r\nb 3\r\n# EOF\r\nc{x="}"} 4');
    expect(samples).toEqual([
      ["a_bucket", { le: "1" }, 2],
      ["b", {}, 3],
      ["c", { x: "}" }, 4],
    ]);
    expect(outcome.rejectedCount).toBe(0);
  });

  it("skips metrics that are not wanted, whatever their labels are", () => {
    const { samples, outcome } = read('a{x="1"} 1\na{x=} 2\nab 3\n', ["a"]);
    expect(samples).toEqual([["ab", {}, 3]]);
    expect(outcome).toMatchObject({ sampleCount: 3, rejectedCount: 0 });
  });

  it.each([
    "<html>",
    "a{x=1} 1",
    'a{x="1} 1',
    'a{x="1" y="2"} 1',
    "a one",
    "a",
    'a{x="1"}',
    '{x="1"} 1',
    `a{${Array.from({ length: 70 }, (_, at) => `l${at}="1"`).join(",")}} 1`,
  ])("rejects %s and reads the next line", (line) => {
    const { samples, outcome } = read(`${line}\nok 1\n`);
    expect(samples).toEqual([["ok", {}, 1]]);
    expect(outcome).toMatchObject({ sampleCount: 1, rejectedCount: 1, firstRejected: line.slice(0, 120) });
  });
});

it("reads a large text whose labels have no values in one pass", () => {
  // With a search for "=" beyond the line, the time grows with the square of the lines.
  const { samples, outcome } = read("temperature{x\n".repeat(400_000));
  expect([samples.length, outcome.rejectedCount]).toEqual([0, 400_000]);
});
