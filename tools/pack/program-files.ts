/**
 * The sources that the program needs, as JavaScript. Node refuses to strip types below `node_modules`, so the package
 * contains the stripped files in the layout of the repository. Stripping replaces types by blanks: lines and columns of
 * stack traces stay those of the sources, and no source maps are needed.
 */
import { readFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import path from "node:path";
import { parseSync } from "oxc-parser";

/** The scope of the workspace's packages. The name belongs to the workspace alone: the package never contains it. */
const SCOPE = "@headroom/";

export interface ProgramFiles {
  /** Contents by path, relative to the root. */
  readonly files: ReadonlyMap<string, string | Buffer>;
  /** The third-party packages that the files import. */
  readonly libraries: ReadonlySet<string>;
}

/** Follows every import, worker and asset from the entry files on. */
export function programFiles(root: string, entries: readonly string[]): ProgramFiles {
  const files = new Map<string, string | Buffer>();
  const libraries = new Set<string>();
  const waiting = [...entries];
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    const target = compiledName(file);
    if (files.has(target)) continue;
    const content = readFileSync(path.join(root, file));
    if (!/\.(?:ts|mjs)$/.test(file)) {
      files.set(target, content);
      continue;
    }
    const compiled = compile(root, file, content.toString("utf8"));
    files.set(target, compiled.text);
    waiting.push(...compiled.needed);
    for (const library of compiled.libraries) libraries.add(library);
  }
  return { files, libraries };
}

const compiledName = (file: string): string => file.replace(/\.ts$/, ".js");

interface Compiled {
  readonly text: string;
  /** Files of the repository that this file loads. */
  readonly needed: readonly string[];
  readonly libraries: readonly string[];
}

interface Reference {
  readonly start: number;
  readonly end: number;
  readonly specifier: string;
}

function compile(root: string, file: string, source: string): Compiled {
  const text = file.endsWith(".ts") ? stripTypeScriptTypes(source, { mode: "strip" }) : source;
  const needed: string[] = [];
  const libraries: string[] = [];
  let compiled = "";
  let offset = 0;
  for (const { start, end, specifier } of referencesOf(file, text)) {
    const target = targetOf(root, file, specifier);
    if (target === null) {
      if (!specifier.startsWith("node:")) libraries.push(libraryOf(specifier));
      continue;
    }
    needed.push(target);
    compiled += text.slice(offset, start) + JSON.stringify(relativeSpecifier(file, compiledName(target)));
    offset = end;
  }
  compiled += text.slice(offset);
  refuseLeftovers(file, compiled);
  return { text: compiled, needed, libraries };
}

/** `new URL("x.ts", import.meta.url)` and `import.meta.resolve("x")` name files that are loaded without an import. */
const loadedFile =
  /new URL\(\s*(?<url>"[^"]+\.(?:ts|mjs)")\s*,\s*import\.meta\.url|import\.meta\.resolve\(\s*(?<resolved>"[^"]+")/dg;

/** The texts between quotation marks that name a module or a file, in order. */
function referencesOf(file: string, text: string): readonly Reference[] {
  const { module, errors } = parseSync(compiledName(file), text);
  if (errors.length > 0) throw new Error(`${file} cannot be parsed: ${errors[0]?.message ?? ""}`);
  const spans: { readonly start: number; readonly end: number }[] = [
    ...module.staticImports.map(({ moduleRequest }) => moduleRequest),
    ...module.staticExports.flatMap(({ entries }) =>
      // Every name of one `export … from` carries the same request.
      entries.map(({ moduleRequest }) => moduleRequest).filter((request) => request !== null),
    ),
    ...module.dynamicImports.map(({ moduleRequest }) => moduleRequest),
    ...Array.from(text.matchAll(loadedFile), ({ indices }) => {
      const [start, end] = indices?.groups?.["url"] ?? indices?.groups?.["resolved"] ?? [0, 0];
      return { start, end };
    }),
  ];
  const literal = /^(?<quote>["'])(?<specifier>[^"'\n]+)\k<quote>$/;
  const references = spans.flatMap(({ start, end }) => {
    const specifier = literal.exec(text.slice(start, end))?.groups?.["specifier"];
    return specifier === undefined ? [] : [{ start, end, specifier }];
  });
  const byStart = new Map(references.map((each) => [each.start, each]));
  return [...byStart.values()].toSorted((a, b) => a.start - b.start);
}

/** The file that a specifier names; `null`: a module of Node or a third-party package. */
function targetOf(root: string, file: string, specifier: string): string | null {
  if (specifier.startsWith(SCOPE)) return exported(root, specifier);
  const isFile = specifier.startsWith(".") || /\.(?:ts|mjs)$/.test(specifier);
  return isFile ? path.join(path.dirname(file), specifier) : null;
}

/** The file behind an export of a workspace package. */
function exported(root: string, specifier: string): string {
  const [name = "", ...rest] = specifier.slice(SCOPE.length).split("/");
  const manifest = JSON.parse(readFileSync(path.join(root, "packages", name, "package.json"), "utf8")) as {
    readonly exports: Readonly<Record<string, string>>;
  };
  const target = manifest.exports[rest.length === 0 ? "." : `./${rest.join("/")}`];
  if (target === undefined) throw new Error(`${specifier} is no export of packages/${name}`);
  return path.join("packages", name, target);
}

function relativeSpecifier(from: string, to: string): string {
  const relative = path.relative(path.dirname(from), to);
  return relative.startsWith(".") ? relative : `./${relative}`;
}

function libraryOf(specifier: string): string {
  return specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/");
}

/** A reference that this file does not know would fail only when a user first needs it. */
function refuseLeftovers(file: string, text: string): void {
  const left = /import\.meta\.(?:url|dirname|resolve)[^;\n]*"[^"\n]*\.ts"|"@headroom\/[^"]*"/.exec(text);
  if (left !== null)
    throw new Error(`${file} names a source file in a form that the package cannot follow: ${left[0]}`);
}
