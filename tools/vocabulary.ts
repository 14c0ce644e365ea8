/**
 * A part of `npm run check`: rejects retired words in names, a type name that one package declares in two files, and retired phrases
 * in comments, messages and documents.
 */
import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import { retiredPhrases } from "./lint/phrases.ts";
import { prosePending } from "./lint/prose-pending.ts";
import { retiredWords } from "./lint/retired-words.ts";
import { proseFiles } from "./prose/files.ts";
import { type Passage, passagesOfDocument, passagesOfSource, sentencesOf } from "./prose/passages.ts";

interface Finding {
  readonly file: string;
  readonly line: number;
  readonly message: string;
}

const root = path.resolve(import.meta.dirname, "..");
/** Files that read older journals and therefore contain retired words. */
const exempt: ReadonlySet<string> = new Set(["packages/engine/src/state/upcast.ts"]);

const sourceFiles = (): readonly string[] =>
  globSync(["packages/*/src/**/*.ts", "packages/*/src/**/*.tsx"], { cwd: root })
    .map((file) => file.replaceAll("\\", "/"))
    .filter((file) => !exempt.has(file) && !/\.test\.tsx?$/.test(file))
    .toSorted();

/** Removes comments, and strings of more than one name. Line breaks stay, so that line numbers do not change. */
function namesOnly(text: string): string {
  return text.replace(
    /\/\*[\s\S]*?\*\/|\/\/[^\n]*|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`/g,
    (found) => {
      if (/^(["'`])[A-Za-z]+\1$/.test(found)) return found;
      if (!found.startsWith("`")) return found.replace(/[^\n]/g, " ");
      // Expressions inside template literals stay.
      return found.replace(/\$\{([^{}]*)\}|[^\n]/g, (_, expression: string | undefined) => ` ${expression ?? ""} `);
    },
  );
}

const wordsOf = (name: string): readonly string[] =>
  name
    .split(/_|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/)
    .map((word) => word.toLowerCase())
    .filter((word) => word !== "");

function retiredIn(name: string, packageName: string): string | undefined {
  // JavaScript's `Promise`, not a retired word for a nomination.
  if (/^Promise(Like|Constructor|WithResolvers)?$/.test(name)) return undefined;
  const words = wordsOf(name);
  const joined = words.slice(1).map((word, at) => `${words[at] ?? ""}${word}`);
  const found = retiredWords.find(
    ({ word, packages, mayStandAlone }) =>
      (mayStandAlone !== true || name !== word) &&
      (words.includes(word) || joined.includes(word)) &&
      (packages === undefined || packages.includes(packageName)),
  );
  return found === undefined
    ? undefined
    : `${name}: write "${found.instead}" instead of "${found.word}" (docs/glossary.md)`;
}

function retiredNames(file: string, text: string): readonly Finding[] {
  const packageName = file.split("/")[1] ?? "";
  const findings: Finding[] = [];
  namesOnly(text)
    .split("\n")
    .forEach((line, at) => {
      for (const [name] of line.matchAll(/[A-Za-z_$][\w$]*/g)) {
        const message = retiredIn(name, packageName);
        if (message !== undefined) findings.push({ file, line: at + 1, message });
      }
    });
  return findings;
}

/** Packages that share their vocabulary, so that a type name of one is not declared again in another. */
const sharedVocabulary: readonly string[] = ["model", "engine", "explain"];

const declaration = /^(?:export )?(?:declare )?(?:abstract )?(?:interface|type|class|enum) ([A-Z]\w*)/gm;

function typesDeclaredTwice(texts: ReadonlyMap<string, string>): readonly Finding[] {
  const declared = new Map<string, string>();
  const findings: Finding[] = [];
  for (const [file, text] of texts) {
    if (/\.test\.tsx?$|\/testing\//.test(file)) continue;
    const packageName = file.split("/")[1] ?? "";
    const owner = sharedVocabulary.includes(packageName) ? sharedVocabulary.join() : packageName;
    for (const match of text.matchAll(declaration)) {
      const key = `${owner} ${match[1] ?? ""}`;
      const first = declared.get(key);
      if (first === undefined) declared.set(key, file);
      else if (first !== file) {
        const line = text.slice(0, match.index).split("\n").length;
        findings.push({
          file,
          line,
          message: `type ${match[1] ?? ""} is declared in ${first} too: name one of them for what it is`,
        });
      }
    }
  }
  return findings;
}

function phraseIn(sentence: string, packageName: string): string | undefined {
  const text = sentence.replaceAll(/`[^`]*`/g, "``");
  const found = retiredPhrases.find(
    ({ pattern, packages }) => (packages === undefined || packages.includes(packageName)) && pattern.test(text),
  );
  return found === undefined ? undefined : `"${sentence}": write ${found.instead}`;
}

function retiredPhrasesIn(file: string): readonly Finding[] {
  const text = readFileSync(path.join(root, file), "utf8");
  const packageName = /^packages\/([^/]+)/.exec(file)?.[1] ?? "";
  const passages: readonly Passage[] = file.endsWith(".md")
    ? passagesOfDocument(file, text)
    : passagesOfSource(file, text);
  return passages.filter(isChecked).flatMap((passage) =>
    sentencesOf(passage.text).flatMap((sentence) => {
      const message = phraseIn(sentence, packageName);
      return message === undefined ? [] : [{ file, line: passage.line, message }];
    }),
  );
}

/** Strings in tests are not messages to users. */
const isTest = (file: string): boolean => /\.(?:test|bench)\.tsx?$|\/(?:test|testing|bench)\//.test(file);
const isChecked = ({ kind, file }: Passage): boolean =>
  !prosePending.some((each) => `${kind} ${file}`.startsWith(each)) && !(kind === "message" && isTest(file));

const texts = new Map(sourceFiles().map((file) => [file, readFileSync(path.join(root, file), "utf8")]));
const findings = [
  ...[...texts].flatMap(([file, text]) => retiredNames(file, text)),
  ...typesDeclaredTwice(texts),
  ...proseFiles().flatMap(retiredPhrasesIn),
];
for (const { file, line, message } of findings) process.stdout.write(`${file}:${line}: ${message}\n`);
process.exitCode = findings.length === 0 ? 0 : 1;
