/** The newest readings of a node's accelerators, and their history from the telemetry store. */
import type { NodeId } from "@headroom/model";
import { METRICS_POINTS_DEFAULT, refuse } from "@headroom/protocol";
import type { NodeTelemetry, NodeTelemetryQuery } from "@headroom/protocol";
import type { ControlPlane } from "./control-plane.ts";

export async function nodeTelemetry(
  { driver, telemetry, accelerators }: ControlPlane,
  id: string,
  { points = METRICS_POINTS_DEFAULT, fromMs, toMs }: NodeTelemetryQuery,
): Promise<NodeTelemetry> {
  const node = await driver.read(({ state }) => state.nodes.get(id as NodeId));
  if (node === undefined) throw refuse("unknownNode", `There is no node ${id}.`);
  const history = await telemetry.readings({ node: id, points, fromMs, toMs });
  // The store can still contain accelerators that the node no longer has.
  const present = history.filter(({ index }) => index < node.acceleratorCount);
  return { readings: accelerators.readings.of(id), history: present };
}
