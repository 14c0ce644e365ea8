import { afterAll, beforeAll, expect, it } from "vitest";
import { removeHome, startLive, temporaryHome } from "./testing/live-control-plane.ts";
import type { LiveControlPlane } from "./testing/live-control-plane.ts";
import { sendFuzzedRequests } from "./testing/send-fuzzed-requests.ts";

let live: LiveControlPlane;
beforeAll(async () => {
  live = await startLive(temporaryHome());
  for await (const { event } of live.client.events()) if (event.kind === "nodeJoined") break;
});
afterAll(async () => {
  await live.close();
  removeHome(live.home);
});

it("answers none of 1,000 fuzzed requests with 500, and runs nothing without the token", async () => {
  const { statuses, ...found } = await sendFuzzedRequests(live, 1, 1_000);
  expect(found).toEqual({ failures: [], admitted: [], eventsWithoutToken: 0 });
  expect(live.complaints).toEqual([]);
  // If no request were accepted, or none refused, the test would cover only the first check.
  for (const status of [200, 201, 400, 401, 403, 404, 422])
    expect(statuses.get(status), String(status)).toBeGreaterThan(0);
});
