/** Utilization, memory, temperature, power and errors of this machine's accelerators, read with the vendor's tools. */
import { dcgmiArguments, parseDcgmiReadings } from "./dcgmi.ts";
import { nvidiaSmiArguments, parseNvidiaReadings } from "./nvidia-smi.ts";
import { visible } from "./reading.ts";
import type { DeviceReading, DeviceValues, ReadingTool } from "./reading.ts";
import { parseRocmReadings, rocmSmiArguments } from "./rocm-smi.ts";
import type { ToolRunner } from "./run-tool.ts";

export interface DeviceReadings {
  /** The tool that gave the readings. If there are several, the first one. */
  readonly source: ReadingTool;
  readonly devices: readonly DeviceReading[];
  /** Reason why there are no readings; `null`: there are some. */
  readonly problem: string | null;
}

interface Tool {
  readonly command: ReadingTool;
  readonly arguments: readonly string[];
  parse(text: string): readonly DeviceReading[];
}

const nvidiaSmi: Tool = { command: "nvidia-smi", arguments: nvidiaSmiArguments, parse: parseNvidiaReadings };
const dcgmi: Tool = { command: "dcgmi", arguments: dcgmiArguments, parse: parseDcgmiReadings };
const rocmSmi: Tool = { command: "rocm-smi", arguments: rocmSmiArguments, parse: parseRocmReadings };

export async function readDevices(vendor: "nvidia" | "amd", runner: ToolRunner): Promise<DeviceReadings> {
  if (vendor === "amd") return readWith(rocmSmi, runner);
  const read = await readWith(nvidiaSmi, runner);
  const lacksUse = read.devices.some(({ busyMilli }) => busyMilli === null);
  if (read.problem === null && !lacksUse) return read;
  // DCGM knows the utilization of cards that MIG divides, and also answers if nvidia-smi is not installed.
  const more = await readWith(dcgmi, runner);
  if (more.problem !== null) return read;
  return read.problem === null ? { ...read, devices: completed(read.devices, more.devices) } : more;
}

async function readWith(tool: Tool, runner: ToolRunner): Promise<DeviceReadings> {
  const source = tool.command;
  const output = await runner.run(source, tool.arguments);
  if (output.kind === "missing") return { source, devices: [], problem: `${source} is not installed` };
  if (output.kind === "failed") return { source, devices: [], problem: `${source}: ${output.reason}` };
  const devices = tool.parse(output.text);
  if (devices.length > 0) return { source, devices, problem: null };
  const printed = visible(output.text);
  const what = printed === "" ? "nothing" : `"${printed}"`;
  return { source, devices, problem: `${source} lists no accelerator; it printed ${what}` };
}

/** The readings in `read`. Values that are missing there come from `more`. */
function completed(read: readonly DeviceReading[], more: readonly DeviceReading[]): readonly DeviceReading[] {
  const byIndex = new Map(more.map((device) => [device.deviceIndex, device]));
  return read.map((device) => {
    const other = byIndex.get(device.deviceIndex);
    if (other === undefined) return device;
    const valueOf = (name: keyof DeviceValues): number | null => device[name] ?? other[name];
    return {
      ...device,
      busyMilli: valueOf("busyMilli"),
      memoryUsedMib: valueOf("memoryUsedMib"),
      memoryTotalMib: valueOf("memoryTotalMib"),
      temperatureC: valueOf("temperatureC"),
      powerMilliwatts: valueOf("powerMilliwatts"),
      errorCount: valueOf("errorCount"),
    };
  });
}
