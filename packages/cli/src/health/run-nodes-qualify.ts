/** `headroom nodes qualify --from`: reads what other suites measured on nodes and compares the nodes. */
import { opendir, readFile, stat } from "node:fs/promises";
import path from "node:path";
import type { Measurement, Qualified } from "@headroom/health";
import { CliError, exitCode, type ExitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import type { Tone } from "../output/style.ts";
import { plural } from "../output/amounts.ts";
import { tableLines } from "../output/table.ts";
import { printable } from "../terminal.ts";

export interface NodesQualifyOptions {
  readonly from?: string;
  readonly json?: true;
  /** Proposes that drained nodes which passed take work again. */
  readonly propose?: true;
  /** With nodes: only shows what would begin. */
  readonly dryRun?: boolean;
}

const DEPTH_MAX = 10;
const FILES_MAX = 50_000;
const FILE_BYTES_MAX = 64 << 20;
const NOTES_MAX = 20;
const tones: Readonly<Partial<Record<Qualified["verdict"], Tone>>> = {
  fail: "red",
  warn: "yellow",
  pass: "green",
  skip: "dim",
  unknown: "dim",
};

export async function runNodesQualify(context: CommandContext, options: NodesQualifyOptions): Promise<ExitCode> {
  if (options.from === undefined)
    throw new CliError(
      "Name nodes that have to qualify, or state --from: the folder with result files of nccl-tests, SuperBench or dcgmi diag",
      exitCode.usage,
    );
  const folder = path.resolve(context.terminal.workingDirectory, options.from);
  const files = await filesOf(folder, printable(options.from));
  const { readResults, withVerdicts } = await import("@headroom/health");
  const measurements: Measurement[] = [];
  const problems: string[] = [];
  for (const file of files) {
    const { size } = await stat(path.join(folder, file));
    if (size > FILE_BYTES_MAX) problems.push(`${file}: longer than ${FILE_BYTES_MAX} bytes`);
    else {
      const read = readResults(await readFile(path.join(folder, file), "utf8"), file);
      for (const each of read.measurements) measurements.push(each);
      for (const problem of read.problems) problems.push(`${file}: ${problem}`);
    }
    if (context.terminal.interrupted.aborted) return exitCode.interrupted;
  }
  const rows = withVerdicts(measurements);
  for (const problem of problems.slice(0, NOTES_MAX)) context.note(`not read: ${printable(problem)}`);
  if (problems.length > NOTES_MAX) context.note(`not read: ${problems.length - NOTES_MAX} more`);
  if (options.json === true) printJson(context, rows);
  else printTable(context, rows);
  if (options.propose === true) await proposeReturns(context, rows);
  return rows.length === 0 ? exitCode.failed : exitCode.ok;
}

/**
 * A node that has passed a test and failed none is proven. Only nodes that are drained now are proposed: the others take
 * work already, or are lost.
 */
async function proposeReturns(context: CommandContext, rows: readonly Qualified[]): Promise<void> {
  const client = await context.connect();
  for (const [node, tests] of Map.groupBy(rows, (row) => row.node)) {
    const passed = tests.filter(({ verdict }) => verdict === "pass").length;
    const others = tests.filter(({ verdict }) => verdict === "fail" || verdict === "unknown").length;
    const known = await client.getNode(node).catch(() => null);
    if (known === null || !known.draining || known.health === "lost") continue;
    if (passed === 0 || others > 0) {
      context.note(`${printable(node)} stays drained: ${passed} tests passed, ${others} failed or are unknown`);
      continue;
    }
    const change = { kind: "resume", nodeId: node } as const;
    const ground = [{ measure: "tests passed", value: passed, unit: "" }];
    const reason = `it passed ${passed} tests of its qualification and failed none`;
    const { sentence } = await client.createProposal({ change, reason, ground });
    context.note(printable(sentence));
  }
}

/** The files under the folder, by path. Links are not followed. */
async function filesOf(folder: string, shown: string): Promise<readonly string[]> {
  const files: string[] = [];
  const visit = async (under: string, depth: number): Promise<void> => {
    if (depth > DEPTH_MAX) throw new CliError(`${shown}: folders are nested deeper than ${DEPTH_MAX}`, exitCode.usage);
    for await (const entry of await opendir(path.join(folder, under))) {
      const name = under === "" ? entry.name : `${under}/${entry.name}`;
      if (entry.isDirectory()) await visit(name, depth + 1);
      else if (entry.isFile() && !entry.name.startsWith(".")) files.push(name);
      if (files.length > FILES_MAX) throw new CliError(`${shown}: more than ${FILES_MAX} files`, exitCode.usage);
    }
  };
  try {
    await visit("", 0);
  } catch (error) {
    if (error instanceof CliError) throw error;
    const { code } = error as { readonly code?: string };
    throw new CliError(
      `${shown}: ${code === "ENOENT" ? "there is no such folder" : `cannot be read (${code})`}`,
      exitCode.usage,
    );
  }
  return files.toSorted();
}

function printJson({ terminal }: CommandContext, rows: readonly Qualified[]): void {
  const lines = rows.map((row) => `  ${JSON.stringify(row)}`);
  terminal.stdout.write(lines.length === 0 ? "[]\n" : `[\n${lines.join(",\n")}\n]\n`);
}

function printTable({ terminal, paint, print }: CommandContext, rows: readonly Qualified[]): void {
  const columns = [
    { title: "NODE", minWidth: 8 },
    { title: "TEST", minWidth: 16 },
    { title: "VALUE", align: "right" as const },
    { title: "UNIT" },
    { title: "PEERS", align: "right" as const },
    { title: "VERDICT" },
    { title: "DETAIL", minWidth: 10 },
  ];
  const lines = rows.map(({ node, test, value, unit, peer_median: median, verdict, detail }) => [
    node,
    test,
    value === null ? "-" : String(value),
    unit ?? "-",
    median === undefined ? "-" : String(Math.round(median * 1000) / 1000),
    { text: verdict, tone: tones[verdict] },
    detail ?? "",
  ]);
  if (lines.length > 0) print(...tableLines(columns, lines, terminal.stdout, paint), "");
  const failed = new Set(rows.filter(({ verdict }) => verdict === "fail").map(({ node }) => node));
  const nodes = new Set(rows.map(({ node }) => node));
  print(
    `${plural(nodes.size, "node")}, ${plural(rows.length, "result")}, ${plural(failed.size, "node")} with a failure`,
  );
}
