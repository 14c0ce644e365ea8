/** The end of the gateway, and the times in its messages and records. */
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { lockDirectory } from "@headroom/platform";
import { afterEach, describe, expect, it, vi } from "vitest";
import { chat, testGateway } from "../testing/test-gateway.ts";

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  vi.useRealTimers();
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

async function serverOf(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  cleanups.push(async () => {
    server.closeAllConnections();
    await new Promise<void>((resolve) => server.close(() => resolve()));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const poolOver = (url: string): string =>
  `access: open\npools: [{ name: p, engine: vllm, replicas: ["${url}"] }]\nmodels: [{ name: m, pools: [p] }]\n`;

describe("closing a gateway twice", () => {
  it("ends once, and frees the state folder when everything is written", async () => {
    const replica = await serverOf((_, response) => void response.end('{"usage":{"prompt_tokens":1}}'));
    let isAsked = false;
    const collector = await serverOf((_, response) => {
      isAsked = true;
      setTimeout(() => response.end("{}"), 200);
    });
    const gateway = await testGateway(
      `${poolOver(replica)}tracing: { endpoint: "${collector}/v1/traces", share: 1 }\n`,
    );
    cleanups.push(() => gateway.stop());
    expect((await chat(gateway.url, {})).status).toBe(200);
    const ends: string[] = [];
    const first = gateway.close().then(() => ends.push("first"));
    await expect.poll(() => isAsked).toBe(true);
    await Promise.all([first, gateway.close().then(() => ends.push("second"))]);
    expect(ends).toEqual(["first", "second"]);
    const again = lockDirectory(path.join(gateway.state, "gateway"), 0);
    expect(again.kind).toBe("locked");
    if (again.kind === "locked") again.lock.release();
  });
});

describe("metrics", () => {
  it("tell which replicas are ready also where the machine's clock was set", async () => {
    const replica = await serverOf((request, response) => {
      if (request.method === "POST") request.socket.destroy();
      else response.end("{}");
    });
    const gateway = await testGateway(poolOver(replica).replace("replicas:", "breaker: { openFor: 1h }, replicas:"));
    cleanups.push(() => gateway.stop());
    const isAvailable = async (): Promise<boolean> => {
      const { replicas } = (await (await gateway.admin("/replicas")).json()) as {
        replicas: readonly { readonly isAvailable: boolean }[];
      };
      return replicas[0]!.isAvailable;
    };
    await expect
      .poll(async () => {
        await (await chat(gateway.url, {})).text();
        return isAvailable();
      })
      .toBe(false);
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 86_400_000 });
    const metrics = await (await fetch(`${gateway.adminUrl!}/metrics`)).text();
    expect(/^inference_pool_ready_pods\{[^}]*\} (\d)$/m.exec(metrics)?.[1]).toBe("0");
  });
});
