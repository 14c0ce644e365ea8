// Validates records against a schema, and compares their distribution with a reference version. See README.md.
import { readFileSync, writeFileSync } from "node:fs";
import { numberOf, optionsOf, recordsOf, reportArtifact, reportResult, runStep } from "./step.mjs";
const FAULTS_KEPT = 20;
const BINS = 10;
const SAMPLE_MAX = 200_000; // values of each column that the comparison takes, drawn from all
const CATEGORIES_MAX = 1_000; // values of a column of texts that are counted apart
const FLOOR = 1e-4; // share of an empty bin, so that one missing value is no infinite drift

/** A number, or its text: `Number` also takes blanks, lists and truth values. */
const isNumber = (value) => typeof value === "number" || (typeof value === "string" && value.trim() !== "");

const COLUMN_FIELDS = new Set(["type", "required", "min", "max", "values", "pattern", "length"]);
const TYPES = {
  integer: (value) => isNumber(value) && Number.isSafeInteger(Number(value)),
  number: (value) => isNumber(value) && Number.isFinite(Number(value)),
  boolean: (value) => ["true", "false"].includes(String(value)),
  string: () => true,
};
const isNumeric = ({ type }) => type === "integer" || type === "number";
const isEmpty = (value) => value === undefined || value === null || value === "";

/** Checks the schema itself, so that a wrong key never passes silently. */
function readSchema(file) {
  const { columns, rows = {}, ...others } = JSON.parse(readFileSync(file, "utf8"));
  if (Object.keys(others).length > 0) throw new Error(`${file}: ${Object.keys(others).join(", ")} is not known`);
  for (const [name, column] of Object.entries(columns)) {
    const { type, pattern } = column;
    const unknown = Object.keys(column).filter((field) => !COLUMN_FIELDS.has(field));
    if (TYPES[type] === undefined) throw new Error(`${file}: column ${name} has the unknown type ${type}`);
    if (unknown.length > 0) throw new Error(`${file}: column ${name}: ${unknown.join(", ")} is not known`);
    if (pattern !== undefined) column.regex = new RegExp(`^(?:${pattern})$`, "u");
  }
  return { columns, rows };
}

/** The fault of a value; `null`: it fits. */
function faultOf(value, { type, required = true, min, max, values, regex, length }) {
  if (isEmpty(value)) return required ? "is missing" : null;
  if (!TYPES[type](value)) return `is no ${type}: ${value}`;
  if (min !== undefined && Number(value) < min) return `is below ${min}: ${value}`;
  if (max !== undefined && Number(value) > max) return `is above ${max}: ${value}`;
  if (values !== undefined && !values.map(String).includes(String(value))) return `is none of the values: ${value}`;
  if (length !== undefined && String(value).length > length) return `is longer than ${length} characters`;
  return regex !== undefined && !regex.test(String(value)) ? `does not match the pattern: ${value}` : null;
}

/** A sample of the values that it gets, the same for the same values: each has an equal chance, as data sets are often sorted. */
function sampler() {
  const values = [];
  let [count, state] = [0, 1];
  const add = (value) => {
    count++;
    if (values.length < SAMPLE_MAX) return void values.push(value);
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    const at = Math.floor((state / 2 ** 32) * count);
    if (at < SAMPLE_MAX) values[at] = value;
  };
  return { values, add };
}

/** Reads a version: number of rows and faults, the first faults, and a sample of each column. */
async function read(file, { columns }) {
  const found = {
    rows: 0,
    faultCount: 0,
    faults: [],
    samples: Object.fromEntries(Object.keys(columns).map((name) => [name, sampler()])),
  };
  const fault = (number, text) => {
    if (found.faultCount++ < FAULTS_KEPT) found.faults.push(`line ${number}: ${text}`.slice(0, 300));
  };
  for await (const { number, record, fault: broken } of recordsOf(file)) {
    found.rows++;
    if (broken !== undefined) {
      fault(number, broken);
      continue;
    }
    for (const [name, column] of Object.entries(columns)) {
      const problem = faultOf(record[name], column);
      if (problem !== null) fault(number, `${name} ${problem}`);
      else if (!isEmpty(record[name])) found.samples[name].add(record[name]);
    }
  }
  return found;
}

/** Bounds of bins with equal numbers of values of the reference. */
function boundsOf(values) {
  const sorted = values.map(Number).sort((a, b) => a - b);
  const at = Array.from({ length: BINS - 1 }, (_, i) => sorted[Math.floor(((i + 1) * sorted.length) / BINS)]);
  return [...new Set(at)];
}

function sharesOf(values, binOf) {
  const counts = new Map();
  for (const value of values) counts.set(binOf(value), (counts.get(binOf(value)) ?? 0) + 1);
  return (bin) => Math.max(FLOOR, (counts.get(bin) ?? 0) / values.length);
}

/**
 * Population stability index of a column: 0 for equal distributions. Usual reading: below 0.1 no shift, above 0.2 a large one
 * (Siddiqi, Credit Risk Scorecards, 2006).
 */
export function driftOf(reference, present, column) {
  if (reference.length === 0 || present.length === 0) return reference.length === present.length ? 0 : Infinity;
  const bounds = isNumeric(column) ? boundsOf(reference) : [];
  // Data sets are often sorted by such a column, so values are counted, not rows.
  const values = isNumeric(column) ? [] : [...new Set(reference.map(String))];
  const known = new Set(values.slice(0, CATEGORIES_MAX));
  const binOf = (value) =>
    isNumeric(column)
      ? bounds.filter((bound) => Number(value) >= bound).length
      : known.has(String(value))
        ? String(value)
        : "\u0000other";
  const [before, after] = [sharesOf(reference, binOf), sharesOf(present, binOf)];
  const bins = new Set([...reference, ...present].map(binOf));
  return [...bins].reduce((sum, bin) => sum + (after(bin) - before(bin)) * Math.log(after(bin) / before(bin)), 0);
}

async function main() {
  const optional = { reference: undefined, "drift-max": "0.2", report: "validation.json" };
  const options = optionsOf(["data", "schema"], optional);
  const driftMax = numberOf("drift-max", options["drift-max"]);
  const schema = readSchema(options.schema);
  const { samples, ...found } = await read(options.data, schema);
  const { min = 1, max = Infinity } = schema.rows;
  const problems = [...found.faults];
  if (found.rows < min || found.rows > max) problems.push(`${found.rows} rows, expected ${min} to ${max}`);
  const drift = {};
  if (options.reference !== undefined) {
    const reference = await read(options.reference, schema);
    for (const [name, column] of Object.entries(schema.columns))
      drift[name] = Number(driftOf(reference.samples[name].values, samples[name].values, column).toFixed(4));
  }
  const largest = Math.max(0, ...Object.values(drift));
  for (const [name, value] of Object.entries(drift))
    if (value > driftMax) problems.push(`${name} has drifted: ${value}, at most ${driftMax}`);
  const metrics = { rows: found.rows, faults: found.faultCount, drift: largest };
  writeFileSync(options.report, JSON.stringify({ ...metrics, driftByColumn: drift, problems }, null, 2));
  for (const problem of problems) console.error(problem);
  reportArtifact({ name: "report:validation", path: options.report, metrics });
  for (const [name, value] of Object.entries(metrics)) reportResult(name, value);
  return problems.length === 0 ? 0 : 1;
}

if (import.meta.filename === process.argv[1]) await runStep(main);
