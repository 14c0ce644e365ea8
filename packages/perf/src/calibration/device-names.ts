import type { Accelerator } from "../catalogue/accelerator.ts";

/** Driver names of devices whose memory or form factor selects their catalogue entry. */
const knownNames: readonly (readonly [pattern: RegExp, catalogueName: string])[] = [
  [/V100-SXM2-32GB/, "V100-SXM2-32GB"],
  [/A100-SXM4-40GB/, "A100-SXM-40GB"],
  [/A100-SXM4-80GB/, "A100-SXM-80GB"],
  [/A100.*PCIe.*40GB/i, "A100-PCIe-40GB"],
  [/A100.*PCIe/i, "A100-PCIe-80GB"],
  [/H100 NVL/, "H100-NVL"],
  [/H100 PCIe/, "H100-PCIe-80GB"],
  [/H100 (80GB HBM3|SXM)/, "H100-SXM-80GB"],
  [/H200/, "H200-SXM"],
  [/RTX PRO 6000/, "RTX-PRO-6000"],
  [/RTX 3090/, "RTX-3090"],
  [/RTX 4090/, "RTX-4090"],
  [/RTX 5090/, "RTX-5090"],
  [/RTX 6000 Ada/, "RTX-6000-Ada"],
];

/** Returns the catalogue's entry for a device by its driver's name ("NVIDIA H200"), or `undefined` if there is none. */
export function acceleratorOfDevice(deviceName: string, catalogue: readonly Accelerator[]): Accelerator | undefined {
  const known = knownNames.find(([pattern]) => pattern.test(deviceName))?.[1];
  if (known !== undefined) return catalogue.find((one) => one.name === known);
  const words = new Set(deviceName.split(/[\s/_]+/));
  return catalogue.find((one) => words.has(one.name) || one.aliases.some((alias) => words.has(alias)));
}
