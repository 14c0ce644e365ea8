/**
 * The declared metric sources of a control plane: `metric-sources.yaml` in the state directory. Computes the targets from the
 * nodes and replicas that exist, and passes them to the telemetry thread, which reads them.
 */
import { hostname } from "node:os";
import { endpointsOf } from "@headroom/engine";
import type { Engine } from "@headroom/engine";
import { expandTargets, readMetricSource } from "@headroom/metrics";
import type { Expansion, MetricSource, RefusedTarget, SourceNode, SourceReplica } from "@headroom/metrics";
import { isServing } from "@headroom/views";
import { readDocuments, writeDocuments } from "../declarations/document-file.ts";
import type { Driver } from "../driver/driver.ts";
import type { DriverLog } from "../driver/driver-log.ts";
import { readSecret } from "../executors/secret-references.ts";
import type { SourceStates, Telemetry } from "../telemetry/telemetry.ts";
import type { OtlpBody } from "./otlp-body.ts";
import type { RemoteWriteTarget } from "./remote-writer.ts";
import { targetCountKey } from "./target-messages.ts";
import type { PlannedEndpoint, ReadSource } from "./target-messages.ts";

const FILE = "metric-sources.yaml";
const HEADER = "# Metric sources of this control plane. `headroom metric-source add` and `remove` write this file.\n";
/** Interval in ms at which nodes and replicas are compared with the targets. */
const PLAN_EVERY_MS = 5_000;
/** Interval in ms at which the metrics are written to a receiver: the default interval of scrapes. */
const EXPORT_EVERY_MS = 15_000;

export interface TargetCount {
  readonly source: string;
  readonly state: "up" | "silent" | "waiting";
  readonly count: number;
}

interface MetricSourceOptions {
  readonly home: string;
  readonly driver: Pick<Driver, "read">;
  readonly telemetry: Pick<
    Telemetry,
    "setTargets" | "targetStates" | "targetCounts" | "setExport" | "exportText" | "write"
  >;
  /** Where the control plane's metrics and series are written to; absent: nowhere. */
  readonly remoteWrite?: RemoteWriteTarget | undefined;
  readonly log: DriverLog;
}

export class MetricSourceService {
  readonly #options: MetricSourceOptions;
  #declarations: readonly MetricSource[];
  #timer: NodeJS.Timeout | null = null;
  #exporter: NodeJS.Timeout | null = null;
  #counts: readonly TargetCount[] = [];
  /** The plan that the thread has, so that an equal one is not computed and sent. */
  #sent: { readonly sources: string; readonly fleet: SourceFleet } | null = null;
  #refused: readonly RefusedTarget[] = [];
  #problems = new Map<string, string>();

  /** Throws `invalidMetricSources` with every problem of the file. */
  constructor(options: MetricSourceOptions) {
    this.#options = options;
    this.#declarations = readSourceFile(options.home);
  }

  start(): void {
    this.#timer = setInterval(() => void this.#plan(), PLAN_EVERY_MS);
    this.#timer.unref();
    void this.#plan();
  }

  /** Writes the text of `/metrics` to the declared receiver from now on. */
  exposeWith(expose: () => Promise<string>): void {
    const { remoteWrite, telemetry, log } = this.#options;
    if (remoteWrite === undefined) return;
    telemetry.setExport(remoteWrite);
    const write = async (): Promise<void> => {
      try {
        telemetry.exportText(await expose(), Date.now(), hostname());
      } catch (error) {
        log.warn(`the metrics were not written: ${error instanceof Error ? error.message : String(error)}`);
      }
    };
    this.#exporter = setInterval(() => void write(), EXPORT_EVERY_MS);
    this.#exporter.unref();
  }

  /** Numbers of targets by source and state at the last look, for `/metrics`. */
  get counts(): readonly TargetCount[] {
    return this.#counts;
  }

  write(body: Uint8Array): ReturnType<Telemetry["write"]> {
    return this.#options.telemetry.write({ kind: "write", body });
  }

  /** Takes an export request of OTLP metrics. */
  writeOtlp(body: OtlpBody): ReturnType<Telemetry["write"]> {
    return this.#options.telemetry.write({ kind: "writeOtlp", body });
  }

  close(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    if (this.#exporter !== null) clearInterval(this.#exporter);
  }

  list(): readonly MetricSource[] {
    return this.#declarations;
  }

  /** Why a source is not read; `null`: it is. */
  problemOf(name: string): string | null {
    return this.#problems.get(name) ?? null;
  }

  /** Targets that are never read, and why. */
  get refused(): readonly RefusedTarget[] {
    return this.#refused;
  }

  states(): Promise<SourceStates> {
    return this.#options.telemetry.targetStates();
  }

  async declare(declaration: MetricSource): Promise<"created" | "changed" | "unchanged"> {
    const known = this.#declarations.find(({ name }) => name === declaration.name);
    if (JSON.stringify(known) === JSON.stringify(declaration)) return "unchanged";
    this.#replace([...this.#declarations.filter(({ name }) => name !== declaration.name), declaration]);
    await this.#plan();
    return known === undefined ? "created" : "changed";
  }

  /** False: there is no such source. */
  async remove(name: string): Promise<boolean> {
    const left = this.#declarations.filter((each) => each.name !== name);
    if (left.length === this.#declarations.length) return false;
    this.#replace(left);
    await this.#plan();
    return true;
  }

  /** The file comes first: a change that was answered survives a crash. */
  #replace(declarations: readonly MetricSource[]): void {
    writeDocuments({ home: this.#options.home, name: FILE }, HEADER, declarations.map(sourceDocument));
    this.#declarations = declarations;
  }

  async #plan(): Promise<void> {
    const { driver, telemetry, log } = this.#options;
    try {
      if (this.#declarations.length === 0 && this.#sent === null) return;
      const fleet = await driver.read(fleetOf);
      const sources = this.#readable();
      const text = JSON.stringify(sources);
      if (this.#sent?.sources !== text || !isSameFleet(this.#sent.fleet, fleet)) {
        const declarations = sources.map(({ declaration }) => declaration);
        const { targets, refused }: Expansion = expandTargets(declarations, fleet.nodes, fleet.replicas);
        this.#refused = refused;
        const nodes = new Set(fleet.nodes.map(({ id }) => id));
        telemetry.setTargets({ sources, targets, nodes, endpoints: fleet.endpoints });
        this.#sent = { sources: text, fleet };
      }
      this.#counts = await this.#counted();
    } catch (error) {
      log.warn(
        `the targets of metric sources were not renewed: ${error instanceof Error ? error.message : String(error)}`,
      );
    }
  }

  async #counted(): Promise<readonly TargetCount[]> {
    const counts = new Map(await this.#options.telemetry.targetCounts());
    const count = (source: string, state: TargetCount["state"]): void => {
      const key = targetCountKey(source, state);
      counts.set(key, (counts.get(key) ?? 0) + 1);
    };
    for (const { source } of this.#refused) count(source, "silent");
    return this.#declarations.flatMap(({ name: source }) =>
      (["up", "silent", "waiting"] as const).map((state) => ({
        source,
        state,
        count: counts.get(targetCountKey(source, state)) ?? 0,
      })),
    );
  }

  /** Sources whose secret can be read. The others are shown with their problem. */
  #readable(): readonly ReadSource[] {
    const problems = new Map<string, string>();
    const sources = this.#declarations.flatMap((declaration): ReadSource[] => {
      const reference = "authorization" in declaration ? declaration.authorization : undefined;
      try {
        return [{ declaration, token: reference === undefined ? null : readSecret(reference) }];
      } catch (error) {
        problems.set(declaration.name, error instanceof Error ? error.message : String(error));
        return [];
      }
    });
    for (const [name, problem] of problems)
      if (this.#problems.get(name) !== problem)
        this.#options.log.warn(`the metric source ${name} is not read: ${problem}`);
    this.#problems = problems;
    return sources;
  }
}

interface SourceFleet {
  readonly nodes: readonly SourceNode[];
  readonly replicas: readonly SourceReplica[];
  readonly endpoints: readonly PlannedEndpoint[];
}

/** Labels are compared by identity: the state keeps the object until they change. */
const isSameFleet = (before: SourceFleet, now: SourceFleet): boolean =>
  before.nodes.length === now.nodes.length &&
  before.replicas.length === now.replicas.length &&
  JSON.stringify(before.endpoints) === JSON.stringify(now.endpoints) &&
  now.nodes.every(({ id, pool, labels }, at) => {
    const known = before.nodes[at];
    return known !== undefined && known.id === id && known.pool === pool && known.labels === labels;
  }) &&
  now.replicas.every(({ endpoint, attempt, url }, at) => {
    const known = before.replicas[at];
    return known !== undefined && known.endpoint === endpoint && known.attempt === attempt && known.url === url;
  });

function fleetOf(engine: Engine): SourceFleet {
  const { state } = engine;
  const nodes = [...state.nodes.values()].map(({ id, pool, labels }) =>
    labels === undefined ? { id, pool } : { id, pool, labels },
  );
  const replicas = [...endpointsOf(engine)].flatMap(({ id, activeAttempts }) =>
    activeAttempts.flatMap((each): SourceReplica[] => {
      const attempt = state.attempts.get(each);
      if (attempt?.ready === undefined || !isServing(attempt)) return [];
      return [{ endpoint: id, attempt: attempt.id, url: `http://${attempt.ready.address}` }];
    }),
  );
  const endpoints = [...endpointsOf(engine)].map(({ id, spec }) => ({
    id,
    name: `${spec.team}/${spec.name}`,
    follows: spec.kind === "serve" ? [...new Set(spec.scale?.metrics?.map(({ name }) => name))] : [],
  }));
  return { nodes, replicas, endpoints };
}

/** A declaration as a document again: durations are text there. */
export function sourceDocument(declaration: MetricSource): Readonly<Record<string, unknown>> {
  const timeout = "timeout" in declaration ? { timeout: `${declaration.timeout}s` } : {};
  return JSON.parse(JSON.stringify({ ...declaration, every: `${declaration.every}s`, ...timeout })) as Record<
    string,
    unknown
  >;
}

const readSourceFile = (home: string): readonly MetricSource[] =>
  readDocuments<MetricSource>({
    home,
    name: FILE,
    code: "invalidMetricSources",
    read(value) {
      const reading = readMetricSource(value);
      if (reading.ok) return { item: reading.declaration };
      return { problems: reading.problems.map((each) => `${each.path.join(".")}: ${each.message}`) };
    },
    problemsOf(items) {
      const names = items.map(({ name }) => name);
      const twice = names.find((name, index) => names.indexOf(name) !== index);
      const writers = items.filter(({ type }) => type === "remote-write");
      return [
        ...(twice === undefined ? [] : [`the metric source ${twice} is declared twice`]),
        ...(writers.length > 1 ? ["only one source can have the type remote-write"] : []),
      ];
    },
  });
