/** Readings of this machine's accelerators, by node. */
import type { AcceleratorReading, NodeReadings } from "../executor.ts";
import { readDevices } from "../readings/read-devices.ts";
import { nothingRead } from "../readings/reading.ts";
import type { DeviceReading, ReadingTool } from "../readings/reading.ts";
import type { ToolRunner } from "../readings/run-tool.ts";
import type { LocalInventory } from "./inventory.ts";

/** Each vendor's tool runs only once, whatever the number of nodes. */
export async function readNodes(
  { nodes, devices }: Pick<LocalInventory, "nodes" | "devices">,
  runner: ToolRunner,
): Promise<readonly NodeReadings[]> {
  const vendors = [...new Set([...devices.values()].map(({ vendor }) => vendor))];
  const byVendor = new Map(
    await Promise.all(vendors.map(async (vendor) => [vendor, await readDevices(vendor, runner)] as const)),
  );
  return nodes.map(({ id: node }): NodeReadings => {
    const own = devices.get(node);
    const read = own === undefined ? undefined : byVendor.get(own.vendor);
    if (own === undefined || read === undefined) return { node, source: null, accelerators: [], problem: null };
    const { source, problem } = read;
    if (problem !== null) return { node, source, problem, accelerators: [] };
    const byIndex = new Map(read.devices.map((device) => [device.deviceIndex, device]));
    const accelerators = own.deviceIndices.map((deviceIndex, index): AcceleratorReading => {
      const { deviceIndex: _own, ...reading } = byIndex.get(deviceIndex) ?? notListed(source, deviceIndex);
      return { index, ...reading };
    });
    return { node, source, problem, accelerators };
  });
}

/** The driver does not list a card that has failed on the PCI bus, so the card gets a fault here. */
const notListed = (source: ReadingTool, deviceIndex: number): DeviceReading => ({
  deviceIndex,
  ...nothingRead,
  fault: `${source} no longer lists device ${deviceIndex}`,
});
