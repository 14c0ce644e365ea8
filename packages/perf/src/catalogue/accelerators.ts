import type { Accelerator } from "./accelerator.ts";
import { nvidiaAccelerators } from "./accelerators-nvidia.ts";
import { nvidiaCards } from "./accelerators-nvidia-cards.ts";
import { otherAccelerators } from "./accelerators-other.ts";

export const accelerators: readonly Accelerator[] = [...nvidiaAccelerators, ...nvidiaCards, ...otherAccelerators];

const normalised = (name: string): string => name.toLowerCase().replaceAll(/[^a-z0-9]+/g, "");

/** The accelerator with that name or alias, in any spelling ("H100-SXM-80GB", "h100", "TPU v5e"). */
export function findAccelerator(
  name: string,
  catalogue: readonly Accelerator[] = accelerators,
): Accelerator | undefined {
  const wanted = normalised(name);
  return catalogue.find((entry) => [entry.name, ...entry.aliases].some((known) => normalised(known) === wanted));
}
