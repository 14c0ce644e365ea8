import { describe, expect, it } from "vitest";
import { packModel, readModelPack } from "./model-pack.ts";
import { ociUri, parseOciReference } from "./oci-reference.ts";

const digest = `sha256:${"a".repeat(64)}`;
const manifestOf = (value: unknown) => ({ digest, mediaType: "", bytes: Buffer.from(JSON.stringify(value)) });
const layer = (name: unknown, change: object = {}) => ({
  mediaType: "application/vnd.cncf.model.weight.v1.raw",
  digest,
  size: 3,
  annotations: { "org.cncf.model.filepath": name },
  ...change,
});
const read = (...layers: readonly unknown[]) => readModelPack(manifestOf({ schemaVersion: 2, layers }), "oci://r/x:1");

describe("ModelPack manifests", () => {
  it("come back as they were packed, with the media types of the specification", () => {
    const files = ["README.md", "config.json", "model.safetensors", "run.py"].map((name) => ({
      name,
      digest,
      bytes: 3,
    }));
    const model = { files, isOneFile: false, contentDigest: digest, version: "model:default/chat@3" };
    const description = { name: "chat", version: "3", parameters: { architecture: "llama", parameters: "8030261248" } };
    const { config, manifest } = packModel(model, description);
    expect(readModelPack(manifest, "oci://r/chat:3")).toEqual(model);
    const written = JSON.parse(manifest.bytes.toString()) as { layers: { mediaType: string }[]; artifactType: string };
    expect(written.artifactType).toBe("application/vnd.cncf.model.manifest.v1+json");
    expect(written.layers.map(({ mediaType }) => mediaType.slice("application/vnd.cncf.model.".length))).toEqual([
      "doc.v1.raw",
      "weight.config.v1.raw",
      "weight.v1.raw",
      "code.v1.raw",
    ]);
    expect(JSON.parse(config.toString())).toMatchObject({
      descriptor: { name: "chat", version: "3" },
      modelfs: { type: "layers", diffIds: files.map(() => digest) },
      config: { architecture: "llama", paramSize: "8030261248" },
    });
    expect(packModel(model, description).manifest.digest).toBe(manifest.digest);
  });

  it("of other tools are read by the titles of their layers", () => {
    const annotations = { "org.opencontainers.image.title": "weights.gguf" };
    expect(read(layer(undefined, { annotations }))).toMatchObject({
      files: [{ name: "weights.gguf" }],
      isOneFile: false,
      contentDigest: null,
    });
  });

  it.each([
    ["no layers", []],
    ["a path out of the model", [layer("../../etc/passwd")]],
    ["an absolute path", [layer("/etc/passwd")]],
    ["a path with dots within", [layer("a/../../b")]],
    ["no path", [layer(undefined)]],
    ["a size below zero", [layer("a", { size: -1 })]],
    ["a size beyond the safe integers", [layer("a", { size: 2 ** 60 })]],
    ["a short digest", [layer("a", { digest: "sha256:abc" })]],
    ["another digest", [layer("a", { digest: `md5:${"a".repeat(32)}` })]],
    ["an archive", [layer("a", { mediaType: "application/vnd.cncf.model.weight.v1.tar+gzip" })]],
    ["no object", ["text", null]],
    ["too many layers", Array.from({ length: 10_001 }, () => layer("a"))],
  ])("with %s are refused", (_, layers) => {
    expect(() => read(...layers)).toThrow("oci://r/x:1 ");
  });

  it("that are no JSON are refused", () => {
    const bytes = Buffer.from("<html>");
    expect(() => readModelPack({ digest, mediaType: "", bytes }, "oci://r/x:1")).toThrow("is no JSON");
  });
});

describe("names in registries", () => {
  it.each([
    ["localhost:5000/chat:3", "oci://localhost:5000/chat:3"],
    ["oci://registry.example/team/chat", "oci://registry.example/team/chat:latest"],
    [`registry.example/team/chat:3@${digest}`, `oci://registry.example/team/chat@${digest}`],
    ["[::1]:5000/a/b_c.d-e:v1", "oci://[::1]:5000/a/b_c.d-e:v1"],
  ])("%s are read", (text, uri) => {
    const reference = parseOciReference(text);
    expect(reference === null ? null : ociUri(reference)).toBe(uri);
  });

  it.each(["chat:3", "r/UPPER:1", "r/a/../b:1", "r/a:", "r/a@sha256:12", "user@r/a:1", "r/a b:1", "r/a:1@", ""])(
    "%j are refused",
    (text) => {
      expect(parseOciReference(text)).toBeNull();
    },
  );
});
