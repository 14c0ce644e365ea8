import { describe, expect, it } from "vitest";
import { ModelFileError } from "./base/bounds.ts";
import { totalsByType, type ModelDescription } from "./base/description.ts";
import { readModelFile } from "./read-model-file.ts";
import {
  field,
  gguf,
  memorySource,
  nodeProto,
  onnx,
  safetensors,
  tensorProto,
  u32,
  u64,
  type GgufParts,
} from "./testing/model-bytes.ts";

const read = (bytes: Buffer, name = "model"): ModelDescription => readModelFile(memorySource(bytes), name);
const problemOf = (bytes: Buffer, name = "model"): string => {
  try {
    read(bytes, name);
  } catch (error) {
    if (error instanceof ModelFileError) return error.message;
    throw error;
  }
  return "accepted";
};
const two = {
  a: { dtype: "BF16", shape: [2, 3], data_offsets: [0, 12] },
  b: { dtype: "F8_E4M3", shape: [4], data_offsets: [12, 16] },
};

describe("safetensors", () => {
  it("reads parameters, precision and metadata", () => {
    const model = read(safetensors({ __metadata__: { format: "pt" }, ...two }, 16));
    expect(model).toMatchObject({
      format: "safetensors",
      parameters: 10,
      metadata: { format: "pt" },
      contextLength: null,
    });
    expect(totalsByType(model.tensors)).toEqual([
      { type: "BF16", tensors: 1, parameters: 6, bytes: 12 },
      { type: "F8_E4M3", tensors: 1, parameters: 4, bytes: 4 },
    ]);
  });

  it.each<[string, Buffer]>([
    ["accepted", safetensors("{}  ", 0)],
    ["accepted", safetensors({ s: { dtype: "F32", shape: [], data_offsets: [0, 4] } }, 4)],
    ["accepted", safetensors({ z: { dtype: "F32", shape: [0, 9], data_offsets: [0, 0] } }, 0)],
    ["length of the header: 9223372036854775808 is too large", Buffer.concat([u64(2n ** 63n), Buffer.from("{}")])],
    ["the header states 100000000 bytes; at most 33554432", Buffer.concat([u64(100_000_000), Buffer.from("{}")])],
    ["the header states 500 bytes, but 2 are left", Buffer.concat([u64(500), Buffer.from("{}")])],
    ["none of safetensors, GGUF and ONNX", safetensors(" {}", 0)],
    ["the header is not JSON", safetensors('{"a"', 0)],
    ["at byte 8: is not UTF-8", Buffer.concat([u64(4), Buffer.from([0x7b, 0xff, 0xff, 0x7d])])],
    ["has a key twice", safetensors('{"__metadata__":{"a":"1","a":"2"}}', 0)],
    ["has a key twice", safetensors(`{"a":${JSON.stringify(two.a)},"a":${JSON.stringify(two.a)}}`, 12)],
    ["nested too deeply", safetensors(`${'{"a":'.repeat(9_999)}`, 0)],
    ["overlaps another one at byte 8", safetensors({ ...two, b: { ...two.b, data_offsets: [8, 12] } }, 16)],
    ["no tensor has the bytes from 12", safetensors({ ...two, b: { ...two.b, data_offsets: [14, 18] } }, 18)],
    ["the end 0 is before the start 12", safetensors({ a: { ...two.a, data_offsets: [12, 0] } }, 12)],
    [
      "data_offsets span 8 bytes, but its shape and dtype need 12",
      safetensors({ a: { ...two.a, data_offsets: [0, 8] } }, 8),
    ],
    ["the tensors need 16 bytes, but the file has 15", safetensors(two, 15)],
    ["4 bytes after the last tensor belong to none", safetensors(two, 20)],
    ["has too many elements", safetensors({ a: { ...two.a, shape: [2 ** 40, 2 ** 40] } }, 12)],
    ["shape: expected an array of sizes", safetensors({ a: { ...two.a, shape: [-2, -3] } }, 12)],
    ["shape: expected an array of sizes", safetensors({ a: { ...two.a, shape: [1.5] } }, 12)],
    ['the dtype "F7" is not known', safetensors({ a: { ...two.a, dtype: "F7" } }, 12)],
    ["are no whole bytes", safetensors({ a: { dtype: "F4", shape: [3], data_offsets: [0, 2] } }, 2)],
    ['its name has ".."', safetensors({ "../../etc/passwd": two.a }, 12)],
    ["its name has control characters", safetensors({ "a\u001b[2J": two.a }, 12)],
    ["expected an object with dtype", safetensors({ a: [] }, 0)],
    ["expected a string", safetensors({ __metadata__: { a: 1 } }, 0)],
  ])("%s", (problem, bytes) => {
    expect(problemOf(bytes)).toContain(problem);
  });

  it("keeps a key __proto__ as a name", () => {
    expect(read(safetensors(`{"__proto__":${JSON.stringify(two.a)}}`, 12)).tensors[0]?.name).toBe("__proto__");
  });
});

const llama: GgufParts = {
  keys: [
    ["general.architecture", "llama"],
    ["general.name", "Tiny"],
    ["llama.context_length", 4_096],
    ["tokenizer.ggml.tokens", ["<s>", "</s>", "é"]],
    ["tokenizer.ggml.add_bos_token", true],
  ],
  tensors: [
    { name: "token_embd.weight", shape: [256, 2], type: 12, offset: 0 },
    { name: "output_norm.weight", shape: [8], type: 0, offset: 288 },
  ],
  dataBytes: 320,
};
const numbers = Buffer.concat([u32(9), u32(4), u64(2n ** 61n)]);
const nested = Buffer.concat([
  u32(9),
  ...Array.from({ length: 9 }, () => Buffer.concat([u32(9), u64(1)])),
  Buffer.alloc(90),
]);

describe("GGUF", () => {
  it("reads architecture, context length, parameters and precision", () => {
    const model = read(gguf(llama));
    expect(model).toMatchObject({
      format: "gguf",
      architecture: "llama",
      name: "Tiny",
      contextLength: 4_096,
      parameters: 520,
    });
    expect(totalsByType(model.tensors)).toEqual([
      { type: "Q4_K", tensors: 1, parameters: 512, bytes: 288 },
      { type: "F32", tensors: 1, parameters: 8, bytes: 32 },
    ]);
    expect(model.metadata).not.toHaveProperty("tokenizer.ggml.tokens");
  });

  it("does not read the data", () => {
    const source = memorySource(gguf({ ...llama, dataBytes: 320 }), 50 * 2 ** 30);
    readModelFile(source, "model.gguf");
    expect(source.read).toBeLessThan(2 ** 20);
  });

  const withTensor = (change: object): Buffer =>
    gguf({ ...llama, tensors: [{ name: "t", shape: [8], type: 0, offset: 0, ...change }] });
  const withKey = (key: string, value: Buffer | string | number): Buffer =>
    gguf({ keys: [[key, value]], dataBytes: 64 });
  it.each<[string, Buffer]>([
    ["accepted", gguf({ version: 2, dataBytes: 64 })],
    ["accepted", withTensor({ type: 99 })],
    ["accepted", withKey("k", "é".repeat(5_000))],
    ["version 1 of GGUF is not read", gguf({ version: 1, dataBytes: 64 })],
    ["big-endian", gguf({ version: 0x03000000, dataBytes: 64 })],
    ["number of tensors: 9223372036854775808 is too large", gguf({ tensorCount: 2n ** 63n, dataBytes: 64 })],
    ["number of tensors: 1000000000 need at least", gguf({ tensorCount: 1e9, dataBytes: 64 })],
    ["number of metadata keys: 18446744073709551615 is too large", gguf({ keyCount: 2n ** 64n - 1n, dataBytes: 64 })],
    ["length of array", withKey("k", numbers)],
    ["arrays are nested more than 4 deep", withKey("k", nested)],
    ["the type 77 is not known", withKey("k", Buffer.concat([u32(77), u64(0)]))],
    ["7 is neither true nor false", withKey("k", Buffer.from([7, 0, 0, 0, 7]))],
    ["length of value of", withKey("k", Buffer.concat([u32(8), u64(2n ** 40n)]))],
    [
      "exists twice",
      gguf({
        keys: [
          ["k", 1],
          ["k", 2],
        ],
        dataBytes: 64,
      }),
    ],
    [
      'tensors "a" and "b" overlap at byte 0',
      gguf({
        tensors: [
          { name: "a", shape: [8], type: 0, offset: 0 },
          { name: "b", shape: [8], type: 0, offset: 0 },
        ],
        dataBytes: 64,
      }),
    ],
    [
      'tensor "t": exists twice',
      gguf({ tensors: [0, 32].map((offset) => ({ name: "t", shape: [8], type: 0, offset })), dataBytes: 64 }),
    ],
    ["the file has 320: it is cut", withTensor({ offset: 320 })],
    ["is no multiple of 32", withTensor({ offset: 7 })],
    ["too many elements", withTensor({ shape: [2n ** 40n, 2n ** 40n] })],
    ["dimension: 9223372036854775808 is too large", withTensor({ shape: [2n ** 63n] })],
    ["rows of 8 elements are no whole blocks of 256", withTensor({ type: 12 })],
    ["9 dimensions; at most 8", withTensor({ shape: Array.from({ length: 9 }, () => 1) })],
    ['its name has ".."', withTensor({ name: "blk/../../x" })],
    ["general.alignment: expected a power of two", withKey("general.alignment", 24)],
    ["general.alignment: expected a power of two", withKey("general.alignment", 0)],
    ["number of tensors: 2 need at least 50 bytes", gguf(llama).subarray(0, 46)],
  ])("%s", (problem, bytes) => {
    expect(problemOf(bytes)).toContain(problem);
  });
});

const weights = field(5, tensorProto("w", 1, [2, 3], field(9, Buffer.alloc(24))));
const external = (location: string): Buffer =>
  field(
    5,
    tensorProto(
      "w",
      10,
      [4],
      Buffer.concat([field(13, Buffer.concat([field(1, "location"), field(2, location)])), field(14, 1)]),
    ),
  );
const matmul = field(1, nodeProto(["x", "w"], ["y"]));
const input = field(11, field(1, "x"));

describe("ONNX", () => {
  it("reads initializers, constants and graphs within nodes", () => {
    const constant = field(1, nodeProto([], ["c"], field(5, field(5, tensorProto("", 7, [5], Buffer.alloc(0))))));
    const branch = field(1, nodeProto(["y"], ["z"], field(5, field(6, Buffer.concat([matmul, weights])))));
    const model = read(onnx(input, weights, matmul, constant, branch));
    expect(model).toMatchObject({
      format: "onnx",
      name: "main",
      parameters: 17,
      metadata: { opset: 17, producer_name: "pytorch", node_count: 4 },
    });
    expect(totalsByType(model.tensors)).toEqual([
      { type: "FLOAT", tensors: 2, parameters: 12, bytes: 48 },
      { type: "INT64", tensors: 1, parameters: 5, bytes: 40 },
    ]);
  });

  it("reads packed dimensions and the place of external data", () => {
    const packed = field(5, Buffer.concat([field(1, Buffer.from([2, 5])), field(2, 1), field(8, "p")]));
    const model = read(onnx(packed, external("weights/model.data")));
    expect([model.tensors[0]?.shape, model.externalFiles]).toEqual([[2, 5], ["weights/model.data"]]);
  });

  let deep = weights;
  for (let depth = 0; depth < 20; depth += 1) deep = field(1, nodeProto([], [], field(5, field(6, deep))));
  it.each<[string, Buffer]>([
    ["accepted", onnx(input, weights, matmul)],
    [
      "is used before it is made: the nodes form a cycle",
      onnx(field(1, nodeProto(["b"], ["a"])), field(1, nodeProto(["a"], ["b"]))),
    ],
    ["graphs are nested more than 16 deep", onnx(deep)],
    ['its name has ".."', onnx(external("../../etc/passwd"))],
    ["expected a path relative", onnx(external("/etc/passwd"))],
    ["expected a path relative", onnx(external("C:data"))],
    ["has no location", onnx(field(5, tensorProto("w", 1, [1], field(14, 1))))],
    [
      "has 20 bytes of data, but its shape and type need 24",
      onnx(field(5, tensorProto("w", 1, [2, 3], field(9, Buffer.alloc(20))))),
    ],
    ["-1 is no dimension", onnx(field(5, tensorProto("w", 1, [-1], Buffer.alloc(0))))],
    ["has too many elements", onnx(field(5, tensorProto("w", 1, [2 ** 40, 2 ** 40], Buffer.alloc(0))))],
    [
      "more than 16 dimensions",
      onnx(
        field(
          5,
          tensorProto(
            "w",
            1,
            Array.from({ length: 17 }, () => 1),
            Buffer.alloc(0),
          ),
        ),
      ),
    ],
    ["a field states 100 bytes, but", Buffer.concat([onnx(weights), Buffer.from([0x3a, 100, 1])])],
    ["the wire type 3 is not known", Buffer.concat([onnx(weights), Buffer.from([0x3b])])],
    ["0 is no field number", Buffer.concat([onnx(weights), Buffer.from([0x00, 0x00])])],
    ["a number has more than 10 bytes", Buffer.concat([field(1, 9), Buffer.from([0x28]), Buffer.alloc(12, 0xff)])],
    ["the file has no graph", Buffer.concat([field(1, 9), field(2, "nothing here")])],
  ])("%s", (problem, bytes) => {
    expect(problemOf(bytes, "model.onnx")).toContain(problem);
  });
});

describe("readModelFile", () => {
  it.each<[string, Buffer, string]>([
    ["pickle of PyTorch", Buffer.from([0x50, 0x4b, 3, 4, 0, 0, 0, 0, 0]), "model"],
    ["pickle of PyTorch", Buffer.alloc(20), "pytorch_model.bin"],
    ["fewer than any model", Buffer.from("GGUF"), "model.gguf"],
    ["none of safetensors, GGUF and ONNX", Buffer.from("hello, world, hello"), "notes.txt"],
  ])("%s", (problem, bytes, name) => {
    expect(problemOf(bytes, name)).toContain(problem);
  });

  it("answers or refuses whatever byte is changed or cut", () => {
    const files = [safetensors(two, 16), gguf(llama), onnx(input, weights, matmul, external("w.data"))];
    const damaged = files.flatMap((file) =>
      Array.from(file.subarray(0, 400)).flatMap((_, at) => [
        file.subarray(0, at),
        ...[0, 0x7f, 0xff].map((value) =>
          Buffer.concat([file.subarray(0, at), Buffer.from([value]), file.subarray(at + 1)]),
        ),
      ]),
    );
    const refused = damaged.filter((bytes) => problemOf(bytes) !== "accepted").length;
    expect(refused).toBeGreaterThan(600);
  });
});
