/** Compares both engines with the trainer's forward pass, and tests unusable files. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ggufBytes } from "../quickstart/gguf.mjs";
import { Model, draw } from "../quickstart/model.mjs";
import { VOCABULARY } from "../quickstart/tokens.mjs";
import { createBuiltinEngine } from "./builtin-engine.mjs";
import { readGguf } from "./gguf-file.mjs";
import { createLlamaEngine } from "./llama-engine.mjs";

const recipe = { context: 128, hidden: 64, layers: 2, seed: 5 };
const TOLERANCE = 1e-4;
const hasLlama = existsSync(join(import.meta.dirname, "node_modules", "node-llama-cpp"));
let folder: string;
let file: string;
let expected: Float32Array;
const text = Array.from({ length: recipe.context }, (_, i) => Math.floor(draw(1, i, 0) * 256));
const row = (i: number) => expected.subarray(i * VOCABULARY, (i + 1) * VOCABULARY);
const distance = (a: Float32Array, b: Float32Array) => Math.max(...a.map((value, i) => Math.abs(value - b[i]!)));

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "headroom-serving-"));
  file = join(folder, "model.gguf");
  const model = new Model({ ...recipe, sequences: 1 });
  // Weights larger than a new model's, so that scores spread as far as those of a trained one.
  for (let i = 0; i < model.size; i++) model.weights[i]! *= 1 + draw(6, i, 0);
  expected = model.forward(text).slice();
  expect(Math.max(...expected)).toBeGreaterThan(3);
  writeFileSync(file, ggufBytes("test", recipe, model.weights));
});
afterAll(() => rmSync(folder, { recursive: true }));

const engines = [
  { name: "builtin", create: createBuiltinEngine, isHere: true },
  { name: "llama.cpp", create: createLlamaEngine, isHere: hasLlama },
];
if (!hasLlama) console.warn("SKIPPED: llama.cpp is not installed; run node examples/serving/install-llama.mjs");

describe.each(engines)("the engine $name", ({ create, isHere }) => {
  it.skipIf(!isHere)(`has the trainer's scores to ${TOLERANCE}, token by token and for a prompt at once`, async () => {
    const engine = await create(file, 2);
    for (const [i, token] of text.entries())
      expect(distance(await engine.evaluate(0, [token]), row(i))).toBeLessThan(TOLERANCE);
    expect(distance(await engine.evaluate(1, text), row(text.length - 1))).toBeLessThan(TOLERANCE);
  });

  it.skipIf(!isHere)("has the same scores for sequences that are computed together", async () => {
    const engine = await create(file, 4);
    const parts = [0, 1, 2, 3].map((slot) => engine.evaluate(slot, text.slice(0, 20 + 30 * slot)));
    for (const [slot, scores] of (await Promise.all(parts)).entries())
      expect(distance(scores, row(19 + 30 * slot))).toBeLessThan(TOLERANCE);
  });

  it.skipIf(!isHere)("continues from a prefix that it kept", async () => {
    const engine = await create(file, 1);
    await engine.evaluate(0, [...text.slice(0, 50), 1, 2, 3]);
    await engine.truncate(0, 50);
    expect(distance(await engine.evaluate(0, text.slice(50, 80)), row(79))).toBeLessThan(TOLERANCE);
  });

  it.skipIf(!isHere)("gives texts vectors, similar ones for similar texts", async () => {
    const engine = await create(file, 1);
    const vectorOf = async (length: number) => {
      await engine.truncate(0, 0);
      const vector = await engine.embed(0, text.slice(0, length));
      return vector.map((value) => value / Math.hypot(...vector));
    };
    const [a, b] = [await vectorOf(60), await vectorOf(60)];
    expect(a).toHaveLength(recipe.hidden);
    expect(a.reduce((sum, value, i) => sum + value * b[i]!, 0)).toBeCloseTo(1, 3);
  });
});

describe("reading a file", () => {
  const damaged = (name: string, change: (bytes: Buffer) => Buffer) => {
    const path = join(folder, name);
    writeFileSync(path, change(readFileSync(file)));
    return () => readGguf(path);
  };
  /** Renames a key in place, so that a required key is missing. */
  const without = (key: string) => (bytes: Buffer) => {
    bytes.write("x", bytes.indexOf(key));
    return bytes;
  };

  it("finds the sizes and every tensor", () => {
    const { shape, tensors } = readGguf(file);
    expect(shape).toMatchObject({
      architecture: "llama",
      layers: 2,
      hidden: 64,
      heads: 4,
      keyHeads: 2,
      vocabulary: 264,
    });
    expect(tensors.size).toBe(2 + 9 * 2);
  });

  it.each([
    "general.architecture",
    "llama.block_count",
    "llama.context_length",
    "llama.embedding_length",
    "llama.feed_forward_length",
    "llama.attention.head_count",
    "llama.attention.layer_norm_rms_epsilon",
    "tokenizer.ggml.model",
    "tokenizer.ggml.tokens",
    "tokenizer.ggml.merges",
    "tokenizer.ggml.eos_token_id",
    "blk.1.ffn_down.weight",
    "output_norm.weight",
  ])("names the missing key %s", (key) => {
    const path = join(folder, "missing.gguf");
    const bytes = readFileSync(file);
    bytes.write("X", bytes.indexOf(`${key}`) + key.length - 1);
    writeFileSync(path, bytes);
    expect(() => readGguf(path)).toThrow(key);
  });

  it("refuses a file that is cut off, of another version, of another kind, or with an odd head", () => {
    expect(damaged("cut.gguf", (bytes) => bytes.subarray(0, bytes.length - 100))).toThrow("cut off");
    expect(damaged("header.gguf", (bytes) => bytes.subarray(0, 500))).toThrow("cut off");
    expect(damaged("version.gguf", (bytes) => (bytes.writeUInt32LE(2, 4), bytes))).toThrow("version 2");
    expect(damaged("kind.gguf", without("GGUF"))).toThrow("does not begin with GGUF");
    const heads = (bytes: Buffer) => {
      const key = "llama.attention.head_count";
      bytes.writeUInt32LE(64, bytes.indexOf(key) + key.length + 4);
      return bytes;
    };
    expect(damaged("head.gguf", heads)).toThrow("no pairs to rotate");
  });

  it("never throws anything but a reason, whatever byte is wrong", () => {
    const bytes = readFileSync(file);
    const headerSize = 12_000;
    for (let i = 0; i < 100; i++) {
      const changed = Buffer.from(bytes.subarray(0, bytes.length));
      changed[Math.floor(draw(8, i, 0) * headerSize)] = Math.floor(draw(8, i, 1) * 256);
      writeFileSync(join(folder, "changed.gguf"), changed);
      try {
        readGguf(join(folder, "changed.gguf"));
      } catch (error) {
        expect(String(error)).toContain("is not a usable GGUF file");
      }
    }
  });
});
