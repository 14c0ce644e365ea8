import { describe, expect, it } from "vitest";
import { conformanceCases, runConformanceCase } from "../conformance/conformance.ts";
import type { ConformanceSubject } from "../conformance/conformance-world.ts";
import { createLocalExecutor } from "./local-executor.ts";

const problems: string[] = [];

const subject: ConformanceSubject = {
  id: "local",
  open: (homeDir) =>
    createLocalExecutor({
      homeDir,
      nodeName: "conformance",
      accelerators: "declared",
      logFileMaxBytes: 64 * 1024,
      logFilesKept: 3,
      onProblem: (message) => problems.push(message),
    }),
};

describe("the local executor conforms", () => {
  it.for(conformanceCases.map((conformanceCase) => [conformanceCase.name, conformanceCase] as const))(
    "%s",
    async ([, conformanceCase]) => {
      await expect(runConformanceCase(subject, conformanceCase)).resolves.toBeUndefined();
      expect(problems).toEqual([]);
    },
  );
});
