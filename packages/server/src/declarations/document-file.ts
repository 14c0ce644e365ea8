/** A YAML file of declarations in the state directory. Operators and the API write it; it is replaced atomically. */
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import path from "node:path";
import { OperationalError, syncPath } from "@headroom/platform";
import { parseAllDocuments, stringify } from "yaml";

/** A declaration has about 500 bytes. */
const FILE_BYTES_MAX = 4 * 1024 * 1024;

export interface DocumentFile<Item> {
  readonly home: string;
  readonly name: string;
  /** Code of the error of an invalid file. */
  readonly code: string;
  /** Reads one document, which is never null. */
  read(value: unknown): { readonly item: Item } | { readonly problems: readonly string[] };
  /** Problems of the documents together. */
  problemsOf(items: readonly Item[]): readonly string[];
}

/** Reads the file. A missing file declares nothing. Throws an error with every problem that is found. */
export function readDocuments<Item>(file: DocumentFile<Item>): readonly Item[] {
  const at = path.join(file.home, file.name);
  if (!existsSync(at)) return [];
  const invalid = (problems: readonly string[]): OperationalError =>
    new OperationalError(file.code, `${at} is not valid. Correct it:\n  ${problems.join("\n  ")}`);
  const text = readFileSync(at, "utf8");
  if (text.length > FILE_BYTES_MAX) throw invalid([`the file has more than ${FILE_BYTES_MAX} bytes`]);
  const documents = parseAllDocuments(text, { uniqueKeys: true });
  const problems: string[] = [];
  const items: Item[] = [];
  for (const [index, document] of ("empty" in documents ? [] : documents).entries()) {
    const place = `document ${index + 1}`;
    const [fault] = document.errors;
    if (fault !== undefined) {
      problems.push(`${place}: ${fault.message.split("\n")[0] ?? ""}`);
      continue;
    }
    const value: unknown = document.toJS({ maxAliasCount: 0 });
    if (value === null) continue;
    const reading = file.read(value);
    if ("item" in reading) items.push(reading.item);
    else problems.push(...reading.problems.map((each) => `${place}: ${each}`));
  }
  problems.push(...file.problemsOf(items));
  if (problems.length > 0) throw invalid(problems);
  return items;
}

export function writeDocuments(
  { home, name }: Pick<DocumentFile<unknown>, "home" | "name">,
  header: string,
  documents: readonly object[],
): void {
  const file = path.join(home, name);
  const draft = `${file}.${process.pid}`;
  const texts = documents.map((document) => `---\n${stringify(document)}`);
  writeFileSync(draft, `${header}${texts.join("")}`, { mode: 0o600 });
  syncPath(draft);
  renameSync(draft, file);
  syncPath(home);
}
