/**
 * MIG slices, compared with exhaustive search. This second implementation uses lists of eight booleans and its own
 * table of valid positions, and shares no code with the engine.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { runsOf, sliceOf } from "../../../../tools/testing/rotating.ts";
import { attemptId, presets } from "@headroom/model";
import type { Attempt, Input, Policy } from "@headroom/model";
import type { Engine } from "../../src/index.ts";
import { Drive } from "../lab/drive.ts";
import { applied, command, node, pool, site, spec } from "../lab/make.ts";

type Device = readonly boolean[];

const empty: Device = Array.from({ length: 8 }, () => false);
const reservedTopology = {
  "1g.10gb": { size: 1, starts: [0, 1, 2, 3, 4, 5, 6] },
  "1g.20gb": { size: 2, starts: [0, 2, 4, 6] },
  "2g.20gb": { size: 2, starts: [0, 2, 4] },
  "3g.40gb": { size: 4, starts: [0, 4] },
  "4g.40gb": { size: 4, starts: [0] },
  "7g.80gb": { size: 8, starts: [0] },
} as const;
type Profile = keyof typeof reservedTopology;
const profiles = Object.keys(reservedTopology) as Profile[];

const covers = (profile: Profile, start: number): number[] =>
  Array.from({ length: reservedTopology[profile].size }, (_, index) => start + index);
const isOpen = (device: Device, profile: Profile, start: number): boolean =>
  covers(profile, start).every((slice) => device[slice] === false);
const openStarts = (device: Device, profile: Profile): number[] =>
  reservedTopology[profile].starts.filter((start) => isOpen(device, profile, start));
const taking = (device: Device, profile: Profile, start: number): Device =>
  device.map((taken, slice) => taken || covers(profile, start).includes(slice));
/** Number of positions at which a further instance could begin, over all profiles. */
const positions = (device: Device): number =>
  profiles.reduce((sum, profile) => sum + openStarts(device, profile).length, 0);
const isDivided = (device: Device): boolean => device.includes(true);

/** Whether all slices fit on empty devices, by trying every position for each. */
function fitTogether(wanted: readonly Profile[], devices: readonly Device[]): boolean {
  const [first, ...rest] = wanted;
  if (first === undefined) return true;
  return devices.some((device, at) =>
    openStarts(device, first).some((start) => fitTogether(rest, devices.with(at, taking(device, first, start)))),
  );
}

function fleetOf(deviceCount: number): Drive {
  const drive = new Drive();
  drive.receive(
    applied({ sites: [site], pools: [{ ...pool("H100"), mig: "H100-80GB" }] }),
    { kind: "nodeSeen", node: node("n1", "H100", { acceleratorCount: deviceCount }) },
    command({ kind: "setPolicy", policy: presets.get("fifo-skip") as Policy }),
  );
  return drive;
}

const submitted = (profile: Profile, more: Parameters<typeof spec>[1] = {}): Input =>
  command({ kind: "submitWorkload", spec: spec("part", { ...more, gang: { accelerators: 1, profile } }) });

/**
 * Devices occupied by the slices of running work; checks that every slice begins at a valid position and that no two
 * overlap.
 */
function devicesOf({ state }: Engine, deviceCount: number): Device[] {
  const devices = Array.from({ length: deviceCount }, () => empty);
  for (const { workers, workloadId } of state.attempts.values())
    for (const { accelerators, slice } of workers) {
      const at = Number(accelerators);
      const profile = state.workloads.get(workloadId)?.spec.gang.profile as Profile;
      const device = devices[at] as Device;
      expect(openStarts(device, profile)).toContain(slice);
      devices[at] = taking(device, profile, slice as number);
    }
  return devices;
}

const runningIn = ({ state }: Engine): readonly Attempt[] => [...state.attempts.values()];

describe("parts of accelerators", () => {
  it("start whenever a device has a position open, and take the one that leaves most open", () => {
    const step = fc.record({ profile: fc.constantFrom(...profiles, "1g.10gb" as const), gone: fc.nat({ max: 30 }) });
    let placed = 0;
    let waited = 0;
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 3 }), fc.array(step, { minLength: 1, maxLength: 30 }), (count, steps) => {
        const drive = fleetOf(count);
        for (const { profile, gone } of steps) {
          const before = devicesOf(drive.engine, count);
          const [start] = drive
            .receive(submitted(profile))
            .events.flatMap((event) => (event.kind === "gangPlaced" ? event.workers : []));
          const choices = before.flatMap((device, at) =>
            openStarts(device, profile).map((slice) => ({
              at,
              slice,
              divides: !isDivided(device),
              left: positions(taking(device, profile, slice)) - positions(device),
            })),
          );
          if (start === undefined) {
            waited++;
            expect(choices).toEqual([]);
            // Cancels waiting work, so that it does not affect the next case.
            const waiting = [...drive.engine.state.workloads.values()].at(-1);
            if (waiting !== undefined) drive.receive(command({ kind: "stopWorkload", workloadId: waiting.id }));
          } else {
            placed++;
            const amongDivided = choices.filter(({ divides }) => !divides);
            const best = amongDivided.length > 0 ? amongDivided : choices;
            const own = best.find(({ at, slice }) => String(at) === start.accelerators && slice === start.slice);
            expect(own?.left).toBe(Math.max(...best.map(({ left }) => left)));
          }
          devicesOf(drive.engine, count);
          const victimCandidate = runningIn(drive.engine)[gone];
          if (victimCandidate !== undefined)
            drive.receive({
              kind: "attemptExited",
              attemptId: attemptId(victimCandidate.id),
              exits: [{ kind: "exited", worker: 0, code: 0 }],
            });
        }
      }),
      runsOf(60),
    );
    expect(placed).toBeGreaterThan(sliceOf({ size: 60 }).least(200));
    expect(waited).toBeGreaterThan(sliceOf({ size: 60 }).least(50));
  });

  it("come one by one, in any order, and fit more often than by first fit where they could have been packed knowing all of them", () => {
    let lists = 0;
    let ours = 0;
    let firstFit = 0;
    const small = profiles.filter((profile) => profile !== "7g.80gb");
    for (const wanted of orderedLists(small, 5)) {
      if (!fitTogether(wanted, [empty])) continue;
      lists++;
      const drive = fleetOf(1);
      drive.receive(...wanted.map((profile) => submitted(profile)));
      if (runningIn(drive.engine).length === wanted.length) ours++;
      let device = empty;
      const all = wanted.every((profile) => {
        const [start] = openStarts(device, profile);
        if (start !== undefined) device = taking(device, profile, start);
        return start !== undefined;
      });
      if (all) firstFit++;
    }
    expect({ lists, ours, firstFit }).toMatchInlineSnapshot(`
      {
        "firstFit": 253,
        "lists": 357,
        "ours": 289,
      }
    `);
  }, 60_000);
});

/** Every list of at most this many profiles, in every order. */
function* orderedLists(of: readonly Profile[], longest: number): Generator<readonly Profile[]> {
  if (longest === 0) return;
  for (const first of of) {
    yield [first];
    for (const rest of orderedLists(of, longest - 1)) yield [first, ...rest];
  }
}
