// Compares answers with the expected ones, and reports shares and the mean F1 of words as metrics. See README.md.
import { writeFileSync } from "node:fs";
import { optionsOf, recordsOf, reportArtifact, reportResult, runStep } from "./step.mjs";
const MISSES_KEPT = 20;

/** As in SQuAD's evaluation (Rajpurkar et al., 2016): case and punctuation do not count. */
const wordsOf = (text) =>
  text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s]/gu, " ")
    .split(/\s+/)
    .filter((word) => word !== "");

/** Harmonic mean of precision and recall of the words. */
export function f1(output, expected) {
  const [found, wanted] = [wordsOf(output), wordsOf(expected)];
  if (found.length === 0 || wanted.length === 0) return found.length === wanted.length ? 1 : 0;
  const left = new Map();
  for (const word of wanted) left.set(word, (left.get(word) ?? 0) + 1);
  let common = 0;
  for (const word of found)
    if ((left.get(word) ?? 0) > 0) {
      common++;
      left.set(word, left.get(word) - 1);
    }
  return (2 * common) / (found.length + wanted.length);
}

async function main() {
  const optional = { output: "output", expected: "expected", report: "evaluation.json" };
  const options = optionsOf(["data"], optional);
  const sums = { exact: 0, contains: 0, f1: 0 };
  const misses = [];
  let count = 0;
  for await (const { number, record, fault } of recordsOf(options.data)) {
    const [output, expected] = [record[options.output], record[options.expected]];
    if (fault !== undefined || typeof output !== "string" || typeof expected !== "string")
      throw new Error(`line ${number}: ${fault ?? `it needs the texts ${options.output} and ${options.expected}`}`);
    count++;
    const [found, wanted] = [wordsOf(output).join(" "), wordsOf(expected).join(" ")];
    const isExact = found === wanted;
    sums.exact += isExact ? 1 : 0;
    sums.contains += wanted !== "" && ` ${found} `.includes(` ${wanted} `) ? 1 : 0;
    sums.f1 += f1(output, expected);
    if (!isExact && misses.length < MISSES_KEPT) misses.push({ line: number, output, expected });
  }
  if (count === 0) throw new Error(`${options.data} has no record: nothing was evaluated`);
  const shares = Object.entries(sums).map(([name, sum]) => [name, Number((sum / count).toFixed(4))]);
  const metrics = { records: count, ...Object.fromEntries(shares) };
  writeFileSync(options.report, JSON.stringify({ ...metrics, misses }, null, 2));
  reportArtifact({ name: "report:evaluation", path: options.report, metrics });
  for (const [name, value] of Object.entries(metrics)) reportResult(name, value);
}

if (import.meta.filename === process.argv[1]) await runStep(main);
