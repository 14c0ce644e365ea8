/** Runs the commands of the page for users of Slurm against a control plane, and compares each output with the page. */
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startLive, type LiveControlPlane } from "../../packages/cli/src/testing/live-control-plane.ts";
import { shellExamples } from "./shell-examples.ts";

const page = readFileSync(path.resolve(import.meta.dirname, "../../docs/how-to/come-from-slurm.md"), "utf8");

let live: LiveControlPlane;
beforeAll(async () => {
  live = await startLive();
});
afterAll(() => live.close());

/** The words of a command line, with quotes removed. */
const wordsOf = (line: string): string[] =>
  [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? "");

/** Lines in any order, because the streams are recorded apart, without times and widths of columns. */
const comparable = (text: string): readonly string[] =>
  text
    .split("\n")
    .map((line) =>
      line
        .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "INSTANT")
        .replaceAll(/\b\d+(?:ms|s|m|h)(?:\d+s)?\b/g, "DURATION")
        .replaceAll(/ +/g, " ")
        .trim(),
    )
    // A job that ends between two looks is not seen running.
    .filter((line) => line !== "" && !line.includes(" is running on "))
    .toSorted();

it("come-from-slurm.md shows what its commands print", async () => {
  const script = /```bash\n([^]*?)```/.exec(page)?.[1] ?? "";
  writeFileSync(path.join(live.folder, "demo.sbatch"), script);
  const commands = shellExamples(page).filter((each) => each.kind === "command");
  expect(commands.length).toBeGreaterThan(4);
  for (const { text, output } of commands) {
    const said = await live.headroom(wordsOf(text).slice(2), { env: { HEADROOM_USER: "ada" } });
    expect([text, comparable(`${said.stdout}\n${said.stderr}`)]).toEqual([text, comparable(output.join("\n"))]);
  }
});
