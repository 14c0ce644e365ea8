/**
 * Reads all targets, in the telemetry thread: each at its interval, a bounded number at once. A target that does not answer
 * is silent since a time; nothing is recorded about it.
 */
import {
  builtInMappings,
  combineReplicas,
  customMapping,
  MappingIndex,
  readOtlpMetrics,
  readWriteRequest,
} from "@headroom/metrics";
import type { MetricSource, MetricTarget } from "@headroom/metrics";
import type { AcceleratorReading, NodeReadings } from "@headroom/protocol";
import { acceleratorIndexOf } from "@headroom/views";
import type { SubjectSample } from "@headroom/views";
import { FollowedValues } from "./followed-values.ts";
import type { KnownSubjects } from "./query-samples.ts";
import { otlpContent } from "./otlp-body.ts";
import type { OtlpBody } from "./otlp-body.ts";
import { AddressReader } from "./read-address.ts";
import { targetCountKey } from "./target-messages.ts";
import type { FollowedValue, ReadSource, TargetCounts, TargetPlan, TargetState } from "./target-messages.ts";
import { TargetReader } from "./target-reader.ts";
import { WrittenReadings } from "./written-readings.ts";
import type { WriteOutcome } from "./written-readings.ts";

const LOOK_EVERY_MS = 100;
/** Readings at the same time. With 20,000 targets each 15 s, one may take 0.2 s on average. */
const READ_AT_ONCE = 256;
/** Those of them of silent targets, which last until their time limit: half of a fleet can be down. */
const SILENT_AT_ONCE = 128;

const keyOf = ({ source, url, node, endpoint, replica, query }: MetricTarget): string =>
  JSON.stringify([source, url, node, endpoint, replica, query]);

interface ScheduleOptions {
  readonly record: (samples: readonly SubjectSample[]) => void;
  /** Records values of earlier times that were read afterwards. */
  readonly recordPast: (samples: readonly SubjectSample[]) => Promise<void>;
  /** Time in ms up to which an earlier process has recorded values; `null`: there was none. */
  readonly completeUntilMs: number | null;
  readonly nowMs: () => number;
}

export class TargetSchedule {
  readonly #options: ScheduleOptions;
  readonly #addresses = new AddressReader();
  readonly #timer: NodeJS.Timeout;
  #readers = new Map<string, TargetReader>();
  /** See `ScheduleOptions`; `null` after the first plan, because sources that are declared later have no earlier values. */
  #completeUntilMs: number | null;
  #sources = new Map<string, { readonly source: ReadSource; readonly text: string; readonly index: MappingIndex }>();
  #known: KnownSubjects = { nodes: new Set(), endpoints: new Map() };
  readonly #followed = new FollowedValues();
  /** The readers in the order of the plan, and where the next look begins in it, for silent targets and for others. */
  #order: readonly TargetReader[] = [];
  readonly #begin = { silent: 0, other: 0 };
  readonly #reading = { silent: 0, other: 0 };
  /** Units of the values that sources declare, by name. */
  units: Readonly<Record<string, string>> = {};
  /** Newest readings of accelerators that the control plane did not take yet, by node. */
  #readings = new Map<string, NodeReadings>();
  #written: { readonly source: string; readonly label: string; readonly readings: WrittenReadings } | null = null;
  /** Endpoints of which a replica was read since the last look. */
  readonly #changedEndpoints = new Set<string>();

  constructor(options: ScheduleOptions) {
    this.#options = options;
    this.#completeUntilMs = options.completeUntilMs;
    this.#timer = setInterval(() => this.#look(), LOOK_EVERY_MS);
    this.#timer.unref();
  }

  /** Replaces the plan. Targets that stay keep their state. */
  set(plan: TargetPlan): void {
    const { nowMs } = this.#options;
    const sources = new Map(
      plan.sources.map((source) => {
        const { name } = source.declaration;
        const text = JSON.stringify(source.declaration);
        const known = this.#sources.get(name);
        const index = known?.text === text ? known.index : indexOf(source);
        return [name, { source, text, index }] as const;
      }),
    );
    const readers = new Map<string, TargetReader>();
    const added: TargetReader[] = [];
    const knownUntilMs = this.#completeUntilMs;
    this.#completeUntilMs = null;
    for (const target of plan.targets) {
      const found = sources.get(target.source);
      if (found === undefined) continue;
      const key = keyOf(target);
      const known = this.#sources.get(target.source)?.text === found.text ? this.#readers.get(key) : undefined;
      if (known !== undefined) known.source = found.source;
      const reader =
        known ?? new TargetReader(target, found.source, { index: found.index, nowMs: nowMs(), knownUntilMs });
      if (known === undefined) added.push(reader);
      readers.set(key, reader);
    }
    for (const [position, reader] of added.entries())
      reader.postpone(Math.floor((reader.everyMs * position) / Math.max(1, added.length)));
    this.#sources = sources;
    this.#readers = readers;
    this.#order = [...readers.values()];
    this.units = Object.fromEntries(plan.sources.flatMap(({ declaration }) => declaredUnits(declaration)));
    this.#known = { nodes: plan.nodes, endpoints: new Map(plan.endpoints.map(({ id, name }) => [name, id])) };
    this.#followed.endpoints = plan.endpoints;
    this.#takeWrites(plan.sources);
  }

  get states(): readonly TargetState[] {
    return [...this.#readers.values()].map(({ state }) => state);
  }

  get counts(): TargetCounts {
    const counts = new Map<string, number>();
    for (const { target, state } of this.states) {
      const key = targetCountKey(target.source, state);
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
    return [...counts];
  }

  /** Readings of accelerators since the last call. */
  takeReadings(): readonly NodeReadings[] {
    const taken = [...this.#readings.values()];
    this.#readings = new Map();
    return taken;
  }

  /** Values that endpoints follow, since the last call. */
  takeFollowed(): readonly FollowedValue[] {
    return this.#followed.take();
  }

  /** Takes the body of a remote write. */
  write(body: Uint8Array): WriteOutcome | "damaged" | "noSource" {
    if (this.#written === null) return "noSource";
    const series = readWriteRequest(body);
    return series === null ? "damaged" : this.#written.readings.add(series, this.#known.nodes, this.#options.nowMs());
  }

  /** Takes an export request of OTLP metrics. */
  writeOtlp(body: OtlpBody): WriteOutcome | "damaged" | "noSource" {
    if (this.#written === null) return "noSource";
    const content = otlpContent(body);
    const read = content === null ? null : readOtlpMetrics(content, this.#written.label);
    if (read === null) return "damaged";
    const { series, rejectedCount } = read;
    return { ...this.#written.readings.add(series, this.#known.nodes, this.#options.nowMs()), rejectedCount };
  }

  close(): void {
    clearInterval(this.#timer);
    this.#addresses.close();
  }

  #look(): void {
    const nowMs = this.#options.nowMs();
    this.#recordEndpoints(nowMs);
    for (const { node, samples } of this.#written?.readings.take(nowMs) ?? []) this.#record(node, samples);
    this.#beginReads("other", nowMs);
    this.#beginReads("silent", nowMs);
  }

  /** Begins readings that are due, after the last one that was begun: no target waits for another one twice. */
  #beginReads(kind: "silent" | "other", nowMs: number): void {
    const from = this.#begin[kind];
    for (let step = 0; step < this.#order.length; step++) {
      if (this.#reading.silent + this.#reading.other >= READ_AT_ONCE) return;
      if (kind === "silent" && this.#reading.silent >= SILENT_AT_ONCE) return;
      const position = (from + step) % this.#order.length;
      const reader = this.#order[position];
      if (reader === undefined || reader.isSilent !== (kind === "silent") || !reader.isDue(nowMs)) continue;
      this.#begin[kind] = position + 1;
      void this.#read(reader, kind);
    }
  }

  /** A reading lasts until its past is recorded too: queries over ranges are bounded as others, and values are recorded in their order. */
  async #read(reader: TargetReader, kind: "silent" | "other"): Promise<void> {
    this.#reading[kind]++;
    try {
      const samples = await reader.read(this.#addresses, this.#known, this.#options.nowMs);
      this.#followed.addAnswer(reader, this.#options.nowMs());
      // Before the newest values are recorded: earlier ones than the newest of a series are not taken.
      const past = await reader.readPast(this.#addresses, this.#known, this.#options.nowMs);
      if (past === null) return;
      if (past.length > 0) await this.#options.recordPast(past);
      if (samples.length === 0) return;
      const { node, endpoint } = reader.target;
      if (endpoint !== null) this.#changedEndpoints.add(endpoint);
      this.#record(node, samples);
    } finally {
      this.#reading[kind]--;
      reader.release();
    }
  }

  /** Keeps the state of readings for rates if the source is the same. */
  #takeWrites(sources: TargetPlan["sources"]): void {
    const source = sources.find(({ declaration }) => declaration.type === "remote-write");
    if (source?.declaration.type !== "remote-write") this.#written = null;
    else {
      const text = JSON.stringify(source.declaration);
      if (this.#written?.source === text) return;
      const { label } = source.declaration;
      this.#written = { source: text, label, readings: new WrittenReadings(indexOf(source), label) };
    }
  }

  #record(node: string | null, samples: readonly SubjectSample[]): void {
    this.#options.record(samples);
    const readings = node === null ? null : readingsOf(node, samples);
    if (readings !== null) this.#readings.set(readings.node, readings);
  }

  #recordEndpoints(atMs: number): void {
    if (this.#changedEndpoints.size === 0) return;
    const newest = new Map<string, TargetReader[]>();
    for (const reader of this.#readers.values()) {
      const { endpoint } = reader.target;
      if (endpoint === null || reader.newest === null || !this.#changedEndpoints.has(endpoint)) continue;
      const known = newest.get(endpoint);
      if (known === undefined) newest.set(endpoint, [reader]);
      else known.push(reader);
    }
    this.#changedEndpoints.clear();
    for (const [endpoint, readers] of newest) this.#followed.addReplicas(endpoint, readers);
    this.#options.record(
      [...newest].map(([endpoint, readers]) => ({
        subject: `endpoint:${endpoint}`,
        atMs,
        values: combineReplicas(readers.map((reader) => reader.newest ?? {})),
      })),
    );
  }
}

const indexOf = ({ declaration }: ReadSource): MappingIndex =>
  new MappingIndex([...builtInMappings, ...("metrics" in declaration ? [customMapping(declaration.metrics)] : [])]);

function declaredUnits(declaration: MetricSource): readonly (readonly [string, string])[] {
  const values = "queries" in declaration ? declaration.queries : "metrics" in declaration ? declaration.metrics : [];
  return values.map(({ value, unit }) => [value, unit]);
}

/** Readings in the form of the vendors' tools; `null`: the samples have none of accelerators. */
function readingsOf(node: string, samples: readonly SubjectSample[]): NodeReadings | null {
  const accelerators: AcceleratorReading[] = [];
  let atMs = 0;
  for (const { subject, values, atMs: at } of samples) {
    const index = acceleratorIndexOf(subject, node);
    if (index === null) continue;
    atMs = at;
    // A text can hold anything: amounts are not below zero, and no accelerator is busier than all of the time.
    const value = (name: string, most = Number.MAX_SAFE_INTEGER): number | null => {
      const read = values[name];
      return read === undefined || read < 0 || read > most ? null : read;
    };
    accelerators.push({
      index,
      busyMilli: value("busyMilli", 1_000),
      memoryUsedMib: value("memoryUsedMib"),
      memoryTotalMib: value("memoryTotalMib"),
      temperatureC: value("temperatureC"),
      powerMilliwatts: value("powerMilliwatts"),
      errorCount: value("errorCount"),
      fault: null,
    });
  }
  accelerators.sort((left, right) => left.index - right.index);
  return accelerators.length === 0 ? null : { node, source: "exporter", atMs, problem: null, accelerators };
}
