/** Holds the limits of a group of gateways. The first gateway that binds the address becomes the coordinator. */
import { createHash, randomUUID, timingSafeEqual } from "node:crypto";
import { createServer, type Server, type Socket } from "node:net";
import type { ListenAddress } from "../config/quantities.ts";
import { LimitLedger, type LimitDefinition } from "./ledger.ts";
import {
  MEMBER_LINE_MAX,
  readLines,
  type CountedUse,
  type LedgerMessage,
  type LineReader,
  type MemberMessage,
} from "./wire.ts";

interface Member {
  readonly name: string;
  readonly life: number;
  /**
   * Money counted for this gateway, by limit. When the gateway starts again, the sums from its usage files replace it.
   */
  readonly money: Map<string, { definition: LimitDefinition; amount: number }>;
}

/**
 * Maximum number of unsent bytes for a gateway that does not read. At the maximum, the connection is closed and the
 * gateway reconnects.
 */
const OUTPUT_BYTES_MAX = 16 * 1024 * 1024;
const MEMBERS_MAX = 1024;
/** Maximum number of connections that have not shown the secret. Each may hold a short line. */
const STRANGERS_MAX = 1024;
/** Time in ms within which a connection must show the secret and report its usage. */
const HELLO_MS = 10_000;

type Hello = MemberMessage & { readonly t: "hello" };
/** Messages that a gateway sends after it has become a member. */
type RequestMessage = Exclude<MemberMessage, { readonly t: "hello" | "used" }>;

/** A connection that has not received `welcome` yet. */
interface Stranger {
  readonly reader: LineReader;
  readonly timer: NodeJS.Timeout;
  /** The first message of the gateway. Undefined until the secret was right. */
  hello: Hello | undefined;
}

export class Coordinator {
  readonly ledger = new LimitLedger();
  readonly id: string = randomUUID();
  readonly #secret: string;
  readonly #now: () => number;
  readonly #server: Server;
  readonly #members = new Map<string, Member>();
  readonly #sockets = new Map<Socket, string>();
  readonly #strangers = new Map<Socket, Stranger>();

  constructor(secret: string, now: () => number) {
    this.#secret = secret;
    this.#now = now;
    this.#server = createServer({ noDelay: true }, (socket) => this.#accept(socket));
  }

  /** Listens on the address. Rejects if another process uses it. */
  listen(address: ListenAddress): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen({ host: address.host, port: address.port, exclusive: true }, () => {
        this.#server.off("error", reject);
        resolve();
      });
    });
  }

  close(): void {
    this.#server.close();
    for (const socket of [...this.#sockets.keys(), ...this.#strangers.keys()]) socket.destroy();
  }

  #accept(socket: Socket): void {
    if (this.#strangers.size >= STRANGERS_MAX) {
      socket.destroy();
      return;
    }
    const reader = readLines(socket, (message) => this.#receive(socket, message as MemberMessage));
    this.#strangers.set(socket, {
      reader,
      timer: setTimeout(() => socket.destroy(), HELLO_MS),
      hello: undefined,
    });
    socket.on("error", () => undefined);
    socket.on("close", () => {
      this.#noStranger(socket);
      if (this.#sockets.delete(socket)) this.#broadcast();
    });
  }

  #noStranger(socket: Socket): void {
    clearTimeout(this.#strangers.get(socket)?.timer);
    this.#strangers.delete(socket);
  }

  #receive(socket: Socket, message: MemberMessage): void {
    const stranger = this.#strangers.get(socket);
    if (stranger !== undefined) {
      this.#greet(socket, stranger, message);
      return;
    }
    const member = this.#members.get(this.#sockets.get(socket) ?? "");
    if (member === undefined || !isRequest(message)) {
      socket.destroy();
      return;
    }
    const nowMs = this.#now();
    switch (message.t) {
      case "ask": {
        const request = { need: message.need, want: message.want, sharers: this.#sockets.size };
        const grant = this.ledger.grant(message.definition, request, nowMs);
        if (grant.kind === "denied")
          this.#send(socket, { t: "denied", n: message.n, inMs: Math.max(1, grant.retryAtMs - nowMs) });
        else {
          countMoney(member, message.definition, grant.amount);
          this.#send(socket, { t: "granted", n: message.n, slot: grant.slot, amount: grant.amount });
        }
        break;
      }
      case "give":
        this.ledger.refund(message.definition, message.slot, message.amount, nowMs);
        countMoney(member, message.definition, -message.amount);
        break;
      case "charge":
        this.ledger.charge(message.definition, message.amount, nowMs);
        countMoney(member, message.definition, message.amount);
        break;
    }
  }

  #greet(socket: Socket, stranger: Stranger, message: MemberMessage): void {
    const { hello, reader } = stranger;
    if (hello === undefined && message.t === "hello" && this.#isTrusted(message)) {
      stranger.hello = message;
      reader.lineMax = MEMBER_LINE_MAX;
    } else if (hello !== undefined && message.t === "used" && areCountedUses(message.used)) {
      this.#noStranger(socket);
      this.#welcome(socket, hello, message.used);
    } else socket.destroy();
  }

  #isTrusted({ secret, member }: Hello): boolean {
    const isKnown = typeof secret === "string" && sameText(secret, this.#secret);
    if (!isKnown || typeof member !== "string") return false;
    return this.#members.has(member) || this.#members.size < MEMBERS_MAX;
  }

  #welcome(socket: Socket, hello: Hello, used: readonly CountedUse[]): void {
    const before = this.#members.get(hello.member);
    const isSameLife = before?.life === hello.life && hello.ledger === this.id;
    if (!isSameLife) {
      for (const { definition, amount } of before?.money.values() ?? []) {
        this.ledger.refundNewest(definition, amount, this.#now());
      }
      const member: Member = { name: hello.member, life: hello.life, money: new Map() };
      this.#members.set(hello.member, member);
      // If the gateway was connected to this same ledger before, the ledger already contains its usage of the last
      // minute.
      const isKnown = before !== undefined && hello.ledger === this.id;
      for (const use of used) this.#import(member, use, isKnown);
    }
    this.#sockets.set(socket, hello.member);
    this.#send(socket, { t: "welcome", ledger: this.id, members: this.#sockets.size });
    this.#broadcast();
  }

  #import(member: Member, { definition, ages }: CountedUse, isKnown: boolean): void {
    if (isKnown && definition.kind !== "money") return;
    for (const [age, amount] of ages) this.ledger.import(definition, { age, amount }, this.#now());
    countMoney(
      member,
      definition,
      ages.reduce((sum, [, amount]) => sum + amount, 0),
    );
  }

  #broadcast(): void {
    for (const socket of this.#sockets.keys()) this.#send(socket, { t: "members", members: this.#sockets.size });
  }

  #send(socket: Socket, message: LedgerMessage): void {
    if (socket.destroyed) return;
    socket.write(`${JSON.stringify(message)}\n`);
    if (socket.writableLength > OUTPUT_BYTES_MAX) socket.destroy();
  }
}

function countMoney(member: Member, definition: LimitDefinition, amount: number): void {
  if (definition.kind !== "money") return;
  const counted = member.money.get(definition.id);
  if (counted === undefined) member.money.set(definition.id, { definition, amount });
  else counted.amount += amount;
}

function isRequest(message: MemberMessage): message is RequestMessage {
  if (message.t === "hello" || message.t === "used" || !isDefinition(message.definition)) return false;
  switch (message.t) {
    case "ask":
      return isAmount(message.need) && isAmount(message.want);
    case "give":
      return isAmount(message.amount) && Number.isSafeInteger(message.slot);
    case "charge":
      return isAmount(message.amount);
  }
}

function isDefinition(definition: LimitDefinition): boolean {
  if (typeof definition !== "object" || definition === null) return false;
  const { id, kind, limit, period } = definition;
  const isKind = kind === "requests" || kind === "tokens" || kind === "money";
  return (
    typeof id === "string" &&
    isKind &&
    isAmount(limit) &&
    (period === undefined || period === "day" || period === "month")
  );
}

function areCountedUses(used: readonly CountedUse[]): boolean {
  return Array.isArray(used) && used.every((each) => isCountedUse(each));
}

function isCountedUse(use: CountedUse): boolean {
  return (
    typeof use === "object" &&
    use !== null &&
    isDefinition(use.definition) &&
    Array.isArray(use.ages) &&
    use.ages.every((each) => Array.isArray(each) && Number.isSafeInteger(each[0]) && isAmount(each[1]))
  );
}

/** Whether the value is a finite amount: JSON can express infinity (`1e999`). */
function isAmount(amount: number): boolean {
  return Number.isFinite(amount) && amount >= 0;
}

function sameText(a: string, b: string): boolean {
  const digest = (text: string): Buffer => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(a), digest(b));
}
