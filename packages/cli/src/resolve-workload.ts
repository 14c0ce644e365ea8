/** Finds the one workload that an id, a name or `team/name` stands for. */
import type { HeadroomClient, WorkloadSummary } from "@headroom/protocol";
import { CliError, exitCode } from "./cli-error.ts";
import { isProblemError } from "./describe-error.ts";

/** An id takes precedence over a name, so that a script that stored an id never reaches another workload. */
export async function resolveWorkload(client: HeadroomClient, text: string): Promise<WorkloadSummary> {
  if (!/^[A-Za-z0-9][A-Za-z0-9._/-]{0,499}$/.test(text)) throw notFound(text, []);
  const slash = text.lastIndexOf("/");
  if (slash < 0) {
    const byId = await workloadById(client, text);
    if (byId !== undefined) return byId;
  }
  const name = text.slice(slash + 1);
  if (name === "" || name.length > 100) throw notFound(text, []);
  const team = slash < 0 ? undefined : text.slice(0, slash);
  const { items } = await client.listWorkloads({ name, team, limit: 100 });
  const named = team === undefined ? items : items.filter((each) => each.team === team);
  return chosen(client, text, named);
}

/**
 * A workload, or one task of an array: `sweep.3` is task 3 of `sweep`, and so is `sweep_3`, as Slurm writes it. `chat.3`
 * is replica 3 of an endpoint.
 */
export interface ResolvedTask {
  readonly workload: WorkloadSummary;
  /** `null`: the whole workload is meant. */
  readonly task: number | null;
}

/** A workload whose whole name fits takes precedence over a task. */
export async function resolveTask(client: HeadroomClient, text: string): Promise<ResolvedTask> {
  const [, name, task] = /^(.+)[._](\d{1,7})$/.exec(text) ?? [];
  try {
    return { workload: await resolveWorkload(client, text), task: null };
  } catch (error) {
    if (name === undefined || !(error instanceof CliError)) throw error;
    const workload = await resolveWorkload(client, name).catch(() => {
      throw error;
    });
    const index = Number(task);
    // Replicas keep their numbers when the endpoint shrinks, so the last one may have a number above their count.
    if (workload.kind !== "serve" && index >= workload.tasks.total)
      throw new CliError(
        `${name} has ${workload.tasks.total} tasks, 0 to ${workload.tasks.total - 1}; there is no task ${index}`,
      );
    return { workload, task: index };
  }
}

async function chosen(
  client: HeadroomClient,
  text: string,
  named: readonly WorkloadSummary[],
): Promise<WorkloadSummary> {
  const open = named.filter(({ endedAtMs }) => endedAtMs === null);
  const [first] = open;
  if (open.length > 1) {
    const list = open.map(({ id, team, name, phase }) => `  ${id}  ${team}/${name}  ${phase}`).join("\n");
    const how = new Set(open.map(({ team }) => team)).size === open.length ? "an id or team/name" : "an id";
    throw new CliError(`${text} fits ${open.length} workloads; use ${how}:\n${list}`, exitCode.usage);
  }
  // No unfinished workload has that name, so the newest ended one is used (lists start with the newest).
  const found = first ?? named[0];
  if (found !== undefined) return found;
  const search = text.slice(text.lastIndexOf("/") + 1, 100);
  const { items } = await client.listWorkloads({ search, limit: 5 });
  throw notFound(text, items);
}

function notFound(text: string, similar: readonly WorkloadSummary[]): CliError {
  const names = [...new Set(similar.map(({ name }) => name))];
  const hint = names.length > 0 ? `did you mean ${names.join(" or ")}?` : "`headroom list` shows all workloads.";
  return new CliError(`there is no workload ${JSON.stringify(text)}; ${hint}`);
}

async function workloadById(client: HeadroomClient, id: string): Promise<WorkloadSummary | undefined> {
  try {
    return await client.getWorkload(id);
  } catch (error) {
    if (isProblemError(error) && error.code === "unknownWorkload") return undefined;
    throw error;
  }
}

/** All items of a paged list, up to `max`. `more`: whether there are further items. */
export async function allPages<Item>(
  page: (
    cursor: string | null,
    limit: number,
  ) => Promise<{ readonly items: readonly Item[]; readonly nextCursor: string | null }>,
  max: number,
): Promise<{ readonly items: readonly Item[]; readonly more: boolean }> {
  const items: Item[] = [];
  let cursor: string | null = null;
  do {
    const found = await page(cursor, Math.min(500, max - items.length));
    items.push(...found.items);
    cursor = found.nextCursor;
  } while (cursor !== null && items.length < max);
  return { items, more: cursor !== null };
}
