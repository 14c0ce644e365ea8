import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { presets } from "@headroom/gateway";
import { readDocument } from "@headroom/spec";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { headroom } from "../testing/recorded-terminal.ts";
import { deployDocument } from "./deploy-document.ts";

describe("headroom deploy", () => {
  it("makes a document for each engine that the schema accepts", () => {
    for (const engine of ["vllm", "sglang", "llamacpp", "llama.cpp", "trtllm", "headroom"]) {
      const { text } = deployDocument(presets, "model:chat@3", {
        engine,
        replicas: "0-3",
        idleToZero: "10m",
        team: "a/b",
      });
      const reading = readDocument(parse(text));
      expect(reading.ok ? [] : reading.problems).toEqual([]);
      expect(text).not.toMatch(/\{\w+\}/);
      expect(reading).toMatchObject({
        document: { spec: { name: "chat", servedModel: "model:chat@3", replicas: { min: 0, max: 3 } } },
      });
    }
  });

  it("quotes a path for the shell, and names the endpoint after it", () => {
    const { name, text } = deployDocument(presets, "/models/my model's.gguf", { engine: "llamacpp", gpus: "0" });
    expect(name).toBe("my-model-s");
    const { run } = parse(text) as { readonly run: string };
    expect(run).toContain(String.raw`--model '/models/my model'\''s.gguf' --alias my-model-s`);
  });

  it("takes only names of endpoints, so that its file stays in this folder", () => {
    for (const name of ["../other", "/tmp/a", "", "a b", "-a"])
      expect(() => deployDocument(presets, "org/Chat", { name }), name).toThrow("--name takes");
    expect(parse(deployDocument(presets, "org/Chat", { name: "true" }).text)).toMatchObject({ name: "true" });
  });

  it("prints the document, and keeps a file that says something else", async () => {
    const folder = mkdtempSync(path.join(tmpdir(), "headroom-deploy-"));
    const at = { workingDirectory: folder };
    try {
      const printed = await headroom(["deploy", "org/Chat", "--concurrency", "8", "--dry-run"], at);
      expect(printed).toMatchObject({ code: 0, stderr: "" });
      expect(printed.stdout).toContain('run: "exec vllm serve org/Chat --served-model-name Chat');
      expect(printed.stdout).toContain("scale: { concurrency: 8 }");
      writeFileSync(path.join(folder, "Chat.yaml"), "kind: serve\n");
      const refused = await headroom(["deploy", "org/Chat", "--yes"], at);
      expect(refused.code).toBe(2);
      expect(refused.stderr).toContain("give --force to replace it");
      expect(readFileSync(path.join(folder, "Chat.yaml"), "utf8")).toBe("kind: serve\n");
      expect((await headroom(["deploy", "x", "--engine", "mine"], at)).stderr).toContain(
        "--engine must be one of vllm",
      );
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
