/** The result of a PromQL query as samples of subjects. https://prometheus.io/docs/prometheus/latest/querying/api/ */
import type { PrometheusQuery } from "@headroom/metrics";
import { acceleratorSubject } from "@headroom/views";
import type { SubjectSample } from "@headroom/views";
import { z } from "zod";

/** Maximum number of series of one result that are read. */
const RESULT_MAX = 100_000;
const ID_CHARS_MAX = 256;
/** Maximum number of points of one series over a range. */
const POINTS_MAX = 1_000;

const point = z.tuple([z.number(), z.string()]);
const vector = z.object({
  resultType: z.literal("vector"),
  result: z.array(z.object({ metric: z.record(z.string(), z.string()), value: point })).max(RESULT_MAX),
});
const scalar = z.object({ resultType: z.literal("scalar"), result: point });
const answer = z.object({
  status: z.literal("success"),
  data: z.discriminatedUnion("resultType", [vector, scalar], {
    error: "the query has a matrix as its result: use an instant vector, such as rate(x[5m])",
  }),
});

/** Nodes and endpoints of the fleet. `endpoints`: ids of workloads, by `TEAM/NAME`. */
export interface KnownSubjects {
  readonly nodes: ReadonlySet<string>;
  readonly endpoints: ReadonlyMap<string, string>;
}

export interface QuerySample {
  readonly subject: string;
  readonly value: number;
}

export interface QueryOutcome {
  readonly samples: readonly QuerySample[];
  /** Subjects with a value that is no number, or with several values. */
  readonly doubtful: ReadonlySet<string>;
  readonly seriesCount: number;
  /** Why some series gave no sample; `null`: all did. */
  readonly problem: string | null;
}

export const queryUrl = (base: string, query: string): string =>
  `${base.replace(/\/+$/, "")}/api/v1/query?query=${encodeURIComponent(query)}`;

const rangeAnswer = z.object({
  status: z.literal("success"),
  data: z.object({
    resultType: z.literal("matrix"),
    result: z
      .array(z.object({ metric: z.record(z.string(), z.string()), values: z.array(point).max(POINTS_MAX) }))
      .max(RESULT_MAX),
  }),
});

/** Times in ms and whole seconds. */
export interface QueryRange {
  readonly fromMs: number;
  readonly untilMs: number;
  readonly stepS: number;
}

export function rangeUrl(base: string, query: string, { fromMs, untilMs, stepS }: QueryRange): string {
  const parameters = { query, start: String(fromMs / 1_000), end: String(untilMs / 1_000), step: String(stepS) };
  return `${base.replace(/\/+$/, "")}/api/v1/query_range?${new URLSearchParams(parameters).toString()}`;
}

/**
 * Values within a range, of subjects that the fleet knows. Values of other times are left out. Throws if the text is
 * no answer to a query over a range.
 */
export function rangeSamples(
  text: string,
  query: PrometheusQuery,
  { known, range }: { readonly known: KnownSubjects; readonly range: Pick<QueryRange, "fromMs" | "untilMs"> },
): readonly SubjectSample[] {
  const read = rangeAnswer.safeParse(jsonOf(text));
  if (!read.success) throw new Error(read.error.issues[0]?.message ?? "the answer has another form");
  return read.data.data.result.flatMap(({ metric, values }) => {
    const subject = subjectOf(query, metric, known);
    if (subject === null) return [];
    return values.flatMap(([seconds, shown]) => {
      const [atMs, value] = [Math.round(seconds * 1_000), Number(shown)];
      if (!Number.isFinite(value) || atMs < range.fromMs || atMs > range.untilMs) return [];
      return [{ subject, atMs, values: { [query.value]: value } }];
    });
  });
}

/** Throws if the text is no answer to a query. An empty result is an answer: nothing is known now. */
export function querySamples(text: string, query: PrometheusQuery, known: KnownSubjects): QueryOutcome {
  const { data } = readAnswer(text);
  const rows =
    data.resultType === "vector"
      ? data.result
      : [{ metric: {} as Readonly<Record<string, string>>, value: data.result }];
  const samples: QuerySample[] = [];
  const values = new Map<string, number>();
  const doubtful = new Set<string>();
  let problem: string | null = null;
  for (const { metric, value } of rows) {
    const subject = subjectOf(query, metric, known);
    if (subject === null)
      problem ??= `a series has no ${query.subject} in its label ${query.label}: ${JSON.stringify(metric).slice(0, 200)}`;
    else {
      const number = Number(value[1]);
      const before = values.get(subject);
      values.set(subject, number);
      if (Number.isFinite(number)) samples.push({ subject, value: number });
      if (!Number.isFinite(number) || (before !== undefined && before !== number)) doubtful.add(subject);
      if (before !== undefined)
        problem ??= `several series are about ${subject}: join them, as in sum by (${query.label}) (...)`;
    }
  }
  return { samples, doubtful, seriesCount: rows.length, problem };
}

function readAnswer(text: string): z.output<typeof answer> {
  const read = answer.safeParse(jsonOf(text));
  if (read.success) return read.data;
  throw new Error(read.error.issues[0]?.message ?? "the answer has another form than that of Prometheus");
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error("the answer is no JSON: is this the address of a Prometheus?");
  }
}

function subjectOf(
  { subject, label, indexLabel }: PrometheusQuery,
  metric: Readonly<Record<string, string>>,
  { nodes, endpoints }: KnownSubjects,
): string | null {
  if (subject === "fleet") return "fleet";
  const id = metric[label];
  if (id === undefined || id === "" || id.length > ID_CHARS_MAX) return null;
  if (subject === "endpoint" && endpoints.has(id)) return `endpoint:${endpoints.get(id) ?? id}`;
  if (subject !== "node" && subject !== "accelerator") return /\s/.test(id) ? null : `${subject}:${id}`;
  const node = nodeNamed(id, nodes);
  if (node === null) return null;
  if (subject === "node") return `node:${node}`;
  const index = metric[indexLabel] ?? "";
  return /^\d{1,4}$/.test(index) ? acceleratorSubject(node, Number(index)) : null;
}

/** The node with this id, or with this id before a port. */
export function nodeNamed(text: string, nodes: ReadonlySet<string>): string | null {
  if (nodes.has(text)) return text;
  const name = text.replace(/:\d+$/, "");
  return nodes.has(name) ? name : null;
}
