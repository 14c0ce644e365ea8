import type { Engine } from "@headroom/engine";
import { describe, expect, it } from "vitest";
import type { EstimatedStart } from "./forecast-view.ts";
import { StartListings } from "./start-listings.ts";
import { SmallFleet } from "./testing/small-fleet.ts";

const because = { endsBefore: 0, startsBefore: 0, startedCount: 8, scenarioCount: 8, arrivalsReplayed: false };

/** Five workloads that wait behind a running one. `w2` is never expected to start; `w3` may start. */
function fleet(): { readonly engine: Engine; readonly estimate: () => EstimatedStart[] } {
  const small = SmallFleet.withNodes(1, 4);
  small.team("lab", null);
  small.team("nlp", "lab");
  const teams = ["default", "default", "nlp", "default", "lab", "nlp"];
  const ids = teams.map((team, index) => small.submit(`job-${index}`, { team, gang: { accelerators: 4 } })).slice(1);
  const range = (p10AtMs: number | null, p50AtMs: number | null): Pick<EstimatedStart, "p10AtMs" | "p50AtMs"> => ({
    p10AtMs,
    p50AtMs,
  });
  const ranges = [range(null, null), range(2000, null), range(2000, 7000), range(2000, 5000), range(2000, 6000)];
  const starts = ids.map((workloadId, index) => ({
    workloadId,
    atMs: 1000,
    p90AtMs: null,
    because,
    ...ranges[index]!,
  }));
  return { engine: small.engine, estimate: () => starts };
}

const names = (page: { readonly items: readonly { readonly workload: { readonly name: string } }[] } | null) =>
  page?.items.map(({ workload }) => workload.name);

describe("a listing of what waits", () => {
  it("has what is expected first foremost, what has no instant last, in pages of one instant", () => {
    const { engine, estimate } = fleet();
    const listings = new StartListings();
    const first = listings.begin(engine, estimate, { limit: 2 });
    expect(names(first)).toEqual(["job-4", "job-5"]);
    const second = listings.goOn(first.nextCursor!, 2);
    expect(names(second)).toEqual(["job-3", "job-2"]);
    const third = listings.goOn(second!.nextCursor!, undefined);
    expect(names(third)).toEqual(["job-1"]);
    expect(third!.nextCursor).toBeNull();
    expect(third!.items[0]!.estimate.sentence).toContain(
      "Not enough free accelerators: it needs 4 accelerators; 0 of 4 are free. It starts within the horizon in 8 of 8 scenarios: no start can be estimated.",
    );
  });

  it("is of a team and the teams below it where that is asked", () => {
    const { engine, estimate } = fleet();
    const page = new StartListings().begin(engine, estimate, { team: "lab" });
    expect(names(page)).toEqual(["job-4", "job-5", "job-2"]);
    expect(page.nextCursor).toBeNull();
  });

  it("knows the cursors of the newest listings and no other", () => {
    const { engine, estimate } = fleet();
    const listings = new StartListings();
    const [first, second, third] = [1, 2, 3].map(() => listings.begin(engine, estimate, { limit: 4 }).nextCursor!);
    expect(listings.goOn(first!, 4)).toBeNull();
    expect(names(listings.goOn(second!, 4))).toEqual(["job-1"]);
    expect(names(listings.goOn(third!, 4))).toEqual(["job-1"]);
    for (const cursor of ["1", "w1.4", third!.replace(".4", ".5"), third!.replace(".4", ".0"), third!.slice(0, -2)])
      expect(listings.goOn(cursor, 4)).toBeNull();
  });
});
