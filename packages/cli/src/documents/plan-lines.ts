/**
 * The plan of `apply` as a diff: `+` for new documents, `~` for changed ones with their fields. Unchanged documents are
 * only counted.
 */
import {
  fleetDocument,
  teamDocument,
  type ApplyPlan,
  type ApplyRequest,
  type HeadroomClient,
  workloadDocument,
  type WorkloadSpec,
} from "@headroom/protocol";
import { plural } from "../output/amounts.ts";
import { noticeLines } from "../output/notice-lines.ts";
import { shortForecastLines } from "../output/forecast-text.ts";
import type { Paint } from "../output/style.ts";
import { gangText } from "../output/workload-text.ts";
import { allPages } from "../resolve-workload.ts";
import { printable } from "../terminal.ts";

/** Number of changed teams above which their fields are not listed. */
const TEAMS_COMPARED_MAX = 10_000;

export async function planLines(
  client: HeadroomClient,
  request: ApplyRequest,
  plan: ApplyPlan,
  paint: Paint,
): Promise<string[]> {
  const before = plan.changes.some(({ action }) => action === "changed")
    ? await currentFields(client)
    : new Map<string, Fields>();
  const after = requestedFields(request);
  for (const [key, fields] of await currentWorkloads(client, plan)) before.set(key, fields);
  const lines: string[] = [];
  const notes = new FoldedNotes(plan.changes);
  for (const { kind, name, action, forecast, notices } of plan.changes) {
    const key = `${kind} ${name}`;
    if (action === "created") lines.push(paint("green", `+ ${key}${createdNote(request, kind, name)}`));
    if (forecast !== undefined) for (const line of shortForecastLines(forecast)) lines.push(`    ${line}`);
    else for (const line of notes.of(notices)) lines.push(`    ${line}`);
    if (action !== "changed") continue;
    lines.push(paint("yellow", `~ ${key}`));
    for (const line of fieldLines(before.get(key) ?? new Map(), after.get(key) ?? new Map())) lines.push(`    ${line}`);
  }
  const count = (wanted: ApplyPlan["changes"][number]["action"]): number =>
    plan.changes.filter(({ action }) => action === wanted).length;
  const summary = `${count("created")} to create, ${count("changed")} to change, ${count("unchanged")} unchanged`;
  return [
    ...lines,
    lines.length === 0 ? `Nothing to do: ${plural(count("unchanged"), "thing")} as declared.` : summary,
  ];
}

/** Notes about documents. An equal note is shown once, at the first document, with the number of further documents. */
class FoldedNotes {
  readonly #counts = new Map<string, number>();
  readonly #shown = new Set<string>();

  constructor(changes: ApplyPlan["changes"]) {
    for (const { forecast, notices } of changes)
      if (forecast === undefined)
        for (const line of new Set(noticeLines(notices))) this.#counts.set(line, (this.#counts.get(line) ?? 0) + 1);
  }

  /** The notes of one document that were not shown before. */
  of(notices: Parameters<typeof noticeLines>[0]): string[] {
    return noticeLines(notices).flatMap((line) => {
      if (this.#shown.has(line)) return [];
      this.#shown.add(line);
      const further = (this.#counts.get(line) ?? 1) - 1;
      return further === 0 ? line : `${line} (the same for ${plural(further, "further document")})`;
    });
  }
}

type Fields = ReadonlyMap<string, string>;

function createdNote(request: ApplyRequest, kind: string, name: string): string {
  if (kind !== "workload") return "";
  const spec = request.workloads.find((each) => each.name === name);
  if (spec === undefined) return "";
  const size = `${tasksText(spec)}${gangText(spec)}`;
  return ` (${spec.kind}, team ${spec.team}, ${size}): ${printable(spec.run.split("\n")[0] ?? "")}`;
}

function tasksText(spec: ApplyRequest["workloads"][number]): string {
  if (spec.kind === "batch") return `${plural(spec.taskCount, "task")} of `;
  return spec.kind === "serve" ? `${spec.replicas.min} to ${spec.replicas.max} replicas of ` : "";
}

function requestedFields(request: ApplyRequest): Map<string, Fields> {
  const fields = new Map<string, Fields>();
  for (const spec of request.workloads) fields.set(`workload ${spec.name}`, workloadFields(spec));
  for (const team of request.teams) fields.set(`team ${team.name}`, flat(teamDocument(team)));
  for (const site of request.sites) fields.set(`site ${site.name}`, siteFields(site));
  for (const pool of request.pools) fields.set(`pool ${pool.name}`, poolFields(pool));
  return fields;
}

/** Number of changed workloads above which the fields of further ones are not compared. */
const WORKLOADS_COMPARED_MAX = 100;

/** Fields of the workloads that change in place. Variables are listed without values, which may be secrets. */
async function currentWorkloads(client: HeadroomClient, { changes }: ApplyPlan): Promise<Map<string, Fields>> {
  const fields = new Map<string, Fields>();
  const changed = changes.filter(({ fields: own }) => own !== undefined).slice(0, WORKLOADS_COMPARED_MAX);
  for (const { name, workloadId } of changed) {
    if (workloadId === null) continue;
    const { spec } = await client.getWorkload(workloadId);
    fields.set(`workload ${name}`, workloadFields(spec));
  }
  return fields;
}

function workloadFields(spec: WorkloadSpec): Fields {
  const fields = flat(workloadDocument(spec));
  return new Map(
    [...fields].map(([name, text]) => [name, name.startsWith("env.") ? `set (${text.length} characters)` : text]),
  );
}

async function currentFields(client: HeadroomClient): Promise<Map<string, Fields>> {
  const fields = new Map<string, Fields>();
  const { items } = await allPages((cursor, limit) => client.teams({ cursor, limit }), TEAMS_COMPARED_MAX);
  for (const team of items) fields.set(`team ${team.name}`, flat(teamDocument(team)));
  const { sites, pools } = await client.fleet();
  for (const site of sites) fields.set(`site ${site.name}`, siteFields(site));
  for (const pool of pools) fields.set(`pool ${pool.name}`, poolFields(pool));
  return fields;
}

function siteFields(site: Parameters<typeof fleetDocument>[0]["sites"][number]): Fields {
  const { fabricLevels, data } = site;
  const { sites } = fleetDocument({ sites: [site], pools: [], simulatedNodes: [] }) as {
    readonly sites: readonly { readonly caps?: unknown }[];
  };
  const caps = sites[0]?.caps;
  return flat({
    fabric: fabricLevels,
    ...(data === undefined ? {} : { data }),
    ...(caps === undefined ? {} : { caps }),
  });
}

type PoolLike = Parameters<typeof fleetDocument>[0]["pools"][number];

function poolFields(pool: PoolLike): Fields {
  const { site } = pool;
  const { sites } = fleetDocument({
    sites: [{ name: site, fabricLevels: [] }],
    pools: [pool],
    simulatedNodes: [],
  }) as {
    readonly sites: readonly { readonly pools: readonly Record<string, unknown>[] }[];
  };
  return flat({ site, ...sites[0]?.pools[0] });
}

/** Nested fields by path, with their values as text. */
function flat(value: Readonly<Record<string, unknown>>, prefix = ""): Map<string, string> {
  const fields = new Map<string, string>();
  for (const [name, each] of Object.entries(value)) {
    const isMapping = typeof each === "object" && each !== null && !Array.isArray(each);
    if (!isMapping) fields.set(prefix + name, typeof each === "string" ? each : JSON.stringify(each));
    else for (const [path, text] of flat(each as Record<string, unknown>, `${prefix}${name}.`)) fields.set(path, text);
  }
  return fields;
}

function fieldLines(before: Fields, after: Fields): string[] {
  const names = [...new Set([...before.keys(), ...after.keys()])];
  return names
    .filter((name) => before.get(name) !== after.get(name))
    .map((name) => `${name}: ${before.get(name) ?? "(none)"} → ${after.get(name) ?? "(none)"}`);
}
