/**
 * Sends messages about durable events, at least once each. The position in the journal is saved only after messages
 * were delivered or given up, so that a restart sends the others again, with the same sequences. Each rule has its own
 * queue, so that an unreachable webhook delays no other rule.
 */
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { DriverLog } from "../driver/driver-log.ts";
import type { Driver } from "../driver/driver.ts";
import { deliver } from "./deliver.ts";
import { isWanted, messageFor, messageOf } from "./message.ts";
import type { NotificationMessage } from "./message.ts";
import type { NotificationRule } from "./rules.ts";

/** Maximum number of waiting messages of one rule. Beyond it, the oldest is dropped and logged. */
const WAITING_MAX = 1_000;
/** Pauses in ms between attempts to deliver a message: a receiver that restarts is back within minutes. */
const RETRY_PAUSES_MS = [1_000, 5_000, 30_000, 120_000, 600_000] as const;
const SAVE_EVERY_MS = 1_000;
const PLACE_FILE = "notified.json";

/** Kinds of events that messages are about. */
const NOTIFYING: ReadonlySet<string> = new Set([
  "workloadEnded",
  "attemptStarted",
  "attemptStopRequested",
  "attemptEnded",
  "gangDegraded",
  "budgetCrossed",
  "endpointBudgetCrossed",
]);

export interface NotifierOptions {
  readonly driver: Pick<Driver, "events" | "read" | "status">;
  readonly rules: readonly NotificationRule[];
  /** The state directory. */
  readonly home: string;
  readonly log: Pick<DriverLog, "warn">;
  /** Pauses for tests; see `RETRY_PAUSES_MS`. */
  readonly retryPausesMs?: readonly number[];
}

export class Notifier {
  readonly #options: NotifierOptions;
  readonly #closing = new AbortController();
  readonly #queues: RuleQueue[];
  readonly #placeFile: string;
  /** Sequence of the newest event that the notifier has read. */
  #seen: number;
  #saved: number;
  #saver: NodeJS.Timeout | null = null;
  #running: Promise<void> | null = null;

  constructor(options: NotifierOptions) {
    this.#options = options;
    this.#placeFile = path.join(options.home, PLACE_FILE);
    // At the first start, messages about earlier events are not sent.
    this.#seen = placeIn(this.#placeFile) ?? options.driver.status().sequence;
    this.#saved = -1;
    this.#queues = options.rules.map((rule) => new RuleQueue(rule, options, this.#closing.signal));
  }

  start(): void {
    if (this.#options.rules.length === 0) return;
    this.#running = this.#follow();
    this.#saver = setInterval(() => this.#save(), SAVE_EVERY_MS);
    this.#saver.unref();
  }

  /**
   * Sends a message that belongs to no event to the rules that select it. Resolves when the message is delivered or
   * given up; rejects if the control plane closes before.
   */
  async send(message: NotificationMessage): Promise<void> {
    const wanted = await this.#options.driver.read((engine) =>
      this.#queues.flatMap((queue) =>
        isWanted(queue.rule, message, engine) ? [{ queue, own: messageFor(queue.rule, message, engine) }] : [],
      ),
    );
    await Promise.all(wanted.map(({ queue, own }) => queue.settled(own)));
    this.#closing.signal.throwIfAborted();
  }

  /** Messages that are not delivered yet are sent after the next start. */
  async close(): Promise<void> {
    this.#closing.abort();
    if (this.#saver !== null) clearInterval(this.#saver);
    await this.#running;
    await Promise.all(this.#queues.map((queue) => queue.ended()));
    if (this.#options.rules.length > 0) this.#save();
  }

  async #follow(): Promise<void> {
    const { driver, log } = this.#options;
    try {
      for await (const { sequence, event } of driver.events(this.#seen + 1, this.#closing.signal)) {
        const { kind } = event;
        if (NOTIFYING.has(kind))
          await driver.read((engine) => {
            const message = messageOf(engine, sequence, event);
            if (message === null) return;
            for (const queue of this.#queues) if (isWanted(queue.rule, message, engine)) queue.add(message);
          });
        this.#seen = sequence;
      }
    } catch (error) {
      if (!this.#closing.signal.aborted) log.warn(`notifications ended: ${textOf(error)}`);
    }
  }

  /** Saves the sequence up to which all messages were delivered or given up. */
  #save(): void {
    const place = Math.min(this.#seen, ...this.#queues.map((queue) => queue.oldestWaiting() - 1));
    if (place === this.#saved) return;
    try {
      const draft = `${this.#placeFile}.${process.pid}`;
      writeFileSync(draft, `${JSON.stringify({ sequence: place })}\n`, { mode: 0o600 });
      renameSync(draft, this.#placeFile);
      this.#saved = place;
    } catch (error) {
      this.#options.log.warn(`the place of notifications was not saved: ${textOf(error)}`);
    }
  }
}

class RuleQueue {
  readonly rule: NotificationRule;
  readonly #options: NotifierOptions;
  readonly #signal: AbortSignal;
  /** Waiting messages. The first one is being delivered. */
  readonly #waiting: NotificationMessage[] = [];
  #delivering: Promise<void> | null = null;

  constructor(rule: NotificationRule, options: NotifierOptions, signal: AbortSignal) {
    this.rule = rule;
    this.#options = options;
    this.#signal = signal;
  }

  add(message: NotificationMessage): void {
    this.#waiting.push(message);
    if (this.#waiting.length > WAITING_MAX) {
      // Drops the second message, because the first is being delivered.
      const [dropped] = this.#waiting.splice(1, 1);
      this.#options.log.warn(
        `${this.#name()}: too many messages wait; the one about event ${dropped?.sequence} was dropped`,
      );
    }
    this.#delivering ??= this.#deliverAll();
  }

  /** Queues a message. Resolves when the message no longer waits, or the control plane closes. */
  async settled(message: NotificationMessage): Promise<void> {
    this.add(message);
    await this.#delivering;
  }

  oldestWaiting(): number {
    return this.#waiting[0]?.sequence ?? Number.POSITIVE_INFINITY;
  }

  async ended(): Promise<void> {
    await this.#delivering;
  }

  async #deliverAll(): Promise<void> {
    for (let message = this.#waiting[0]; message !== undefined; message = this.#waiting[0]) {
      await this.#deliverOne(message);
      if (this.#signal.aborted) return;
      this.#waiting.shift();
    }
    this.#delivering = null;
  }

  async #deliverOne(message: NotificationMessage): Promise<void> {
    const pauses = this.#options.retryPausesMs ?? RETRY_PAUSES_MS;
    for (let attempt = 0; !this.#signal.aborted; attempt++) {
      try {
        await deliver(this.rule, message, this.#signal);
        return;
      } catch (error) {
        const pauseMs = pauses[attempt];
        if (pauseMs === undefined) {
          this.#options.log.warn(`${this.#name()}: given up on event ${message.sequence}: ${textOf(error)}`);
          return;
        }
        await delay(pauseMs, undefined, { signal: this.#signal }).catch(() => undefined);
      }
    }
  }

  /** Name of the rule in the log. It leaves out the address, which can contain a secret. */
  #name(): string {
    const { webhook, webhookFile, command, mail, on, ofChannel } = this.rule;
    const what = ofChannel === undefined ? on.join(", ") : `channel ${ofChannel}`;
    if (mail !== undefined) return `notification ${what} by mail through ${new URL(mail.smtp).host}`;
    const address = webhook === undefined ? (webhookFile ?? "webhook") : new URL(webhook).host;
    return `notification ${what} by ${command === undefined ? address : "command"}`;
  }
}

function placeIn(file: string): number | null {
  try {
    const { sequence } = JSON.parse(readFileSync(file, "utf8")) as { readonly sequence?: unknown };
    return Number.isSafeInteger(sequence) ? Number(sequence) : null;
  } catch {
    return null;
  }
}

const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
