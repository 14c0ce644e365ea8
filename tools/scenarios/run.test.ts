import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";

let directory: string;
let file: string;
beforeAll(() => {
  directory = mkdtempSync(path.join(tmpdir(), "headroom-"));
  file = path.join(directory, "cases.json");
  writeFileSync(file, JSON.stringify({ scenarios: [{ id: "odd", dialect: "unheard-of", name: "played by nobody" }] }));
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

function run(...given: readonly string[]): {
  readonly code: number | null;
  readonly out: string;
  readonly error: string;
} {
  const program = path.join(import.meta.dirname, "run.ts");
  const { status, stdout, stderr } = spawnSync(process.execPath, ["--conditions", "development", program, ...given], {
    encoding: "utf8",
  });
  return { code: status, out: stdout, error: stderr };
}

it("ends with 1 where a case fails, and says why", () => {
  const { code, out } = run(file);
  expect(code).toBe(1);
  expect(out).toContain("no preset plays the dialect unheard-of");
  expect(out).toContain("0 of 1 pass");
});

it("ends with 2, in one or two lines, where nothing is asked for or can be read", () => {
  const wrong = [
    [],
    [file, "--dialect", "kai"],
    [file, "--only", "x", "--json"],
    [file, "--unheard-of"],
    [`${file}.no`],
  ];
  for (const given of wrong) {
    const { code, out, error } = run(...given);
    expect([given, code, out]).toEqual([given, 2, ""]);
    expect(error.trim().split("\n").length).toBeLessThanOrEqual(2);
  }
});
