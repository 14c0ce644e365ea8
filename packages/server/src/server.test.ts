import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, readdirSync, statSync } from "node:fs";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { removeHome, startLive, temporaryHome } from "./api/testing/live-control-plane.ts";
import { FileExecutor } from "./driver/testing/file-executor.ts";

let home: string;
beforeEach(() => {
  home = temporaryHome();
});
afterEach(() => removeHome(home));

/** An executor that closes slowly. It is closed last, after the directory was released. */
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

describe("the state directory", () => {
  it("is refused while other users can write to it", async () => {
    chmodSync(home, 0o777);
    await expect(startLive(home)).rejects.toMatchObject({
      code: "homeExposed",
      message: expect.stringContaining(`chmod go-w ${home}`),
    });
    expect(readdirSync(home)).toEqual([]);
  });

  it("holds files of its owner alone, whatever the umask", () => {
    const program = new URL("api/testing/run-once.ts", import.meta.url).pathname;
    const { status, stderr } = spawnSync("sh", ["-c", `umask 000; exec "${process.execPath}" "${program}" "${home}"`], {
      encoding: "utf8",
    });
    expect(stderr).toBe("");
    expect(status).toBe(0);
    const kept = readdirSync(home, { recursive: true, encoding: "utf8" }).filter(
      (file) => !/^(work|cache)\//.test(file),
    );
    expect(kept).toContain("journal/journal.db");
    const exposed = kept.filter((file) => (statSync(path.join(home, file)).mode & 0o077) !== 0);
    expect(exposed).toEqual([]);
  });
});
