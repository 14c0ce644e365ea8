/**
 * Plays a scenario. Each line is one batch at the current time; `a && b` puts two inputs into one batch. Between lines,
 * `at 10s` advances time up to, but not including, that instant and wakes the engine whenever it has requested it;
 * `tick` wakes it at that instant.
 */
import { attemptId, nodeId, pipelineRunId, siteName, teamName, workloadId } from "@headroom/model";
import type {
  AttemptId,
  CalendarEntry,
  Input,
  LossCause,
  Schedule,
  Team,
  Workload,
  WorkloadChanges,
  WorkloadSpec,
} from "@headroom/model";
import {
  EarliestStarts,
  expectedCapacity,
  explain,
  NEVER_AS_THINGS_ARE,
  decayedUsageOf,
  planApply,
  queuePage,
  teamHolds,
} from "@headroom/explain";
import { createEngine, replayEngine } from "../../src/index.ts";
import type { Ready } from "../../src/index.ts";
import { Drive } from "../lab/drive.ts";
import { applied, command, pool, site } from "../lab/make.ts";
import { Narrator, refusalText, resultText } from "./narrate.ts";
import { changeOf, decisionOf, gateOf, madeOf, metricsOf, moveProposalOf, registerOf } from "./artifact-words.ts";
import { executorOf } from "./executor-words.ts";
import { advanceOf, burstPoolOf, expectedText, orderOf, reportOf } from "./order-words.ts";
import { provenPoolOf, qualifyOf } from "./qualification-words.ts";
import { datesText, pipelineVerbs, runText } from "./pipeline-words.ts";
import { durationMs, durationText, wordsOf } from "./words.ts";
import type { Words } from "./words.ts";
import { capsOf, drawOf, kindsOf, migOf, placeOf, policyOf } from "./wishes.ts";
import {
  fromDueOf,
  specOf,
  hotSparesOf,
  tariffOf,
  maintenanceOf,
  reservationOf,
  familyOf,
  nodeOf,
  teamOf,
  exitOf,
  range,
} from "./resource-words.ts";

/** `walltimeMs=60000 after=[{"workload":"a","on":"ok"}]`. */
const changesOf = (assignments: readonly string[]): WorkloadChanges =>
  Object.fromEntries(
    assignments.map((assignment) => {
      const [field = "", ...text] = assignment.split("=");
      return [field, JSON.parse(text.join("="))] as const;
    }),
  );

export class Stage {
  readonly #drive = new Drive();
  readonly #narrator = new Narrator();
  #specs = new Map<string, WorkloadSpec>();

  /** The outcome of the line: one text for each event. */
  play(line: string): readonly string[] {
    const [verb = ""] = line.split(/\s+/, 1);
    const rest = line.slice(verb.length).trim();
    const question = this.#questions[verb];
    if (question !== undefined) return question(rest);
    const inputs = line.split("&&").flatMap((part) => this.#inputs(part.trim()));
    return this.#narrate(this.#drive.receive(...inputs));
  }

  #narrate(ready: Ready): readonly string[] {
    const lines = ready.events.map((event) => this.#narrator.event(this.#drive.engine, event));
    for (const reply of ready.replies) {
      if (reply.kind === "rejected") lines.push(refusalText(reply.rejection));
      else if (lines.length === 0 || reply.result.kind === "applied") lines.push(resultText(reply.result));
    }
    // The definitions of site and pools are left out of the output.
    const said = lines.filter((line) => !/^(site|pool) \S+ defined$|^applied: site dc/.test(line));
    return said.map((line) => `${durationText(ready.atMs).padStart(6)}  ${line}`);
  }

  readonly #questions: Readonly<Record<string, (rest: string) => readonly string[]>> = {
    at: (rest) => this.#drive.passTo(durationMs(rest)).flatMap((ready) => this.#narrate(ready)),
    why: (rest) => rest.split(/\s+/).map((name) => this.#why(name)),
    earliest: (rest) => rest.split(/\s+/).map((name) => this.#earliest(name)),
    queue: () => [`queue: ${this.#queue().join(" ") || "empty"}`],
    given: (rest) => {
      const given = this.#workload(rest).given?.map(({ name, path }) => `${name}=${path}`) ?? [];
      return [`${rest} was given ${given.join(" ") || "nothing"}`];
    },
    show: (rest) => rest.split(/\s+/).map((name) => this.#show(this.#workload(name))),
    used: (rest) =>
      rest.split(/\s+/).map((name) => {
        const decayedUsage = decayedUsageOf(this.#drive.engine, teamName(name));
        return `${name} held ${decayedUsage === null ? "nothing that counts" : `${decayedUsage.accelerators.toFixed(2)} accelerators`} on average`;
      }),
    holds: (rest) => rest.split(/\s+/).map((name) => this.#holds(name)),
    plan: (rest) => {
      const forecast = planApply(this.#drive.engine, this.#documents(rest));
      if (forecast.kind === "refused") return [`would be ${refusalText(forecast.rejection)}`];
      return [`would be ${resultText({ kind: "applied", changes: forecast.changes })}`];
    },
    wake: () => {
      const wake = this.#drive.engine.nextWakeAtMs();
      return [`next wake-up: ${wake === null ? "none" : durationText(wake)}`];
    },
    // Time advances while no control plane runs.
    down: (rest) => {
      this.#drive.nowMs = durationMs(rest);
      this.#drive.restart();
      return [];
    },
    steps: (rest) => {
      const run = this.#drive.engine.state.pipelineRuns.get(pipelineRunId(rest));
      return [run === undefined ? `no run ${rest}` : runText(run)];
    },
    dates: (rest) => datesText(rest),
    restart: () => {
      const before = this.#drive.engine.digest();
      this.#drive.restart();
      const replayed = createEngine();
      replayEngine(replayed, this.#drive.groups);
      const isSame = this.#drive.engine.digest() === before && replayed.digest() === before;
      const effects = this.#drive.engine.outstandingEffects().map(({ kind, attemptId: id }) => `${kind} ${id}`);
      return [`restarted ${isSame ? "as it was" : "DIFFERENT"}; asked again: ${effects.join(", ") || "nothing"}`];
    },
  };

  #why(name: string): string {
    const { engine } = this.#drive;
    const { id } = this.#workload(name);
    const expected = expectedCapacity(engine, id);
    return `${name}: ${this.#narrator.verdict(explain(engine, id))}${expected === null ? "" : expectedText(expected)}`;
  }

  #earliest(name: string): string {
    const { engine, nowMs } = this.#drive;
    const startMs = new EarliestStarts(engine, nowMs).of(this.#workload(name));
    if (startMs === NEVER_AS_THINGS_ARE) return `${name} does not start as things are`;
    return startMs === nowMs ? `${name} may start now` : `${name} does not start before ${durationText(startMs)}`;
  }

  #queue(): readonly string[] {
    return queuePage(this.#drive.engine, { after: null, limit: 100 }).workloads.map(
      ({ workload }) => workload.spec.name,
    );
  }

  #show({
    spec: { name },
    phase,
    nextTask,
    succeededCount,
    failedCount,
    activeAttempts,
    waitingTasks,
  }: Workload): string {
    const counts = {
      begun: nextTask,
      active: activeAttempts.length,
      retrying: waitingTasks.length,
      ok: succeededCount,
      failed: failedCount,
    };
    return `${name}: ${phase} ${Object.entries(counts)
      .map(([what, count]) => `${what}=${count}`)
      .join(" ")}`;
  }

  #holds(name: string): string {
    const held = [...teamHolds(this.#drive.engine, teamName(name))].map(([type, count]) => `${type}=${count}`);
    return `${name} holds ${held.join(" ") || "nothing"}`;
  }

  #workload(name: string): Workload {
    const { workloads } = this.#drive.engine.state;
    const byId = workloads.get(workloadId(name));
    const named = [...workloads.values()].filter((workload) => workload.spec.name === name).at(-1);
    const found = byId ?? named;
    if (found === undefined) throw new Error(`no workload ${name}`);
    return found;
  }

  /** The attempt named by `a`, `a task=3`, or an attempt's id, which also names an ended attempt. */
  #attempt({ plain, fields }: Words): AttemptId {
    const name = plain[0] ?? "";
    if (/^w\d+\./.test(name)) return attemptId(name);
    const task = Number(fields.get("task") ?? -1);
    const { state } = this.#drive.engine;
    const found = this.#workload(name).activeAttempts.find((id) => task < 0 || state.attempts.get(id)?.task === task);
    if (found === undefined) throw new Error(`no active attempt of ${name}`);
    return found;
  }

  #inputs(line: string): readonly Input[] {
    const [verb = ""] = line.split(/\s+/, 1);
    const rest = line.slice(verb.length).trim();
    const found = this.#verbs[verb];
    if (found === undefined) throw new Error(`unknown verb "${verb}"`);
    return found(rest);
  }

  readonly #verbs: Readonly<Record<string, (rest: string) => readonly Input[]>> = {
    ...pipelineVerbs,
    tick: () => [{ kind: "tick" }],
    nodes: (rest) => this.#nodes(rest),
    team: (rest) => [applied({ teams: [teamOf(rest)] })],
    apply: (rest) => [applied(this.#documents(rest))],
    policy: (rest) => [command({ kind: "setPolicy", policy: policyOf(wordsOf(rest)) })],
    submit: (rest) => {
      const { fields } = wordsOf(rest);
      const submitted = command({ kind: "submitWorkload", spec: this.#spec(rest) }, fields.get("key") ?? null);
      return [{ ...submitted, actor: fields.get("by") ?? submitted.actor }];
    },
    // stop NAME, or NAME.TASK for one task of an array
    stop: (rest) => {
      const [, name = "", task] = /^([^.]*)(?:\.(\d+))?$/.exec(rest) ?? [];
      const workloadId = this.#idOf(name);
      return [
        command(
          task === undefined
            ? { kind: "stopWorkload", workloadId }
            : { kind: "stopTask", workloadId, task: Number(task) },
        ),
      ];
    },
    // set NAME field=value: the values are JSON, or plain text.
    set: (rest) => {
      const [name = "", ...assignments] = rest.split(/\s+/);
      return [command({ kind: "changeWorkload", workloadId: this.#idOf(name), changes: changesOf(assignments) })];
    },
    hold: (rest) => [command({ kind: "holdWorkload", workloadId: this.#idOf(rest) })],
    // exec NAME[.TASK] worker=N COMMAND
    exec: (rest) => {
      const { plain, fields } = wordsOf(rest);
      const [, name = "", task] = /^([^.]*)(?:\.(\d+))?$/.exec(plain[0] ?? "") ?? [];
      const request = { workloadId: this.#idOf(name), task: task === undefined ? null : Number(task) };
      const worker = Number(fields.get("worker") ?? 0);
      return [command({ kind: "startExec", ...request, worker, run: plain.slice(1).join(" "), terminal: false })];
    },
    rerun: (rest) => [command({ kind: "rerunWorkload", workloadId: this.#idOf(rest) })],
    release: (rest) => [command({ kind: "releaseWorkload", workloadId: this.#idOf(rest) })],
    removeTeam: (rest) => [command({ kind: "removeTeam", team: teamName(rest) })],
    maintenance: (rest) => [applied({ calendar: [maintenanceOf(rest)] })],
    reservation: (rest) => [applied({ calendar: [reservationOf(rest)] })],
    tariff: (rest) => [applied({ calendar: [tariffOf(rest)] })],
    schedule: (rest) => [applied({ schedules: [this.#schedule(rest)] })],
    unschedule: (rest) => [command({ kind: "removeSchedule", name: rest })],
    unplan: (rest) => [command({ kind: "removeCalendarEntry", name: rest })],
    site: (rest) => [
      applied({ sites: [{ ...site, ...placeOf(wordsOf(rest).fields), ...capsOf(wordsOf(rest).fields) }] }),
    ],
    pool: (rest) => {
      const { plain, fields } = wordsOf(rest);
      const said = {
        ...placeOf(fields),
        ...hotSparesOf(fields),
        ...migOf(fields),
        ...kindsOf(fields),
        ...drawOf(fields),
      };
      const here = this.#drive.engine.state.sites.get(site.name) ?? site;
      return [applied({ sites: [here], pools: [{ ...pool(plain[0] ?? ""), ...said }] })];
    },
    price: (rest) => {
      const [type = "", usd] = rest.split(/\s+/);
      return [applied({ pools: [{ ...pool(type), priceMicroUsdPerHour: Number(usd) * 1_000_000 }] })];
    },
    drain: (rest) => {
      const [id = "", running] = rest.split(/\s+/);
      return [command({ kind: "drainNode", nodeId: nodeId(id), running: running === "requeue" ? "requeue" : "wait" })];
    },
    // remove node|pool|site NAME [requeue]
    remove: (rest) => {
      const [of = "", name = "", mode] = rest.split(/\s+/);
      const running = mode === "requeue" ? "requeue" : "refuse";
      if (of === "site") return [command({ kind: "removeSite", site: siteName(name), running })];
      if (of === "pool") return [command({ kind: "removePool", pool: pool(name).name, running })];
      return [command({ kind: "removeNode", nodeId: nodeId(name), running })];
    },
    executor: (rest) => [executorOf(rest)],
    gate: (rest) => [gateOf(rest)],
    propose: (rest) => [moveProposalOf(rest)],
    decide: (rest) => [decisionOf(this.#drive.engine.state, rest)],
    register: (rest) => [registerOf(rest)],
    change: (rest) => [changeOf(rest)],
    order: (rest) => [orderOf(rest)],
    advance: (rest) => [advanceOf(rest)],
    burst: (rest) => [burstPoolOf(rest)],
    says: (rest) => [reportOf(rest)],
    cancelOrder: (rest) => [command({ kind: "cancelCapacityOrder", name: rest, reason: "" })],
    provenPool: (rest) => [provenPoolOf(rest)],
    qualify: (rest) => [qualifyOf(this.#drive.engine.state, rest)],
    resume: (rest) => [command({ kind: "resumeNode", nodeId: nodeId(rest) })],
    // notify NODE in 3m|at 3m [REASON]: a user's command. The word `notice` is an executor's report.
    notify: (rest) => {
      const [id = "", when, amount = "0", ...reason] = rest.split(/\s+/);
      const gone = when === "at" ? { atMs: durationMs(amount) } : { inMs: durationMs(amount) };
      const why = reason.length === 0 ? {} : { reason: reason.join(" ") };
      return [command({ kind: "noticeNode", nodeId: nodeId(id), gone, ...why })];
    },
    withdraw: (rest) => [command({ kind: "withdrawNotice", nodeId: nodeId(rest) })],
    lost: (rest) =>
      rest.split(/\s+/).map((id) => ({ kind: "nodeUnreachable", nodeId: nodeId(id), detail: "no heartbeat" })),
    notice: (rest) => {
      const [id = "", at = "0"] = rest.split(/\s+/);
      return [{ kind: "nodeNotice", nodeId: nodeId(id), goneAtMs: durationMs(at) }];
    },
    seen: (rest) => this.#seen(rest),
    // found POOL TYPE [family=H100]: the accelerators that its executor finds there
    found: (rest) => {
      const { plain, fields } = wordsOf(rest);
      const [name = "", acceleratorType = ""] = plain;
      return [{ kind: "acceleratorsSeen", pool: pool(name).name, acceleratorType, ...familyOf(fields) }];
    },
    running: (rest) => [{ kind: "attemptRunning", attemptId: this.#attempt(wordsOf(rest)) }],
    ready: (rest) => {
      const words = wordsOf(rest);
      const address = words.fields.get("at") ?? "127.0.0.1:8000";
      return [{ kind: "replicaReady", attemptId: this.#attempt(words), address }];
    },
    unready: (rest) => [
      { kind: "replicaNotReady", attemptId: this.#attempt(wordsOf(rest)), detail: "connection refused" },
    ],
    exit: (rest) => {
      const words = wordsOf(rest);
      const made = words.fields.get("made");
      const metric = words.fields.get("metric");
      const metrics = metric === undefined ? {} : { metrics: metricsOf(metric) };
      const artifacts =
        made === undefined ? {} : { artifacts: [{ ...madeOf(made), digest: "sha256:d1", bytes: 7, ...metrics }] };
      return [{ kind: "attemptExited", attemptId: this.#attempt(words), exits: [exitOf(words)], ...artifacts }];
    },
    joined: (rest) => [{ kind: "workersJoined", attemptId: this.#attempt(wordsOf(rest)) }],
    unjoined: (rest) => {
      const words = wordsOf(rest);
      const workers = Number(words.fields.get("keeps"));
      return [{ kind: "joinFailed", attemptId: this.#attempt(words), workers, detail: "no process" }];
    },
    left: (rest) => [{ kind: "workersLeft", attemptId: this.#attempt(wordsOf(rest)) }],
    gone: (rest) => {
      const words = wordsOf(rest);
      const cause = words.fields.get("cause") as LossCause | undefined;
      const lost = { kind: "attemptLost", attemptId: this.#attempt(words), detail: cause ?? "never started" } as const;
      return [cause === undefined ? lost : { ...lost, cause }];
    },
    progress: (rest) => {
      const words = wordsOf(rest);
      const step = Number(words.fields.get("step"));
      const totalSteps = words.fields.has("of") ? Number(words.fields.get("of")) : null;
      return [{ kind: "progressReported", attemptId: this.#attempt(words), step, totalSteps, metrics: {} }];
    },
    artifact: (rest) => {
      const words = wordsOf(rest);
      const { name, path } = madeOf(words.fields.get("made") ?? "");
      return [{ kind: "artifactReported", attemptId: this.#attempt(words), name, path }];
    },
    checkpoint: (rest) => {
      const words = wordsOf(rest);
      const step = Number(words.fields.get("step"));
      return [{ kind: "checkpointReported", attemptId: this.#attempt(words), step, path: `step-${step}` }];
    },
  };

  #idOf(name: string): Workload["id"] {
    return /^w\d+$/.test(name) ? workloadId(name) : this.#workload(name).id;
  }

  /** The first use of a type defines its pool. */
  #nodes(rest: string): readonly Input[] {
    const specs = rest.split("|").map((part) => nodeOf(wordsOf(part)));
    const types = new Set(specs.map(({ type }) => type));
    const { pools: known } = this.#drive.engine.state;
    const pools = applied({
      sites: [site],
      pools: [...types].map((type) => {
        const mig = known.get(pool(type).name)?.mig;
        const { fields } = wordsOf(rest);
        return { ...pool(type), ...migOf(fields), ...familyOf(fields), ...(mig === undefined ? {} : { mig }) };
      }),
    });
    return [pools, ...specs.map(({ spec: seen }): Input => ({ kind: "nodeSeen", node: seen }))];
  }

  #seen(rest: string): readonly Input[] {
    const words = wordsOf(rest);
    const known = this.#drive.engine.state.nodes.get(nodeId(words.plain[0] ?? ""));
    if (known === undefined) return [{ kind: "nodeSeen", node: nodeOf(words).spec }];
    const { id, pool: of, acceleratorCount, coresMilli, memoryMib: memory } = known;
    const leaf = words.fields.get("leaf");
    const fabric = leaf === undefined ? known.fabric : [leaf];
    const rack = words.fields.get("rack") ?? known.labels?.["rack"];
    const amounts = {
      acceleratorCount: Number(words.fields.get("gpu") ?? acceleratorCount),
      coresMilli,
      memoryMib: memory,
    };
    const labels = rack === undefined ? {} : { labels: { rack } };
    return [{ kind: "nodeSeen", node: { id, pool: of, fabric, ...amounts, ...labels } }];
  }

  /** Reads documents such as `team x limit=H100:8 | workload a gpus=2 | pool H100`. */
  #documents(rest: string) {
    const documents = {
      sites: [],
      pools: [] as ReturnType<typeof pool>[],
      teams: [] as Team[],
      workloads: [] as WorkloadSpec[],
      calendar: [] as CalendarEntry[],
    };
    for (const part of rest.split("|").map((each) => each.trim())) {
      const [kind = ""] = part.split(/\s+/, 1);
      const body = part.slice(kind.length).trim();
      if (kind === "team") documents.teams.push(teamOf(body));
      else if (kind === "workload") documents.workloads.push(this.#spec(body));
      else if (kind === "pool") documents.pools.push(pool(body));
      else if (kind === "maintenance") documents.calendar.push(maintenanceOf(body));
      else if (kind === "reservation") documents.calendar.push(reservationOf(body));
      else throw new Error(`unknown document "${kind}"`);
    }
    return documents;
  }

  /**
   * Reads `nightly at=3:00 concurrency=forbid deadline=8h | a gpus=2`: a deadline, `notBefore` and `latest` of the
   * schedule count from the due time. `at=:30` is every hour, `days=1,15` are days of the month, `weekdays=0` is
   * Sunday.
   */
  #schedule(rest: string): Schedule {
    const [head = "", body = ""] = rest.split("|").map((each) => each.trim());
    const { plain, fields } = wordsOf(head);
    const [hour = "", minute = "0"] = (fields.get("at") ?? "").split(":");
    const list = (field: string, from: number, to: number): number[] =>
      fields.get(field)?.split(",").map(Number) ?? range(from, to);
    const times = {
      minutes: [Number(minute)],
      hours: hour === "" ? range(0, 23) : [Number(hour)],
      daysOfMonth: list("days", 1, 31),
      months: range(1, 12),
      daysOfWeek: list("weekdays", 0, 6),
    };
    const concurrency = (fields.get("concurrency") ?? "allow") as Schedule["concurrency"];
    return { name: plain[0] ?? "", times, spec: this.#spec(body), ...fromDueOf(fields), concurrency };
  }

  /** Reads a spec; `a again` is the spec with which `a` was last declared. */
  #spec(rest: string): WorkloadSpec {
    const words = wordsOf(rest);
    const [name = "", again] = words.plain;
    const known = this.#specs.get(name);
    const found = again === "again" && known !== undefined ? known : specOf(name, words.fields);
    this.#specs.set(name, found);
    return found;
  }
}
