/**
 * Carries out the orders of the engine: compares the orders in the state with the statements of their provisioners, and
 * reports the statements as observations. It keeps nothing: after a restart it asks about every order by its id, and
 * only an order that its provisioner does not know is created. Start at `#look`.
 */
import { randomInt } from "node:crypto";
import type { Engine, ReadonlyState } from "@headroom/engine";
import { isOrderOver, isOutstanding, nodeId } from "@headroom/model";
import type { CapacityOrder, ProvisionerReport } from "@headroom/model";
import type { DriverLog } from "../driver/driver-log.ts";
import type { Driver } from "../driver/driver.ts";
import { messageOf } from "../executors/within.ts";
import { callProvisioner } from "./provisioner-call.ts";
import type { OrderRequestBody, ProvisionerAnswer } from "./provisioner-call.ts";
import { provisionersStamp, readProvisioners } from "./provisioner-file.ts";
import type { Provisioner } from "./provisioner-file.ts";

const TICK_MS = 1_000;
/** Longest pause after failed calls about an order. */
const BACK_OFF_MAX_MS = 300_000;

interface ServiceParts {
  readonly home: string;
  readonly driver: Pick<Driver, "read" | "observe">;
  readonly log: DriverLog;
  /** Milliseconds of a clock that never goes back. */
  readonly clockMs?: () => number;
}

/** The calls about one order. */
interface Conversation {
  isCalling: boolean;
  nextAtMs: number;
  failures: number;
}

/** The next call about an order. */
interface Errand {
  readonly name: string;
  readonly provisioner: string;
  readonly request: OrderRequestBody;
  /** `rest`: stop the machines of a failed order that never joined. `kept`: its nodes in the fleet. */
  readonly task: "create" | "follow" | "release" | "rest";
  readonly kept: ReadonlySet<string>;
}

export class ProvisionerService {
  readonly #parts: ServiceParts;
  readonly #conversations = new Map<string, Conversation>();
  readonly #calls = new Map<string, number>();
  readonly #warned = new Set<string>();
  #provisioners: ReadonlyMap<string, Provisioner> = new Map();
  #stamp: string | null = null;
  #timer: NodeJS.Timeout | null = null;
  #isLooking = false;

  constructor(parts: ServiceParts) {
    this.#parts = parts;
  }

  start(): void {
    this.#timer = setInterval(() => void this.look(), TICK_MS);
    this.#timer.unref();
  }

  close(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }

  /** Begins the calls that are due, and returns when they have ended. Calls of an earlier look continue. */
  async look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    let errands: readonly Errand[] = [];
    try {
      this.#readFile();
      const nameless = await this.#parts.driver.read(namelessOrders);
      for (const name of nameless)
        await this.#parts.driver.observe({ kind: "orderIdentified", name, requestId: drawRequestId(name) });
      errands = await this.#parts.driver.read(errandsOf);
    } catch (error) {
      this.#warn(`Orders were not looked at: ${messageOf(error)}`);
    } finally {
      this.#isLooking = false;
    }
    const present = new Set(errands.map(({ name }) => name));
    for (const [name, { isCalling }] of this.#conversations)
      if (!present.has(name) && !isCalling) this.#conversations.delete(name);
    await Promise.all(errands.map((errand) => this.#run(errand)));
  }

  /** A file that is not valid leaves the provisioners as they were. */
  #readFile(): void {
    const stamp = provisionersStamp(this.#parts.home);
    if (stamp === this.#stamp) return;
    this.#stamp = stamp;
    try {
      this.#provisioners = readProvisioners(this.#parts.home);
      this.#warned.clear();
    } catch (error) {
      this.#warn(messageOf(error));
    }
  }

  async #run(errand: Errand): Promise<void> {
    const { name } = errand;
    const provisioner = this.#provisioners.get(errand.provisioner);
    if (provisioner === undefined) {
      this.#warn(`Order ${name} waits for the provisioner ${errand.provisioner}. Declare it in provisioners.yaml.`);
      return;
    }
    const conversation = this.#conversations.get(name) ?? { isCalling: false, nextAtMs: 0, failures: 0 };
    this.#conversations.set(name, conversation);
    const calls = this.#calls.get(provisioner.name) ?? 0;
    if (conversation.isCalling || conversation.nextAtMs > this.#nowMs() || calls >= provisioner.atOnce) return;
    conversation.isCalling = true;
    this.#calls.set(provisioner.name, calls + 1);
    try {
      const answer = await converse(provisioner, errand);
      await this.#report(errand, answer);
      conversation.failures = 0;
    } catch (error) {
      conversation.failures++;
      this.#warn(`Provisioner ${provisioner.name}, order ${name}: ${messageOf(error)}`);
    } finally {
      conversation.isCalling = false;
      conversation.nextAtMs = this.#nowMs() + pauseMs(provisioner, conversation.failures);
      this.#calls.set(provisioner.name, (this.#calls.get(provisioner.name) ?? 1) - 1);
    }
  }

  async #report(errand: Errand, answer: ProvisionerAnswer): Promise<void> {
    const { name, task } = errand;
    const { state, reason, nodes, released, expectedAt, pricePerHour } = answer;
    // An order that is known here and unknown there: the answer contradicts an earlier one, and changes nothing.
    if (state === "unknown") {
      this.#warn(`The provisioner of order ${name} does not know it. If its machines are gone, it must answer gone.`);
      return;
    }
    const report: ProvisionerReport = {
      state,
      detail: reason,
      ...(nodes === undefined ? {} : { nodes: nodes.map(nodeId) }),
      ...(released === undefined || task !== "release" ? {} : { released: released.map(nodeId) }),
      ...(expectedAt === undefined ? {} : { expectedAtMs: Date.parse(expectedAt) }),
      ...(pricePerHour === undefined ? {} : { priceMicroUsdPerHour: Math.round(pricePerHour * 1_000_000) }),
    };
    const rest = task === "rest" && isRestStopped(errand, answer) ? { isRestStopped: true as const } : {};
    await this.#parts.driver.observe({ kind: "orderReported", name, ...report, ...rest });
  }

  #nowMs(): number {
    return this.#parts.clockMs?.() ?? performance.now();
  }

  /** Each warning once, until the file changes. */
  #warn(message: string): void {
    if (this.#warned.has(message)) return;
    if (this.#warned.size > 1_000) this.#warned.clear();
    this.#warned.add(message);
    this.#parts.log.warn(message);
  }
}

/** An order is created only if its provisioner says that it does not know it: an earlier call may have had its effect. */
async function converse(provisioner: Provisioner, errand: Errand): Promise<ProvisionerAnswer> {
  const { task, request } = errand;
  if (task === "release") return callProvisioner(provisioner, "release", request);
  const answer = await callProvisioner(provisioner, "state", request);
  if (task === "create" && answer.state === "unknown") return callProvisioner(provisioner, "create", request);
  const rest = task === "rest" ? machinesOfRest(errand, answer) : [];
  if (rest.length > 0) await callProvisioner(provisioner, "release", { ...request, release: rest });
  return answer;
}

/** Machines of a failed order that are no nodes of the fleet. */
const machinesOfRest = ({ kept }: Errand, { nodes = [] }: ProvisionerAnswer): readonly string[] =>
  nodes.filter((name) => !kept.has(name));

/** Whether no machine of a failed order is left but its nodes: none is named, and the provisioner starts no further one. */
const isRestStopped = (errand: Errand, answer: ProvisionerAnswer): boolean =>
  machinesOfRest(errand, answer).length === 0 &&
  (answer.state === "failed" || answer.state === "gone" || (answer.state === "arriving" && answer.nodes !== undefined));

function pauseMs({ pollSeconds }: Provisioner, failures: number): number {
  const boundMs = Math.max(BACK_OFF_MAX_MS, pollSeconds * 1_000);
  let pause = pollSeconds * 1_000;
  for (let failure = 0; failure < failures && pause < boundMs; failure++) pause *= 2;
  return Math.min(boundMs, pause);
}

const ID_CHARS = "abcdefghijkmnpqrstuvwxyz23456789";
const ID_DRAWN = 10;
/** Clouds and Kubernetes take names of 63 characters. */
const ID_CHARS_MAX = 63;

/** `burst-spot-7-k3x9m2p4qa`: the drawn part tells the orders of control planes on one cloud account apart. */
function drawRequestId(name: string): string {
  const drawn = Array.from({ length: ID_DRAWN }, () => ID_CHARS[randomInt(ID_CHARS.length)]).join("");
  return `${name.slice(0, ID_CHARS_MAX - ID_DRAWN - 1)}-${drawn}`;
}

/** Orders whose id for their provisioner is not drawn yet. */
function namelessOrders({ state }: Engine): readonly string[] {
  const nameless: string[] = [];
  for (const order of state.capacityOrders.values())
    if (order.automatic?.requestId === null && !isOrderOver(order)) nameless.push(order.name);
  return nameless;
}

function errandsOf({ state }: Engine): readonly Errand[] {
  const errands: Errand[] = [];
  for (const order of state.capacityOrders.values()) {
    const { automatic, name } = order;
    if (automatic === undefined || automatic.provisioner === "manual" || isOrderOver(order)) continue;
    // The provisioner hears of an order only by its recorded id.
    if (automatic.requestId === null) continue;
    const request = requestOf(state, order, automatic.requestId ?? name);
    const kept = new Set(automatic.nodeNames.filter((id) => state.nodes.has(id)));
    const { provisioner } = automatic;
    if (order.phase === "planned") errands.push({ name, provisioner, request, task: "create", kept });
    else if (isOutstanding(order)) errands.push({ name, provisioner, request, task: "follow", kept });
    const released = releasedOf(state, order);
    if (order.phase === "leaving")
      errands.push({ name, provisioner, request: { ...request, release: "all" }, task: "release", kept });
    else if (released.length > 0 && !isOutstanding(order))
      errands.push({ name, provisioner, request: { ...request, release: released }, task: "release", kept });
    else if (order.phase === "inService" && (automatic.missingCount ?? 0) > 0)
      errands.push({ name, provisioner, request, task: "rest", kept });
  }
  return errands;
}

/** Nodes of the order that the engine has released, and that are still in the fleet. */
const releasedOf = ({ nodes }: ReadonlyState, { name, automatic }: CapacityOrder): readonly string[] =>
  (automatic?.nodeNames ?? []).filter((id) => nodes.get(id)?.removal?.awaits === name);

function requestOf({ pools }: ReadonlyState, { pool, nodeCount, shape }: CapacityOrder, id: string): OrderRequestBody {
  return {
    id,
    pool,
    count: nodeCount,
    acceleratorType: pools.get(pool)?.acceleratorType ?? "",
    accelerators: shape.acceleratorCount,
    cores: shape.coresMilli / 1_000,
    memoryMib: shape.memoryMib,
  };
}
