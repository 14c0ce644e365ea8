/**
 * Optional fields of work, nodes, teams and policies: `within=leaf share=500 min=2`, `zone=a`, `guarantee=H100:8`,
 * `backfill.protectedStarts=3`.
 */
import { gangOfGroups, presets } from "@headroom/model";
import type {
  AntiAffinityFrom,
  DataPlace,
  DefragmentRules,
  FabricSpec,
  TaskGroup,
  GangSpec,
  MigDevice,
  NodeSpec,
  Policy,
  SpreadSpec,
  Team,
  WorkloadSpec,
  Pool,
  PowerCap,
  Site,
} from "@headroom/model";
import { countsByType, durationMs } from "./words.ts";
import type { Words } from "./words.ts";

type Fields = Words["fields"];

/**
 * `min=2`: an elastic gang. `curve=1000,1900`: throughput of 1 and 2 workers. `share=500`: thousandths of one
 * accelerator. `profile=1g.10gb`: a MIG slice. `groups=`: a gang with unlike workers.
 */
export function gangConstraints(fields: Fields): Partial<GangSpec> {
  const groups = fields.get("groups");
  if (groups !== undefined) return { ...gangOfGroups(groups.split(",").map(groupOf)), ...antiAffinityOf(fields) };
  return {
    ...antiAffinityOf(fields),
    ...(fields.has("min") ? { minWorkers: Number(fields.get("min")) } : {}),
    ...(fields.has("curve") ? { throughputMilli: (fields.get("curve") ?? "").split(",").map(Number) } : {}),
    ...(fields.has("profile") ? { accelerators: 1, profile: fields.get("profile") ?? "" } : {}),
    ...(fields.has("share") ? { accelerators: 1, shareMilli: Number(fields.get("share")) } : {}),
  };
}

/**
 * Reads `decode:2-4x8+500@H200|H100~leaf`: 2 to 4 workers of 8 accelerators and half a core each, on these types,
 * within a leaf; `~2ofleaf`: two in each leaf.
 */
function groupOf(text: string): TaskGroup {
  const match = /^(\w+):(?:(\d+)-)?(\d+)x(\d+)(?:\/(\d+))?(?:\+(\d+))?(?:@([\w|]*))?(?:~(?:(\d+)of)?(\w+))?$/.exec(
    text,
  );
  if (match === null) throw new Error(`"${text}" is no group`);
  const [, name = "", least, most, accelerators, share, cores, types, slice, within] = match;
  return {
    name,
    workers: Number(most),
    accelerators: Number(accelerators),
    coresMilli: Number(cores ?? 0),
    memoryMib: 0,
    ...(share === undefined ? {} : { shareMilli: Number(share) }),
    ...(least === undefined ? {} : { minWorkers: Number(least) }),
    ...(types === undefined ? {} : { acceleratorTypes: types === "none" ? [""] : types.split("|") }),
    ...(within === undefined ? {} : { fabric: slice === undefined ? { within } : slicedIn(within, Number(slice)) }),
  };
}

const slicedIn = (within: string, workers: number): FabricSpec => ({ slices: [{ workers, within }] });

export function constraintsOf(fields: Fields): Partial<WorkloadSpec> {
  const fabric = fabricOf(fields);
  const spread = fields.get("spread")?.split(":");
  const select = fields.get("select")?.split(":");
  return {
    ...(fabric === null ? {} : { fabric }),
    ...(spread === undefined
      ? {}
      : { spread: { topologyKey: spread[0] ?? "", maxPerDomain: Number(spread[1]) } satisfies SpreadSpec }),
    ...(select === undefined ? {} : { nodeSelector: { [select[0] ?? ""]: select[1] ?? "" } }),
    ...dataOf(fields),
    ...(fields.has("preemptible") ? { preemptible: fields.get("preemptible") === "yes" } : {}),
    ...(fields.has("minRuntime") ? { minRuntimeMs: durationMs(fields.get("minRuntime") ?? "0") } : {}),
    ...(fields.has("onLoss") ? { onNodeLoss: fields.get("onLoss") as "replace" | "restart" } : {}),
    ...(fields.get("saves") === "yes" ? { checkpointOnRequest: true as const } : {}),
    ...(fields.has("restartCost") ? { restartCostMs: durationMs(fields.get("restartCost") ?? "0") } : {}),
  };
}

/** Reads `sets=chat apart=chat@rack,noisy~leaf alone=yes`: `@` precedes a label, `~` a level. */
function antiAffinityOf(fields: Fields): Pick<GangSpec, "antiAffinity"> {
  const [sets, antiAffinity] = [fields.get("sets"), fields.get("antiAffinity")];
  if (sets === undefined && antiAffinity === undefined && !fields.has("alone")) return {};
  const from = antiAffinity?.split(",").map((each): AntiAffinityFrom => {
    const [set = "", over] = each.split("@");
    const [inFabric = "", within = ""] = each.split("~");
    return over === undefined ? { set: inFabric, within } : { set, topologyKey: over };
  });
  return {
    antiAffinity: {
      ...(sets === undefined ? {} : { sets: sets.split(",") }),
      ...(from === undefined ? {} : { from }),
      ...(fields.has("alone") ? { exclusive: true } : {}),
    },
  };
}

/** Reads `reads=s3://a,s3://b rule=restricted`. */
function dataOf(fields: Fields): Pick<WorkloadSpec, "data"> {
  const [reads, rule] = [fields.get("reads"), fields.get("rule")];
  if (reads === undefined && rule === undefined) return {};
  const inputs = reads === undefined ? {} : { inputs: reads.split(",") };
  return { data: { ...inputs, ...(rule === undefined ? {} : { rule }) } };
}

/** `mig=H100-80GB`: the MIG device of a pool. */
export const migOf = (fields: Fields): { readonly mig?: MigDevice } =>
  fields.has("mig") ? { mig: fields.get("mig") as MigDevice } : {};

/** `kinds=batch,train`: the kinds of workload that a pool takes. */
export const kindsOf = (fields: Fields): Pick<Pool, "kinds"> =>
  fields.has("kinds") ? { kinds: (fields.get("kinds") ?? "").split(",") as NonNullable<Pool["kinds"]> } : {};

/** Reads `caps=rack:4000,rack/r3:3000,leaf:9000:cooling`: caps in watts, of every domain of a level or of one. */
export function capsOf(fields: Fields): Pick<Site, "caps"> {
  const text = fields.get("caps");
  if (text === undefined || text === "none") return {};
  const caps = text.split(",").map((each): PowerCap => {
    const [where = "", watts = "", of = "power"] = each.split(":");
    const [level = "", ...domain] = where.split("/");
    const named = domain.length === 0 ? {} : { domain: domain.join("/") };
    return { of: of as PowerCap["of"], level, ...named, watts: Number(watts) };
  });
  return { caps };
}

/** Reads `draw=700 nodeDraw=1000` of a pool, in watts. */
export function drawOf(fields: Fields): Pick<Pool, "power"> {
  const [accelerator, node] = [fields.get("draw"), fields.get("nodeDraw")];
  if (accelerator === undefined && node === undefined) return {};
  return {
    power: {
      ...(accelerator === undefined ? {} : { acceleratorWatts: Number(accelerator) }),
      ...(node === undefined ? {} : { nodeWatts: Number(node) }),
    },
  };
}

/** Reads `rules=restricted holds=s3://a` of a pool or site. */
export function placeOf(fields: Fields): { readonly data?: DataPlace } {
  const [rules, holds] = [fields.get("rules"), fields.get("holds")];
  if (rules === undefined && holds === undefined) return {};
  return {
    data: {
      ...(rules === undefined ? {} : { rules: rules === "none" ? [] : rules.split(",") }),
      ...(holds === undefined ? {} : { holds: holds.split(",") }),
    },
  };
}

/** `within=leaf`, `prefer=leaf`, `slices=2:leaf`. */
/** Reads `within=spine prefer=leaf slices=4:leaf,2:node`, the widest slices first. */
function fabricOf(fields: Fields): FabricSpec | null {
  const [within, prefer] = [fields.get("within"), fields.get("prefer")];
  const slices = fields
    .get("slices")
    ?.split(",")
    .map((each) => each.split(":"));
  if (within === undefined && prefer === undefined && slices === undefined) return null;
  return {
    ...(within === undefined ? {} : { within }),
    ...(prefer === undefined ? {} : { prefer }),
    ...(slices === undefined
      ? {}
      : { slices: slices.map(([workers, level = ""]) => ({ workers: Number(workers), within: level })) }),
  };
}

/** `leaf=l1` is a place in the fabric; `zone=a rack=r1` are labels. */
export function nodeConstraints(fields: Fields): Partial<NodeSpec> {
  const labels = [...fields].filter(([name]) => name === "zone" || name === "rack");
  return {
    ...(fields.has("leaf") ? { fabric: [fields.get("leaf") ?? ""] } : {}),
    ...(labels.length === 0 ? {} : { labels: Object.fromEntries(labels) }),
    ...(fields.has("workersMax") ? { workersMax: Number(fields.get("workersMax")) } : {}),
  };
}

export function teamShareOf(fields: Fields): Partial<Team> {
  return {
    ...(fields.has("guarantee") ? { guarantee: countsByType(fields.get("guarantee") ?? "") } : {}),
    ...(fields.has("userLimit") ? { userLimit: countsByType(fields.get("userLimit") ?? "") } : {}),
    ...(fields.has("weight") ? { weight: Number(fields.get("weight")) } : {}),
    ...(fields.has("lending") ? { lendingLimit: countsByType(fields.get("lending") ?? "") } : {}),
    ...(fields.has("borrowing") ? { borrowingLimit: countsByType(fields.get("borrowing") ?? "") } : {}),
  };
}

/** `defragment.during=2`: every day from 02:00 to 03:00. */
function duringHour(hour: number): NonNullable<DefragmentRules["during"]> {
  const upTo = (from: number, to: number): number[] =>
    Array.from({ length: to - from + 1 }, (_, index) => from + index);
  const days = { daysOfMonth: upTo(1, 31), months: upTo(1, 12), daysOfWeek: upTo(0, 6) };
  return { times: { minutes: [0], hours: [hour], ...days }, lastsMs: 3_600_000 };
}

function knobOf(name: string, text: string): unknown {
  if (name === "during") return duringHour(Number(text));
  if (name === "order" || name === "phases") return text === "" ? [] : text.split(",");
  return /^\d+$/.test(text) ? Number(text) : text;
}

/**
 * A preset with changed settings: `default whenHeadBlocked=stop`, `default backfill.protectedStarts=0`, `fifo
 * phases=place,grow`.
 */
export function policyOf({ plain, fields }: Words): Policy {
  const preset = presets.get(plain[0] ?? "");
  if (preset === undefined) throw new Error(`unknown policy ${plain[0]}`);
  let policy: unknown = preset;
  for (const [name, text] of fields) {
    const path = name.split(".");
    policy = withValue(policy, path, knobOf(path.at(-1) ?? "", text));
  }
  return policy as Policy;
}

function withValue(record: unknown, [field, ...rest]: readonly string[], value: unknown): unknown {
  if (field === undefined) return value;
  const fields = (record ?? {}) as Readonly<Record<string, unknown>>;
  return { ...fields, [field]: withValue(fields[field], rest, value) };
}
