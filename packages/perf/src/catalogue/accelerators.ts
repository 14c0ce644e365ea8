import type { Accelerator } from "./accelerator.ts";
import { nvidiaAccelerators } from "./accelerators-nvidia.ts";
import { nvidiaCards } from "./accelerators-nvidia-cards.ts";
import { otherAccelerators } from "./accelerators-other.ts";
import { driverNames } from "./driver-names.ts";

export const accelerators: readonly Accelerator[] = [...nvidiaAccelerators, ...nvidiaCards, ...otherAccelerators];

const normalised = (name: string): string => name.toLowerCase().replaceAll(/[^a-z0-9]+/g, "");

/**
 * The accelerator with this name, alias or driver name in any spelling ("H100-SXM-80GB", "h100", "H100 80GB HBM3", "TPU
 * v5e").
 */
export function findAccelerator(
  name: string,
  catalogue: readonly Accelerator[] = accelerators,
): Accelerator | undefined {
  const wanted = normalised(name);
  const names = ({ name: own, aliases }: Accelerator): readonly string[] => [
    own,
    ...aliases,
    ...(driverNames[own] ?? []),
  ];
  return catalogue.find((entry) => names(entry).some((known) => normalised(known) === wanted));
}
