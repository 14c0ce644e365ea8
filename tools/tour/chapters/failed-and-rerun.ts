import { writeFileSync } from "node:fs";
import path from "node:path";
import type { Chapter } from "../chapter.ts";

interface Shown {
  readonly phase: string;
  readonly rerunnable: boolean;
  readonly attempts: readonly {
    readonly number: number;
    readonly outcome: string;
    readonly exit: { readonly code: number } | null;
  }[];
}

export const failedAndRerun: Chapter = {
  name: "failed-and-rerun",
  shows: "A job fails because a file is missing; its output and exit code say so; headroom rerun runs it again.",
  needs: ["start"],
  async run(stage) {
    const text = [
      "kind: train",
      "name: evaluate",
      `run: 'test -f input.txt || { echo "input.txt is missing" >&2; exit 3; }; echo evaluated'`,
      "gang: { cores: 0 }",
      "retries: { max: 1, backoff: 1s }",
    ];
    stage.write("evaluate.yaml", `${text.join("\n")}\n`);
    stage.equal("it is submitted", (await stage.headroom("apply", "-f", "evaluate.yaml", "--yes")).code, 0);
    const followed = await stage.headroom("logs", "-f", "evaluate");
    stage.matches("the log says what is missing", followed.stdout + followed.stderr, /input\.txt is missing/);
    const shown = await stage.headroom("show", "evaluate");
    stage.matches("the page of the job says how its worker ended", shown.stdout, /failed 2 times.*exited with code 3/);
    const failed = await stage.json<Shown>("show", "evaluate");
    stage.equal("it failed after one retry", [failed.phase, failed.attempts.length], ["failed", 2]);

    writeFileSync(path.join(stage.folder, "input.txt"), "now it is here\n");
    const unchanged = await stage.headroom("apply", "-f", "evaluate.yaml", "--yes");
    stage.matches(
      "apply changes nothing about failed work, and names rerun",
      unchanged.stdout + unchanged.stderr,
      /rerun/,
    );
    stage.equal("rerun accepts it", (await stage.headroom("rerun", "evaluate")).code, 0);
    const again = await stage.headroom("logs", "-f", "evaluate");
    stage.matches("now it finds its input", again.stdout, /evaluated/);
    const done = await stage.json<Shown>("show", "evaluate");
    stage.equal(
      "it succeeded, and its failed attempts stay in the history",
      [done.phase, done.attempts.map(({ outcome, exit }) => `${outcome} ${exit?.code ?? 0}`)],
      ["succeeded", ["failed 3", "failed 3", "succeeded 0"]],
    );
    await stage.headroom("history", "evaluate");
    const twice = await stage.headroom("rerun", "evaluate");
    stage.equal("succeeded work is not run again", twice.code, 1);
  },
};
