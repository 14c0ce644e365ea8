/**
 * A network namespace for each team (network_namespaces(7)): sandboxed workers of one team reach each other over the loopback interface,
 * and nothing else. Ports and abstract sockets of other teams, of the control plane and of the machine are out of their reach. A file
 * keeps the namespace (unshare(1), `--net=FILE`), so it outlives the control plane as attempts do.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, statfsSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { LaunchGang } from "@headroom/model";
import { OperationalError, runCommand } from "@headroom/platform";
import { RefusedGang } from "../../job-protocol/refused-gang.ts";
import { findProgram } from "./bubblewrap.ts";
import type { NetworkRecord } from "./isolation-record.ts";

export const workerNetworks = ["machine", "team"] as const;
export type WorkerNetwork = (typeof workerNetworks)[number];

/** Emptied when the machine starts, as namespaces are. */
const RUN_DIR = "/run/headroom";
/** `NSFS_MAGIC` of linux/magic.h: the file keeps a namespace. */
const NSFS_MAGIC = 0x6e736673;
const TOOL_TIMEOUT_MS = 10_000;
const PROGRAMS = "/usr/sbin:/usr/bin:/sbin:/bin";
const NAME_CHARS = 16;

export class TeamNetworks {
  readonly #directory: string;
  readonly #tools: Readonly<Record<"unshare" | "nsenter" | "ip", string>>;
  /** Namespaces whose interface this process has brought up. */
  readonly #made = new Set<string>();
  readonly #making = new Map<string, Promise<void>>();

  /** Throws an `OperationalError` where namespaces cannot be made. `homeDir`: each state directory has namespaces of its own. */
  constructor(homeDir: string) {
    if (process.getuid?.() !== 0) throw cannot("only root can make them. Start as root");
    this.#tools = { unshare: toolAt("unshare"), nsenter: toolAt("nsenter"), ip: toolAt("ip") };
    this.#directory = path.join(RUN_DIR, `networks-${nameOf(homeDir)}`);
    mkdirSync(this.#directory, { recursive: true, mode: 0o700 });
    this.#probe();
  }

  /** A container of root may lack the right to make namespaces or to mount their files. */
  #probe(): void {
    const file = path.join(this.#directory, "probe");
    const { unshare, nsenter, ip } = this.#tools;
    const shared = { timeout: TOOL_TIMEOUT_MS, env: { PATH: PROGRAMS }, encoding: "utf8" } as const;
    if (!isNamespace(file)) writeFileSync(file, "", { mode: 0o600 });
    const made = isNamespace(file) ? null : spawnSync(unshare, [`--net=${file}`, "--", ip, "link", "show"], shared);
    const entered = spawnSync(nsenter, [`--net=${file}`, "--", ip, "link", "set", "lo", "up"], shared);
    const failed = [made, entered].find((each) => each !== null && each.status !== 0);
    if (failed != null) throw cannot(`a trial failed (${failed.stderr.trim() || "no answer"})`);
  }

  /** The namespace of the team, which is made if there is none. Throws a `RefusedGang` for work that nobody could reach in it. */
  async of({ spec }: LaunchGang): Promise<NetworkRecord> {
    if (spec.kind === "serve")
      throw new RefusedGang(
        "workers have the network of their team here (network: team), so no gateway could reach a replica",
      );
    const file = path.join(this.#directory, nameOf(spec.team));
    const making = this.#making.get(file) ?? this.#make(file).finally(() => this.#making.delete(file));
    this.#making.set(file, making);
    try {
      await making;
    } catch (error) {
      throw new RefusedGang(error instanceof Error ? error.message : String(error));
    }
    return { program: this.#tools.nsenter, file };
  }

  /** The interface is brought up also where the namespace is there: a process that died may have made it alone. */
  async #make(file: string): Promise<void> {
    if (this.#made.has(file) && isNamespace(file)) return;
    const { unshare, nsenter, ip } = this.#tools;
    if (!isNamespace(file)) {
      writeFileSync(file, "", { mode: 0o600 });
      await this.#run(unshare, [`--net=${file}`, "--", ip, "link", "show"]);
    }
    await this.#run(nsenter, [`--net=${file}`, "--", ip, "link", "set", "lo", "up"]);
    this.#made.add(file);
  }

  async #run(program: string, args: readonly string[]): Promise<void> {
    const { code, stderr } = await runCommand(program, args, { timeoutMs: TOOL_TIMEOUT_MS, env: { PATH: PROGRAMS } });
    if (code !== 0) throw new Error(`no network of its own could be made for the team: ${stderr.trim()}`);
  }
}

function isNamespace(file: string): boolean {
  try {
    return statfsSync(file).type === NSFS_MAGIC;
  } catch {
    return false;
  }
}

const nameOf = (text: string): string => createHash("sha256").update(text).digest("hex").slice(0, NAME_CHARS);

function toolAt(name: string): string {
  const found = findProgram(name, PROGRAMS);
  if (found === null) throw cannot(`${name} is not installed. Install util-linux and iproute2`);
  return found;
}

const cannot = (why: string): OperationalError =>
  new OperationalError(
    "noIsolation",
    `Teams cannot have networks of their own here: ${why}, or use network: machine.`,
    {
      retryable: false,
    },
  );
