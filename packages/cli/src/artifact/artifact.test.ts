/** `headroom artifact` against a running control plane. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startLive, type LiveControlPlane } from "../testing/live-control-plane.ts";

const folder = mkdtempSync(path.join(tmpdir(), "headroom-artifact-cli-"));
let live: LiveControlPlane;
beforeAll(async () => {
  live = await startLive();
  writeFileSync(path.join(folder, "text.txt"), "corpus");
  const header = Buffer.from(JSON.stringify({ w: { dtype: "BF16", shape: [2, 3], data_offsets: [0, 12] } }));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(header.length));
  writeFileSync(path.join(folder, "chat.safetensors"), Buffer.concat([length, header, Buffer.alloc(12)]));
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await live.close();
});

const run = async (...args: readonly string[]): Promise<string> => {
  const { code, stdout, stderr } = await live.headroom(args);
  return code === 0 ? stdout.trimEnd() : `${code} ${stderr.trimEnd()}`;
};
const file = (name: string): string => path.join(folder, name);

describe("headroom artifact", () => {
  it("registers, lists, compares and walks versions", async () => {
    expect(await run("dataset", "register", "text", file("text.txt"))).toBe("dataset:text@1 is registered");
    const model = ["model", "register", "chat", file("chat.safetensors"), "--input", "dataset:text"];
    expect(await run(...model, "--metric", "loss=1.8")).toBe("model:chat@1 is registered");
    expect(await run(...model, "--metric", "loss=1.6", "--alias", "candidate")).toBe("model:chat@2 is registered");
    expect(await run("artifact", "list")).toMatch(/model:chat +default +@2 +2 +\S+ B +\S+ +candidate@2/);
    expect(await run("model", "list", "chat", "--csv")).toMatch(/\nmodel:chat@2,default,\d+,sha256:[0-9a-f]{64},/);
    expect(await run("model", "show", "chat@candidate")).toMatch(
      /made from +dataset:default\/text@1[\s\S]*precision=BF16[\s\S]*verified +\S*chat\.safetensors/,
    );
    expect(await run("model", "compare", "chat@1", "chat@2")).toMatch(/metric loss +1\.8 +1\.6/);
    expect(await run("lineage", "model:chat@1")).toMatch(
      /-1 +artifact +dataset:text@1[^\n]*text\.txt\n[\s\S]*0 +artifact +model:chat@1/,
    );
    expect(JSON.parse(await run("lineage", "dataset:text", "--down", "--json"))).toMatchObject({
      root: "dataset:default/text@1",
      nodes: [{ depth: 0 }, { depth: 1, places: [file("chat.safetensors")] }, { depth: 1 }],
    });
  });

  it("moves aliases, tags, holds, deletes, restores and retains", async () => {
    expect(await run("model", "alias", "chat", "production", "--reason", "better")).toBe(
      "model:chat@production points to model:chat@2",
    );
    expect(await run("artifact", "tag", "model:chat@2", "stage=live")).toBe("model:chat@2 is tagged");
    expect(await run("model", "delete", "chat@2")).toMatch(/^1 .*alias candidate, alias production depend on it/);
    expect(await run("model", "hold", "chat@1")).toBe("model:chat@1 is on legal hold");
    expect(await run("model", "delete", "chat@1")).toMatch(/^1 .*legal hold/);
    expect(await run("model", "hold", "chat@1", "--release")).toBe("model:chat@1 is released from legal hold");
    expect(await run("model", "delete", "chat@1")).toBe("model:chat@1 is deleted");
    expect(await run("model", "restore", "chat@1")).toBe("model:chat@1 is restored");
    expect(await run("model", "retain", "chat", "5")).toBe("model:chat keeps 5 versions");
    expect(await run("model", "alias", "chat", "candidate", "--remove")).toBe("model:chat@candidate is removed");
  });

  it("moves an alias with a gate by a proposal that another user approves", async () => {
    const register = ["model", "register", "gated", file("chat.safetensors"), "--metric"];
    await run(...register, "loss=1.8", "--alias", "production");
    await run(...register, "loss=1.6");
    await run(...register, "loss=1.9");
    const gate = ["model", "gate", "gated", "production"];
    expect(await run(...gate)).toMatch(/^2 .*state the gate/);
    expect(await run(...gate, "--metric", "loss~2")).toMatch(/^2 .*must be like/);
    expect(await run(...gate, "--metric", "loss<current", "--approval")).toMatch(
      /has a gate: loss below that of the version .*, approval by another user/,
    );
    expect(await run("model", "show", "gated")).toMatch(/GATED[\s\S]*production +loss below/);
    const move = (version: string, ...more: readonly string[]): Promise<string> =>
      run("model", "alias", version, "production", ...more);
    expect(await move("gated@2")).toMatch(
      /^1 .*headroom proposal create alias model:default\/gated@production --number 2/,
    );
    expect(await move("gated@3", "--propose", "--reason", "x")).toMatch(/^1 .*loss must be below 1.8, and is 1.9/);
    expect(await move("gated@2", "--propose")).toMatch(/^2 .*--reason/);
    const proposed = await move("gated@2", "--propose", "--reason", "better");
    const id = /proposal (p\d+)/.exec(proposed)?.[1] ?? "";
    expect(await run("proposal", "approve", id)).toMatch(/^1 .*another user must approve/);
    expect(await run("--user", "lead", "proposal", "approve", id)).toMatch(/approved +lead/);
    expect(await run("model", "show", "gated@production")).toMatch(/version +model:gated@2[\s\S]*@2 +lead +proposal p/);
    const created = ["proposal", "create", "alias", "model:default/gated@production"];
    expect(await run(...created, "--reason", "x")).toMatch(/^2 .*--number 7, or --remove/);
    expect(await run(...created, "--remove", "--reason", "retired")).toMatch(/Remove the alias/);
    expect(await run(...gate, "--remove")).toMatch(/has no gate/);
    expect(await move("gated@3")).toMatch(/points to model:gated@3/);
  });

  it("pushes no bytes of a data rule to a registry that does not admit it", async () => {
    expect(await run("dataset", "register", "scans", file("text.txt"), "--rule", "medical")).toBe(
      "dataset:scans@1 is registered",
    );
    const push = ["dataset", "push", "127.0.0.1:9/scans:1", "scans@1"];
    expect(await run(...push)).toMatch(/^1 .*has the data rule medical, and the registry is no declared store/);
    const declared = ["store", "add", "oci", "reg", "--setting", "registry=127.0.0.1:9"];
    expect(await run(...declared)).toContain("reg");
    expect(await run(...push)).toMatch(/^1 .*is the store reg, which does not admit it/);
  });

  it("says what is wrong with names and options", async () => {
    expect(await run("artifact", "show", "chat")).toMatch(/^2 .*names no kind\. Write model:chat/);
    expect(await run("model", "show", "dataset:text")).toMatch(/^2 .*is no model/);
    expect(await run("model", "register", "chat@3", file("text.txt"))).toMatch(/^2 .*without a version/);
    expect(await run("model", "register", "chat")).toMatch(/^2 .*--uri/);
    expect(await run("model", "register", "chat", file("none"))).toMatch(/^2 .*does not exist/);
    expect(await run("model", "show", "none")).toMatch(/^1 .*There is no artifact model:none/);
    expect(await run("model", "register", "chat", file("text.txt"), "--metric", "loss=low")).toMatch(/^2 .*number/);
  });
});
