/**
 * MIG (Multi-Instance GPU): how hardware divides accelerators. A device has eight memory slices, of which the eighth
 * has no compute slice; an instance of a profile takes adjacent slices from one of the profile's start positions, and
 * no two instances overlap. Sizes and positions are those of `nvidia-smi mig -lgipp` on A100 and H100, names those of
 * NVIDIA's MIG User Guide, "Supported MIG Profiles"
 * (docs.nvidia.com/datacenter/tesla/mig-user-guide/supported-mig-profiles.html). Profiles with media engines (`+me`)
 * are left out.
 */

/** A profile's geometry, the same on every device that supports the profile. */
interface PartGeometry {
  readonly size: number;
  /** Memory slices at which an instance can begin. */
  readonly starts: readonly number[];
}

/** The profiles in ascending size, in the order of the names in `DEVICES`. */
const PARTS: readonly PartGeometry[] = [
  { size: 1, starts: [0, 1, 2, 3, 4, 5, 6] },
  { size: 2, starts: [0, 2, 4, 6] },
  { size: 2, starts: [0, 2, 4] },
  { size: 4, starts: [0, 4] },
  { size: 4, starts: [0] },
  { size: 8, starts: [0] },
];

const DEVICES = {
  "A100-40GB": ["1g.5gb", "1g.10gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb"],
  "A100-80GB": ["1g.10gb", "1g.20gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb"],
  "H100-80GB": ["1g.10gb", "1g.20gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb"],
  "H100-94GB": ["1g.12gb", "1g.24gb", "2g.24gb", "3g.47gb", "4g.47gb", "7g.94gb"],
  "H200-141GB": ["1g.18gb", "1g.35gb", "2g.35gb", "3g.71gb", "4g.71gb", "7g.141gb"],
  "B200-180GB": ["1g.23gb", "1g.45gb", "2g.45gb", "3g.90gb", "4g.90gb", "7g.180gb"],
} as const;

/** The devices whose table of profiles is known: the values of a pool's `mig`. */
export type MigDevice = keyof typeof DEVICES;

export const MIG_DEVICES: readonly MigDevice[] = Object.keys(DEVICES) as MigDevice[];

/** The names of all profiles of all devices. */
export const MIG_PROFILES: readonly string[] = [...new Set<string>(Object.values(DEVICES).flat())].toSorted();

const COMPUTE_SLICES = 7;

/**
 * Amount that one instance of a profile counts in quotas, budgets and fair shares, in thousandths of an accelerator:
 * its sevenths of the compute. It is rounded down, so that the instances on a device together never count as more than
 * the device.
 */
export const profileMilli = (profile: string): number => Math.floor((1000 * Number(profile[0])) / COMPUTE_SLICES);

/** Thousandths of a device that one memory slice counts. Slices are booked in this unit. */
export const SLICE_MILLI = 125;

/**
 * A position of an instance. `digits`: a hexadecimal number with the digit 1 for each memory slice of the instance; the
 * lowest digit is the first slice.
 */
export interface MigPlace {
  readonly start: number;
  readonly digits: number;
}

export interface MigPart {
  readonly size: number;
  readonly places: readonly MigPlace[];
}

export type MigTable = ReadonlyMap<string, MigPart>;

export const ALL_SLICES = 0x1111_1111;

const placeAt = (start: number, size: number): MigPlace => {
  let digits = 0;
  for (let slice = start; slice < start + size; slice++) digits |= 1 << (4 * slice);
  return { start, digits };
};

const tables: ReadonlyMap<string, MigTable> = new Map(
  Object.entries(DEVICES).map(([device, names]) => [
    device,
    new Map(
      PARTS.map(({ size, starts }, index) => [
        names[index] as string,
        { size, places: starts.map((start) => placeAt(start, size)) },
      ]),
    ),
  ]),
);

/** The geometry of a device, or `undefined` if the device is not divided or not known. */
export const migTable = (device: MigDevice | undefined): MigTable | undefined =>
  device === undefined ? undefined : tables.get(device);

/** Whether all slices of a position are free; `taken` has a digit for every slice of the device. */
export const isOpen = ({ digits }: MigPlace, taken: number): boolean => (taken & Math.imul(digits, 15)) === 0;

/** Number of positions at which an instance of the profile can still begin. */
export function openCount({ places }: MigPart, taken: number): number {
  let count = 0;
  for (const place of places) if (isOpen(place, taken)) count++;
  return count;
}

/** Number of positions, summed over all profiles, that are lost on a device if these slices are taken in addition. */
export function positionsLost(table: MigTable, taken: number, digits: number): number {
  let lost = 0;
  for (const part of table.values()) lost += openCount(part, taken) - openCount(part, taken + digits);
  return lost;
}

/** Number of taken slices; a slice that is taken twice counts twice. */
export const slicesIn = (taken: number): number =>
  Math.imul((taken & 0x0f0f_0f0f) + ((taken >>> 4) & 0x0f0f_0f0f), 0x0101_0101) >>> 24;

export const isTakenTwice = (taken: number): boolean => (taken & 0xeeee_eeee) !== 0;
