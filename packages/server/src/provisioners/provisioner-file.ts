/**
 * `provisioners.yaml` in the state directory: the commands that start and stop machines, one document for each. Only
 * operators of the machine write it: whoever writes it chooses what the control plane runs.
 */
import { existsSync, readFileSync, statSync } from "node:fs";
import path from "node:path";
import { OperationalError } from "@headroom/platform";
import { parseAllDocuments } from "yaml";
import { z } from "zod";

const FILE = "provisioners.yaml";
const FILE_BYTES_MAX = 1024 * 1024;

const secretReference = z.string().regex(/^(env:[A-Za-z_][A-Za-z0-9_]*|file:\/.+)$/, "must be env:NAME or file:/PATH");
const environment = z.record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/), z.string());

const provisioner = z
  .strictObject({
    kind: z.literal("provisioner"),
    name: z.string().regex(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/, "must be lower-case letters, digits and dashes"),
    /** Words of the command; no shell reads them. The verb follows as the last word. */
    command: z.array(z.string().min(1)).min(1).max(64),
    env: environment.default({}),
    /** Variables of the command's environment whose values are read from these places before each call. */
    secrets: z.record(z.string(), secretReference).default({}),
    timeoutSeconds: z.number().min(0.1).max(3_600).default(60),
    pollSeconds: z.number().min(0.1).max(3_600).default(10),
    /** Most calls at a time. */
    atOnce: z.int().min(1).max(64).default(4),
  })
  .refine(({ name }) => name !== "manual", { message: "the name manual means that a person orders the nodes" });

export type Provisioner = z.output<typeof provisioner>;

/** The provisioners by name. Throws `invalidProvisioners` with every problem that is found. */
export function readProvisioners(home: string): ReadonlyMap<string, Provisioner> {
  const file = path.join(home, FILE);
  if (!existsSync(file)) return new Map();
  if (statSync(file).size > FILE_BYTES_MAX) throw invalid(file, [`the file has more than ${FILE_BYTES_MAX} bytes`]);
  const documents = parseAllDocuments(readFileSync(file, "utf8"), { uniqueKeys: true });
  const problems: string[] = [];
  const known = new Map<string, Provisioner>();
  for (const [index, document] of ("empty" in documents ? [] : documents).entries()) {
    const place = `document ${index + 1}`;
    const [fault] = document.errors;
    const value: unknown = fault === undefined ? document.toJS({ maxAliasCount: 0 }) : null;
    if (fault !== undefined) problems.push(`${place}: ${fault.message.split("\n")[0] ?? ""}`);
    if (value === null) continue;
    const reading = provisioner.safeParse(value);
    if (!reading.success)
      problems.push(...reading.error.issues.map((each) => `${place}: ${each.path.join(".")}: ${each.message}`));
    else if (known.has(reading.data.name)) problems.push(`the provisioner ${reading.data.name} is declared twice`);
    else known.set(reading.data.name, reading.data);
  }
  if (problems.length > 0) throw invalid(file, problems);
  return known;
}

/** A value that changes with the file; `null`: there is none. */
export function provisionersStamp(home: string): string | null {
  const stat = statSync(path.join(home, FILE), { throwIfNoEntry: false });
  return stat === undefined ? null : `${stat.mtimeMs} ${stat.size} ${stat.ino}`;
}

const invalid = (file: string, problems: readonly string[]): OperationalError =>
  new OperationalError("invalidProvisioners", `${file} is not valid. Correct it:\n  ${problems.join("\n  ")}`, {
    retryable: false,
  });
