import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { headroom, type Said } from "../testing/recorded-terminal.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), "headroom-scripts-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

const write = (name: string, text: string): void => writeFileSync(path.join(folder, name), text);
const run = (...args: readonly string[]): Promise<Said> =>
  headroom(["run", ...args], {
    workingDirectory: folder,
    env: { HEADROOM_HOME: path.join(folder, "none"), VIRTUAL_ENV: "/venv", API_TOKEN: "x", SBATCH_QOS: "high" },
  });

interface Answer {
  readonly honoured: readonly { readonly directive: string; readonly line: number }[];
  readonly ignored: readonly { readonly directive: string; readonly line: number; readonly reason: string }[];
  readonly fromEnvironment: readonly { readonly directive: string }[];
  readonly leftOut: { readonly secrets: readonly string[] };
  readonly document: Readonly<Record<string, unknown>>;
}

describe("headroom run with a batch script", () => {
  it("sends the mail of Slurm to a channel that the user names", async () => {
    write(
      "mail.sbatch",
      "#!/bin/bash\n#SBATCH --mail-type=begin,END,REQUEUE,TIME_LIMIT_80\n#SBATCH --mail-user=a@b.c\ntrue\n",
    );
    const answerOf = async (...args: readonly string[]): Promise<Answer> =>
      JSON.parse((await run(...args, "--dry-run", "--json", "mail.sbatch")).stdout) as Answer;
    const without = await answerOf();
    expect(without.document).not.toHaveProperty("notify");
    expect(without.ignored.map(({ line }) => line)).toEqual([2, 3]);
    const named = await answerOf("--notify", "ops");
    expect(named.document).toMatchObject({ notify: "ops:start,end,nodeLoss,maintenance" });
    expect(named.honoured.map(({ line }) => line)).toEqual([2]);
    expect(named.ignored.map(({ line, reason }) => `${line} ${reason}`)).toEqual([
      "2 sends no message on TIME_LIMIT_80",
      expect.stringMatching(/^3 the operator declares the receivers/),
    ]);
    expect((await answerOf("--notify", "ops:end")).document).toMatchObject({ notify: "ops:end" });
  });

  it("says that an option after the script is an argument of the script", async () => {
    write("late.sbatch", "#!/bin/bash\n#SBATCH --time=10\necho $1\n");
    const said = await run("--dry-run", "late.sbatch", "--follow", "--lr=3", "--team=ml");
    expect(said.stdout).toContain("--follow --team=ml after the script: the script gets it as an argument.");
    expect((await run("--dry-run", "late.sbatch", "--lr=3")).stdout).not.toContain("after the script");
  });

  it("refuses an unknown occasion of mail, as sbatch does", async () => {
    write("odd.sbatch", "#!/bin/bash\n#SBATCH --mail-type=OFTEN\ntrue\n");
    const said = await run("--dry-run", "odd.sbatch");
    expect([said.code, said.stderr]).toEqual([
      2,
      expect.stringContaining("odd.sbatch:2: --mail-type=OFTEN must be BEGIN"),
    ]);
  });

  it("says without a control plane what becomes of each line", async () => {
    write("job.sbatch", "#!/bin/bash\n#SBATCH --time=10 -p gpu\n#SBATCH --gres=gpu:2\necho $1\n");
    const said = await run("--team", "ml", "--dry-run", "--json", "job.sbatch", "--lr", "3");
    expect(said.code).toBe(0);
    const answer = JSON.parse(said.stdout) as Answer;
    expect(answer.honoured.map(({ line, directive }) => [line, directive])).toEqual([
      [2, "--time=10"],
      [3, "--gres=gpu:2"],
    ]);
    expect(answer.ignored).toEqual([
      { directive: "-p gpu", line: 2, reason: expect.stringContaining("no partitions") },
    ]);
    expect(answer.fromEnvironment.map(({ directive }) => directive)).toEqual(["SBATCH_QOS=high"]);
    expect(answer.leftOut.secrets).toEqual(["API_TOKEN"]);
    expect(answer.document).toMatchObject({
      kind: "train",
      name: "job.sbatch",
      team: "ml",
      walltime: "10m",
      gang: { accelerators: 2, cores: 1 },
      dir: folder,
      env: { VIRTUAL_ENV: "/venv" },
      retries: { max: 0 },
    });
    expect(String(answer.document["run"]).split("\n").at(-1)).toBe(
      'exec /bin/bash "$HEADROOM_SLURM_DIR/script" --lr 3',
    );
  });

  it("needs no executable bit, but a first line that names an interpreter, as sbatch does", async () => {
    write("no-shebang.sbatch", "#SBATCH --time=10\necho\n");
    const said = await run("no-shebang.sbatch");
    expect(said.code).toBe(2);
    expect(said.stderr).toContain("no-shebang.sbatch:1: the first line must name an interpreter, like #!/bin/bash");
  });

  it("refuses what sbatch refuses, with its line", async () => {
    write("wrong.sbatch", "#!/bin/bash\n#SBATCH --time=2h\ntrue\n");
    expect(await run("wrong.sbatch")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("wrong.sbatch:2: --time=2h must be"),
    });
    expect((await run("--dry-run", "--json", "wrong.sbatch")).code).toBe(2);
  });

  it("answers a dry run in JSON if --json stands after the script", async () => {
    write("plain.sbatch", "#!/bin/bash\n#SBATCH --time=10\n#SBATCH --qos=high\ntrue\n");
    const answer = JSON.parse((await run("--dry-run", "plain.sbatch", "--json")).stdout) as Answer;
    expect([answer.honoured.length, answer.ignored.length, answer.document["walltime"]]).toEqual([1, 1, "10m"]);
    expect(answer.document["run"]).not.toContain("--json");
  });

  it("takes an option of the command line before the script's", async () => {
    write("array.sbatch", "#!/bin/bash\n#SBATCH --array=0-9\n#SBATCH --time=10\ntrue\n");
    const said = await run("--array", "1-4%2", "--walltime", "3h", "--dry-run", "--json", "array.sbatch");
    expect((JSON.parse(said.stdout) as Answer).document).toMatchObject({
      kind: "batch",
      tasks: 4,
      tasksAtOnce: 2,
      walltime: "3h",
    });
  });
});

describe("headroom run with a script that is not a batch script", () => {
  it("refuses a script that no worker could run, before its attempts", async () => {
    write("plain.sh", "echo hello\n");
    write("tool.sh", "#!/bin/sh\necho hello\n");
    const plain = await run("plain.sh");
    expect([plain.code, plain.stderr]).toEqual([
      2,
      "error: plain.sh has no first line like #!/bin/bash, so that no worker could run it. Write `headroom run -- bash plain.sh`, or add the line.\n",
    ]);
    const tool = await run("--", "./tool.sh");
    expect(tool.stderr).toContain("./tool.sh is not executable");
    chmodSync(path.join(folder, "tool.sh"), 0o755);
    expect((await run("--", "./tool.sh")).stderr).toContain("no control plane is running");
  });
});

describe("headroom run with a manifest of Kubernetes", () => {
  const manifest =
    "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\n---\napiVersion: batch/v1\nkind: Job\nmetadata:\n  name: sweep\nspec:\n" +
    "  completions: 4\n  template:\n    spec:\n      restartPolicy: Never\n      containers:\n        - name: main\n          image: python:3\n" +
    "          command: [python3, eval.py]\n          resources:\n            limits:\n              nvidia.com/gpu: 1\n";

  it("says what becomes of each field, with its line", async () => {
    write("job.yaml", manifest);
    const said = await run("--team", "ml", "--dry-run", "--json", "job.yaml");
    expect(said.code).toBe(0);
    const answer = JSON.parse(said.stdout) as Answer;
    expect(answer.honoured.map(({ line, directive }) => `${line} ${directive}`)).toEqual([
      "6 apiVersion: batch/v1",
      "7 kind: Job",
      "9 metadata.name: sweep",
      "11 spec.completions: 4",
      "14 spec.template.spec.restartPolicy: Never",
      "17 spec.template.spec.containers[0].image: python:3",
      "18 spec.template.spec.containers[0].command",
      "21 spec.template.spec.containers[0].resources.limits.nvidia.com/gpu: 1",
    ]);
    expect(answer.ignored.map(({ line, directive }) => `${line} ${directive}`)).toEqual([
      "16 spec.template.spec.containers[0].name: main",
      "2 kind: ConfigMap",
    ]);
    expect(answer.document).toMatchObject({
      kind: "batch",
      name: "sweep",
      team: "ml",
      run: "python3 eval.py",
      gang: { accelerators: 1 },
      tasks: 4,
      tasksAtOnce: 1,
    });
    expect(answer.document["image"]).toBe("python:3");
  });

  it("takes a script that contains a manifest for a command", async () => {
    write("deploy.sh", "#!/bin/sh\nkubectl apply -f - <<EOF\napiVersion: v1\nkind: Pod\n---\nkind: train\nEOF\n");
    const said = await run("--dry-run", "deploy.sh");
    expect(said.stderr).toContain("no control plane is running");
  });

  it("names the line of each field in lists, JSON with tabs and anchors", async () => {
    const lines = async (text: string): Promise<readonly string[]> => {
      write("odd.json", text);
      const said = await run("--dry-run", "--json", "odd.json");
      const answer = JSON.parse(said.stdout) as Answer;
      return answer.honoured.map(({ line, directive }) => `${line} ${directive.split(".").at(-1)}`);
    };
    const pod = '"kind": "Pod", "spec": {\n"containers": [{\n"command": ["true"]}]}';
    expect(await lines(`{\n\t"apiVersion": "v1",\n\t${pod}}\n`)).toEqual([
      "2 apiVersion: v1",
      "3 kind: Pod",
      "5 command",
    ]);
    expect(await lines(`{"kind": "List", "apiVersion": "v1", "items": [\n{"apiVersion": "v1", ${pod}}]}\n`)).toEqual([
      "2 apiVersion: v1",
      "2 kind: Pod",
      "4 command",
    ]);
    const anchors = "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - &a\n    command: [x]\n  - *a\n";
    expect(await lines(anchors)).toEqual(["1 apiVersion: v1", "2 kind: Pod", "6 command"]);
  });

  it("refuses words and options that would have no effect", async () => {
    write("job.yaml", manifest);
    expect((await run("--dry-run", "job.yaml", "--team=ml")).stderr).toContain("takes no arguments");
    expect((await run("--dry-run", "--array", "1-3", "job.yaml")).stderr).toContain("--array has no effect");
  });

  it("reads 60,000 fields in a moment", async () => {
    const fields = Array.from({ length: 60_000 }, (_, index) => `  f${index}: 1\n`).join("");
    write("many.yaml", `apiVersion: v1\nkind: Pod\nspec:\n${fields}`);
    expect((await run("--dry-run", "many.yaml")).stderr).toContain("the fields after it are not listed");
  });

  it.each([
    ["apiVersion: v1\nkind: Job\nmetadata: {name: a\n", /^error: bad\.yaml:\d+:\d+: /],
    ["kind: train\nname: a\nrun: x\n", /is a workload file; submit it with: headroom apply -f bad\.yaml/],
    ["apiVersion: v1\nkind: Pod\nspec:\n  containers:\n    - image: x\n", /states no command/],
    [
      `apiVersion: v1\nkind: Pod\na: &a [x,x]\n${"bcdefghijklm"
        .split("")
        .map((at, i) => `${at}: &${at} [${`*${"abcdefghijklm"[i]},`.repeat(9)}]\n`)
        .join("")}`,
      /anchors more than/,
    ],
  ])("refuses a bad one: %#", async (text, message) => {
    write("bad.yaml", text);
    const said = await run("--dry-run", "bad.yaml");
    expect([said.code, said.stderr]).toEqual([2, expect.stringMatching(message)]);
  });
});
