/**
 * Starts pipelines when a reading was beyond a threshold for a time. Each such time starts one run: the next one needs a reading
 * within the threshold first. The file `metric-triggers.json` has those that started, and the engine starts one run for a subject, a
 * metric and a start of the time, so that a crash in between starts none twice. A subject without new readings changes nothing.
 */
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import path from "node:path";
import { endpointsOf } from "@headroom/engine";
import type { Engine } from "@headroom/engine";
import { READING_PARAM } from "@headroom/model";
import type { MetricTrigger, PipelineSpec, StartingReading, TeamName } from "@headroom/model";
import { OperationalError, syncPath } from "@headroom/platform";
import type { SubjectSeries } from "@headroom/protocol";
import { rejectionProblem } from "@headroom/views";
import { withTeamsAbove } from "../auth/team-tree.ts";
import type { DriverLog } from "../driver/driver-log.ts";
import type { Driver } from "../driver/driver.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";

const LOOK_MS = 15_000;
/** Points asked for: those of the longest time at the finest resolution are joined to means. */
const POINTS = 300;
/** Subjects are sampled once a minute: a reading that is older than this says nothing about now. */
const FRESH_MS = 180_000;
const FILE = "metric-triggers.json";
/** Digits of the reading that the run gets. */
const DIGITS = 9;

interface MetricTriggerParts {
  readonly home: string;
  readonly driver: Pick<Driver, "read" | "command">;
  readonly telemetry: Pick<Telemetry, "series">;
  readonly log: DriverLog;
  readonly nowMs: () => number;
}

interface WatchedMetric {
  readonly pipeline: PipelineSpec;
  readonly actor: string;
  readonly trigger: MetricTrigger;
  /** The subject of the series; or the reason why there is none that the team may read. */
  readonly subject: string | OperationalError;
}

/** `isStarted` false: the run may have started before a crash. */
interface Crossing {
  readonly sinceMs: number;
  readonly isStarted: boolean;
}

export class MetricTriggers {
  readonly #parts: MetricTriggerParts;
  /** The time beyond the threshold that started the newest run, by trigger. */
  readonly #crossings: Map<string, Crossing>;
  /** Problems that were logged, by trigger: each is logged once. */
  readonly #problems = new Map<string, string>();
  #timer: NodeJS.Timeout | null = null;
  #look: Promise<void> | null = null;
  #isClosed = false;

  constructor(parts: MetricTriggerParts) {
    this.#parts = parts;
    this.#crossings = readCrossings(path.join(parts.home, FILE));
  }

  start(): void {
    this.#timer = setInterval(() => void this.look(), LOOK_MS);
    this.#timer.unref();
  }

  async close(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#isClosed = true;
    await this.#look;
  }

  /** One look at a time: the store of series can be slower than the interval. */
  look(): Promise<void> {
    this.#look ??= this.#lookOnce()
      .catch((error: unknown) => this.#warn("", `Triggers of metrics were not looked at: ${messageOf(error)}`))
      .finally(() => (this.#look = null));
    return this.#look;
  }

  async #lookOnce(): Promise<void> {
    const watched = await this.#parts.driver.read(watchedIn);
    this.#forgetOthers(new Set(watched.map(keyOf)));
    for (const each of watched) {
      if (this.#isClosed) return;
      try {
        await this.#lookAt(each);
        this.#problems.delete(keyOf(each));
      } catch (error) {
        const { pipeline, trigger } = each;
        const of = `${trigger.metric} of ${trigger.subject}`;
        this.#warn(keyOf(each), `Pipeline ${pipeline.name} is not started by ${of}: ${messageOf(error)}`);
      }
    }
  }

  async #lookAt(watched: WatchedMetric): Promise<void> {
    const { trigger, subject } = watched;
    if (typeof subject !== "string") throw subject;
    const toMs = this.#parts.nowMs();
    const fromMs = Math.max(0, toMs - trigger.forMs - FRESH_MS);
    const found = judged(await this.#parts.telemetry.series({ subject, points: POINTS, fromMs, toMs }), trigger, toMs);
    if (found === null) return;
    const key = keyOf(watched);
    const before = this.#crossings.get(key);
    if (found.kind === "within") {
      if (this.#crossings.delete(key)) this.#save();
      return;
    }
    if (found.kind === "short" || before?.isStarted === true) return;
    const crossing = before ?? { sinceMs: found.sinceMs, isStarted: false };
    if (before === undefined) this.#keep(key, crossing);
    const { metric } = trigger;
    await this.#start(watched, { subject: trigger.subject, metric, value: found.value, sinceMs: crossing.sinceMs });
    this.#keep(key, { ...crossing, isStarted: true });
  }

  /** Throws if the pipeline takes no run now: the next look tries again. */
  async #start({ pipeline, actor }: WatchedMetric, reading: StartingReading): Promise<void> {
    const params = pipeline.params.some(({ name }) => name === READING_PARAM) ? { [READING_PARAM]: reading.value } : {};
    const reply = await this.#parts.driver.command({
      kind: "startPipelineRun",
      name: pipeline.name,
      params,
      force: false,
      trigger: "metric",
      reading,
      actor,
      idempotencyKey: null,
    });
    if (reply.kind === "rejected") throw new OperationalError("notStarted", rejectionProblem(reply.rejection).detail);
  }

  #forgetOthers(present: ReadonlySet<string>): void {
    const gone = [...this.#crossings.keys()].filter((key) => !present.has(key));
    for (const key of gone) this.#crossings.delete(key);
    for (const key of this.#problems.keys()) if (key !== "" && !present.has(key)) this.#problems.delete(key);
    if (gone.length > 0) this.#save();
  }

  #keep(key: string, crossing: Crossing): void {
    this.#crossings.set(key, crossing);
    this.#save();
  }

  #save(): void {
    const file = path.join(this.#parts.home, FILE);
    writeFileSync(`${file}.new`, JSON.stringify([...this.#crossings]), { mode: 0o600 });
    syncPath(`${file}.new`);
    renameSync(`${file}.new`, file);
  }

  #warn(key: string, message: string): void {
    if (this.#isClosed || this.#problems.get(key) === message) return;
    this.#problems.set(key, message);
    this.#parts.log.warn(message);
  }
}

function watchedIn(engine: Engine): readonly WatchedMetric[] {
  const watched: WatchedMetric[] = [];
  for (const { pipeline, actor } of engine.state.pipelines.values())
    for (const trigger of pipeline.triggers ?? [])
      if (trigger.kind === "metric")
        watched.push({ pipeline, actor, trigger, subject: subjectOf(engine, pipeline.team, trigger.subject) });
  return watched;
}

/** As the API shows series: fleet, pools and nodes to everybody, teams and endpoints to their own team and those above. */
function subjectOf(engine: Engine, team: TeamName, subject: string): string | OperationalError {
  const [kind, name = ""] = subject.split(":", 2);
  if (kind === "team") {
    // The tree decides, because a name need not be the path of its team.
    const isOwn = withTeamsAbove(engine.state, name as TeamName).includes(team);
    return isOwn ? subject : new OperationalError("hiddenSubject", `It is not team ${team} or one below.`);
  }
  if (kind !== "endpoint") return subject;
  const endpoint = endpointsOf(engine).find(({ spec }) => spec.team === team && spec.name === name);
  return endpoint === undefined
    ? new OperationalError("unknownSubject", `Team ${team} has no endpoint ${name}.`)
    : `endpoint:${endpoint.id}`;
}

type Judged =
  | { readonly kind: "within" }
  /** Beyond, but not for long enough yet. */
  | { readonly kind: "short" }
  | { readonly kind: "beyond"; readonly sinceMs: number; readonly value: string };

/** `null`: there is no reading of now. */
function judged({ atMs, metrics }: SubjectSeries, trigger: MetricTrigger, nowMs: number): Judged | null {
  const values = metrics.find(({ name }) => name === trigger.metric)?.values ?? [];
  const known = atMs.flatMap((at, index) => {
    const value = values[index];
    return typeof value === "number" && Number.isFinite(value) && at <= nowMs ? [{ at, value }] : [];
  });
  const newest = known.at(-1);
  if (newest === undefined || newest.at < nowMs - FRESH_MS) return null;
  let since: number | null = null;
  for (const { at, value } of known.toReversed()) {
    if (!isBeyond(value, trigger)) break;
    since = at;
  }
  if (since === null) return { kind: "within" };
  if (nowMs - since < trigger.forMs) return { kind: "short" };
  return { kind: "beyond", sinceMs: since, value: String(Number(newest.value.toPrecision(DIGITS))) };
}

function isBeyond(value: number, { operator, value: threshold }: MetricTrigger): boolean {
  const limit = Number(threshold);
  switch (operator) {
    case "lt":
      return value < limit;
    case "le":
      return value <= limit;
    case "gt":
      return value > limit;
    case "ge":
      return value >= limit;
  }
}

/** With the team: another team may later have a pipeline of the same name. */
const keyOf = ({ pipeline, trigger }: WatchedMetric): string =>
  JSON.stringify([pipeline.team, pipeline.name, trigger.subject, trigger.metric, trigger.operator, trigger.value]);

/** Without the file, or with a damaged one, a reading that is beyond its threshold now starts a run once more. */
function readCrossings(file: string): Map<string, Crossing> {
  try {
    return new Map(JSON.parse(readFileSync(file, "utf8")) as [string, Crossing][]);
  } catch {
    return new Map();
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
