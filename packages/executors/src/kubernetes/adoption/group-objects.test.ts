import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { ApiAnswer, ApiRequest } from "../api/connection.ts";
import { GroupObjects } from "./group-objects.ts";

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const PATHS = ["/new", "/old"];

/** Looks once at the groups, and lets the reads end. */
async function look(objects: GroupObjects, ...keys: readonly string[]): Promise<readonly unknown[]> {
  for (const key of keys) objects.state(key, PATHS);
  objects.follow(new Set(keys));
  await settle();
  return keys.map((key) => objects.state(key, PATHS));
}

describe("objects of groups", () => {
  beforeEach(() => vi.useFakeTimers({ toFake: ["performance"] }));
  afterEach(() => vi.useRealTimers());

  it("are unread until the first answer, which failures do not change", async () => {
    const answers: (ApiAnswer | Error)[] = [
      new Error("no route"),
      { status: 503, body: "" },
      { status: 404, body: "404 page not found" },
      { status: 200, body: { spec: { minMember: 4, priorityClassName: "high" } } },
      { status: 500, body: "" },
      { status: 404, body: {} },
      { status: 404, body: {} },
    ];
    const asked: string[] = [];
    const objects = new GroupObjects(async ({ path }: ApiRequest) => {
      asked.push(path);
      const answer = answers.shift() ?? new Error("asked too often");
      if (answer instanceof Error) throw answer;
      return answer;
    });
    const object = { minMember: 4, priorityClassName: "high" };
    for (const expected of ["unread", "unread", object]) {
      expect(await look(objects, "ns/g")).toEqual([expected]);
      vi.advanceTimersByTime(2_000);
    }
    expect(asked).toEqual(["/new", "/new", "/new", "/old"]);
    vi.advanceTimersByTime(31_000);
    expect(await look(objects, "ns/g")).toEqual([object]);
    vi.advanceTimersByTime(1_000);
    expect(await look(objects, "ns/g")).toEqual([null]);
    objects.follow(new Set());
    expect(objects.state("ns/g", PATHS)).toBe("unread");
  });

  it("of hundreds of groups are all read in one look, and renewed ten times a second at most", async () => {
    let count = 0;
    const objects = new GroupObjects(async () => ({ status: 200, body: { spec: { minMember: (count += 1) } } }));
    const keys = Array.from({ length: 300 }, (_, index) => `ns/g${index}`);
    expect(await look(objects, ...keys)).not.toContain("unread");
    expect(count).toBe(300);
    vi.advanceTimersByTime(60_000);
    expect(await look(objects, ...keys, "ns/fresh")).not.toContain("unread");
    expect(count).toBeLessThan(304);
  });

  it("count as absent, with the reason, when the server fails again and again", async () => {
    const objects = new GroupObjects(async () => ({ status: 503, body: "" }));
    for (let tries = 1; tries < 6; tries++) {
      expect(await look(objects, "ns/g")).toEqual(["unread"]);
      vi.advanceTimersByTime(30_000);
    }
    expect(await look(objects, "ns/g")).toEqual([null]);
    expect(objects.problem("ns/g")).toBe("GET /new: HTTP 503");
  });

  it.each([
    ["the pods of a JobSet that name Headroom", {}, 2 * 3 + 1],
    ["none of a JobSet with an order", { startupPolicy: { startupPolicyOrder: "InOrder" } }, 0],
  ])("state %s", async (_, more, minMember) => {
    const job = (replicas: number | undefined, spec: object, schedulerName = "headroom") => ({
      replicas,
      template: { spec: { ...spec, template: { spec: { schedulerName } } } },
    });
    const replicatedJobs = [
      job(2, { parallelism: 8, completions: 3 }),
      job(undefined, {}),
      job(5, {}, "default-scheduler"),
    ];
    const objects = new GroupObjects(async () => ({ status: 200, body: { spec: { replicatedJobs, ...more } } }));
    const path = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/ns/jobsets/g";
    objects.state("ns/g", [path]);
    objects.follow(new Set(["ns/g"]));
    await settle();
    expect(objects.state("ns/g", [path])).toEqual({ minMember });
  });
});

it.each([
  [{ spec: { minMember: "4" } }, { minMember: 0 }],
  [{ spec: { minMember: -3, priorityClassName: 7 } }, { minMember: 0 }],
  [{ spec: { minMember: 2.5 } }, { minMember: 0 }],
  [null, { minMember: 0 }],
])("reads %j as %j", async (body, state) => {
  const objects = new GroupObjects(async () => ({ status: 200, body }));
  expect(await look(objects, "ns/g")).toEqual([state]);
});
