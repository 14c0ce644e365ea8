/**
 * `runbooks.yaml` in the state directory: instructions for people about faults, incidents and findings, one document for each runbook. The file
 * is read again when it changes. A file with a mistake, or one that cannot be read, changes nothing; the problem is logged once.
 */
import { statSync } from "node:fs";
import path from "node:path";
import { OperationalError } from "@headroom/platform";
import { z } from "zod";
import { readDocuments } from "../declarations/document-file.ts";

const FILE = "runbooks.yaml";
const CODE = "invalidRunbooks";
const RETRY_MS = 5_000;
const RUNBOOKS_MAX = 1_000;
/** Runbooks that one incident or finding shows. */
const SHOWN_MAX = 5;
/** A code of faults, a cause of incidents or a kind of findings; `*` at the end matches any rest. */
const KEY = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}\*?$/;

const runbook = z
  .strictObject({
    kind: z.literal("runbook"),
    for: z
      .array(z.string().regex(KEY, "must be a code, a cause or a kind, with * at the end for any rest"))
      .min(1)
      .max(50),
    text: z.string().min(1).max(2_000).optional(),
    url: z
      .url({ protocol: /^https?$/ })
      .max(2_000)
      .optional(),
  })
  .refine(({ text, url }) => text !== undefined || url !== undefined, "must have text or url");

type Declared = z.output<typeof runbook>;

export interface Runbook {
  readonly for: string;
  readonly text: string | null;
  readonly url: string | null;
}

export class RunbookFile {
  readonly #home: string;
  readonly #warn: (message: string) => void;
  readonly #retryMs: number;
  #readAt = "";
  /** Time from which on a file that could not be read is looked at again, and what was said about it. */
  #retryAtMs = 0;
  #complaint = "";
  #runbooks: readonly Declared[] = [];

  /** `retryMs`: time until a file that could not be read is looked at again. */
  constructor(home: string, warn: (message: string) => void, retryMs: number = RETRY_MS) {
    this.#home = home;
    this.#warn = warn;
    this.#retryMs = retryMs;
  }

  /** Looks at the file once. The answer gives the runbooks for any of the keys, in the order of the file. */
  reader(): (keys: readonly string[]) => Runbook[] {
    const current = this.#current();
    return (keys) => runbooksOf(current, keys);
  }

  #current(): readonly Declared[] {
    if (performance.now() < this.#retryAtMs) return this.#runbooks;
    let version = "";
    try {
      const stat = statSync(path.join(this.#home, FILE), { throwIfNoEntry: false });
      version = stat === undefined ? "" : `${stat.mtimeMs} ${stat.ctimeMs} ${stat.size} ${stat.ino}`;
      if (version === this.#readAt) return this.#runbooks;
      this.#runbooks = readDocuments({ home: this.#home, name: FILE, code: CODE, read, problemsOf });
      this.#readAt = version;
      this.#complaint = "";
    } catch (error) {
      // A mistake in the text stays until the file changes; other failures may end by themselves.
      if (error instanceof OperationalError) this.#readAt = version;
      else this.#retryAtMs = performance.now() + this.#retryMs;
      this.#complain(`Runbooks are not read again: ${error instanceof Error ? error.message : String(error)}`);
    }
    return this.#runbooks;
  }

  #complain(complaint: string): void {
    if (complaint !== this.#complaint) this.#warn(complaint);
    this.#complaint = complaint;
  }
}

function runbooksOf(declared: readonly Declared[], keys: readonly string[]): Runbook[] {
  const found: Runbook[] = [];
  for (const { for: patterns, text = null, url = null } of declared) {
    if (found.length === SHOWN_MAX) break;
    const key = keys.find((each) => patterns.some((pattern) => matches(pattern, each)));
    if (key !== undefined) found.push({ for: key, text, url });
  }
  return found;
}

function read(value: unknown): { readonly item: Declared } | { readonly problems: readonly string[] } {
  const parsed = runbook.safeParse(value);
  if (parsed.success) return { item: parsed.data };
  return { problems: parsed.error.issues.map(({ path: at, message }) => `${at.join(".")}: ${message}`) };
}

const problemsOf = (items: readonly Declared[]): readonly string[] =>
  items.length > RUNBOOKS_MAX ? [`there are ${items.length} runbooks, more than ${RUNBOOKS_MAX}`] : [];

const matches = (pattern: string, key: string): boolean =>
  pattern.endsWith("*") ? key.startsWith(pattern.slice(0, -1)) : pattern === key;
