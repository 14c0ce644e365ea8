import { PbfWriter } from "pbf";
import { describe, expect, it } from "vitest";
import { readOtlpMetrics as readWithLabel } from "./otlp-metrics.ts";

const AT_NANO = "1764460000123000000";
const AT_MS = 1_764_460_000_123;

const readOtlpMetrics = (body: Uint8Array | string) => readWithLabel(body, "host_name");
const attribute = (key: string, value: object) => ({ key, value });
const request = (metrics: readonly object[]) => ({
  resourceMetrics: [
    {
      resource: {
        attributes: [
          attribute("service.name", { stringValue: "dcgm" }),
          attribute("service.instance.id", { stringValue: "dgx-7:9400" }),
          attribute("host.name", { stringValue: "dgx-7" }),
          attribute("list", { arrayValue: { values: [] } }),
        ],
      },
      scopeMetrics: [{ scope: { name: "x" }, metrics }],
    },
  ],
});
const json = JSON.stringify;
const gauge = {
  name: "DCGM_FI_DEV_GPU_UTIL",
  unit: "%",
  gauge: { dataPoints: [{ attributes: [attribute("gpu", { intValue: "3" })], timeUnixNano: AT_NANO, asInt: "-42" }] },
};
const counter = {
  name: "vllm.generation.tokens",
  sum: { aggregationTemporality: 2, isMonotonic: true, dataPoints: [{ timeUnixNano: AT_NANO, asDouble: 1.5 }] },
};
const delta = { name: "d", sum: { aggregationTemporality: 1, dataPoints: [{ timeUnixNano: AT_NANO, asInt: 1 }] } };
const histogram = { name: "h", histogram: { dataPoints: [{}, {}] } };
const silent = { name: "s", gauge: { dataPoints: [{ timeUnixNano: AT_NANO, asInt: 1, flags: 1 }] } };
const resource = {
  service_name: "dcgm",
  service_instance_id: "dgx-7:9400",
  host_name: "dgx-7",
  job: "dcgm",
  instance: "dgx-7:9400",
};
const expected = {
  series: [
    {
      labels: { ...resource, gpu: "3", __name__: "DCGM_FI_DEV_GPU_UTIL" },
      samples: [{ value: -42, atMs: AT_MS }],
    },
    { labels: { ...resource, __name__: "vllm_generation_tokens_total" }, samples: [{ value: 1.5, atMs: AT_MS }] },
  ],
  rejectedCount: 3,
};

/** The same request by the field numbers of opentelemetry-proto 1.x. */
function protobuf(): Uint8Array {
  const text = (key: string, value: string) => (_: null, writer: PbfWriter) => {
    writer.writeStringField(1, key);
    writer.writeMessage(2, (__: null, inner) => inner.writeStringField(1, value), null);
  };
  const fixed64 = (writer: PbfWriter, tag: number, value: bigint): void => {
    writer.writeTag(tag, 1);
    writer.writeFixed32(Number(value & 0xff_ff_ff_ffn));
    writer.writeSFixed32(Number(BigInt.asIntN(32, value >> 32n)));
  };
  const writer = new PbfWriter();
  writer.writeMessage(
    1,
    (_: null, metrics) => {
      // The metrics come before the resource: the order of fields is free.
      metrics.writeMessage(
        2,
        (__: null, scope) => {
          const metric = (name: string, tag: number, write: (_: null, data: PbfWriter) => void): void =>
            scope.writeMessage(
              2,
              (___: null, each) => {
                each.writeStringField(1, name);
                each.writeMessage(tag, write, null);
              },
              null,
            );
          const point = (write: (each: PbfWriter) => void) => (___: null, each: PbfWriter) => {
            fixed64(each, 3, BigInt(AT_NANO));
            write(each);
          };
          metric("DCGM_FI_DEV_GPU_UTIL", 5, (___, data) =>
            data.writeMessage(
              1,
              point((each) => {
                fixed64(each, 6, -42n);
                each.writeMessage(
                  7,
                  (____: null, pair) => {
                    pair.writeStringField(1, "gpu");
                    pair.writeMessage(2, (_____: null, value) => value.writeVarintField(3, 3), null);
                  },
                  null,
                );
              }),
              null,
            ),
          );
          metric("vllm.generation.tokens", 7, (___, data) => {
            data.writeMessage(
              1,
              point((each) => each.writeDoubleField(4, 1.5)),
              null,
            );
            data.writeVarintField(2, 2);
            data.writeBooleanField(3, true);
          });
          metric("d", 7, (___, data) => {
            data.writeMessage(
              1,
              point((each) => fixed64(each, 6, 1n)),
              null,
            );
            data.writeVarintField(2, 1);
          });
          metric("h", 9, (___, data) => {
            for (let count = 0; count < 2; count++)
              data.writeMessage(
                1,
                point(() => undefined),
                null,
              );
            data.writeVarintField(2, 2);
          });
          metric("s", 5, (___, data) =>
            data.writeMessage(
              1,
              point((each) => {
                fixed64(each, 6, 1n);
                each.writeVarintField(8, 1);
              }),
              null,
            ),
          );
        },
        null,
      );
      metrics.writeMessage(
        1,
        (__: null, own) => {
          own.writeMessage(1, text("service.name", "dcgm"), null);
          own.writeMessage(1, text("service.instance.id", "dgx-7:9400"), null);
          own.writeMessage(1, text("host.name", "dgx-7"), null);
        },
        null,
      );
    },
    null,
  );
  return writer.finish();
}

describe("OTLP metrics", () => {
  it("are series of gauges and cumulative sums, with the service as job and instance", () => {
    expect(readOtlpMetrics(json(request([gauge, counter, delta, histogram, silent])))).toEqual(expected);
  });

  it("are the same in protobuf", () => {
    expect(readOtlpMetrics(protobuf())).toEqual(expected);
  });

  it("are refused if the body is cut, and never throw", () => {
    const whole = protobuf();
    for (let length = 1; length < whole.length; length++)
      expect(readOtlpMetrics(whole.subarray(0, length)), `${length}`).toBeNull();
    for (const text of ["", "[]", "{", '{"resourceMetrics":1}']) expect(readOtlpMetrics(text)).toBeNull();
    expect(readOtlpMetrics(new Uint8Array())).toEqual({ series: [], rejectedCount: 0 });
  });

  it("are bounded in attributes and points", () => {
    const many = Array.from({ length: 65 }, (_, index) => attribute(`a${index}`, { stringValue: "x" }));
    const wide = { name: "g", gauge: { dataPoints: [{ attributes: many, timeUnixNano: AT_NANO, asInt: 1 }] } };
    expect(readOtlpMetrics(json(request([wide])))).toBeNull();
    const points = Array.from({ length: 100_001 }, () => ({ timeUnixNano: "1000000", asInt: 1 }));
    expect(readOtlpMetrics(json(request([{ name: "g", gauge: { dataPoints: points } }])))).toBeNull();
  });

  it("cannot replace the name of a metric by an attribute", () => {
    const named = { timeUnixNano: AT_NANO, asInt: 1, attributes: [attribute("__name__", { stringValue: "other" })] };
    const read = readOtlpMetrics(json(request([{ name: "g", gauge: { dataPoints: [named] } }])));
    expect(read?.series[0]?.labels["__name__"]).toBe("g");
  });

  it("are counted before they are built, in JSON and in protobuf", () => {
    const half = "{},".repeat(500_001);
    expect(readOtlpMetrics(`{"resourceMetrics":[${half}{}]}`)).toBeNull();
    expect(readOtlpMetrics(`{"resourceMetrics":[${"{},".repeat(9)}{"text":"${half}\\""}]}`)).not.toBeNull();
    expect(readOtlpMetrics(`{"x":${"[".repeat(65)}${"]".repeat(65)}}`)).toBeNull();
    const resources = (count: number) => new Uint8Array(new Uint16Array(count).fill(0x0a).buffer);
    expect(readOtlpMetrics(resources(9))).not.toBeNull();
    expect(readOtlpMetrics(resources(1_000_001))).toBeNull();
  });

  it("have the node, job and instance of their resource alone", () => {
    const metric = (...attributes: readonly object[]) => ({
      name: "g",
      gauge: { dataPoints: [{ timeUnixNano: AT_NANO, asInt: 1, attributes }] },
    });
    const text = (key: string, stringValue: string) => attribute(key, { stringValue });
    const foreign = metric(text("host.name", "other"), text("instance", "other"), text("job", "other"));
    expect(readOtlpMetrics(json(request([foreign])))?.series[0]?.labels).toEqual({ ...resource, __name__: "g" });
    const bare = { resourceMetrics: [{ scopeMetrics: [{ metrics: [foreign] }] }] };
    expect(readOtlpMetrics(json(bare))?.series[0]?.labels).toEqual({ __name__: "g" });
    const twice = metric(text("a.b", "1"), text("a-b", "2"));
    expect(readOtlpMetrics(json(request([twice])))).toEqual({ series: [], rejectedCount: 1 });
  });
});
