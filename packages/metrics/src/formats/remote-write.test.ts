import { expect, it } from "vitest";
import { readWriteRequest, writeRequest } from "./remote-write.ts";
import { compressed, uncompressed } from "./snappy.ts";

const series = [
  { labels: { job: "node", __name__: "up", instance: "n1:9100" }, samples: [{ value: 1, atMs: 1_700_000_000_123 }] },
  {
    labels: { __name__: "temperature" },
    samples: [
      { value: -2.5, atMs: 1 },
      { value: Number.NaN, atMs: 2 },
    ],
  },
];

it("reads the requests that it writes, with labels in order", () => {
  const read = readWriteRequest(writeRequest(series));
  expect(read).toEqual(series);
  expect(Object.keys(read?.[0]?.labels ?? {})).toEqual(["__name__", "instance", "job"]);
  expect(readWriteRequest(writeRequest([]))).toEqual([]);
});

it("writes the bytes of the protobuf definition", () => {
  const request = writeRequest([{ labels: { a: "b" }, samples: [{ value: 1, atMs: 300 }] }]);
  const label = [0x0a, 0x06, 0x0a, 0x01, 0x61, 0x12, 0x01, 0x62];
  const sample = [0x12, 0x0c, 0x09, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f, 0x10, 0xac, 0x02];
  expect([...(uncompressed(request, 100) ?? [])]).toEqual([0x0a, 0x16, ...label, ...sample]);
});

it("refuses damaged requests", () => {
  expect(readWriteRequest(new TextEncoder().encode("up 1"))).toBeNull();
  const many = Object.fromEntries(Array.from({ length: 70 }, (_, at) => [`l${at}`, "x"]));
  expect(readWriteRequest(writeRequest([{ labels: many, samples: [] }]))).toBeNull();
  const whole = writeRequest(series);
  for (let at = 0; at < whole.length; at++)
    for (const bit of [1, 128]) {
      const damaged = Uint8Array.from(whole, (byte, position) => (position === at ? byte ^ bit : byte));
      const read = readWriteRequest(damaged);
      expect(read === null || read.length <= 2).toBe(true);
    }
  expect(readWriteRequest(compressed(Uint8Array.from([0x0a, 0xff, 0xff, 0xff, 0xff, 0x7f])))?.length ?? 0).toBeLessThan(
    2,
  );
});
