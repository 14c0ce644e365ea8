/** The result of a PromQL query as samples of subjects. https://prometheus.io/docs/prometheus/latest/querying/api/ */
import type { PrometheusQuery } from "@headroom/metrics";
import { acceleratorSubject } from "@headroom/views";
import { z } from "zod";

/** Maximum number of series of one result that are read. */
const RESULT_MAX = 100_000;
const ID_CHARS_MAX = 256;

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

export interface QuerySample {
  readonly subject: string;
  readonly value: number;
}

export interface QueryOutcome {
  readonly samples: readonly QuerySample[];
  readonly seriesCount: number;
  /** Why some series gave no sample; `null`: all did. */
  readonly problem: string | null;
}

export const queryUrl = (base: string, query: string): string =>
  `${base.replace(/\/+$/, "")}/api/v1/query?query=${encodeURIComponent(query)}`;

/** Throws if the text is no answer to a query. An empty result is an answer: nothing is known now. */
export function querySamples(text: string, query: PrometheusQuery, nodes: ReadonlySet<string>): QueryOutcome {
  const { data } = readAnswer(text);
  const rows =
    data.resultType === "vector"
      ? data.result
      : [{ metric: {} as Readonly<Record<string, string>>, value: data.result }];
  const samples: QuerySample[] = [];
  let problem: string | null = null;
  for (const { metric, value } of rows) {
    const subject = subjectOf(query, metric, nodes);
    if (subject === null)
      problem ??= `a series has no ${query.subject} in its label ${query.label}: ${JSON.stringify(metric).slice(0, 200)}`;
    else if (Number.isFinite(Number(value[1]))) samples.push({ subject, value: Number(value[1]) });
  }
  return { samples, seriesCount: rows.length, problem };
}

function readAnswer(text: string): z.output<typeof answer> {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw new Error("the answer is no JSON: is this the address of a Prometheus?");
  }
  const read = answer.safeParse(json);
  if (read.success) return read.data;
  throw new Error(read.error.issues[0]?.message ?? "the answer has another form than that of Prometheus");
}

function subjectOf(
  { subject, label, indexLabel }: PrometheusQuery,
  metric: Readonly<Record<string, string>>,
  nodes: ReadonlySet<string>,
): string | null {
  if (subject === "fleet") return "fleet";
  const id = metric[label];
  if (id === undefined || id === "" || id.length > ID_CHARS_MAX) return null;
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
