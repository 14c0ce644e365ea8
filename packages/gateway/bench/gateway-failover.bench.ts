/**
 * Tests that a pool wakes from zero replicas with many held requests, and that replicas and one of two gateways can be
 * killed under load. `--held 1000`
 */
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import path from "node:path";
import {
  ask,
  FastUpstream,
  freePort,
  numberArgument,
  open,
  report,
  requestBytes,
  startProcess,
  temporaryFolder,
  type ClientAnswer,
  type GatewayProcess,
} from "./harness.ts";

const heldCount = numberArgument("held", 1000);
const folder = temporaryFolder();
const model = "models: [{ name: m, allowFields: [mock], pools: [p] }]\n";
const mock = (id: number) => ({ mode: "whole", tokens: 3, everyMs: 0, id }) as const;
let isGood = true;

async function one(gateway: GatewayProcess, id: number): Promise<ClientAnswer | undefined> {
  const socket = await open(gateway.url);
  const answer = await ask(socket, requestBytes(mock(id)));
  socket.destroy();
  return answer;
}

async function wake(): Promise<void> {
  const upstream = new FastUpstream();
  const url = await upstream.start();
  const runs = path.join(folder.path, "runs");
  const command = ["sh", "-c", `echo x >> ${runs}; sleep 2; echo ${url}`];
  const yaml = `access: open\npools: [{ name: p, engine: vllm, probe: { interval: 200ms }, wake: { command: ${JSON.stringify(command)} } }]\n${model}`;
  const gateway = await startProcess(folder.path, yaml, "wake");
  const startedAtMs = performance.now();
  const answers = await Promise.all(Array.from({ length: heldCount }, (_, id) => one(gateway, id)));
  const goodCount = answers.filter((answer) => answer?.status === 200).length;
  report(
    `from zero: ${goodCount} of ${heldCount} held requests answered 200 after ${((performance.now() - startedAtMs) / 1000).toFixed(1)} s (the replica takes 2 s)`,
  );
  if (goodCount !== heldCount) isGood = false;
  await gateway.kill();
  upstream.close();
}

/** A replica in a process of its own, so that it can be killed. */
async function replicaProcess(): Promise<{ readonly url: string; kill(): void }> {
  const port = await freePort();
  const file = path.join(folder.path, `replica-${port}.mjs`);
  const answer = '{"choices":[{"message":{"content":"ok"}}],"usage":{"prompt_tokens":1,"completion_tokens":3}}';
  writeFileSync(
    file,
    `import { createServer } from "node:http";
createServer((request, response) => { request.resume(); request.on("end", () => setTimeout(() => response.end(request.method === "GET" ? "" : ${JSON.stringify(answer)}), 5)); }).listen(${port}, "127.0.0.1", () => console.log("up"));`,
  );
  const child = spawn(process.execPath, [file], { stdio: ["ignore", "pipe", "inherit"] });
  await new Promise((resolve) => child.stdout.once("data", resolve));
  return { url: `http://127.0.0.1:${port}`, kill: () => child.kill("SIGKILL") };
}

async function killedReplicas(): Promise<void> {
  const replicas = await Promise.all([0, 1, 2, 3].map(replicaProcess));
  const gateway = await startProcess(
    folder.path,
    `access: open\npools: [{ name: p, engine: vllm, probe: { interval: 500ms }, replicas: [${replicas.map(({ url }) => url).join(", ")}] }]\n${model}`,
    "replicas",
  );
  let isOver = false;
  let goodCount = 0;
  let badCount = 0;
  const client = async (): Promise<void> => {
    const socket = await open(gateway.url);
    for (let id = 0; !isOver; id++) {
      const answer = await ask(socket, requestBytes(mock(id)));
      if (answer?.status === 200) goodCount++;
      else badCount++;
    }
    socket.destroy();
  };
  const load = Promise.all(Array.from({ length: 64 }, client));
  for (const replica of replicas.slice(1)) {
    await new Promise((resolve) => setTimeout(resolve, 1000));
    replica.kill();
  }
  await new Promise((resolve) => setTimeout(resolve, 1000));
  isOver = true;
  await load;
  report(`three of four replicas killed under load: ${goodCount} answered, ${badCount} failed`);
  if (badCount > 0 || goodCount === 0) isGood = false;
  await gateway.kill();
  replicas[0]!.kill();
}

async function killedGateway(): Promise<void> {
  const upstream = new FastUpstream();
  upstream.keepsSeen = false;
  const url = await upstream.start();
  const port = await freePort();
  const yaml = `reusePort: true\naccess: open\npools: [{ name: p, engine: vllm, replicas: [${url}] }]\n${model}`;
  const listen = ["--listen", `127.0.0.1:${port}`];
  const [first, second] = await Promise.all(["one", "two"].map((id) => startProcess(folder.path, yaml, id, listen)));
  let isOver = false;
  let goodCount = 0;
  let retriedCount = 0;
  let failedCount = 0;
  const client = async (): Promise<void> => {
    let socket = await open(second!.url);
    for (let id = 0; !isOver; id++) {
      let answer = await ask(socket, requestBytes(mock(id)));
      // Clients retry as SDKs do: up to two more times, each time on a new connection.
      for (let retry = 0; answer === undefined && retry < 2; retry++) {
        retriedCount++;
        await new Promise((resolve) => setTimeout(resolve, 50));
        socket = await open(second!.url).catch(() => socket);
        answer = await ask(socket, requestBytes(mock(id)));
      }
      if (answer?.status === 200) goodCount++;
      else failedCount++;
    }
    socket.destroy();
  };
  const load = Promise.all(Array.from({ length: 64 }, client));
  await new Promise((resolve) => setTimeout(resolve, 1500));
  await first!.kill();
  await new Promise((resolve) => setTimeout(resolve, 1500));
  isOver = true;
  await load;
  report(
    `one of two gateways killed under load: ${goodCount} answered, ${retriedCount} retries of at most 64 connections, ${failedCount} failed after them`,
  );
  if (failedCount > 0) isGood = false;
  await second!.kill();
  upstream.close();
}

await wake();
await killedReplicas();
await killedGateway();
folder.remove();
process.exit(isGood ? 0 : 1);
