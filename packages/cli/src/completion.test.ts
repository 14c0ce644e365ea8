import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import type { CommandShape } from "./command-shape.ts";
import { candidates, shellScripts } from "./completion.ts";
import { headroom } from "./testing/recorded-terminal.ts";

const folder = mkdtempSync(path.join(tmpdir(), "headroom-completion-"));
afterAll(() => {
  rmSync(folder, { recursive: true });
});

/** The values that completion offers for the last word of the line. */
async function offered(line: readonly string[]): Promise<string[]> {
  const { stdout } = await headroom(["__complete", "--", ...line], { workingDirectory: folder });
  return stdout
    .split("\n")
    .filter((each) => each !== "")
    .map((each) => each.split("\t")[0] ?? "");
}

describe("what is offered", () => {
  it.each<[string[], string[]]>([
    [["st"], ["stop", "status", "store"]],
    [
      ["nodes", ""],
      ["show", "drain", "resume", "remove", "notice", "qualify"],
    ],
    [["nodes", "drain", "--re"], ["--requeue"]],
    [
      ["list", "--phase", "s"],
      ["stopping", "succeeded"],
    ],
    [
      ["list", "--phase", "running", "--kind", ""],
      ["train", "batch", "serve"],
    ],
    [
      ["completion", ""],
      ["bash", "zsh", "fish"],
    ],
    [["completion", "bash", ""], []],
    [["run", "--priority", "n"], ["normal"]],
    [["run", "--", "pyth"], []],
    [["apply", "-f", ""], []],
    [["--home", "x", "sho"], ["show"]],
    [["nonsense", ""], []],
  ])("%j", async (line, expected) => {
    expect(await offered(line)).toEqual(expected);
  });

  it("offers every option of a command, none that is hidden", async () => {
    const run = await offered(["run", "--"]);
    expect(run).toContain("--gpus");
    expect(run).toContain("--home");
    expect(run).not.toContain("--accelerators");
    expect(await offered(["__c"])).toEqual([]);
  });

  it("asks for names where a command takes them, and offers nothing when nobody answers", async () => {
    const show: CommandShape = {
      name: "show",
      summary: "",
      options: [],
      commands: [],
      arguments: [{ name: "workload", isRepeated: false, complete: "workload" }],
    };
    const program: CommandShape = { name: "headroom", summary: "", options: [], arguments: [], commands: [show] };
    const names = (kind: string) =>
      Promise.resolve([
        { value: `a-${kind}`, description: "" },
        { value: "b", description: "" },
      ]);
    expect(await candidates(program, ["show", "a"], names)).toEqual([{ value: "a-workload", description: "" }]);
    expect(await candidates(program, ["show", "a", ""], names)).toEqual([]);
    expect(await offered(["show", ""])).toEqual([]);
  });
});

describe("the shells understand it", () => {
  it("bash completes with it", () => {
    const main = path.resolve(import.meta.dirname, "main.ts");
    const script = `
headroom() { "${process.execPath}" "${main}" "$@"; }
${shellScripts.bash}
COMP_WORDS=(headroom sta); COMP_CWORD=1; _headroom; echo "\${COMPREPLY[@]}"
COMP_WORDS=(headroom size ''); COMP_CWORD=2; _headroom; echo "\${COMPREPLY[@]}"`;
    const { stdout, stderr } = spawnSync("bash", ["-c", script], { encoding: "utf8", cwd: folder });
    expect([stdout, stderr]).toEqual([
      "status\ntrain finetune serve mix network storage failures path cluster catalogue\n",
      "",
    ]);
  });

  it.each(["zsh", "fish"] as const)("%s takes the script, where it is installed", (shell) => {
    const file = path.join(folder, shell);
    writeFileSync(file, shellScripts[shell]);
    const { error, status, stderr } = spawnSync(shell, ["-n", file], { encoding: "utf8" });
    if (error !== undefined) console.warn(`skipped: ${shell} is not installed here`);
    else expect([status, stderr]).toEqual([0, ""]);
    expect(shellScripts[shell]).toContain("__complete --");
  });
});
