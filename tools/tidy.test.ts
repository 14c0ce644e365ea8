/** Rules that no compiler or linter checks: names, lengths, links, and words that do not belong in the repository. */
import { existsSync, readFileSync, statSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { repositoryFiles, repositoryRoot } from "./testing/repository-copy.ts";

const lineLimit = 500;
const generated = new Set(["package-lock.json", "LICENSE"]);
const isProse = (file: string): boolean => file.endsWith(".md");
const isCode = (file: string): boolean => /\.(?:ts|tsx|mjs|js|py|css|html)$/.test(file);
/** Recorded inputs and expectations are data, so their length is not limited. */
const isData = (file: string): boolean => /\/(?:history|fixtures|testdata)\//.test(file);

const files = repositoryFiles();
const texts = new Map(
  files
    .map((file) => [file, readFileSync(path.join(repositoryRoot, file))] as const)
    .filter(([, content]) => !content.subarray(0, 8000).includes(0))
    .map(([file, content]) => [file, content.toString("utf8")] as const),
);

/** The places, as `file:line`, of the lines in the chosen files that match. */
function linesMatching(pattern: RegExp, isChosen: (file: string) => boolean): readonly string[] {
  return [...texts].flatMap(([file, text]) =>
    isChosen(file)
      ? text.split("\n").flatMap((line, index) => (pattern.test(line) ? [`${file}:${index + 1}`] : []))
      : [],
  );
}

/** The words are put together from parts, so that this file does not contain them. */
const word = (...parts: readonly string[]): RegExp => new RegExp(parts.join(""));

describe("names", () => {
  it("say what a file is about", () => {
    const banned = /(?:^|[/.-])(?:utils?|helpers?|managers?|commons?|misc)(?:[/.-]|$)/;
    expect(files.filter((file) => banned.test(file))).toEqual([]);
  });

  it("are kebab-case in code", () => {
    const kebab = /^[a-z0-9]+(?:-[a-z0-9]+)*(?:\.[a-z0-9-]+)*$/;
    const allowed = new Set(["__init__.py"]);
    const names = files.filter(isCode).filter((file) => !isProse(file));
    const wrong = names.filter((file) => !kebab.test(path.basename(file).replace(/^[$_]+/, "")));
    expect(wrong.filter((file) => !allowed.has(path.basename(file)))).toEqual([]);
  });
});

describe("codes of errors", () => {
  it("are in camelCase, those of operational errors like those of problems", () => {
    const codes = [...texts].flatMap(([file, text]) =>
      isCode(file) ? [...text.matchAll(/new OperationalError\(\s*"([^"]*)"/g)].map(([, code = ""]) => code) : [],
    );
    expect(codes.length).toBeGreaterThan(20);
    expect(codes.filter((code) => !/^[a-z][a-zA-Z]*$/.test(code))).toEqual([]);
  });
});

describe("length", () => {
  it(`of code stays within ${lineLimit} lines`, () => {
    const long = [...texts].filter(([file]) => isCode(file) && !isData(file) && !generated.has(file));
    const tooLong = long.filter(([, text]) => text.split("\n").length - 1 > lineLimit);
    expect(tooLong.map(([file, text]) => `${file}: ${text.split("\n").length - 1}`)).toEqual([]);
  });

  it("of files stays small: nothing over 1 MiB", () => {
    const sizes = files.map((file) => [file, statSync(path.join(repositoryRoot, file)).size] as const);
    expect(sizes.filter(([, size]) => size > 1 << 20)).toEqual([]);
  });
});

describe("documents", () => {
  const links = [...texts].filter(([file]) => isProse(file)).flatMap(([file, text]) => linksIn(file, text));

  it("link only to what is there", () => {
    const broken = links.filter(({ file, target }) => !isResolved(file, target));
    expect(broken.map(({ file, target }) => `${file} -> ${target}`)).toEqual([]);
  });
});

function linksIn(file: string, text: string): readonly { readonly file: string; readonly target: string }[] {
  const prose = text.replace(/^(```|~~~)[\s\S]*?^\1/gm, "").replace(/`[^`\n]*`/g, "");
  const targets = [...prose.matchAll(/\]\(\s*<?([^)\s>]+)>?[^)]*\)/g), ...prose.matchAll(/^\[[^\]]+\]:\s*(\S+)/gm)];
  return targets
    .map(([, target = ""]) => ({ file, target }))
    .filter(({ target }) => !/^[a-z][a-z0-9+.-]*:/i.test(target));
}

/** GitHub's rule for the anchor of a heading, without the numbers that repeated headings get. */
function anchorOf(heading: string): string {
  const plain = heading
    .replaceAll(/[`*]|\[([^\]]*)\]\([^)]*\)/g, "$1")
    .trim()
    .toLowerCase();
  return plain.replaceAll(/[^\p{L}\p{N} _-]/gu, "").replaceAll(" ", "-");
}

function isResolved(from: string, target: string): boolean {
  const [file = "", anchor] = target.split("#");
  const place = file === "" ? from : path.posix.join(path.posix.dirname(from), decodeURIComponent(file));
  if (!existsSync(path.join(repositoryRoot, place))) return false;
  if (anchor === undefined || !isProse(place)) return true;
  const headings = [...(texts.get(place) ?? "").matchAll(/^#{1,6}\s+(.*)$/gm)];
  return headings.some(([, heading = ""]) => anchorOf(heading) === anchor);
}

describe("words that do not belong here", () => {
  it("no registry or mirror is named", () => {
    const hosts = word("registry\\.", "npmjs|registry\\.", "yarnpkg|npm", "mirror|arti", "factory|pypi\\.", "org");
    expect(linesMatching(hosts, () => true)).toEqual([]);
    expect(linesMatching(/"resolved": "https?:/, (file) => file === "package-lock.json")).toEqual([]);
  });

  it("no private path of a machine is named", () => {
    const paths = word("(?:^|[\\s\"'`(=:])/(?:work|home/[a-z]+|", "root|Users/[A-Za-z]+)/");
    expect(linesMatching(paths, () => true)).toEqual([]);
  });

  it("no unfinished business is left behind", () => {
    expect(linesMatching(word("\\b(?:TO", "DO|FIX", "ME|X", "XX|HA", "CK)\\b"), isCode)).toEqual([]);
  });
});

describe("ways around the rules", () => {
  it("the compiler is never told to look away, and the linter only with a reason", () => {
    expect(linesMatching(word("@ts-", "(?:ignore|nocheck)"), isCode)).toEqual([]);
    const isHere = (file: string): boolean => isCode(file) && !file.startsWith("tools/");
    const disabled = word("(?:oxlint|eslint)-", "disable(?!.* -- \\S)");
    expect(linesMatching(disabled, isHere)).toEqual([]);
  });

  it("the walls between the packages have no door", () => {
    const walls = word(
      "(?:oxlint|eslint)-",
      "disable(?:.*(?:house/|no-restricted-)|(?:-next-line|-line)?\\s*(?:--|\\*/|$))",
    );
    expect(linesMatching(walls, isCode)).toEqual([]);
  });
});
