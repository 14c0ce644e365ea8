/**
 * `qualifications.yaml` in the state directory: the suites that prove nodes, one document for each. Only operators of the
 * machine write it: it states what the control plane runs. A pool of this machine has a small suite `quick` without it.
 */
import { createHash } from "node:crypto";
import { existsSync, readFileSync, statSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import type { ReadonlyState } from "@headroom/engine";
import { canonicalJson, QUALIFICATION_SUITES } from "@headroom/model";
import type { QualificationSuite } from "@headroom/model";
import { OperationalError } from "@headroom/platform";
import { parseAllDocuments } from "yaml";
import { z } from "zod";

const FILE = "qualifications.yaml";
const FILE_BYTES_MAX = 1024 * 1024;

const suite = z.strictObject({
  kind: z.literal("suite"),
  name: z.enum(QUALIFICATION_SUITES),
  pools: z.array(z.string().min(1)).min(1).max(1_000),
  /**
   * Words of the command that runs the suite on `{node}`, `{name}` at its cluster, and prints the result. `{peers}`: names of up to two
   * proven nodes without work, joined by a comma. No shell reads the words.
   */
  command: z
    .array(z.string().min(1))
    .min(1)
    .max(64)
    .refine((words) => words.some((word) => /\{(?:node|name)\}/.test(word)), "one word must contain {node} or {name}"),
  /** Tests that must be in the result. */
  tests: z.array(z.string().min(1).max(300)).max(1_000).default([]),
  env: z.record(z.string().regex(/^[A-Za-z_]\w*$/), z.string()).default({}),
  /** Runs of the command, as far as the limit allows. Default: 3 for `quick`, 1 for `full`. */
  repeat: z.number().int().min(1).max(9).optional(),
  /** Any text. With another one, nodes are compared with later results alone, as after a planned change of the hardware. */
  baseline: z.string().min(1).max(100).optional(),
});

export type Suite = Pick<z.output<typeof suite>, "command" | "tests" | "env" | "baseline"> & {
  readonly repeat: number;
  /** Present for a suite that comes along, absent for one that is declared. */
  readonly version?: string;
};
type SuiteDocument = z.output<typeof suite>;

/** Throws `invalidQualifications` with every problem that is found. */
export function readSuites(home: string): readonly SuiteDocument[] {
  const file = path.join(home, FILE);
  if (!existsSync(file)) return [];
  if (statSync(file).size > FILE_BYTES_MAX) throw invalid(file, [`the file has more than ${FILE_BYTES_MAX} bytes`]);
  const documents = parseAllDocuments(readFileSync(file, "utf8"), { uniqueKeys: true });
  const problems: string[] = [];
  const suites: SuiteDocument[] = [];
  const known = new Set<string>();
  for (const [index, document] of ("empty" in documents ? [] : documents).entries()) {
    const place = `document ${index + 1}`;
    const [fault] = document.errors;
    const value: unknown = fault === undefined ? document.toJS({ maxAliasCount: 0 }) : null;
    if (fault !== undefined) problems.push(`${place}: ${fault.message.split("\n")[0] ?? ""}`);
    if (value === null) continue;
    const reading = suite.safeParse(value);
    if (!reading.success) {
      problems.push(...reading.error.issues.map((each) => `${place}: ${each.path.join(".")}: ${each.message}`));
      continue;
    }
    for (const pool of reading.data.pools) {
      const key = `${reading.data.name} of pool ${pool}`;
      if (known.has(key)) problems.push(`${place}: the suite ${key} is declared twice`);
      known.add(key);
    }
    suites.push(reading.data);
  }
  if (problems.length > 0) throw invalid(file, problems);
  return suites;
}

/** A value that changes with the file; `null`: there is none. */
export function suitesStamp(home: string): string | null {
  const stat = statSync(path.join(home, FILE), { throwIfNoEntry: false });
  return stat === undefined ? null : `${stat.mtimeMs} ${stat.size} ${stat.ino}`;
}

/** The suite of a pool: that of the file, or the small one for this machine. `null`: there is none. */
export function suiteOf(
  suites: readonly SuiteDocument[],
  { executors }: Pick<ReadonlyState, "executors">,
  pool: { readonly name: string; readonly executor: string },
  name: QualificationSuite,
): Suite | null {
  const declared = suites.find((each) => each.name === name && each.pools.includes(pool.name));
  if (declared !== undefined) return { ...declared, repeat: declared.repeat ?? REPEAT[name] };
  const kind = executors.get(pool.executor)?.kind ?? pool.executor;
  if (kind !== "local" || name !== "quick") return null;
  const program = fileURLToPath(new URL("small-suite.ts", import.meta.url));
  const command = [process.execPath, program, "{node}", "{peers}"];
  return { command, tests: SMALL_TESTS, env: {}, repeat: 1, version: SMALL_VERSION };
}

/**
 * Results are compared with those of the same basis, because other words of the command can give other figures and facts: a digest of the
 * command, and the baseline if one is stated. The built-in suite counts its versions: its path changes with each installation.
 */
export const basisOf = ({ command, version, baseline }: Suite): string => {
  const made = version ?? createHash("sha256").update(canonicalJson(command)).digest("hex").slice(0, BASIS_CHARS);
  return baseline === undefined ? made : `${made} ${baseline}`;
};

const BASIS_CHARS = 16;
/** Changes when the suite measures or words something in another way. */
const SMALL_VERSION = "small-suite-1";

/** The median of three runs has half of the noise of one, which few peers need. */
const REPEAT = { quick: 3, full: 1 } as const satisfies Record<QualificationSuite, number>;

/** Tests of `small-suite.ts`. */
const SMALL_TESTS = ["matmul", "memory", "disk"];

const invalid = (file: string, problems: readonly string[]): OperationalError =>
  new OperationalError("invalidQualifications", `${file} is not valid. Correct it:\n  ${problems.join("\n  ")}`, {
    retryable: false,
  });
