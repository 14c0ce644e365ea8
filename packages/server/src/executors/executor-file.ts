/**
 * `executors.yaml` in the state directory: the declared executors, one document for each. Operators and the API write
 * it. The API replaces the file atomically and keeps nothing but the documents.
 */
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import path from "node:path";
import { readDeclaration } from "@headroom/executors";
import type { ExecutorDeclaration, ExecutorType } from "@headroom/executors";
import { OperationalError, syncPath } from "@headroom/platform";
import { parseAllDocuments, stringify } from "yaml";

const FILE = "executors.yaml";
/** A declaration has about 500 bytes. */
const FILE_BYTES_MAX = 4 * 1024 * 1024;
const HEADER = "# Executors of this control plane. `headroom executor add` and `remove` write this file.\n";

export interface DeclaredExecutor {
  readonly declaration: ExecutorDeclaration;
  readonly type: ExecutorType;
}

const executorFileOf = (home: string): string => path.join(home, FILE);

/** Reads the file. A missing file declares nothing. Throws `invalidExecutors` with every problem that is found. */
export function readExecutorFile(home: string, types: readonly ExecutorType[]): readonly DeclaredExecutor[] {
  const file = executorFileOf(home);
  if (!existsSync(file)) return [];
  const text = readFileSync(file, "utf8");
  if (text.length > FILE_BYTES_MAX) throw invalid(file, [`the file has more than ${FILE_BYTES_MAX} bytes`]);
  const documents = parseAllDocuments(text, { uniqueKeys: true });
  const problems: string[] = [];
  const declared: DeclaredExecutor[] = [];
  for (const [index, document] of ("empty" in documents ? [] : documents).entries()) {
    const place = `document ${index + 1}`;
    const [fault] = document.errors;
    if (fault !== undefined) {
      problems.push(`${place}: ${fault.message.split("\n")[0] ?? ""}`);
      continue;
    }
    const value: unknown = document.toJS({ maxAliasCount: 0 });
    if (value === null) continue;
    const reading = readDeclaration(value, types);
    if (reading.ok) declared.push({ declaration: reading.declaration, type: reading.type });
    else problems.push(...reading.problems.map((each) => `${place}: ${each.path.join(".")}: ${each.message}`));
  }
  const twice = declared.find(
    (each, index) => declared.findIndex(({ declaration }) => declaration.name === each.declaration.name) !== index,
  );
  if (twice !== undefined) problems.push(`the executor ${twice.declaration.name} is declared twice`);
  if (problems.length > 0) throw invalid(file, problems);
  return declared;
}

const invalid = (file: string, problems: readonly string[]): OperationalError =>
  new OperationalError("invalidExecutors", `${file} is not valid. Correct it:\n  ${problems.join("\n  ")}`, {
    retryable: false,
  });

export function writeExecutorFile(home: string, declarations: readonly ExecutorDeclaration[]): void {
  const file = executorFileOf(home);
  const draft = `${file}.${process.pid}`;
  const documents = declarations.map((declaration) => `---\n${stringify(declaration)}`);
  writeFileSync(draft, `${HEADER}${documents.join("")}`, { mode: 0o600 });
  syncPath(draft);
  renameSync(draft, file);
  syncPath(home);
}
