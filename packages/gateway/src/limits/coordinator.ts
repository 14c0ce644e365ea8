/** Holds the limits of a group of gateways. The first gateway that binds the address becomes the coordinator. */
import { randomUUID } from "node:crypto";
import { createServer, type Server, type Socket } from "node:net";
import type { ListenAddress } from "../config/quantities.ts";
import { LedgerFile } from "./ledger-file.ts";
import { isAmount } from "./amount.ts";
import type { LimitDefinition } from "./ledger.ts";
import { SharedLedger } from "./shared-ledger.ts";
import {
  isProof,
  MEMBER_LINE_MAX,
  proofOf,
  readLines,
  type CountedUse,
  type LedgerMessage,
  type LineReader,
  type MemberMessage,
} from "./wire.ts";

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
/** Time in ms after which a gateway asks again for an amount whose grant could not be recorded. */
const UNSAVED_MS = 1000;

type Hello = MemberMessage & { readonly t: "hello" };
/** Messages that a gateway sends after it has become a member. */
type RequestMessage = Exclude<MemberMessage, { readonly t: "hello" | "used" }>;

/** A connection that has not received `welcome` yet. */
interface Stranger {
  readonly reader: LineReader;
  readonly timer: NodeJS.Timeout;
  readonly nonce: string;
  /** The first message of the gateway. Undefined until it has shown that it knows the secret. */
  hello: Hello | undefined;
}

export interface CoordinatorOptions {
  readonly secret: string;
  /** Folder of the ledger's file. Undefined if the ledger ends with this process. */
  readonly directory: string | undefined;
  now(): number;
  log(line: string): void;
}

export class Coordinator {
  readonly #options: CoordinatorOptions;
  readonly #ledger: SharedLedger;
  readonly #server: Server;
  /** Members by connection. */
  readonly #sockets = new Map<Socket, string>();
  readonly #strangers = new Map<Socket, Stranger>();
  /** Messages that wait until the changes behind them are written. */
  #outbox: { readonly socket: Socket; readonly message: LedgerMessage }[] = [];
  #isFlushScheduled = false;

  private constructor(options: CoordinatorOptions, ledger: SharedLedger, server: Server) {
    this.#options = options;
    this.#ledger = ledger;
    this.#server = server;
    server.on("connection", (socket: Socket) => this.#accept(socket));
  }

  /** Listens on the address and continues the ledger in the folder. Undefined if another process uses the address. */
  static async start(address: ListenAddress, options: CoordinatorOptions): Promise<Coordinator | undefined> {
    const early: Socket[] = [];
    const server = createServer({ noDelay: true });
    const keep = (socket: Socket): void => {
      socket.on("error", () => undefined);
      if (early.length < STRANGERS_MAX) early.push(socket);
      else socket.destroy();
    };
    server.on("connection", keep);
    const isListening = await new Promise<boolean>((resolve) => {
      server.once("error", () => resolve(false));
      server.listen({ host: address.host, port: address.port, exclusive: true }, () => resolve(true));
    });
    if (!isListening) return undefined;
    // The address belongs to this process now, so no other process changes the file.
    const { directory, now, log } = options;
    const file = directory === undefined ? undefined : await LedgerFile.open(directory, log);
    const coordinator = new Coordinator(options, await SharedLedger.open(file, now), server);
    server.off("connection", keep);
    for (const socket of early) if (!socket.destroyed) coordinator.#accept(socket);
    return coordinator;
  }

  close(): void {
    // The file first: as soon as the address is free, another process continues it.
    this.#flush();
    this.#ledger.close();
    this.#server.close();
    for (const socket of [...this.#sockets.keys(), ...this.#strangers.keys()]) socket.destroy();
  }

  #accept(socket: Socket): void {
    if (this.#strangers.size >= STRANGERS_MAX) {
      socket.destroy();
      return;
    }
    const reader = readLines(socket, (message) => this.#receive(socket, message as MemberMessage));
    const nonce = randomUUID();
    this.#strangers.set(socket, {
      reader,
      timer: setTimeout(() => socket.destroy(), HELLO_MS),
      nonce,
      hello: undefined,
    });
    socket.on("error", () => undefined);
    this.#write(socket, { t: "challenge", nonce });
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
    const member = this.#sockets.get(socket);
    if (member !== undefined && isBadAsk(message)) {
      // Without an answer the gateway would connect again and ask the same, for ever.
      this.#options.log(`the gateway ${member} asks for an amount that is none; its request is refused`);
      this.#send(socket, { t: "refused", n: message.n });
      return;
    }
    if (member === undefined || !isRequest(message)) {
      socket.destroy();
      return;
    }
    const nowMs = this.#options.now();
    switch (message.t) {
      case "ask": {
        const { n, definition, need, want } = message;
        const grant = this.#ledger.grant(member, definition, { need, want, sharers: this.#sockets.size }, nowMs);
        this.#send(
          socket,
          grant.kind === "denied"
            ? { t: "denied", n, inMs: Math.max(1, grant.retryAtMs - nowMs) }
            : { t: "granted", n, slot: grant.slot, amount: grant.amount },
        );
        return;
      }
      case "give":
        this.#ledger.refund(member, message, nowMs);
        break;
      case "charge":
        this.#ledger.charge(member, message.definition, message.amount, nowMs);
    }
    this.#scheduleFlush();
  }

  #greet(socket: Socket, stranger: Stranger, message: MemberMessage): void {
    const { hello, reader } = stranger;
    if (hello === undefined && message.t === "hello" && this.#isTrusted(message, stranger.nonce)) {
      stranger.hello = message;
      reader.lineMax = MEMBER_LINE_MAX;
    } else if (hello !== undefined && message.t === "used" && areCountedUses(message.used)) {
      this.#noStranger(socket);
      this.#welcome(socket, hello, message.used);
    } else socket.destroy();
  }

  #isTrusted({ proof, member, life, nonce: theirs, ledger }: Hello, nonce: string): boolean {
    const isShaped = typeof member === "string" && typeof theirs === "string" && typeof ledger === "string";
    if (!isShaped || !isProof(proof, proofOf(this.#options.secret, nonce, member, life))) return false;
    return this.#ledger.hasMember(member) || this.#ledger.memberCount < MEMBERS_MAX;
  }

  #welcome(socket: Socket, { member, life, nonce, ledger }: Hello, used: readonly CountedUse[]): void {
    this.#ledger.join(member, { life, formerLedger: ledger, used }, this.#options.now());
    this.#sockets.set(socket, member);
    const { id } = this.#ledger;
    const proof = proofOf(this.#options.secret, nonce, id);
    this.#send(socket, { t: "welcome", proof, ledger: id, members: this.#sockets.size });
    this.#broadcast();
  }

  #broadcast(): void {
    for (const socket of this.#sockets.keys()) this.#send(socket, { t: "members", members: this.#sockets.size });
  }

  /** Sends a message after the changes of this turn are written: one write serves all messages of the turn. */
  #send(socket: Socket, message: LedgerMessage): void {
    this.#outbox.push({ socket, message });
    this.#scheduleFlush();
  }

  #scheduleFlush(): void {
    if (this.#isFlushScheduled) return;
    this.#isFlushScheduled = true;
    queueMicrotask(() => this.#flush());
  }

  #flush(): void {
    this.#isFlushScheduled = false;
    const isSaved = this.#ledger.save();
    const outbox = this.#outbox;
    this.#outbox = [];
    for (const { socket, message } of outbox) {
      // A grant that is not recorded could be made a second time by the next holder.
      const isLost = message.t === "granted" && !isSaved;
      this.#write(socket, isLost ? { t: "denied", n: message.n, inMs: UNSAVED_MS } : message);
    }
  }

  #write(socket: Socket, message: LedgerMessage): void {
    if (socket.destroyed) return;
    socket.write(`${JSON.stringify(message)}\n`);
    if (socket.writableLength > OUTPUT_BYTES_MAX) socket.destroy();
  }
}

/** A question whose number and limit are known, and whose amounts are not valid. */
function isBadAsk(message: MemberMessage): message is MemberMessage & { readonly t: "ask" } {
  return (
    message.t === "ask" && Number.isSafeInteger(message.n) && isDefinition(message.definition) && !isRequest(message)
  );
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
