/** Runs the conformance suite with attempts in sandboxes, as production has them. */
import { mkdirSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { conformanceCases, runConformanceCase } from "../conformance/conformance.ts";
import type { ConformanceSubject } from "../conformance/conformance-world.ts";
import { hasBubblewrap, isolatedRoot } from "../processes/isolation/testing/isolated-root.ts";
import { createLocalExecutor } from "./local-executor.ts";

const problems: string[] = [];

const subject: ConformanceSubject = {
  id: "local",
  rootDir: isolatedRoot(),
  open: (homeDir) => {
    mkdirSync(path.dirname(homeDir), { recursive: true });
    return createLocalExecutor({
      homeDir,
      nodeName: "conformance",
      accelerators: "declared",
      isolation: "bubblewrap",
      logFileMaxBytes: 64 * 1024,
      logFilesKept: 3,
      onProblem: (message) => problems.push(message),
    });
  },
};

describe.skipIf(!hasBubblewrap())("the local executor with bubblewrap conforms", () => {
  it.for(conformanceCases.map((conformanceCase) => [conformanceCase.name, conformanceCase] as const))(
    "%s",
    async ([, conformanceCase]) => {
      await expect(runConformanceCase(subject, conformanceCase)).resolves.toBeUndefined();
      expect(problems).toEqual([]);
    },
  );
});
