import { readFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { shellExamples } from "./shell-examples.ts";

it("reads commands, their output and files in the order of the page", () => {
  const page = [
    "# A page",
    "```sh",
    "npm start",
    "",
    "headroom list   # what there is",
    "```",
    "```yaml",
    "kind: team",
    "```",
    "```text",
    "$ headroom apply -f team.yaml",
    "created team a",
    "$ headroom teams",
    "```",
    "```csv",
    "a,b",
    "```",
  ];
  expect(shellExamples(page.join("\n"))).toEqual([
    { kind: "command", text: "npm start", line: 3, output: [] },
    { kind: "command", text: "headroom list   # what there is", line: 5, output: [] },
    { kind: "file", name: "team.yaml", text: "kind: team\n", line: 8 },
    { kind: "command", text: "headroom apply -f team.yaml", line: 11, output: ["created team a"] },
    { kind: "command", text: "headroom teams", line: 13, output: [] },
  ]);
  expect(() => shellExamples("```yaml\nkind: team\n```")).toThrow("line 2: no later command names the file");
});

it("finds the commands of the README and of the first hour", () => {
  const page = (...names: readonly string[]): string =>
    readFileSync(path.join(import.meta.dirname, "..", "..", ...names), "utf8");
  const commands = (text: string): readonly string[] =>
    shellExamples(text).flatMap((example) => (example.kind === "command" ? [example.text] : []));
  expect(commands(page("README.md"))).toEqual(expect.arrayContaining(["npm start", "npx headroom why big"]));
  expect(commands(page("docs", "tutorial", "first-hour.md"))).toEqual(
    expect.arrayContaining(["npm start", "npx headroom logs -f quickstart", "npx headroom apply -f teams.yaml"]),
  );
});
