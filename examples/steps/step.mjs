// Shared by the steps: options of the command line, records of files, and reports to Headroom.
import { appendFileSync, createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";

const TEXT = { type: "string" };

/** `--name value` options. `required` and `optional`: their names; an optional one may have a default. */
export function optionsOf(required, optional = {}) {
  const names = [...required, ...Object.keys(optional)];
  const { values } = parseArgs({ options: Object.fromEntries(names.map((name) => [name, TEXT])) });
  for (const name of required) if (values[name] === undefined) throw new Error(`state --${name}`);
  return { ...optional, ...values };
}

/** The number of an option. */
export function numberOf(name, text) {
  const value = Number(text);
  if (text === "" || !Number.isFinite(value)) throw new Error(`--${name} must be a number, got ${text}`);
  return value;
}

/** The cells of a line of CSV (RFC 4180). A cell with a line break is not read. */
export function cellsOf(line) {
  const cells = [];
  for (let at = 0; at <= line.length;) {
    if (line[at] !== '"') {
      const end = line.indexOf(",", at) < 0 ? line.length : line.indexOf(",", at);
      cells.push(line.slice(at, end));
      at = end + 1;
      continue;
    }
    let cell = "";
    for (at++; at < line.length && (line[at] !== '"' || line[at + 1] === '"'); at++) {
      cell += line[at];
      if (line[at] === '"') at++;
    }
    cells.push(cell);
    at += 2;
  }
  return cells;
}

/** Records of a file, one a line: `.csv` with a head, else JSON. `number`: the line; `fault`: why it is no record. */
export async function* recordsOf(file) {
  const isCsv = /\.csv$/i.test(file);
  let [head, number] = [null, 0];
  for await (const read of createInterface({ input: createReadStream(file), crlfDelay: Infinity })) {
    const line = number === 0 ? read.replace(/^\uFEFF/, "") : read; // a byte order mark
    number++;
    if (line.trim() === "") continue;
    if (isCsv && head === null) {
      head = cellsOf(line);
      continue;
    }
    if (isCsv) {
      const cells = cellsOf(line);
      const fault = cells.length === head.length ? undefined : `${cells.length} cells, and the head has ${head.length}`;
      yield { number, fault, record: Object.fromEntries(head.map((name, at) => [name, cells[at] ?? ""])) };
      continue;
    }
    let [record, fault] = [{}, undefined];
    try {
      record = JSON.parse(line);
      if (record === null || typeof record !== "object" || Array.isArray(record)) fault = "it is no JSON object";
    } catch {
      fault = "it is no JSON";
    }
    yield { number, fault, record: fault === undefined ? record : {} };
  }
}

/** Reports an artifact; outside of Headroom it is printed alone. */
export function reportArtifact(artifact) {
  const line = JSON.stringify({ kind: "artifact", ...artifact });
  console.log(line);
  if (process.env.HEADROOM_PROGRESS_FILE) appendFileSync(process.env.HEADROOM_PROGRESS_FILE, `${line}\n`);
}

/** Reports a value that conditions of later steps compare (`when: [check.drift < 0.2]`). */
export const reportResult = (name, value) => reportArtifact({ name, path: `data:,${value}` });

/** Runs the step. A wrong option or input is one line, without a trace. */
export async function runStep(main) {
  try {
    process.exitCode = (await main()) ?? 0;
  } catch (error) {
    console.error(error.message);
    process.exitCode = 2;
  }
}
