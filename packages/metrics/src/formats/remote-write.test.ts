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

it("refuses a request that becomes millions of samples", () => {
  // One series of empty samples: tag 1 and its length as a varint, then twice the number of samples in bytes.
  const bomb = (samples: number): Uint8Array => {
    const length = [samples * 2, Math.floor((samples * 2) / 128), Math.floor((samples * 2) / 128 ** 2), 0].map(
      (each, at) => (each % 128) + (at < 3 ? 128 : 0),
    );
    const content = new Uint8Array(5 + samples * 2).fill(0);
    content.set([0x0a, ...length]);
    for (let at = 5; at < content.length; at += 2) content[at] = 0x12;
    return compressed(content);
  };
  expect(readWriteRequest(bomb(500))?.[0]?.samples).toHaveLength(500);
  expect(bomb(1_040_000).length).toBeLessThan(120_000);
  expect(readWriteRequest(bomb(1_040_000))).toBeNull();
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
