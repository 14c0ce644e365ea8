/**
 * `remediations.yaml` in the state directory: how drift of nodes is remedied, one document for each remediation. Only
 * operators of the machine write it: it states what the control plane runs. Callers of the API name a document and nodes.
 */
import { createHash } from "node:crypto";
import { existsSync, readFileSync, statSync } from "node:fs";
import path from "node:path";
import type { WavePlan } from "@headroom/health";
import { canonicalJson } from "@headroom/model";
import { OperationalError } from "@headroom/platform";
import { readDuration } from "@headroom/protocol";
import { parseAllDocuments } from "yaml";
import { z } from "zod";

const FILE = "remediations.yaml";
const FILE_BYTES_MAX = 1024 * 1024;
const DAY_MS = 86_400_000;

const duration = (min: number, max: number): z.ZodType<number, string> =>
  z.string().transform((text, context) => {
    const reading = readDuration(text, { min, max });
    if (reading.ok) return reading.value;
    context.addIssue({ code: "custom", message: reading.message });
    return z.NEVER;
  });
const words = z.array(z.string().min(1)).min(1).max(64);
const factValue = z.union([z.string(), z.number(), z.boolean()]).transform(String);

const wave = z.union([z.int().min(1).max(2_000), z.string().regex(/^([1-9]\d?|100)%$/)]).transform((value) => {
  if (typeof value === "number") return { nodes: value };
  return { percent: Number(value.slice(0, -1)) };
});

const ansible = z.strictObject({
  playbook: z.string().startsWith("/", "must be an absolute path"),
  /** Absent: the node is the only host of the inventory, by its name. */
  inventory: z.string().startsWith("/", "must be an absolute path").optional(),
  /** `local`: the playbook runs on the machine of the control plane. */
  connection: z.enum(["ssh", "local"]).default("ssh"),
  vars: z.record(z.string().regex(/^[A-Za-z_]\w*$/), z.string()).default({}),
});

const remediation = z
  .strictObject({
    kind: z.literal("remediation"),
    name: z
      .string()
      .regex(/^[a-z0-9]([-.a-z0-9]{0,61}[a-z0-9])?$/, "must be lower-case letters, digits, dots and dashes"),
    pools: z.array(z.string().min(1)).min(1).max(100),
    /** Facts that each node must state after the change. */
    desired: z.record(z.string().min(1).max(200), factValue),
    /** Words of the command that prints the facts of a node as a JSON object. No shell reads them. */
    facts: words,
    /** Words of the command that changes a node. */
    command: words.optional(),
    ansible: ansible.optional(),
    /** Words of a command that measures a node, before and after the change, and prints a number: more is better. */
    test: words.optional(),
    worseByPercent: z.number().min(0).max(100).default(5),
    canary: z.int().min(1).max(100).default(1),
    wave: wave.default({ nodes: 4 }),
    mode: z.enum(["drain", "live"]).default("drain"),
    running: z.enum(["wait", "requeue"]).default("wait"),
    timeout: duration(1_000, DAY_MS).default(600_000),
    proofTimeout: duration(1_000, DAY_MS).default(300_000),
    drainTimeout: duration(1_000, 30 * DAY_MS).default(DAY_MS),
    checkEvery: duration(60_000, 30 * DAY_MS).optional(),
    env: z.record(z.string().regex(/^[A-Za-z_]\w*$/), z.string()).default({}),
  })
  .refine(({ desired }) => Object.keys(desired).length > 0, { path: ["desired"], message: "state at least one fact" })
  .refine(({ command, ansible: play }) => (command === undefined) !== (play === undefined), {
    path: ["command"],
    message: "state either command or ansible",
  })
  .refine(({ command }) => command === undefined || namesNode(command), {
    path: ["command"],
    message: "one word must contain {node}",
  })
  .refine(({ facts, test }) => namesNode(facts) && (test === undefined || namesNode(test)), {
    path: ["facts"],
    message: "one word of facts, and of test, must contain {node}",
  });

const namesNode = (command: readonly string[]): boolean => command.some((word) => word.includes("{node}"));

export type RemediationDocument = z.output<typeof remediation>;

export const planOf = ({ canary, wave: size }: RemediationDocument): WavePlan => ({ canary, wave: size });

/** The documents by name. Throws `invalidRemediations` with every problem that is found. */
export function readRemediations(home: string): ReadonlyMap<string, RemediationDocument> {
  const file = path.join(home, FILE);
  if (!existsSync(file)) return new Map();
  if (statSync(file).size > FILE_BYTES_MAX) throw invalid(file, [`the file has more than ${FILE_BYTES_MAX} bytes`]);
  const documents = parseAllDocuments(readFileSync(file, "utf8"), { uniqueKeys: true });
  const problems: string[] = [];
  const known = new Map<string, RemediationDocument>();
  for (const [index, document] of ("empty" in documents ? [] : documents).entries()) {
    const place = `document ${index + 1}`;
    const [fault] = document.errors;
    const value: unknown = fault === undefined ? document.toJS({ maxAliasCount: 0 }) : null;
    if (fault !== undefined) problems.push(`${place}: ${fault.message.split("\n")[0] ?? ""}`);
    if (value === null) continue;
    const reading = remediation.safeParse(value);
    if (!reading.success)
      problems.push(...reading.error.issues.map((each) => `${place}: ${each.path.join(".")}: ${each.message}`));
    else if (known.has(reading.data.name)) problems.push(`the remediation ${reading.data.name} is declared twice`);
    else known.set(reading.data.name, reading.data);
  }
  if (problems.length > 0) throw invalid(file, problems);
  return known;
}

const DIGEST_CHARS = 16;

/** The playbook belongs to the document: what was approved is what is carried out. */
export function digestOf(document: RemediationDocument): string {
  const hash = createHash("sha256").update(canonicalJson(JSON.parse(JSON.stringify(document))));
  const playbook = document.ansible?.playbook;
  if (playbook !== undefined && existsSync(playbook)) hash.update(readFileSync(playbook));
  return hash.digest("hex").slice(0, DIGEST_CHARS);
}

/** A value that changes with the file; `null`: there is none. */
export function remediationsStamp(home: string): string | null {
  const stat = statSync(path.join(home, FILE), { throwIfNoEntry: false });
  return stat === undefined ? null : `${stat.mtimeMs} ${stat.size} ${stat.ino}`;
}

const invalid = (file: string, problems: readonly string[]): OperationalError =>
  new OperationalError("invalidRemediations", `${file} is not valid. Correct it:\n  ${problems.join("\n  ")}`, {
    retryable: false,
  });
