/** One life of a control plane with a store, as a process of its own that a test kills. */
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import path from "node:path";
import { createHttpClient } from "@headroom/protocol";
import type { HeadroomClient } from "@headroom/protocol";

export interface StoreLife {
  readonly process: ChildProcess;
  readonly client: HeadroomClient;
}

export async function startLife(home: string): Promise<StoreLife> {
  const script = path.join(import.meta.dirname, "store-control-plane.ts");
  const env = { ...process.env, HEADROOM_ISOLATION: "none" };
  const child = spawn(process.execPath, [script, home], { env, stdio: ["ignore", "pipe", "inherit"] });
  const line = await new Promise<string>((resolve, reject) => {
    child.stdout.once("data", (data: Buffer) => resolve(data.toString()));
    child.once("exit", (code) => reject(new Error(`the control plane ended with ${code}`)));
  });
  const { url, token } = JSON.parse(line) as { readonly url: string; readonly token: string };
  const client = createHttpClient({
    baseUrl: url,
    token,
    fetch: (target, request) => fetch(target, request as RequestInit),
    newIdempotencyKey: () => crypto.randomUUID(),
  });
  return { process: child, client };
}

export async function endLife(life: StoreLife | null): Promise<void> {
  if (life === null || life.process.exitCode !== null || life.process.signalCode !== null) return;
  const exit = new Promise((resolve) => life.process.once("exit", resolve));
  life.process.kill("SIGKILL");
  await exit;
}
