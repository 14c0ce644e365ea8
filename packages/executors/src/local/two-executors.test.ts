import { describe, expect, it } from "vitest";
import { SharedEngine, sharedEngineCases } from "../conformance/shared-engine.ts";
import { createLocalExecutor } from "./local-executor.ts";

describe("two local executors under one engine", () => {
  it.for(sharedEngineCases.map((each) => [each.name, each] as const))("%s", async ([, { run }]) => {
    const shared = await SharedEngine.open((id, homeDir) =>
      createLocalExecutor({
        id,
        homeDir,
        siteName: id,
        poolName: id,
        nodeName: id,
        accelerators: "declared",
        slotCount: 2,
      }),
    );
    try {
      await expect(run(shared)).resolves.toBeUndefined();
    } finally {
      await shared.close();
    }
  });
});
