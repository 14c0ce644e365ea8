/**
 * Walks a page whose commands need no quickstart: runs them in one shell, in a folder with the examples and the program on
 * the PATH, and compares each output with the page.
 */
import { chmodSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { Network } from "../testing/network.ts";
import { repositoryRoot } from "../testing/repository-copy.ts";
import { shellExamples } from "./shell-examples.ts";
import { ShellSession } from "./shell-session.ts";
import { differenceOf } from "./shown-output.ts";

export interface Difference {
  readonly line: number;
  readonly command: string;
  readonly difference: string;
}

export interface PageWalk {
  readonly commandCount: number;
  /** Commands whose output, or exit code, is another than the page states. */
  readonly differences: readonly Difference[];
}

/** `codes` are the exit codes of commands that the page states to fail, by the start of the command. */
export async function walkPage(
  page: string,
  folder: string,
  codes: Readonly<Record<string, number>> = {},
): Promise<PageWalk> {
  const network = await Network.make();
  try {
    const session = new ShellSession(network.enter, folder, environment(folder));
    const differences: Difference[] = [];
    let commandCount = 0;
    for (const example of shellExamples(readFileSync(path.join(repositoryRoot, page), "utf8"))) {
      if (example.kind === "file") {
        writeFileSync(path.join(folder, example.name), example.text);
        continue;
      }
      commandCount++;
      const { text: command, line, output: shown } = example;
      const { code, output } = await session.run(command);
      const expected = Object.entries(codes).find(([start]) => command.startsWith(start))?.[1] ?? 0;
      const difference = code === expected ? differenceOf(shown, output) : `exit code ${code}\n${output}`;
      if (difference !== null) differences.push({ line, command, difference });
    }
    await session.close();
    return { commandCount, differences };
  } finally {
    await network.close();
  }
}

/** The environment of a new user, with the program as docs/how-to/install.md links it. */
function environment(folder: string): NodeJS.ProcessEnv {
  const bin = path.join(folder, "bin");
  mkdirSync(bin, { recursive: true });
  const program = path.join(bin, "headroom");
  const main = path.join(repositoryRoot, "packages/cli/src/main.ts");
  writeFileSync(program, `#!/bin/sh\nexec "${process.execPath}" "${main}" "$@"\n`);
  chmodSync(program, 0o755);
  symlinkSync(process.execPath, path.join(bin, "node"));
  symlinkSync(path.join(repositoryRoot, "examples"), path.join(folder, "examples"));
  return {
    PATH: [bin, process.env["PATH"]].join(path.delimiter),
    HOME: folder,
    LANG: "C.UTF-8",
    TZ: "UTC",
    HEADROOM_USER: "ada",
  };
}
