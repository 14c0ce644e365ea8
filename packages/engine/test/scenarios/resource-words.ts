/** Reads the resources that a line of a scenario declares: workloads, teams, budgets, nodes, calendar entries, exits. */
import { nodeId, poolName, siteName, teamName } from "@headroom/model";
import type { AfterSpec, Budget, CalendarEntry, Schedule, Team, WorkerExit, WorkloadSpec } from "@headroom/model";
import { node, spec, team } from "../lab/make.ts";
import { countsByType, durationMs, memoryMib, wordsOf } from "./words.ts";
import type { Words } from "./words.ts";
import { gangConstraints, nodeConstraints, teamShareOf, constraintsOf } from "./wishes.ts";

export function fromDueOf(fields: Words["fields"]): Pick<Schedule, "fromDue"> {
  const names = { notBefore: "notBeforeMs", deadline: "deadlineMs", latest: "latestStartMs" };
  const fromDue = Object.fromEntries(
    Object.entries(names).flatMap(([word, name]) => {
      const text = fields.get(word);
      return text === undefined ? [] : [[name, durationMs(text)]];
    }),
  );
  return Object.keys(fromDue).length === 0 ? {} : { fromDue };
}

export function specOf(name: string, fields: Words["fields"]): WorkloadSpec {
  const number = (key: string, other: number): number => Number(fields.get(key) ?? other);
  const duration = (key: string, other: string): number => durationMs(fields.get(key) ?? other);
  return spec(name, {
    team: fields.get("team") ?? "default",
    gang: {
      workers: number("workers", 1),
      accelerators: number("gpus", 1),
      coresMilli: 1000 * number("cores", 0),
      memoryMib: memoryMib(fields.get("memory") ?? "0MiB"),
      ...gangConstraints(fields),
    },
    acceleratorTypes: fields.get("types")?.split(",") ?? [],
    priority: number("priority", 0),
    walltimeMs: fields.has("walltime") ? duration("walltime", "0") : null,
    retries: {
      max: number("retries", 0),
      backoffMs: duration("backoff", "10s"),
      backoffMaxMs: duration("backoffMax", "10m"),
      ...(fields.has("quick") ? { quickFailureMs: duration("quick", "0") } : {}),
    },
    graceTimeoutMs: duration("grace", "30s"),
    taskCount: fields.has("tasks") ? number("tasks", 1) : null,
    ...(fields.has("atOnce") ? { tasksAtOnce: number("atOnce", 1) } : {}),
    ...replicasOf(fields),
    ...constraintsOf(fields),
    ...(fields.has("after") ? { after: aftersOf(fields.get("after") ?? "") } : {}),
    ...(fields.has("produces") ? { produces: fields.get("produces")?.split(",") ?? [] } : {}),
    ...(fields.has("deadline") ? { deadlineMs: duration("deadline", "0") } : {}),
    ...startWindowOf(fields),
    ...(fields.has("notBefore") ? { notBeforeMs: duration("notBefore", "0") } : {}),
    ...(fields.get("hold") === "yes" ? { hold: true } : {}),
  });
}

/** Reads `replicas=1-3` and `ready=60s`. */
function replicasOf(fields: Words["fields"]): Pick<NonNullable<Parameters<typeof spec>[1]>, "replicas" | "readyMs"> {
  const [min, max = min] = (fields.get("replicas") ?? "").split("-").map(Number);
  if (min === undefined || max === undefined || !fields.has("replicas")) return {};
  return { replicas: { min, max }, readyMs: durationMs(fields.get("ready") ?? "60s") };
}

/** Reads `spares=2`. */
export const hotSparesOf = (fields: Words["fields"]): { readonly hotSpares?: number } =>
  fields.has("hotSpares") ? { hotSpares: Number(fields.get("hotSpares")) } : {};

/** Reads `price=100` micro-dollars, `carbon=200` grams, `cheapest=2h`, `cleanest=2h`, `latest=8h`. */
function startWindowOf(fields: Words["fields"]): Partial<WorkloadSpec> {
  const [price, carbon, latest] = [fields.get("price"), fields.get("carbon"), fields.get("latest")];
  const [cheapest, cleanest] = [fields.get("cheapest"), fields.get("cleanest")];
  if ([price, carbon, cheapest, cleanest].every((each) => each === undefined)) return {};
  return {
    startWindow: {
      ...(price === undefined ? {} : { microUsdPerKwhMax: Number(price) }),
      ...(carbon === undefined ? {} : { gramsPerKwhMax: Number(carbon) }),
      ...(cheapest === undefined ? {} : { cheapestMs: durationMs(cheapest) }),
      ...(cleanest === undefined ? {} : { cleanestMs: durationMs(cleanest) }),
      ...(latest === undefined ? {} : { latestStartMs: durationMs(latest) }),
    },
  };
}

/**
 * Reads `night at=22 lasts=8h price=80 carbon=120`; once: `from=1h until=2h`; a forecast: `from=1h step=1h
 * prices=80,90`. `site=dc1` limits the tariff to a site.
 */
export function tariffOf(text: string): CalendarEntry {
  const { plain, fields } = wordsOf(text);
  const [at, site, price, carbon] = [fields.get("at"), fields.get("site"), fields.get("price"), fields.get("carbon")];
  const [step, prices, carbons] = [fields.get("step"), fields.get("prices"), fields.get("carbons")];
  if (step !== undefined) {
    const when = {
      kind: "series",
      startMs: durationMs(fields.get("from") ?? "0"),
      stepMs: durationMs(step),
      ...(prices === undefined ? {} : { microUsdPerKwh: prices.split(",").map(Number) }),
      ...(carbons === undefined ? {} : { gramsPerKwh: carbons.split(",").map(Number) }),
    } as const;
    const at = site === undefined ? {} : { site: siteName(site) };
    return { kind: "tariff", name: plain[0] ?? "", ...at, when };
  }
  const { startMs, endMs, name } = timesOf({ plain, fields });
  const times = {
    minutes: [0],
    hours: [Number(at)],
    daysOfMonth: range(1, 31),
    months: range(1, 12),
    daysOfWeek: range(0, 6),
  };
  return {
    kind: "tariff",
    name,
    ...(site === undefined ? {} : { site: siteName(site) }),
    when:
      at === undefined
        ? { kind: "once", startMs, endMs }
        : { kind: "recurring", times, durationMs: durationMs(fields.get("lasts") ?? "0") },
    ...(price === undefined ? {} : { microUsdPerKwh: Number(price) }),
    ...(carbon === undefined ? {} : { gramsPerKwh: Number(carbon) }),
  };
}

/** Reads `a,b:failed,c:any`; a name alone must succeed. `model@train`, `model@`: an artifact. */
function aftersOf(text: string): readonly AfterSpec[] {
  return text.split(",").map((each) => {
    // `model:chat@`: the colon belongs to the artifact.
    const [workload = "", on = "ok"] = each.endsWith("@") ? [each] : each.split(":");
    const [producer, artifact] = workload.split("@").toReversed();
    if (workload.includes("@"))
      return { artifact: artifact ?? "", ...(producer === undefined || producer === "" ? {} : { workload: producer }) };
    return { workload, on: on as "ok" };
  });
}

/** Reads `firmware nodes=n1,n2 from=2h until=4h`, or `pool=H100`. */
export function maintenanceOf(text: string): CalendarEntry {
  const { plain, fields } = wordsOf(text);
  const pool = fields.get("pool");
  return {
    kind: "maintenance",
    ...timesOf({ plain, fields }),
    ...(pool === undefined ? {} : { pool: poolName(pool) }),
  };
}

/** Reads `demo gpus=16 team=a from=2h until=4h`; `type=`, `nodes=` and `users=` are optional. */
export function reservationOf(text: string): CalendarEntry {
  const { plain, fields } = wordsOf(text);
  const [owner, gpus, type] = [fields.get("team"), fields.get("gpus"), fields.get("type")];
  return {
    kind: "reservation",
    ...timesOf({ plain, fields }),
    ...(owner === undefined ? {} : { team: teamName(owner) }),
    ...(fields.has("users") ? { users: fields.get("users")?.split(",") ?? [] } : {}),
    ...(gpus === undefined ? {} : { accelerators: Number(gpus) }),
    ...(type === undefined ? {} : { acceleratorType: type }),
  };
}

function timesOf({ plain, fields }: Words) {
  const nodes = fields.get("nodes")?.split(",").map(nodeId);
  return {
    name: plain[0] ?? "",
    startMs: durationMs(fields.get("from") ?? "0"),
    endMs: durationMs(fields.get("until") ?? "0"),
    ...(nodes === undefined ? {} : { nodes }),
  };
}

export const familyOf = (fields: Words["fields"]): { readonly acceleratorFamily?: string } => {
  const family = fields.get("family");
  return family === undefined ? {} : { acceleratorFamily: family };
};

export function nodeOf({ plain, fields }: Words) {
  const type = fields.get("type") ?? (fields.get("gpu") === "0" ? "" : "H100");
  return {
    type,
    spec: node(plain[0] ?? "", type, {
      acceleratorCount: Number(fields.get("gpu") ?? 8),
      coresMilli: 1000 * Number(fields.get("cores") ?? 64),
      memoryMib: memoryMib(fields.get("memory") ?? "512GiB"),
      ...nodeConstraints(fields),
    }),
  };
}

export function teamOf(text: string): Team {
  const { plain, fields } = wordsOf(text);
  const plainTeam = team(plain[0] ?? "", fields.get("parent") ?? null, countsByType(fields.get("limit") ?? ""));
  const budget = fields.get("budget");
  return { ...plainTeam, ...teamShareOf(fields), ...(budget === undefined ? {} : { budget: budgetOf(budget) }) };
}

/** Reads `100h/month/hold` or `$50/total/stop`. */
function budgetOf(text: string): Budget {
  const [amount = "", period, over] = text.split("/");
  const bound = amount.startsWith("$")
    ? { microUsd: Number(amount.slice(1)) * 1_000_000 }
    : { gpuHours: Number(amount.replace(/h$/, "")) };
  return { ...bound, period: period as Budget["period"], over: over as Budget["over"] };
}

export function exitOf({ fields }: Words): WorkerExit {
  const worker = Number(fields.get("worker") ?? 0);
  const signal = fields.get("signal");
  if (signal !== undefined) return { kind: "signalled", worker, signal };
  return { kind: "exited", worker, code: Number(fields.get("code") ?? 0) };
}

export const range = (from: number, to: number): number[] =>
  Array.from({ length: to - from + 1 }, (_, index) => from + index);
