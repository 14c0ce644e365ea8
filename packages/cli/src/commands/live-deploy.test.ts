import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startLive, type LiveControlPlane } from "../testing/live-control-plane.ts";
import type { Said, Surroundings } from "../testing/recorded-terminal.ts";

let live: LiveControlPlane;

beforeAll(async () => {
  live = await startLive();
});
afterAll(() => live.close());

const headroom = (args: readonly string[], extra?: Partial<Surroundings>): Promise<Said> => live.headroom(args, extra);

describe("deploy", () => {
  it("deploys an endpoint again that was stopped", async () => {
    const at = { workingDirectory: live.folder };
    const args = ["deploy", "org/Chat", "--gpus", "900", "--yes"];
    expect(await headroom(args, at)).toMatchObject({ code: 0 });
    expect((await headroom(["stop", "Chat"])).code).toBe(0);
    expect((await headroom(args, at)).stderr).toMatch(/^started again: Chat \(w\d+\)$/m);
    expect((await headroom(args, at)).stdout).toContain("Nothing to do");
    await headroom(["stop", "Chat"]);
    const apply = ["apply", "-f", "Chat.yaml", "--yes"];
    expect((await headroom(apply, at)).stdout).toMatch(
      /^Chat \(w\d+\) cancelled: .* Start it again: headroom apply --rerun with this file$/m,
    );
    expect((await headroom([...apply, "--rerun"], at)).stderr).toMatch(/^started again: Chat \(w\d+\)$/m);
    const after = await headroom([...apply, "--rerun"], at);
    expect([after.code, after.stdout.includes("cancelled"), after.stderr.includes("started again")]).toEqual([
      0,
      false,
      false,
    ]);
    await headroom(["stop", "Chat"]);
  });
});
