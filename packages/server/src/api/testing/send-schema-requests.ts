/** Sends requests whose parameters and bodies are drawn from the schemas of the operations, all with the token. */
import { operationNames, operations } from "@headroom/protocol";
import type { Operation, OperationName } from "@headroom/protocol";
import type { LiveControlPlane } from "./live-control-plane.ts";
import { drawnValue, drawsOf } from "./schema-draws.ts";

export interface SchemaFuzzReport {
  readonly statuses: ReadonlyMap<number, number>;
  /** Requests that were answered with a server error other than overload. */
  readonly failures: readonly string[];
}

/** Number of concurrent requests. */
const LANES = 16;

/** Operations that use a thread for seconds each. Some of them are enough. */
const slowNames: ReadonlySet<OperationName> = new Set([
  "whatIf",
  "startReplay",
  "defragmentation",
  "snapshot",
  "size",
  "storePlan",
]);
const SLOW_EVERY = 20;

export async function sendSchemaRequests(
  live: LiveControlPlane,
  { seed, first, count }: { readonly seed: number; readonly first: number; readonly count: number },
): Promise<SchemaFuzzReport> {
  const statuses = new Map<number, number>();
  const failures: string[] = [];
  let next = first;
  const lane = async (): Promise<void> => {
    while (next < first + count) {
      const number = next++;
      const { status, line } = await send(live, seed, number);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      if (status >= 500 && status !== 503) failures.push(`seed ${seed}, request ${number}: ${status} ${line}`);
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  return { statuses, failures };
}

async function send(live: LiveControlPlane, seed: number, number: number) {
  const draws = drawsOf(seed, number);
  let name = draws.one(operationNames);
  if (slowNames.has(name) && draws.below(SLOW_EVERY) > 0) name = draws.one(["submitWorkload", "apply", "setPolicy"]);
  const operation: Operation = operations[name];
  const parameter = (schema: Operation["params"]): Readonly<Record<string, unknown>> =>
    Object.fromEntries(Object.entries(drawnValue(schema, draws) ?? {}));
  const params = parameter(operation.params);
  const path = operation.path.replace(/\{(\w+)\}/g, (_, field: string) => encoded(params[field]) || "w1");
  const query = Object.entries(parameter(operation.query)).map(
    ([field, value]) => `${encoded(field)}=${encoded(value)}`,
  );
  const abort = new AbortController();
  const line = `${operation.method} ${path}?${query.join("&")}`.slice(0, 300);
  const response = await live.request(`${path}?${query.join("&")}`, {
    method: operation.method,
    headers: { "content-type": "application/json" },
    ...(operation.body === null ? {} : { body: JSON.stringify(drawnValue(operation.body, draws) ?? null) }),
    signal: abort.signal,
  });
  if (operation.stream) abort.abort();
  else await response.arrayBuffer();
  return { status: response.status, line };
}

/** A URL cannot contain lone surrogates. */
const encoded = (value: unknown): string =>
  encodeURIComponent((typeof value === "string" ? value : (JSON.stringify(value) ?? "")).toWellFormed().slice(0, 500));
