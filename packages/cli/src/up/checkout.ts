/**
 * The checkout or the installed package that this program runs from. Both have the same layout, and contain the
 * console's build and the examples.
 */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import path from "node:path";

const root = path.resolve(import.meta.dirname, "..", "..", "..", "..");
/** The folder in which `npx headroom` starts this program: the checkout, or the folder with `node_modules`. */
const npmFolder = path.basename(path.dirname(root)) === "node_modules" ? path.resolve(root, "..", "..") : root;
/** Documents of the quickstart: the training, and the endpoint that serves its model. */
export const quickstartFiles: readonly string[] = [
  path.join(root, "examples", "quickstart", "train.yaml"),
  path.join(root, "examples", "serving", "endpoint.yaml"),
];

const consoleDirectory = path.join(root, "packages", "console", "dist");
const chatFile = path.join(root, "examples", "serving", "chat.mjs");

/** Path of the chat program of the serving example, as a user types it in a folder. */
export function chatProgramFrom(workingDirectory: string): string {
  const relative = path.relative(workingDirectory, chatFile);
  return relative.startsWith("..") ? chatFile : relative;
}

export interface ConsoleBuild {
  /** Folder of the console; `null`: the console is not available. */
  readonly directory: string | null;
  /** Output of the failed build. */
  readonly problem: string | null;
}

/** Folder of the console as it was built last. Undefined if it was not. */
export function builtConsole(): string | undefined {
  return existsSync(path.join(consoleDirectory, "index.html")) ? consoleDirectory : undefined;
}

/** Rebuilds the console's bundle if its sources have changed, which takes a second or two. */
export async function buildConsole(): Promise<ConsoleBuild> {
  const script = path.join(root, "tools", "build-console.mjs");
  const problem = existsSync(script) ? await outputOfFailure(script) : null;
  return { directory: builtConsole() ?? null, problem };
}

function outputOfFailure(script: string): Promise<string | null> {
  const child = spawn(process.execPath, [script], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, NO_COLOR: "1" },
  });
  const chunks: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => chunks.push(chunk));
  return new Promise((resolve) => {
    child.once("error", (error) => resolve(error.message));
    child.once("close", (code) => resolve(code === 0 ? null : shortened(Buffer.concat(chunks).toString("utf8"))));
  });
}

/** Bundlers print long output; the first lines name the error. */
const PROBLEM_LINES_MAX = 12;

function shortened(output: string): string {
  const lines = output.trim().split("\n");
  if (lines.length <= PROBLEM_LINES_MAX) return lines.join("\n");
  return [...lines.slice(0, PROBLEM_LINES_MAX), "… run `npm run build` to see the rest"].join("\n");
}

/**
 * The program's name in hints: `headroom` if it is on the PATH, `npx headroom` where npm finds this installation. In any
 * other folder `npx headroom` would fetch a foreign package of this name.
 */
export function programName(workingDirectory: string, searchPath: string | undefined): string {
  const isOnPath = (searchPath ?? "")
    .split(path.delimiter)
    // npx puts such a folder in front for its own program only.
    .filter((folder) => folder !== "" && !/node_modules[\\/]\.bin$/.test(folder))
    .some((folder) => existsSync(path.join(folder, "headroom")));
  if (isOnPath) return "headroom";
  const isInside = !path.relative(npmFolder, workingDirectory).startsWith("..");
  return isInside ? "npx headroom" : path.join(npmFolder, "node_modules", ".bin", "headroom");
}
