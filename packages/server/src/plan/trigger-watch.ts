/**
 * Scaling triggers of the control plane: `triggers.yaml` in the state directory, evaluated once a minute on the use of the fleet, the age
 * of the queue and the stored plan. A trigger is announced once when it fires and once when it ends, also over a restart. A fired trigger
 * makes one proposal (`trigger-proposals.ts`).
 */
import { existsSync, readFileSync, statSync } from "node:fs";
import path from "node:path";
import type { ReadonlyState } from "@headroom/engine";
import { evaluateTriggers, proposalOfTrigger, readTriggerDocument, triggerMeasures } from "@headroom/plan";
import type { PlanReadings, TriggerDocument, TriggerState } from "@headroom/plan";
import type { CapacityHistory } from "@headroom/protocol";
import { parseDocument } from "yaml";
import type { DriverLog } from "../driver/driver-log.ts";
import { firedBefore, writeFired } from "./fired-triggers.ts";
import type { FiredTrigger } from "./fired-triggers.ts";
import type { TriggerProposals } from "./trigger-proposals.ts";
import { TriggerValues } from "./trigger-values.ts";

const FILE = "triggers.yaml";
const FILE_BYTES_MAX = 1_048_576;
const LOOK_EVERY_MS = 60_000;
const HOUR_MS = 3_600_000;
/** A document without triggers. */
const nothing: TriggerDocument = { kind: "triggers", triggers: [], series: {} };

interface TriggerWatchOptions {
  readonly home: string;
  readonly log: Pick<DriverLog, "warn">;
  readonly nowMs: () => number;
  /** Default: a minute. */
  readonly everyMs?: number | undefined;
  readonly history: () => CapacityHistory;
  /** Hours that the oldest workload in the queue has waited. */
  readonly queueAgeHours: (nowMs: number) => Promise<number>;
  /** Values that follow from the stored plan; none without a plan. */
  readonly planReadings: (nowMs: number) => Promise<PlanReadings>;
  /** Sends the sentence to the notification rules of kind `trigger`. */
  readonly announce: (sentence: string) => Promise<void>;
  readonly proposals: Pick<TriggerProposals, "follow" | "close">;
}

export class TriggerWatch {
  readonly #options: TriggerWatchOptions;
  /** Active triggers by name. */
  readonly #fired: Map<string, FiredTrigger>;
  readonly #values: TriggerValues;
  #wasMissing = false;
  #complaint = "";
  #timer: NodeJS.Timeout | null = null;
  #looking: Promise<void> | null = null;

  constructor(options: TriggerWatchOptions) {
    this.#options = options;
    this.#fired = new Map(firedBefore(options.home, options.nowMs()).map((each) => [each.name, each]));
    this.#values = new TriggerValues(options.home, options.log);
  }

  start(): void {
    this.#timer = setInterval(() => {
      // The queue cannot be read while the control plane closes or has failed; a rejection would end the process.
      // A simulation can take longer than the interval.
      this.#looking ??= this.look()
        .catch((error: unknown) => this.#complain(`Scaling triggers were not evaluated: ${textOf(error)}`))
        .finally(() => (this.#looking = null));
    }, this.#options.everyMs ?? LOOK_EVERY_MS);
    this.#timer.unref();
  }

  close(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#options.proposals.close();
  }

  /** Evaluates the triggers now. A document that cannot be used is reported once, and ends no trigger. */
  async look(): Promise<void> {
    const document = this.#document();
    if (document === null) return;
    const atMs = this.#options.nowMs();
    if (document.triggers.length > 0) await this.#measure(atMs);
    // The series of the document are examples for `headroom plan triggers`.
    const series = Object.fromEntries(triggerMeasures.map((measure) => [measure, [...this.#values.series(measure)]]));
    this.#forgetOthers(document);
    const states = evaluateTriggers({ ...document, series });
    for (const state of states) this.#follow(state, atMs);
    await this.#propose(document, states);
  }

  async #measure(atMs: number): Promise<void> {
    const { history, queueAgeHours, planReadings } = this.#options;
    const { everyMs, samples } = history();
    const use = samples
      .filter(({ total }) => total > 0)
      .map(({ atMs: sampledMs, held, total }) => ({ sampledMs, utilisation: held / total }));
    // The samples of the last day are older than the first look.
    if (this.#values.isEmpty)
      for (const { sampledMs, utilisation } of use) this.#values.add(sampledMs, { utilisation });
    // A fleet without accelerators gives no sample: an old one says nothing about now.
    const newest = use.findLast(({ sampledMs }) => sampledMs <= atMs && sampledMs >= atMs - 2 * everyMs);
    this.#values.add(atMs, {
      ...(newest === undefined ? {} : { utilisation: newest.utilisation }),
      queueAge: await queueAgeHours(atMs),
      ...(await planReadings(atMs)),
    });
  }

  /** Every active trigger has one proposal for as long as it is active, whatever becomes of the proposal. */
  async #propose({ triggers }: TriggerDocument, states: readonly TriggerState[]): Promise<void> {
    const wanted = triggers.flatMap((trigger) => {
      const fired = this.#fired.get(trigger.name);
      const state = states.find(({ name }) => name === trigger.name);
      if (fired === undefined || state === undefined) return [];
      const day = new Date(fired.firedAtMs).toISOString().slice(0, 10).replaceAll("-", "");
      return [{ fired, proposal: proposalOfTrigger(trigger, state, day) }];
    });
    const before = JSON.stringify([...this.#fired.values()]);
    for (const fired of await this.#options.proposals.follow(wanted)) this.#fired.set(fired.name, fired);
    if (JSON.stringify([...this.#fired.values()]) !== before) this.#save();
  }

  /** A trigger that was removed while it was active has not fired when it is added again. */
  #forgetOthers({ triggers }: TriggerDocument): void {
    const present = new Set(triggers.map(({ name }) => name));
    const gone = [...this.#fired.keys()].filter((name) => !present.has(name));
    for (const name of gone) this.#fired.delete(name);
    if (gone.length > 0) this.#save();
  }

  #follow({ name, isActive, action, value, endsBelow, explanation }: TriggerState, atMs: number): void {
    // Without a value nothing is known, so that nothing fires and nothing ends.
    if (value === null || isActive === this.#fired.has(name)) return;
    // After a restart, and after a day, the values that made it fire are gone. It goes on until a value is low enough.
    if (!isActive && value >= endsBelow) return;
    if (isActive) this.#fired.set(name, { name, firedAtMs: atMs, proposalId: null });
    else this.#fired.delete(name);
    const sentence = isActive
      ? `Trigger ${name} fired: ${explanation}. Action: ${action}.`
      : `Trigger ${name} ended: ${explanation}.`;
    this.#save();
    this.#options.announce(sentence).catch(() => undefined);
  }

  #document(): TriggerDocument | null {
    const file = path.join(this.#options.home, FILE);
    // An editor can remove the file for a moment while it writes another one.
    const wasMissing = this.#wasMissing;
    this.#wasMissing = !existsSync(file);
    if (this.#wasMissing) return wasMissing ? nothing : null;
    try {
      if (statSync(file).size > FILE_BYTES_MAX) throw new Error(`it has more than ${FILE_BYTES_MAX} bytes`);
      const parsed = parseDocument(readFileSync(file, "utf8"), { uniqueKeys: true });
      const [fault] = parsed.errors;
      if (fault !== undefined) throw fault;
      const reading = readTriggerDocument(parsed.toJS({ maxAliasCount: 0 }));
      if (reading.kind === "read") return reading.document;
      const [problem] = reading.problems;
      throw new Error(`${problem?.path.join(".") ?? ""}: ${problem?.message ?? "it is not valid"}`);
    } catch (error) {
      this.#complain(`${FILE} is not used: ${textOf(error)}`);
      return null;
    }
  }

  #complain(complaint: string): void {
    if (complaint !== this.#complaint) this.#options.log.warn(complaint);
    this.#complaint = complaint;
  }

  #save(): void {
    try {
      writeFired(this.#options.home, [...this.#fired.values()]);
    } catch (error) {
      this.#options.log.warn(`The active triggers were not written: ${textOf(error)}`);
    }
  }
}

const textOf = (error: unknown): string =>
  error instanceof Error ? (error.message.split("\n")[0] ?? "") : String(error);

/** Hours that the oldest workload in the queue has waited since its submission. Held work does not count. */
export function queueAgeHours({ workloads }: ReadonlyState, nowMs: number): number {
  let oldestMs = nowMs;
  for (const { phase, submittedAtMs, held } of workloads.values())
    if (phase === "pending" && !held) oldestMs = Math.min(oldestMs, submittedAtMs);
  return (nowMs - oldestMs) / HOUR_MS;
}
