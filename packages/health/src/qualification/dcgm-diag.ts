/** JSON of `dcgmi diag -j`: of 2.x and 3.x (`DCGM GPU Diagnostic`) and of 4.x (`DCGM Diagnostic`). */
import { listOf, own, type Measurement, type Verdict } from "./measurement.ts";
import { nodeOfPath } from "./node-name.ts";

const roots = ["DCGM Diagnostic", "DCGM GPU Diagnostic"];
/** From the best to the worst: a test is as good as its worst device. */
const order: readonly Verdict[] = ["skip", "pass", "unknown", "warn", "fail"];
const DETAIL_MAX = 500;

/** The part with the tests; some tools keep it without the name around it. */
function rootOf(value: unknown): unknown {
  const named = roots.map((name) => own(value, name)).find((each) => each !== undefined);
  return named ?? (Array.isArray(own(value, "test_categories")) ? value : undefined);
}

export function isDcgmDiag(value: unknown): boolean {
  return rootOf(value) !== undefined;
}

/** One row for each test. */
export function readDcgmDiag(value: unknown, path: string): readonly Measurement[] {
  const root = rootOf(value);
  const host = [
    own(value, "hostname"),
    own(own(value, "metadata"), "hostname"),
    own(own(value, "metadata"), "Hostname"),
  ].find((each) => typeof each === "string" && each !== "");
  const node = typeof host === "string" ? host : nodeOfPath(path);
  const tests = listOf(own(root, "test_categories")).flatMap((category) => listOf(own(category, "tests")));
  const rows = tests.flatMap((test) => {
    const name = own(test, "name") ?? own(test, "test_name");
    return typeof name === "string" ? [testRow(node, name, test)] : [];
  });
  const error = own(root, "runtime_error") ?? own(root, "error");
  return typeof error === "string" && error !== ""
    ? [...rows, { ...dcgmRow(node, "run", "fail"), detail: error.slice(0, DETAIL_MAX) }]
    : rows;
}

function testRow(node: string, name: string, test: unknown): Measurement {
  const results = listOf(own(test, "results"));
  const verdicts = [...results.map((result) => own(result, "status")), own(own(test, "test_summary"), "status")]
    .filter((status) => status !== undefined)
    .map(verdictOf);
  const worst = verdicts.reduce<Verdict | null>(
    (before, each) => (before === null || order.indexOf(each) > order.indexOf(before) ? each : before),
    null,
  );
  const detail = results
    .filter((result) => ["fail", "warn"].includes(verdictOf(own(result, "status"))))
    .map((result) => `${deviceOf(result)}: ${textOf(result)}`)
    .join("; ");
  return {
    ...dcgmRow(node, name, worst ?? "unknown"),
    ...(detail === "" ? {} : { detail: detail.slice(0, DETAIL_MAX) }),
  };
}

function dcgmRow(node: string, test: string, verdict: Verdict): Measurement {
  return { node, test, value: null, unit: null, verdict, source: "dcgm" };
}

function verdictOf(status: unknown): Verdict {
  const word = typeof status === "string" ? status.toLowerCase() : "";
  if (word.startsWith("pass")) return "pass";
  if (word.startsWith("fail")) return "fail";
  if (word.startsWith("warn")) return "warn";
  return word.startsWith("skip") || word.startsWith("not run") ? "skip" : "unknown";
}

function deviceOf(result: unknown): string {
  const gpu = own(result, "gpu_id") ?? own(result, "gpu_ids");
  if (typeof gpu === "string" || typeof gpu === "number") return `GPU ${gpu}`;
  const [group, id] = [own(result, "entity_group"), own(result, "entity_id")];
  return typeof group === "string" ? `${group} ${typeof id === "number" ? id : ""}`.trim() : "node";
}

/** Warnings are a text up to 3.x and a list from 4.x on. */
function textOf(result: unknown): string {
  const warnings = own(result, "warnings") ?? own(result, "warning");
  const texts = Array.isArray(warnings) ? warnings.map((each: unknown) => own(each, "warning") ?? each) : [warnings];
  const text = texts.filter((each) => typeof each === "string").join(", ");
  const info = own(result, "info");
  return text === "" ? (typeof info === "string" ? info : "no message") : text;
}
