/** `headroom lineage request:ID` with a real endpoint; the admin address of the gateway is played. */
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { startLive, type LiveControlPlane } from "../testing/live-control-plane.ts";

let live: LiveControlPlane;
let replica = "";
const admin = createServer((request, response) => {
  const id = decodeURIComponent(request.url?.split("/").at(-1) ?? "");
  // The request came long before its replica was ready, and waited for the start.
  const startedMs = 3_600_000;
  const usage = { id, atMs: Date.now() - startedMs, model: "chat" };
  const attempts = [
    { outcome: "failed", replica: "127.0.0.1:9", startedMs },
    { outcome: "completed", status: 200, replica, startedMs },
    { outcome: "completed", status: 429, replica: "127.0.0.1:9", startedMs },
  ];
  if (id === "none") response.writeHead(404).end(JSON.stringify({ error: "no request none" }));
  else response.end(JSON.stringify({ source: "memory", usage, ...(id === "old" ? {} : { attempts }) }));
});
beforeAll(async () => {
  live = await startLive();
  await new Promise<void>((resolve) => void admin.listen(0, "127.0.0.1", resolve));
});
afterAll(async () => {
  admin.close();
  // Work outlives its control plane.
  await said("stop", "chat", "late");
  const isIdle = async (): Promise<void> =>
    expect(JSON.parse(await said("list", "--phase", "running", "--json"))).toMatchObject({ items: [] });
  await vi.waitFor(isIdle, { timeout: 20_000, interval: 200 });
  await live.close();
}, 30_000);

async function said(...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await live.headroom(args, { env: { HEADROOM_GATEWAY_TOKEN: "token" } });
  return code === 0 ? stdout.trimEnd() : `${code} ${stderr.trimEnd()}`;
}

const lineage = (id: string, ...more: readonly string[]): Promise<string> =>
  said("lineage", `request:${id}`, "--admin", `http://127.0.0.1:${(admin.address() as AddressInfo).port}`, ...more);

it("leads from a request over the replica and the model to the bytes of the text", { timeout: 60_000 }, async () => {
  const file = (name: string): string => path.join(live.folder, name);
  for (const name of ["text.txt", "chat.bin"]) writeFileSync(file(name), name);
  await said("dataset", "register", "text", file("text.txt"));
  await said("model", "register", "chat", file("chat.bin"), "--input", "dataset:text", "--alias", "production");
  const server = `require("http").createServer((q, r) => r.end()).listen(process.env.PORT, "127.0.0.1")`;
  const gang = { accelerators: 1, cores: 0, memory: "64MiB" };
  const endpoint = { kind: "serve", name: "chat", run: `node -e '${server}'`, model: "model:chat@production", gang };
  writeFileSync(file("endpoint.json"), JSON.stringify({ ...endpoint, replicas: { min: 1, max: 1 } }));
  expect(await said("apply", "-f", "endpoint.json", "--yes")).not.toMatch(/^\d /);
  const address = async (): Promise<string> => {
    const items = JSON.parse(await said("endpoint", "list", "--json")) as readonly {
      readonly list: readonly { readonly address: string | null }[];
    }[];
    return (replica = items[0]?.list[0]?.address ?? "");
  };
  await expect.poll(address, { timeout: 30_000, interval: 200 }).toMatch(/:\d+$/);
  expect(await lineage("r1")).toMatch(
    /-1 +artifact +dataset:text@1[^\n]*text\.txt\n +0 +artifact +model:chat@1[^\n]*chat\.bin\n +1 +replica +default\/chat +w1\.0\.1, revision 1[^\n]*\n +2 +request +chat +r1/,
  );
  expect(JSON.parse(await lineage("r1", "--json"))).toMatchObject({
    request: "r1",
    replica: { endpoint: "default/chat", versions: ["model:default/chat@1"] },
    lineages: [{ nodes: [{ title: "dataset:text@1" }, { title: "model:chat@1" }] }],
  });
  expect(await lineage("old")).toMatch(/^1 .*does not remember which replica answered old/);
  expect(await lineage("none")).toMatch(/^1 .*no request none/);
  replica = "127.0.0.1:9";
  expect(await lineage("r2")).toMatch(/^1 .*had a replica at 127\.0\.0\.1:9/);
  expect(await said("lineage", "dataset:text", "--down")).toMatch(/workload +chat +w1/);
});

it("knows the model of an endpoint that was submitted before the model existed", { timeout: 60_000 }, async () => {
  writeFileSync(path.join(live.folder, "late.bin"), "late");
  const report = JSON.stringify({ kind: "artifact", name: "model:late", path: path.join(live.folder, "late.bin") });
  const server = `require("http").createServer((q, r) => r.end()).listen(process.env.PORT, "127.0.0.1")`;
  const gang = { accelerators: 0, cores: 0, memory: "64MiB" };
  const run = `sleep 1; echo '${report}' >> "$HEADROOM_PROGRESS_FILE"`;
  const maker = { kind: "train", name: "maker", run, produces: ["model:late"], gang };
  const endpoint = { kind: "serve", name: "late", run: `node -e '${server}'`, model: "model:late", gang };
  const waiting = { ...endpoint, after: [{ artifact: "model:late" }], replicas: { min: 1, max: 1 } };
  const documents = [maker, waiting].map((each) => JSON.stringify(each));
  writeFileSync(path.join(live.folder, "late.yaml"), documents.join("\n---\n"));
  expect(await said("apply", "-f", "late.yaml", "--yes")).not.toMatch(/^\d /);
  const address = async (): Promise<string> => {
    const items = JSON.parse(await said("endpoint", "list", "--json")) as readonly {
      readonly name: string;
      readonly list: readonly { readonly address: string | null }[];
    }[];
    return (replica = items.find(({ name }) => name === "late")?.list[0]?.address ?? "");
  };
  await expect.poll(address, { timeout: 30_000, interval: 200 }).toMatch(/:\d+$/);
  expect(JSON.parse(await lineage("r3", "--json"))).toMatchObject({
    replica: { endpoint: "default/late", versions: ["model:default/late@1"] },
  });
});
