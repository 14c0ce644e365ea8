import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import path from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { workloadDocument, type WorkloadSpec } from "@headroom/protocol";
import { stringify } from "yaml";
import { headroom } from "../testing/recorded-terminal.ts";
import { loadDocuments, type LoadedDocument } from "./load-documents.ts";
import { parseYaml } from "./yaml-source.ts";
import { Readable } from "node:stream";
import type { Terminal } from "../terminal.ts";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "headroom-documents-"));
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

/**
 * Output of `headroom apply -f train.yaml` without the first line. No control plane runs, because reading fails first.
 */
async function saidOf(text: string | Uint8Array): Promise<string[]> {
  writeFileSync(path.join(folder, "train.yaml"), text);
  const { code, stderr, stdout } = await headroom(["apply", "-f", "train.yaml", "--yes"], { workingDirectory: folder });
  expect(code).toBe(2);
  expect(stdout).toBe("");
  return stderr.trimEnd().split("\n").slice(1);
}

const valid = "kind: train\nname: a\nrun: 'true'\n";

describe("messages have file, line and column", () => {
  it("and stand in the order of the file", async () => {
    const text = `kind: train\nname: a\nrun: 'true'\nscale: {}\ngang: { gpus: 1, workers: -2 }\nenv: { "B=C": x }\n`;
    const places = (await saidOf(text)).map((line) => line.split(": ")[0]);
    expect(places).toEqual(["train.yaml:4:1", "train.yaml:5:9", "train.yaml:5:27", "train.yaml:6:15"]);
  });

  it.each<[string, string, string[]]>([
    [
      "a bad value",
      `${valid}gang:\n  workers: -2\n`,
      ["train.yaml:5:12: gang.workers: must be between 1 and 20000, got -2"],
    ],
    [
      "an unknown field",
      `${valid}gang: { gpus: 8 }\n`,
      ["train.yaml:4:9: gang.gpus: unknown field; did you mean accelerators?"],
    ],
    ["a missing field", "kind: train\nname: a\n", ["train.yaml:1:1: run: is required"]],
    [
      "an empty value",
      `${valid}walltime:\n`,
      [
        "train.yaml:4:1: walltime: write a duration like 500ms, 90s, 12h or 1h30m (units w, d, h, m, s, ms), got an empty value",
      ],
    ],
    [
      "a later document",
      `${valid}---\nkind: team\nname: x\nlimit: { H100: -1 }\n`,
      ["train.yaml:7:16: limit.H100: must be between 0 and 100000000, got -1"],
    ],
    [
      "a value behind an alias",
      `${valid}env: &e { RANK: "1" }\n`,
      ["train.yaml:4:17: env.RANK: is set by Headroom for every worker and cannot be set here"],
    ],
    ["the same field twice", `${valid}name: b\n`, ["train.yaml:4:1: the same field is given twice"]],
    ["a tab", `${valid}gang:\n\tworkers: 1\n`, ["train.yaml:5:1: tabs cannot be used for indentation: use spaces"]],
    [
      "an open bracket",
      `${valid}gang: { workers: 2\n`,
      ["train.yaml:5:1: flow map in block collection must be sufficiently indented and end with a }"],
    ],
    [
      "a list",
      "- kind: train\n",
      ['train.yaml:1:1: must be a mapping with a kind, like "kind: train", got a list of 1 entry'],
    ],
    [
      "teams in a circle",
      "kind: team\nname: a\nparent: b\n---\nkind: team\nname: b\nparent: a\n",
      ["train.yaml:3:9: parent: teams are parents of each other: a → b → a"],
    ],
    [
      "a name twice",
      `${valid}---\n${valid}`,
      ["train.yaml:6:7: name: the workload a of team default is declared twice"],
    ],
    [
      "an unknown tag",
      `${valid}env: !!python/object {}\n`,
      ["train.yaml:4:6: unresolved tag: tag:yaml.org,2002:python/object"],
    ],
    [
      "an alias to nothing",
      `${valid}env: *nowhere\n`,
      ["train.yaml:4:6: unresolved alias (the anchor must be set before the alias): nowhere"],
    ],
  ])("%s", async (_, text, expected) => {
    expect(await saidOf(text)).toEqual(expected);
  });

  it("tells everything that is wrong in all documents and files at once", async () => {
    writeFileSync(path.join(folder, "a.yaml"), "kind: train\nname: '-'\n---\nkind: batch\nname: b\nrun: x\ntasks: 0\n");
    writeFileSync(path.join(folder, "b.yml"), "kind: nothing\n");
    const { code, stderr } = await headroom(["apply", "-f", "."], { workingDirectory: folder });
    expect(code).toBe(2);
    expect(stderr.split("\n")[0]).toBe("error: 4 problems, nothing was changed");
    expect(stderr.match(/^\S+:\d+:\d+: /gm)).toEqual(["a.yaml:1:1: ", "a.yaml:2:7: ", "a.yaml:7:8: ", "b.yml:1:7: "]);
  });
});

describe("files that would hurt", () => {
  it("refuses a file that multiplies by its anchors", async () => {
    const levels = Array.from(
      { length: 12 },
      (_, level) =>
        `  v${level}: &l${level} [${Array.from({ length: 10 }, () => (level === 0 ? "x" : `*l${level - 1}`)).join(", ")}]`,
    );
    expect(await saidOf(`${valid}x:\n${levels.join("\n")}\n`)).toEqual([
      "train.yaml:1:1: the document uses anchors more than 100 times",
    ]);
  });

  it("refuses a file that is nested deeper than any stack", async () => {
    const [line = ""] = await saidOf(`${valid}env: ${"[".repeat(200_000)}\n`);
    expect(line).toMatch(/^train\.yaml:4:\d+: the document is nested too deeply$/);
  });

  it("refuses a file above a mebibyte, one that is no text, an absent one and an endless one", async () => {
    writeFileSync(path.join(folder, "large.yaml"), `${valid}# ${"x".repeat(1_048_576)}\n`);
    writeFileSync(path.join(folder, "binary.yaml"), new Uint8Array([0xff, 0xfe, 0x00]));
    mkdirSync(path.join(folder, "empty"));
    const said = async (file: string): Promise<string> =>
      (await headroom(["apply", "-f", file], { workingDirectory: folder })).stderr;
    expect(await said("large.yaml")).toBe("error: large.yaml is too large: the limit is 1048576 bytes\n");
    expect(await said("binary.yaml")).toBe("error: binary.yaml is not UTF-8 text\n");
    expect(await said("absent.yaml")).toBe("error: cannot read absent.yaml: there is no such file\n");
    expect(await said("empty")).toBe("error: the directory empty has no .yaml, .yml or .json files\n");
    expect(await said("/dev/zero")).toBe("error: /dev/zero is too large: the limit is 1048576 bytes\n");
  });

  it("says that a file without documents has none", async () => {
    writeFileSync(path.join(folder, "none.yaml"), "# nothing yet\n---\n");
    const { code, stderr } = await headroom(["apply", "-f", "none.yaml"], { workingDirectory: folder });
    expect([code, stderr]).toEqual([
      2,
      'error: there is no document in none.yaml; a document begins with a line like "kind: train" (docs/reference/workload-files.md)\n',
    ]);
  });
});

async function load(targets: readonly string[], stdin = ""): Promise<readonly LoadedDocument[]> {
  const sink = { isTerminal: false, columns: undefined, write: () => {}, drained: () => Promise.resolve() };
  const terminal: Terminal = {
    stdin: Readable.from([Buffer.from(stdin)]),
    stdout: sink,
    stderr: sink,
    env: {},
    workingDirectory: folder,
    userName: () => "tester",
    interrupted: new AbortController().signal,
  };
  return loadDocuments(targets, terminal);
}

function specOf(loaded: LoadedDocument | undefined): WorkloadSpec {
  if (loaded?.document.kind !== "workload") throw new Error("not a workload");
  return loaded.document.spec;
}

describe("what is read", () => {
  it("runs work where its file lies and resolves paths from there", async () => {
    mkdirSync(path.join(folder, "jobs"));
    writeFileSync(
      path.join(folder, "jobs", "a.yaml"),
      `${valid}checkpoint: { dir: ckpt }\n---\nkind: train\nname: b\nrun: x\ndir: ../data\n---\n${valid.replace("a\n", "c\n")}dir: ~/work\nname2: x\n`.replace(
        "name2: x\n",
        "",
      ),
    );
    const loaded = await load(["jobs"]);
    const specs = loaded.map(specOf);
    expect(specs.map(({ dir }) => dir)).toEqual([
      path.join(folder, "jobs"),
      path.join(folder, "data"),
      path.join(homedir(), "work"),
    ]);
    expect(specs[0]?.checkpointDir).toBe(path.join(folder, "jobs", "ckpt"));
    const [own] = await load(["-"], `${valid}dir: own\n`);
    expect(specOf(own).dir).toBeNull();
  });

  it("hands environment variables over as they were written", async () => {
    const [loaded] = await load(["-"], `${valid}env: { A: 1.10, B: 0x10, C: 1_0, D: true, E: "", F: 1e3 }\n`);
    expect(specOf(loaded).env).toEqual({ A: "1.10", B: "0x10", C: "1_0", D: "true", E: "", F: "1e3" });
    expect(specOf(loaded).dir).toBe(folder);
  });

  it("reads JSON, CRLF and a byte order mark", async () => {
    writeFileSync(path.join(folder, "a.json"), JSON.stringify({ kind: "train", name: "a", run: "true" }));
    writeFileSync(path.join(folder, "b.yaml"), `\ufeff${valid.replace("a\n", "b\n").replaceAll("\n", "\r\n")}`);
    expect((await load(["."])).map((each) => specOf(each).name)).toEqual(["a", "b"]);
  });
});

describe("properties", () => {
  it("what `show --yaml` prints is read as the same workload", () => {
    const odd = fc
      .string({ minLength: 1, unit: "binary", maxLength: 40 })
      .filter((each) => each.trim() !== "" && !each.includes("\0") && each.isWellFormed());
    fc.assert(
      fc.property(
        odd,
        fc.dictionary(fc.stringMatching(/^[A-Za-z_]{1,6}$/), odd, { noNullPrototype: true }),
        (run, env) => {
          const document = workloadDocument({
            kind: "train",
            name: "a",
            team: "default",
            run,
            dir: null,
            env,
            acceleratorTypes: [],
            priority: 7,
            walltimeMs: 1,
            graceTimeoutMs: 0,
            checkpointDir: null,
            gang: { workers: 1, accelerators: 0, coresMilli: 1, memoryMib: 0 },
            retries: { max: 0, backoffMs: 0, backoffMaxMs: 0 },
          });
          const { documents, problems } = parseYaml(stringify(document, { lineWidth: 0 }));
          expect(problems).toEqual([]);
          expect(documents[0]?.value).toEqual(document);
        },
      ),
    );
  });

  it("never throws and gives every problem a place inside the text, whatever the text", () => {
    const pieces = fc.constantFrom(
      "kind: train\n",
      "  ",
      "- ",
      "{",
      "}",
      "[",
      "]",
      ": ",
      "*a",
      "&a ",
      "---\n",
      "\t",
      "\n",
      "'",
      '"',
      "|\n",
      "!!x ",
      "? ",
      "name: x\n",
      "\u0000",
      "😀",
    );
    const text = fc.oneof(
      fc.string(),
      fc.array(pieces, { maxLength: 40 }).map((parts) => parts.join("")),
    );
    fc.assert(
      fc.property(text, (each) => {
        const { documents, problems } = parseYaml(each);
        const lineCount = each.split("\n").length;
        for (const { line, column, message } of problems) {
          expect(line).toBeGreaterThanOrEqual(1);
          expect(line).toBeLessThanOrEqual(lineCount);
          expect(column).toBeGreaterThanOrEqual(1);
          expect(message).not.toBe("");
        }
        for (const document of documents)
          expect(document.placeOf(["gang", "workers"], false).line).toBeLessThanOrEqual(lineCount);
      }),
    );
  });
});
