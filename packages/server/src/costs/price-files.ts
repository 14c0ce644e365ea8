/** Price documents in `prices/` of the state directory. Only operators of the machine write there. */
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import path from "node:path";
import { priceDocument } from "@headroom/usage";
import type { PriceDocument } from "@headroom/usage";
import { parseAllDocuments } from "yaml";

const FOLDER = "prices";
const FILES_MAX = 1_000;
const FILE_BYTES_MAX = 4 * 1024 * 1024;

export interface PriceFiles {
  readonly documents: readonly PriceDocument[];
  /** Files that cannot be read, with their first problem. Nothing of such a file is used. */
  readonly problems: readonly string[];
}

export function readPriceFiles(home: string): PriceFiles {
  const folder = path.join(home, FOLDER);
  if (!existsSync(folder)) return { documents: [], problems: [] };
  const files = readdirSync(folder)
    .filter((name) => /\.(?:ya?ml|json)$/.test(name))
    .toSorted();
  const problems: string[] = files.length > FILES_MAX ? [`${FOLDER}: only the first ${FILES_MAX} files are read`] : [];
  const documents = files.slice(0, FILES_MAX).flatMap((name): readonly PriceDocument[] => {
    const read = readFile(path.join(folder, name));
    if (typeof read !== "string") return read;
    problems.push(`${FOLDER}/${name}: ${read}`);
    return [];
  });
  return { documents, problems };
}

/** The documents of a file, or the first problem. */
function readFile(file: string): readonly PriceDocument[] | string {
  if (statSync(file).size > FILE_BYTES_MAX) return `has more than ${FILE_BYTES_MAX} bytes`;
  const parsed = parseAllDocuments(readFileSync(file, "utf8"), { uniqueKeys: true });
  const documents: PriceDocument[] = [];
  for (const [index, document] of ("empty" in parsed ? [] : parsed).entries()) {
    const place = `document ${index + 1}`;
    const [fault] = document.errors;
    if (fault !== undefined) return `${place}: ${fault.message.split("\n")[0] ?? ""}`;
    const value: unknown = document.toJS({ maxAliasCount: 0 });
    if (value === null) continue;
    const reading = priceDocument.safeParse(value);
    if (!reading.success) {
      const [issue] = reading.error.issues;
      return `${place}: ${issue?.path.join(".") ?? ""}: ${issue?.message ?? "is invalid"}`;
    }
    documents.push(reading.data);
  }
  return documents;
}
