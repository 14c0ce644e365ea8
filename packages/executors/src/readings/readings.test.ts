/**
 * Stub executables print the same output as the real tools. The code under test finds them on the PATH as it finds the
 * real ones.
 */
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readDevices } from "./read-devices.ts";
import { ToolRunner } from "./run-tool.ts";

let directory = "";
const pathBefore = process.env["PATH"];

beforeEach(() => {
  directory = mkdtempSync(path.join(tmpdir(), "headroom-readings-"));
  process.env["PATH"] = `${directory}:/usr/bin:/bin`;
});
afterEach(() => {
  process.env["PATH"] = pathBefore;
  rmSync(directory, { recursive: true, force: true });
});

function install(tool: string, script: string): void {
  const file = path.join(directory, tool);
  writeFileSync(file, `#!/bin/sh\n${script}\n`);
  chmodSync(file, 0o755);
}
const prints = (tool: string, ...lines: readonly string[]): void =>
  install(tool, `printf '%s\\n' "$*" > ${directory}/${tool}.args\ncat <<'END'\n${lines.join("\n")}\nEND`);

const runner = (): ToolRunner => new ToolRunner({ timeoutMs: 20_000, outputBytesMax: 64 * 1024 });
const header =
  "index, utilization.gpu [%], memory.used [MiB], memory.total [MiB], temperature.gpu, power.draw [W], ecc.errors.uncorrected.volatile.total";

const nothing = {
  busyMilli: null,
  memoryUsedMib: null,
  memoryTotalMib: null,
  temperatureC: null,
  powerMilliwatts: null,
  errorCount: null,
};

describe("nvidia-smi", () => {
  it("is asked with fixed arguments, and read card by card", async () => {
    prints("nvidia-smi", header, "0, 97, 70123, 81559, 61, 645.53, 0", "1, 0, 4, 81559, 31, 71.06, 2");
    expect(await readDevices("nvidia", runner())).toEqual({
      source: "nvidia-smi",
      problem: null,
      devices: [
        {
          deviceIndex: 0,
          busyMilli: 970,
          memoryUsedMib: 70_123,
          memoryTotalMib: 81_559,
          temperatureC: 61,
          powerMilliwatts: 645_530,
          errorCount: 0,
          fault: null,
        },
        {
          deviceIndex: 1,
          busyMilli: 0,
          memoryUsedMib: 4,
          memoryTotalMib: 81_559,
          temperatureC: 31,
          powerMilliwatts: 71_060,
          errorCount: 2,
          fault: null,
        },
      ],
    });
    expect(readFileSync(path.join(directory, "nvidia-smi.args"), "utf8")).toBe(
      "--query-gpu=index,utilization.gpu,memory.used,memory.total,temperature.gpu,power.draw,ecc.errors.uncorrected.volatile.total --format=csv,nounits\n",
    );
  });

  it("leaves out what the card does not have, under every name that the tool has for it", async () => {
    prints(
      "nvidia-smi",
      header,
      "0, [N/A], 4, 24564, 31, [Not Supported], [N/A]",
      "1, N/A, 4, 24564, 31, [Insufficient Permissions], N/A",
    );
    const { devices } = await readDevices("nvidia", runner());
    for (const device of devices)
      expect(device).toMatchObject({
        ...nothing,
        memoryUsedMib: 4,
        memoryTotalMib: 24_564,
        temperatureC: 31,
        fault: null,
      });
    expect(devices).toHaveLength(2);
  });

  it("keeps an error that stands in place of a value as the card's fault", async () => {
    prints(
      "nvidia-smi",
      header,
      "0, [Unknown Error], 0, 81559, 40, ERR!, 0",
      "1, [GPU requires reset], [GPU requires reset], 81559, 40, 100.0, 1",
      "2, 150, 1, 2, 3, -4, 1e9",
    );
    const { devices } = await readDevices("nvidia", runner());
    expect(devices.map(({ fault }) => fault)).toEqual([
      "utilization.gpu: [Unknown Error]",
      "utilization.gpu: [GPU requires reset]",
      "utilization.gpu: 150",
    ]);
    expect(devices[0]).toMatchObject({ busyMilli: null, powerMilliwatts: null, temperatureC: 40 });
    expect(devices[2]).toMatchObject({ busyMilli: null, powerMilliwatts: null, errorCount: null, temperatureC: 3 });
  });

  it("finds columns by their titles, where a release has others", async () => {
    prints("nvidia-smi", "index, temperature.gpu, utilization.gpu [%], fan.speed [%]", "0, 44, 12, 30");
    const { devices } = await readDevices("nvidia", runner());
    expect(devices).toEqual([{ deviceIndex: 0, ...nothing, busyMilli: 120, temperatureC: 44, fault: null }]);
  });

  it("passes over lines that are cut, repeated or no cards", async () => {
    prints(
      "nvidia-smi",
      "warning: infoROM is corrupted",
      header,
      "0, 1, 2, 3, 4, 5, 6",
      "0, 9, 9, 9, 9, 9, 9",
      "1, 1, 2",
      "x, 1, 2, 3, 4, 5, 6",
    );
    const { devices } = await readDevices("nvidia", runner());
    expect(devices.map(({ deviceIndex, busyMilli }) => [deviceIndex, busyMilli])).toEqual([[0, 10]]);
  });

  it("says what it printed where it lists no card", async () => {
    prints("nvidia-smi", "No devices were found");
    expect(await readDevices("nvidia", runner())).toEqual({
      source: "nvidia-smi",
      devices: [],
      problem: 'nvidia-smi lists no accelerator; it printed "No devices were found"',
    });
    install("nvidia-smi", `head -c 2000 /dev/urandom`);
    expect((await readDevices("nvidia", runner())).problem).toMatch(
      /^nvidia-smi lists no accelerator; it printed "[\x20-\x7e]*…?"$/,
    );
  });

  it("says why it failed", async () => {
    install(
      "nvidia-smi",
      `echo "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver." >&2; exit 9`,
    );
    expect((await readDevices("nvidia", runner())).problem).toBe(
      "nvidia-smi: it exited with 9: NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.",
    );
  });

  it("is ended with all that it started when it hangs", async () => {
    install("nvidia-smi", `sleep 300 & echo $! > ${directory}/pid; wait`);
    const read = await readDevices("nvidia", new ToolRunner({ timeoutMs: 700, outputBytesMax: 1024 }));
    expect(read).toEqual({ source: "nvidia-smi", devices: [], problem: "nvidia-smi: it did not answer within 0.7 s" });
    const pid = readFileSync(path.join(directory, "pid"), "utf8").trim();
    await expect.poll(() => stateOf(pid)).toMatch(/^(?:gone|Z)$/);
  });

  it("is ended when it prints without end", async () => {
    install("nvidia-smi", "yes 0, 1, 2, 3, 4, 5, 6");
    expect((await readDevices("nvidia", runner())).problem).toBe("nvidia-smi: it printed more than 65536 bytes");
  });

  it("may disappear and come back", async () => {
    const own = runner();
    prints("nvidia-smi", header, "0, 1, 2, 3, 4, 5, 6");
    expect((await readDevices("nvidia", own)).problem).toBe(null);
    rmSync(path.join(directory, "nvidia-smi"));
    expect(await readDevices("nvidia", own)).toEqual({
      source: "nvidia-smi",
      devices: [],
      problem: "nvidia-smi is not installed",
    });
    prints("nvidia-smi", header, "0, 1, 2, 3, 4, 5, 6");
    expect((await readDevices("nvidia", own)).devices).toHaveLength(1);
  });
});

describe("DCGM", () => {
  const dmon = [
    "#Entity   GPUTL  FBUSD  FBTTL  TMPTR  POWER   DBEVT  GRACT",
    "ID                      MB     MB     C      W",
    "GPU 1     N/A    36537  81559  35     88.125  0      0.372",
    "GPU 0     55     1024   81559  41     120.5   1      0.541",
  ];

  it("gives the use of a card that MIG divides, which nvidia-smi does not have", async () => {
    prints("nvidia-smi", header, "0, 54, 1024, 81559, 41, 120.00, 1", "1, [N/A], 36537, 81559, 35, 88.12, [N/A]");
    prints("dcgmi", ...dmon);
    const { source, devices } = await readDevices("nvidia", runner());
    expect(source).toBe("nvidia-smi");
    expect(devices.map(({ busyMilli, errorCount }) => [busyMilli, errorCount])).toEqual([
      [540, 1],
      [372, 0],
    ]);
    expect(readFileSync(path.join(directory, "dcgmi.args"), "utf8")).toBe(
      "dmon -e 203,252,250,150,155,311,1001 -c 1\n",
    );
  });

  it("answers where nvidia-smi is not installed", async () => {
    prints("dcgmi", ...dmon);
    const { source, devices } = await readDevices("nvidia", runner());
    expect(source).toBe("dcgmi");
    expect(devices[1]).toEqual({
      deviceIndex: 0,
      busyMilli: 550,
      memoryUsedMib: 1024,
      memoryTotalMib: 81_559,
      temperatureC: 41,
      powerMilliwatts: 120_500,
      errorCount: 1,
      fault: null,
    });
  });

  it("is passed over where its host engine does not run", async () => {
    prints("nvidia-smi", header, "0, [N/A], 36537, 81559, 35, 88.12, 0");
    install("dcgmi", `echo "Error: unable to establish a connection to the specified host: localhost"; exit 255`);
    expect(await readDevices("nvidia", runner())).toMatchObject({
      source: "nvidia-smi",
      problem: null,
      devices: [{ busyMilli: null, memoryUsedMib: 36_537 }],
    });
  });
});

describe("rocm-smi", () => {
  it("is read by the names of its releases, whatever stands around the JSON", async () => {
    const cards = {
      card10: {
        "GPU use (%)": "3",
        "Average Graphics Package Power (W)": "41.0",
        "Temperature (Sensor edge) (C)": "35.0",
      },
      card0: {
        "Temperature (Sensor edge) (C)": "38.0",
        "Temperature (Sensor junction) (C)": "51.0",
        "Current Socket Graphics Package Power (W)": "135.5",
        "GPU use (%)": "100",
        "VRAM Total Memory (B)": "206141652992",
        "VRAM Total Used Memory (B)": "297578496",
      },
      card2: { "GPU use (%)": "N/A" },
      system: { "Driver version": "6.3.6" },
    };
    prints("rocm-smi", "WARNING: AMD GPU device(s) is/are in a low-power state.", JSON.stringify(cards), "");
    const { source, devices, problem } = await readDevices("amd", runner());
    expect([source, problem]).toEqual(["rocm-smi", null]);
    expect(devices.map(({ deviceIndex }) => deviceIndex)).toEqual([0, 2, 10]);
    expect(devices[0]).toEqual({
      deviceIndex: 0,
      busyMilli: 1000,
      memoryUsedMib: 284,
      memoryTotalMib: 196_592,
      temperatureC: 51,
      powerMilliwatts: 135_500,
      errorCount: null,
      fault: null,
    });
    expect(devices[1]).toEqual({ deviceIndex: 2, ...nothing, fault: null });
    expect(devices[2]).toMatchObject({ busyMilli: 30, temperatureC: 35, powerMilliwatts: 41_000 });
    expect(readFileSync(path.join(directory, "rocm-smi.args"), "utf8")).toBe(
      "--showuse --showmeminfo vram --showtemp --showpower --json\n",
    );
  });

  it("lists nothing where it prints no JSON", async () => {
    prints("rocm-smi", "ERROR:root:Driver not initialized (amdgpu not found in modules)");
    expect(await readDevices("amd", runner())).toMatchObject({
      devices: [],
      problem: expect.stringMatching(/^rocm-smi lists no accelerator/),
    });
  });
});

/** `gone`, or the process state in /proc: a killed process stays a zombie until its new parent has waited for it. */
function stateOf(pid: string): string {
  try {
    return /\) (\S)/.exec(readFileSync(`/proc/${pid}/stat`, "utf8"))?.[1] ?? "?";
  } catch {
    return "gone";
  }
}
