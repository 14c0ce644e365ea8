/**
 * Lines of a progress file that are not reports, for the author of the workload. Faults with the same problem are
 * merged. The number and size of what is kept are limited, whatever a worker writes.
 */
import type { RejectedLine } from "@headroom/model";
import type { z } from "zod";

/** Number of different problems that are kept, with the first line of each. Later problems only increase the total. */
const FAULTS_MAX = 8;
const LINE_SHOWN_MAX = 160;
const PROBLEM_MAX = 200;
/**
 * Number of faults after which lines that cannot be reports are counted without being parsed: a parse that fails costs
 * microseconds.
 */
const PARSED_MAX = 1_000;
/** Minimum length of a report, that of `{"kind":"progress","step":1}`. */
const REPORT_MIN_BYTES = 28;
const BRACE_OPEN = 0x7b;
const BRACE_CLOSE = 0x7d;
const SPACES: ReadonlySet<number> = new Set([0x20, 0x09, 0x0d]);

const reportForms = {
  progress: '{"kind":"progress","step":120,"totalSteps":1000,"metrics":{"loss":2.31}}',
  step: '{"kind":"step","worker":3,"step":120,"seconds":0.91}',
  utilization: '{"kind":"utilization","worker":0,"accelerators":[{"busy":0.93,"memoryMib":61000}]}',
  checkpoint: '{"kind":"checkpoint","step":500,"path":"step-500"}',
  artifact: '{"kind":"artifact","name":"model","path":"out/model"}',
} as const;

const kinds = Object.keys(reportForms);

export class RejectedLines {
  readonly #workerCount: number;
  readonly #byProblem = new Map<string, RejectedLine>();
  #count = 0;
  #toldCount = 0;

  constructor(workerCount: number) {
    this.#workerCount = workerCount;
  }

  get count(): number {
    return this.#count;
  }

  /** Whether the line need not be parsed: it does not look like a report, and enough such lines were described. */
  passesOver(line: Buffer): boolean {
    return this.#count >= PARSED_MAX && !hasReportShape(line);
  }

  add(problem: string, line: Buffer, value: unknown = null): void {
    this.#count += 1;
    const cutProblem = cut(problem, PROBLEM_MAX);
    const known = this.#byProblem.get(cutProblem);
    if (known === undefined && this.#byProblem.size >= FAULTS_MAX) return;
    const first = known ?? {
      problem: cutProblem,
      expected: expectedForm(value),
      line: cut(line.subarray(0, 4 * LINE_SHOWN_MAX).toString("utf8"), LINE_SHOWN_MAX),
      worker: this.#workerOf(value),
      count: 0,
    };
    this.#byProblem.set(cutProblem, { ...first, count: first.count + 1 });
  }

  addUnread(): void {
    this.#count += 1;
  }

  /** All rejected lines so far; `null`: there were none since the last call. */
  news(): { readonly count: number; readonly faults: readonly RejectedLine[] } | null {
    if (this.#count === this.#toldCount) return null;
    this.#toldCount = this.#count;
    return { count: this.#count, faults: [...this.#byProblem.values()] };
  }

  /**
   * The worker that wrote the line. The workers of a gang share the file, so the line must name its worker; `null`: it
   * does not.
   */
  #workerOf(value: unknown): number | null {
    const worker = fieldOf(value, "worker");
    if (typeof worker === "number" && Number.isSafeInteger(worker) && worker >= 0) return worker;
    return this.#workerCount === 1 ? 0 : null;
  }
}

export function problemOf(text: string, value: unknown, error: z.ZodError): string {
  if (value === undefined)
    return /\b(?:NaN|Infinity)\b/.test(text)
      ? "not JSON: NaN and Infinity are not numbers of JSON; leave the metric out"
      : "not JSON";
  if (typeof value !== "object" || value === null || Array.isArray(value)) return "not a JSON object";
  const [issue] = error.issues;
  if (issue === undefined) return "not a report";
  if (issue.path[0] === "kind") return `kind: expected ${kinds.slice(0, -1).join(", ")} or ${kinds.at(-1) ?? ""}`;
  return `${issue.path.join(".")}: ${issue.message.replace(/^Invalid input: /, "")}`;
}

function expectedForm(value: unknown): string {
  const kind = fieldOf(value, "kind");
  return typeof kind === "string" && Object.hasOwn(reportForms, kind)
    ? reportForms[kind as keyof typeof reportForms]
    : reportForms.progress;
}

function fieldOf(value: unknown, name: "kind" | "worker"): unknown {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}

function hasReportShape(line: Buffer): boolean {
  if (line.length < REPORT_MIN_BYTES) return false;
  let start = 0;
  let end = line.length;
  while (start < end && SPACES.has(line[start] ?? 0)) start++;
  while (end > start && SPACES.has(line[end - 1] ?? 0)) end--;
  return line[start] === BRACE_OPEN && line[end - 1] === BRACE_CLOSE;
}

/** Removes control and format characters, because the line is shown on terminals and pages. */
function cut(text: string, max: number): string {
  const shown = text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\uFFFD]/gu, "·");
  const characters = Array.from(shown);
  return characters.length > max ? `${characters.slice(0, max - 1).join("")}…` : shown;
}
