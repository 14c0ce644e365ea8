/** Ports for the servers of a cluster under test. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";

/** One file for each port of a process that runs, with its pid: the servers of another cluster may not listen yet. */
const CLAIMS_DIR = path.join(tmpdir(), "headroom-test-ports");
const claimed = new Set<string>();

/** Free ports of the range, which no other call gets while this process runs. */
export async function freePortsIn(
  range: { readonly first: number; readonly size: number },
  count: number,
): Promise<number[]> {
  const found: number[] = [];
  for (let step = 0; step < range.size && found.length < count; step++) {
    const port = range.first + ((process.pid * 7 + step) % range.size);
    if (claim(port) && (await isFree(port))) found.push(port);
  }
  if (found.length < count) throw new Error(`fewer than ${count} free ports from ${range.first}`);
  return found;
}

function claim(port: number): boolean {
  const file = path.join(CLAIMS_DIR, String(port));
  if (claimed.has(file)) return false;
  mkdirSync(CLAIMS_DIR, { recursive: true });
  if (!isAlive(ownerOf(file))) rmSync(file, { force: true });
  try {
    writeFileSync(file, String(process.pid), { flag: "wx" });
  } catch {
    return false;
  }
  if (claimed.size === 0) process.once("exit", () => claimed.forEach((each) => rmSync(each, { force: true })));
  claimed.add(file);
  return true;
}

function ownerOf(file: string): number {
  try {
    return Number(readFileSync(file, "utf8"));
  } catch {
    return 0;
  }
}

function isAlive(pid: number): boolean {
  try {
    return pid > 0 && process.kill(pid, 0);
  } catch {
    return false;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen({ host: "127.0.0.1", port, exclusive: true }, () => server.close(() => resolve(true)));
  });
}
