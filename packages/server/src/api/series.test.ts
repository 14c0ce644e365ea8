import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { removeHome, startLive, temporaryHome } from "./testing/live-control-plane.ts";
import type { LiveControlPlane } from "./testing/live-control-plane.ts";

let live: LiveControlPlane;

beforeAll(async () => {
  live = await startLive(temporaryHome(), { local: { nodeName: "n1" }, readingsEveryMs: 200 });
});
afterAll(async () => {
  await live.close();
  removeHome(live.home);
});

const namesOf = async (subject: string): Promise<readonly string[]> =>
  (await live.client.series({ subject })).metrics.map(({ name }) => name);

describe("GET /v1/series", () => {
  it("has the fleet, its pools, nodes and teams from the first sample on", async () => {
    await expect
      .poll(() => namesOf("node:n1"))
      .toEqual(expect.arrayContaining(["accelerators", "held", "outOfService"]));
    expect(await namesOf("fleet")).toContain("queued");
    expect(await namesOf("team:default")).toEqual(["held"]);
    expect(await namesOf("pool:local")).toContain("attempts");
  });

  it("answers that a subject does not exist, and what a subject can be", async () => {
    await expect(live.client.series({ subject: "node:n9" })).rejects.toMatchObject({ code: "unknownNode" });
    await expect(live.client.series({ subject: "team:nobody" })).rejects.toMatchObject({ code: "unknownTeamName" });
    await expect(live.client.series({ subject: "pool:none" })).rejects.toMatchObject({ code: "unknownPoolName" });
    await expect(live.client.series({ subject: "endpoint:w9" })).rejects.toMatchObject({ code: "unknownWorkload" });
    await expect(live.client.series({ subject: "rack:1" })).rejects.toMatchObject({ code: "invalidRequest" });
  });
});
