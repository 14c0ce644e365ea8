/**
 * Starts and stops cloud nodes of a Slurm cluster for orders: `create`, `state` and `release` of docs/reference/provisioners.md. Slurm
 * runs its `ResumeProgram` and `SuspendProgram` for them. Start at `answerOrder`.
 */
import { existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { z } from "zod";
import { runCommand } from "@headroom/platform";
import type { CloudNode } from "./cloud-nodes.ts";
import { commentOf, hasFailed, isFree, isGoingOff, isOff, readCloudNodes } from "./cloud-nodes.ts";
import { withLock } from "./file-lock.ts";

const COMMAND_TIMEOUT_MS = 15_000;
/** A creation that was sent before the release of its order has arrived or failed long before: calls end after minutes. */
const RELEASED_KEPT_MS = 30 * 24 * 3_600_000;

export const slurmProvisionerSettings = z.strictObject({
  /** Name of the executor of the pool, with which ids of its nodes begin. */
  executor: z.string().min(1).max(63),
  partition: z.string().regex(/^[^\s,]+$/, "one word without commas"),
  /** Cloud nodes to use, in Slurm's short form. Absent: all of the partition. */
  nodes: z.string().min(1).optional(),
  /** Directory of this machine for the lock and the ids of released orders. */
  directory: z.string().startsWith("/", "an absolute path"),
  commands: z.string().startsWith("/", "an absolute path").optional(),
  configuration: z.string().startsWith("/", "an absolute path").optional(),
});
export type SlurmProvisionerSettings = z.output<typeof slurmProvisionerSettings>;

const request = z.object({
  verb: z.enum(["create", "state", "release"]),
  order: z.object({
    id: z.string().regex(/^[A-Za-z0-9]([-_.A-Za-z0-9]{0,127})$/, "must be letters, digits, dots, dashes"),
    count: z.int().min(1).max(10_000),
    accelerators: z.int().min(0),
    release: z.union([z.literal("all"), z.array(z.string()).max(10_000)]).optional(),
  }),
});
export type OrderRequest = z.output<typeof request>;

interface ProvisionerStatement {
  readonly state: "unknown" | "ordered" | "arriving" | "failed" | "gone";
  readonly nodes?: readonly string[];
  readonly released?: readonly string[];
  readonly reason?: string;
}

/** The answer to a request, as JSON values. Throws an error if Slurm does not answer, or a request is not valid: nothing follows from it. */
export async function answerOrder(settings: SlurmProvisionerSettings, body: unknown): Promise<ProvisionerStatement> {
  const { verb, order } = request.parse(body);
  mkdirSync(settings.directory, { recursive: true, mode: 0o700 });
  const slurm = new CloudControl(settings);
  // Two orders must not choose the same node.
  return withLock(path.join(settings.directory, "lock.db"), async () => {
    if (verb === "create") return create(slurm, order);
    if (verb === "release") return release(slurm, order);
    return stateOf(slurm, order, await slurm.nodes());
  });
}

async function create(slurm: CloudControl, order: OrderRequest["order"]): Promise<ProvisionerStatement> {
  if (slurm.isReleased(order.id)) return { state: "gone" };
  const nodes = await slurm.nodes();
  if (nodes.some((node) => node.order === order.id)) return stateOf(slurm, order, nodes);
  const free = nodes.filter((node) => isFree(node) && node.accelerators === order.accelerators);
  if (free.length < order.count) {
    const reason = `${free.length} of ${order.count} cloud nodes with ${order.accelerators} accelerators are free`;
    return { state: "failed", nodes: [], reason };
  }
  const chosen = free.slice(0, order.count).map(({ name }) => name);
  await slurm.update(chosen, [`comment=${commentOf(order.id)}`, "state=power_up"]);
  return { state: "arriving", nodes: chosen.map((name) => slurm.idOf(name)) };
}

function stateOf(
  slurm: CloudControl,
  { id }: OrderRequest["order"],
  nodes: readonly CloudNode[],
): ProvisionerStatement {
  const own = nodes.filter(({ order }) => order === id);
  if (own.length === 0) return { state: slurm.isReleased(id) ? "gone" : "unknown" };
  const failed = own.filter((node) => hasFailed(node));
  const names = own.map(({ name }) => slurm.idOf(name));
  if (failed.length === 0) return { state: "arriving", nodes: names };
  const reason = `Slurm gave up ${failed.map(({ name, reason: why }) => `${name} (${why ?? "no reason"})`).join(", ")}`;
  return { state: "failed", nodes: names, reason };
}

async function release(slurm: CloudControl, order: OrderRequest["order"]): Promise<ProvisionerStatement> {
  const { release: targets = [] } = order;
  // Before anything is stopped: a creation that comes late must start nothing.
  if (targets === "all") slurm.rememberReleased(order.id);
  const own = (await slurm.nodes()).filter((node) => node.order === order.id);
  const isTarget = ({ name }: CloudNode): boolean => targets === "all" || targets.includes(slurm.idOf(name));
  const off: string[] = [];
  for (const node of own.filter(isTarget)) {
    if (isOff(node)) off.push(await slurm.giveBack(node));
    else if (!isGoingOff(node)) await slurm.powerDown(node);
  }
  const left = own.filter(({ name }) => !off.includes(name));
  if (targets === "all")
    return left.length === 0 ? { state: "gone" } : { state: "arriving", nodes: namesOf(slurm, left) };
  const held = new Set(namesOf(slurm, left));
  return { state: "arriving", nodes: [...held], released: targets.filter((name) => !held.has(name)) };
}

const namesOf = (slurm: CloudControl, nodes: readonly CloudNode[]): readonly string[] =>
  nodes.map(({ name }) => slurm.idOf(name));

/** Slurm's `scontrol`, and the ids of orders that were released. */
class CloudControl {
  readonly #settings: SlurmProvisionerSettings;

  constructor(settings: SlurmProvisionerSettings) {
    this.#settings = settings;
  }

  /** Id under which the executor reports a node (`executor/cluster-nodes.ts`). */
  idOf(name: string): string {
    return `${this.#settings.executor}-${name}`;
  }

  async nodes(): Promise<readonly CloudNode[]> {
    const nodes = readCloudNodes(await this.#scontrol("show", "node", "--all", "--oneliner"), this.#settings);
    // An order whose nodes are hidden would look as if nobody knew it.
    if (nodes.length === 0)
      throw new Error(
        `Slurm lists no cloud node of the partition ${this.#settings.partition}. Set PrivateData=cloud in slurm.conf, and check --partition and --nodes.`,
      );
    return nodes;
  }

  async update(nodes: readonly string[], changes: readonly string[]): Promise<void> {
    await this.#scontrol("update", `nodename=${nodes.join(",")}`, ...changes);
  }

  /** Jobs of others on the node end first. A node that did not start is stopped at once. */
  async powerDown(node: CloudNode): Promise<void> {
    const isStarting = node.state.has("powering_up") || node.state.has("power_up");
    await this.update([node.name], [`state=${isStarting || hasFailed(node) ? "power_down_force" : "power_down_asap"}`]);
  }

  /**
   * Frees a node that is powered down. One that did not start is down at Slurm, and would be missing for later orders: the engine orders
   * again after a pause, and shows the reason.
   */
  async giveBack(node: CloudNode): Promise<string> {
    if (hasFailed(node)) await this.update([node.name], ["state=resume"]);
    await this.update([node.name], ["comment="]);
    return node.name;
  }

  isReleased(order: string): boolean {
    return existsSync(this.#released(order));
  }

  rememberReleased(order: string): void {
    const file = this.#released(order);
    const directory = path.dirname(file);
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    if (!existsSync(file)) this.#forgetReleased(directory);
    writeFileSync(file, "");
  }

  /** Each order leaves a file, so old ones are removed. */
  #forgetReleased(directory: string): void {
    for (const name of readdirSync(directory)) {
      const file = path.join(directory, name);
      if (Date.now() - statSync(file).mtimeMs > RELEASED_KEPT_MS) rmSync(file, { force: true });
    }
  }

  #released(order: string): string {
    return path.join(this.#settings.directory, "released", order);
  }

  async #scontrol(...args: readonly string[]): Promise<string> {
    const { commands, configuration } = this.#settings;
    const file = commands === undefined ? "scontrol" : path.join(commands, "scontrol");
    const env = {
      PATH: process.env["PATH"] ?? "/usr/bin:/bin",
      LC_ALL: "C",
      ...(configuration === undefined ? {} : { SLURM_CONF: configuration }),
    };
    const { code, stdout, stderr } = await runCommand(file, args, { timeoutMs: COMMAND_TIMEOUT_MS, env });
    if (code !== 0) throw new Error(`scontrol ${args[0] ?? ""} failed: ${(stderr || stdout).trim().slice(0, 300)}`);
    return stdout;
  }
}
