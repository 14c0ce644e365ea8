import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { headroom, type Said } from "../testing/recorded-terminal.ts";

const folder = mkdtempSync(path.join(tmpdir(), "headroom-model-inspect-"));
afterAll(() => rmSync(folder, { recursive: true }));

const inspect = (...args: readonly string[]): Promise<Said> =>
  headroom(["model", "inspect", ...args], { workingDirectory: folder });

function write(name: string, header: object, dataBytes: number): void {
  const json = Buffer.from(JSON.stringify(header));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(json.length));
  writeFileSync(path.join(folder, name), Buffer.concat([length, json, Buffer.alloc(dataBytes)]));
}

describe("headroom model inspect", () => {
  it("prints parameters, precision and, from config.json, context length", async () => {
    write("model.safetensors", { w: { dtype: "BF16", shape: [2, 3], data_offsets: [0, 12] } }, 12);
    writeFileSync(
      path.join(folder, "config.json"),
      JSON.stringify({ architectures: ["LlamaForCausalLM"], max_position_embeddings: 8_192 }),
    );
    const { code, stdout } = await inspect("model.safetensors", "--json");
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      format: "safetensors",
      architecture: "LlamaForCausalLM",
      context_length: 8_192,
      parameters: 6,
      data_bytes: 12,
      precision: [{ type: "BF16", tensors: 1, parameters: 6, bytes: 12 }],
      tensors: [{ name: "w", type: "BF16", shape: [2, 3], parameters: 6, bytes: 12 }],
    });
    expect((await inspect("model.safetensors")).stdout).toMatch(/parameters +6\n[\s\S]*BF16 +1 +6 +12/);
  });

  it("refuses damaged files and things that are no files", async () => {
    write("bad.safetensors", { w: { dtype: "BF16", shape: [2, 3], data_offsets: [0, 12] } }, 11);
    mkdirSync(path.join(folder, "directory"));
    const bad = await inspect("bad.safetensors", "--json");
    expect([bad.code, bad.stdout, bad.stderr]).toEqual([
      1,
      "",
      expect.stringContaining("bad.safetensors: the tensors need 12 bytes"),
    ]);
    expect(await inspect("none")).toMatchObject({ code: 2, stderr: expect.stringContaining("there is no such file") });
    expect(await inspect("directory")).toMatchObject({ code: 2, stderr: expect.stringContaining("regular file") });
  });
});
