import { existsSync } from "node:fs";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { removeHome, startLive, temporaryHome } from "./api/testing/live-control-plane.ts";
import { FileExecutor } from "./driver/testing/file-executor.ts";

let home: string;
beforeEach(() => {
  home = temporaryHome();
});
afterEach(() => removeHome(home));

/** The last to be closed, after the directory has been given back. */
class LingeringExecutor extends FileExecutor {
  readonly closing = Promise.withResolvers<void>();
  readonly leave = Promise.withResolvers<void>();

  override async close(): Promise<void> {
    this.closing.resolve();
    await this.leave.promise;
    await super.close();
  }
}

describe("the address that a control plane leaves in its directory", () => {
  it("goes with it, and is never taken from the one that comes next", async () => {
    const address = path.join(home, "server.json");
    const executor = new LingeringExecutor({ directory: home, slots: 1, runMs: 1 });
    const first = await startLive(home, { executors: [executor] });
    expect(existsSync(address)).toBe(true);
    const closed = first.close();
    await executor.closing.promise;
    expect(existsSync(address)).toBe(false);
    const second = await startLive(home, { executors: [new FileExecutor({ directory: home, slots: 1, runMs: 1 })] });
    executor.leave.resolve();
    await closed;
    expect(existsSync(address)).toBe(true);
    await second.close();
    expect(existsSync(address)).toBe(false);
  });
});
