/**
 * For tests: a network namespace that several processes enter, because documents fix the ports. Nothing outside is
 * reachable. `close` ends every process in it.
 */
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { readdirSync, readlinkSync } from "node:fs";
import { once } from "node:events";

const holder = ["--map-root-user", "--net", "sh", "-c", "ip link set lo up && echo up && exec sleep infinity"];

/** Whether this user may make namespaces and has the programs for it. */
export const canMakeNetworks: boolean =
  spawnSync("unshare", ["--map-root-user", "--net", "sh", "-c", "ip link set lo up"]).status === 0 &&
  spawnSync("nsenter", ["--version"]).status === 0;

export class Network {
  readonly #holder: ChildProcess;
  readonly #namespace: string;

  private constructor(process: ChildProcess, namespace: string) {
    this.#holder = process;
    this.#namespace = namespace;
  }

  static async make(): Promise<Network> {
    const process = spawn("unshare", holder, { stdio: ["ignore", "pipe", "inherit"] });
    await once(process.stdout, "data");
    return new Network(process, readlinkSync(`/proc/${process.pid}/ns/net`));
  }

  /** Put before a command to run it in the network. */
  get enter(): readonly string[] {
    return ["nsenter", "--user", "--preserve-credentials", "--net", "--target", String(this.#holder.pid), "--"];
  }

  async close(): Promise<void> {
    const ended = once(this.#holder, "close");
    for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name)))
      if (namespaceOf(pid) === this.#namespace) kill(Number(pid));
    await ended;
  }
}

function namespaceOf(pid: string): string | null {
  try {
    return readlinkSync(`/proc/${pid}/ns/net`);
  } catch {
    return null;
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended meanwhile.
  }
}
