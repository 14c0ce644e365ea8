/**
 * A gateway killed at random moments under load: every response that a client received completely is billed exactly
 * once. `--count 100`
 */
import path from "node:path";
import { settleUsage, usageStart, type UsageCursor } from "../src/usage/reader.ts";
import {
  ask,
  bar,
  FastUpstream,
  numberArgument,
  open,
  report,
  requestBytes,
  startProcess,
  temporaryFolder,
} from "./harness.ts";

const count = numberArgument("count", 100);
const folder = temporaryFolder();
const upstream = new FastUpstream();
upstream.keepsSeen = false;
const url = await upstream.start();
const yaml = `access: open\npools: [{ name: p, engine: vllm, replicas: [${url}] }]\nmodels: [{ name: m, allowFields: [mock], pools: [p] }]\n`;
const usage = path.join(folder.path, "state", "kills", "usage");

const whole = new Map<string, number>();
const settled = new Map<string, number>();
let cursor: UsageCursor = usageStart;
let twiceCount = 0;
let brokenCount = 0;
let requestNumber = 0;

async function client(target: string): Promise<void> {
  const socket = await open(target).catch(() => undefined);
  while (socket !== undefined) {
    const id = requestNumber++;
    const answer = await ask(
      socket,
      requestBytes({ mode: id % 2 === 0 ? "whole" : "stream", tokens: 1 + (id % 7), everyMs: 3, id }),
    );
    if (answer === undefined) {
      brokenCount++;
      return;
    }
    whole.set(answer.requestId, answer.tokens);
  }
}

for (let kill = 0; kill < count; kill++) {
  const gateway = await startProcess(folder.path, yaml, "kills");
  const clients = Array.from({ length: 24 }, () => client(gateway.url));
  await new Promise((resolve) => setTimeout(resolve, 30 + Math.random() * 400));
  await gateway.kill();
  await Promise.all(clients);
  // The reader of usage files runs at any time; after a crash it continues from the cursor that it stored.
  const step = settleUsage(usage, cursor, { isOver: kill === count - 1 });
  cursor = JSON.parse(JSON.stringify(step.cursor)) as UsageCursor;
  for (const { id, completionTokens } of step.records) {
    if (settled.has(id)) twiceCount++;
    settled.set(id, completionTokens);
  }
}
const missing = [...whole].filter(([id, tokens]) => settled.get(id) !== tokens);
report(
  `${count} kills: ${whole.size} complete responses, ${brokenCount} connections broken, ${settled.size} settled; ${missing.length} complete ones billed wrongly, ${twiceCount} billed twice`,
);
upstream.close();
folder.remove();
bar(missing.length === 0, `${missing.length} complete responses were billed wrongly.`);
bar(twiceCount === 0, `${twiceCount} responses were billed twice.`);
bar(whole.size > 0, "no response was complete.");
