/** Messages of accelerators: NVIDIA's driver, nvidia-smi and DCGM, AMD's amdgpu, Habana and Intel. */
import { critical, deviceText, rule, warn, type Fault, type FaultRule } from "./fault.ts";
import { xidFault } from "./xid-catalogue.ts";

const pci = String.raw`(?<device>(?:[0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?:\.[0-7])?)`;
const gpu = String.raw`(?<device>GPU-[0-9a-f]{8}[0-9a-f-]*|GPU[ -]?\d+|GPU ID:? ?\d+|(?:[0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7])`;
/** A device anywhere before the message. */
const maybeGpu = `(?:${gpu}.{0,120}?)?`;

const nvidiaDriver: readonly FaultRule[] = [
  {
    hint: "sxid",
    pattern: /\bSXid \(?(?<device>[^)]*)\)?: ?(?<number>\d{1,6}),? ?(?<text>.*)/,
    fault({ device, number, text = "" }) {
      const isFatal = /(?<!non-)(?<!non)\bfatal/i.test(text);
      const isMilder = /\bnon-?fatal/i.test(text) || /severity 0/i.test(text);
      return {
        code: `sxid-${Number(number)}`,
        device: deviceText(device),
        severity: isFatal && !isMilder ? "critical" : "warning",
        action: isFatal && !isMilder ? "reset-device" : "watch",
        summary: isFatal && !isMilder ? "fatal error of an NVSwitch" : "error of an NVSwitch",
      };
    },
  },
  {
    hint: "xid",
    pattern:
      /(?<![SA-Za-z])Xid(?: error)?s?(?: |:)? ?\(?(?<device>(?:PCI:)?[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?:\.\d)?)\)?: ?(?<number>\d{1,4})(?<text>.*)/,
    fault: ({ device, number, text = "" }) => xidFault(Number(number), deviceText(device), text),
  },
  {
    // `XID 79 detected on GPU 3`, `GPU 0: XID error 48`, as DCGM and agents write.
    hint: "xid",
    pattern: new RegExp(
      String.raw`(?:${gpu}[^\n]{0,80}?)?\b[Xx][Ii][Dd](?: errors?)?(?: code)?(?: event)?[ :=#-]+(?<number>\d{1,3})\b(?<text>.*)`,
    ),
    fault({ device, number, text = "" }, message) {
      const after =
        /\b(?:on|of|for|in) (?:the )?(?<name>GPU[ -]?\d+|[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?:\.\d)?)/.exec(
          text,
        );
      // A counter of errors that is zero, or the transaction of a database.
      if (Number(number) === 0 || !/\bX[Ii][Dd]\b|\bGPU\b|NVIDIA|nvidia|NVRM|dcgm/.test(message)) return null;
      // A sentence about a code names no device and no event.
      const isNamed = device !== undefined || after !== null;
      if (!isNamed && !/error|event|code|detect|report|occur|critical|fail|NVRM|dcgm|nvidia/i.test(message))
        return null;
      return xidFault(Number(number), deviceText(device ?? after?.groups?.["name"]), text);
    },
  },
  {
    // The fabric manager repeats the driver's codes, without the word.
    hint: "nvswitch",
    pattern: /NVSwitch (?<kind>non-fatal|fatal) error (?<number>\d{4,6})\b(?:.*?\bpci (?<device>[\da-f:.]+))?/i,
    fault({ kind = "", number, device }) {
      const isFatal = kind.toLowerCase() === "fatal";
      return {
        code: `sxid-${Number(number)}`,
        device: deviceText(device),
        severity: isFatal ? "critical" : "warning",
        action: isFatal ? "reset-device" : "watch",
        summary: isFatal ? "fatal error of an NVSwitch" : "error of an NVSwitch",
      };
    },
  },
  rule(
    "fallen off the bus",
    new RegExp(`\\bNVIDIA GPU ${pci} \\(PCI ID: .{0,120}has fallen off the bus`),
    critical("gpu-lost", "reboot-node", "the GPU has fallen off the bus"),
  ),
  rule(
    "fallen off the bus",
    new RegExp(`(?:${pci}.{0,40})?has fallen off the bus`),
    critical("gpu-lost", "reboot-node", "the GPU has fallen off the bus"),
  ),
  rule(
    "rminitadapter",
    new RegExp(`(?:GPU ${pci}.*)?RmInitAdapter failed`),
    critical("gpu-init-failed", "reboot-node", "the driver could not initialise the GPU"),
  ),
  rule(
    "rm_init_adapter",
    new RegExp(`(?:GPU ${pci}.*)?rm_init_adapter failed`),
    critical("gpu-init-failed", "reboot-node", "the driver could not initialise the GPU"),
  ),
  rule(
    "failed with error",
    new RegExp(`nvidia ${pci}: probe (?:with driver nvidia|of .{0,40}) failed with error`),
    critical("gpu-init-failed", "reboot-node", "the driver could not initialise the GPU"),
  ),
  rule(
    "uvm encountered global fatal error",
    /uvm encountered global fatal error/,
    critical("gpu-driver", "reboot-node", "the memory manager of the driver failed"),
  ),
  rule(
    "api mismatch",
    /NVRM: API mismatch: the client has the version/,
    warn("gpu-client-mismatch", "check-application", "a process uses libraries of another version than the driver's"),
  ),
  rule(
    "unable to determine the device handle",
    new RegExp(`Unable to determine the device handle for (?:GPU ?|gpu )?${pci}?`, "i"),
    critical("gpu-lost", "reboot-node", "nvidia-smi cannot reach the GPU"),
  ),
  rule(
    "gpu is lost",
    /(?:GPU (?<device>[0-9a-fA-F]{8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.\d).*)?GPU is lost/,
    critical("gpu-lost", "reboot-node", "the GPU is lost"),
  ),
  rule(
    "couldn't communicate with the nvidia driver",
    /couldn't communicate with the NVIDIA driver/,
    critical("gpu-driver", "reboot-node", "the driver does not answer"),
  ),
  rule(
    "driver/library version mismatch",
    /Driver\/library version mismatch/,
    critical("gpu-driver-mismatch", "reboot-node", "driver and library have different versions"),
  ),
  rule(
    "no devices were found",
    /^\s*No devices were found\s*$/,
    critical("gpu-lost", "reboot-node", "nvidia-smi finds no GPU"),
  ),
  rule(
    "gpu requires reset",
    new RegExp(`${maybeGpu}GPU requires reset`),
    critical("gpu-reset-required", "reset-device", "the GPU needs a reset"),
  ),
  rule(
    "unknown error",
    /^\s*(?:\|.*)?\b(?:ERR!|Unable to .{0,80}: Unknown Error)/,
    warn("gpu-unknown-error", "watch", "nvidia-smi cannot read a value"),
  ),
  rule("err!", /\|.*\bERR!/, warn("gpu-unknown-error", "watch", "nvidia-smi cannot read a value")),
];

/** ECC and remapped rows, in texts of nvidia-smi, DCGM and agents. Counters that are zero are no faults. */
const nvidiaMemory: readonly FaultRule[] = [
  rule(
    "remapping failure occurred",
    /Remapping Failure Occurred\s*: Yes/,
    critical("row-remap-failed", "replace-part", "a row of the memory could not be remapped"),
  ),
  rule(
    "remap",
    new RegExp(
      `${maybeGpu}(?:[Rr]ow[- ]?[Rr]emap\\w*|[Rr]emapp\\w* [Rr]ows?).{0,40}?(?:[Ff]ail(?:ure|ed)(?: occurred)?(?:\\s*[:=]\\s*(?:Yes|[1-9]\\d*|true)|(?!\\s*(?:occurred)?\\s*[:=]))|could not)`,
    ),
    critical("row-remap-failed", "replace-part", "a row of the memory could not be remapped"),
  ),
  rule(
    "remap",
    new RegExp(
      `${maybeGpu}(?:[Rr]ow[- ]?[Rr]emap\\w*|[Rr]emapp\\w* [Rr]ows?|Remapping).{0,40}?[Pp]ending(?!\\s*[:=]?\\s*(?:No|0|false|N/A)\\b)`,
    ),
    warn("row-remap-pending", "reset-device", "a row of the memory is remapped at the next reset"),
  ),
  rule(
    "remap",
    new RegExp(`${maybeGpu}(?:[Uu]nc|[Cc])orrectable (?:[Rr]emapped [Rr]ows|Error)\\s*[:=]\\s*[1-9]`),
    warn("row-remap", "watch", "rows of the memory were remapped"),
  ),
  rule(
    "retire",
    new RegExp(
      `${maybeGpu}(?:[Pp]age retirement|[Rr]etired [Pp]ages?|[Pp]ending [Pp]age).{0,40}?(?:[Pp]ending|Blacklist)\\w*(?!\\s*[:=]?\\s*(?:No|0|false|N/A)\\b)`,
    ),
    warn("page-retirement-pending", "reset-device", "a page of the memory is retired at the next reset"),
  ),
  {
    hint: "ecc",
    pattern: new RegExp(
      `${maybeGpu}(?<kind>[Uu]ncorrect(?:able|ed)|[Dd]ouble[- ][Bb]it|DBE|[Vv]olatile [Uu]ncorr\\S*).{0,40}?\\bECC\\b(?<text>.*)`,
    ),
    fault: ({ device, text = "" }) => eccFault(device, text, true),
  },
  {
    hint: "ecc",
    pattern: new RegExp(
      `${maybeGpu}\\bECC\\b.{0,40}?(?<kind>[Uu]ncorrect(?:able|ed)|[Dd]ouble[- ][Bb]it|DBE)(?<text>.*)`,
    ),
    fault: ({ device, text = "" }) => eccFault(device, text, true),
  },
  {
    hint: "ecc",
    pattern: new RegExp(`${gpu}.{0,80}?(?:[Cc]orrect(?:able|ed)|[Ss]ingle[- ][Bb]it|SBE).{0,40}?\\bECC\\b(?<text>.*)`),
    fault: ({ device, text = "" }) => eccFault(device, text, false),
  },
];

function eccFault(device: string | undefined, text: string, isUncorrected: boolean): Fault | null {
  const count = /^[^\d:=]{0,40}[:=]\s*(?<count>\d+|N\/A|none)/i.exec(text)?.groups?.["count"];
  if (count !== undefined && !(Number(count) > 0)) return null;
  if (/\b(?:enabled|disabled|mode|not? (?:errors?|supported)|cleared)\b/i.test(text)) return null;
  return {
    code: isUncorrected ? "ecc-uncorrected" : "ecc-corrected",
    device: deviceText(device),
    severity: isUncorrected ? "critical" : "warning",
    action: isUncorrected ? "reset-device" : "watch",
    summary: isUncorrected ? "uncorrected ECC errors" : "corrected ECC errors",
  };
}

const nvidiaLinks: readonly FaultRule[] = [
  {
    hint: "nvlink",
    pattern: new RegExp(`${maybeGpu}(?:NVLink|NVLINK|nvlink|Nvlink)(?<text>.{0,120})`),
    fault({ device, text = "" }, message) {
      const isDown =
        /\b(?:down|inactive|fail(?:ed|ure)|fatal|lost|timed? ?out)\b/i.test(text) &&
        !/\b(?:0 (?:links? )?(?:down|failed)|no )/i.test(text);
      const hasErrors =
        /\berrors?\b/i.test(text) && !/\b(?:no errors?|errors?\b[^\d]{0,20}[:=]?\s*0\b|0 errors?)/i.test(text);
      const isReply = /\b(?:replay|recovery|CRC|FLIT|ECC|threshold)\b/i.test(text) && hasErrors;
      if (!isDown && !hasErrors) return null;
      const link = /\blink[ :#]?(?<link>\d{1,2})\b/i.exec(message)?.groups?.["link"];
      const name = deviceText(device) ?? (link === undefined ? null : `link ${link}`);
      return isDown
        ? { ...critical("nvlink-down", "check-link", "an NVLink is down or failed"), device: name }
        : { ...warn("nvlink-error", isReply ? "watch" : "check-link", "errors on an NVLink"), device: name };
    },
  },
  rule(
    "fabric manager",
    /[Ff]abric [Mm]anager.{0,60}(?:fail|error|timed out|not running|exited)/,
    critical("fabric-manager", "reboot-node", "the fabric manager failed"),
  ),
  rule(
    "nvidia-fabricmanager",
    /nvidia-fabricmanager.{0,80}(?:[Ff]ail|\berror\b|exited, code)/,
    critical("fabric-manager", "reboot-node", "the fabric manager failed"),
  ),
];

const throttling: readonly FaultRule[] = [
  rule(
    "hw thermal slowdown",
    new RegExp(`${maybeGpu}HW Thermal Slowdown(?!\\s*[:=]\\s*(?:Not Active|0\\b))`),
    critical("thermal-throttle", "check-cooling", "the hardware slows the GPU down because of its temperature"),
  ),
  rule(
    "sw thermal slowdown",
    new RegExp(`${maybeGpu}SW Thermal Slowdown(?!\\s*[:=]\\s*(?:Not Active|0\\b))`),
    warn("thermal-throttle", "check-cooling", "the driver slows the GPU down because of its temperature"),
  ),
  rule(
    "power brake",
    new RegExp(`${maybeGpu}(?:HW )?Power Brake(?!(?: Slowdown)?\\s*[:=]\\s*(?:Not Active|0\\b))`),
    critical("power-throttle", "check-power", "the power supply slows the GPU down"),
  ),
  rule(
    "hw slowdown",
    new RegExp(`${maybeGpu}HW Slowdown(?!\\s*[:=]\\s*(?:Not Active|0\\b))`),
    warn("hardware-throttle", "check-cooling", "the hardware slows the GPU down"),
  ),
  rule(
    "thermal violation",
    new RegExp(`${maybeGpu}[Tt]hermal [Vv]iolation(?!s?\\s*[:=]\\s*0\\b)`),
    warn("thermal-throttle", "check-cooling", "the GPU was slowed down because of its temperature"),
  ),
  rule(
    "power violation",
    new RegExp(`${maybeGpu}[Pp]ower [Vv]iolation(?!s?\\s*[:=]\\s*0\\b)`),
    warn("power-throttle", "check-power", "the GPU was slowed down because of its power"),
  ),
];

const dcgm: readonly FaultRule[] = [
  {
    hint: "id:",
    pattern: /(?<device>(?:GPU|Switch) ID: \d+)\s*\|\s*(?<state>Warning|Failure)\b/,
    fault: ({ device, state }) => healthFault(device ?? null, "health", state ?? ""),
  },
  {
    // `dcgmi health -c` prints a table; its rows name the system and the state.
    hint: "health",
    pattern:
      /(?:Overall Health|(?<device>GPU ID: \d+|Switch ID: \d+)|(?<system>PCIe|NVLink|Memory|InfoROM|Thermal|Power|NVSwitch\S*|SM|Driver|CPUSET) (?:system )?[Hh]ealth).{0,20}?[|: ]\s*(?<state>Warning|Failure)\b/,
    fault: ({ device, system, state }) => healthFault(device ?? null, system ?? "health", state ?? ""),
  },
  {
    hint: "watch result",
    pattern:
      /(?<device>GPU \d+).*?(?<system>PCIe|NVLink|Memory|InfoROM|Thermal|Power|NVSwitch).*?watch result:? (?<state>Warning|Failure|WARN|FAIL)/i,
    fault: ({ device, system, state }) => healthFault(device ?? null, system ?? "health", state ?? ""),
  },
];

function healthFault(device: string | null, system: string, state: string): Fault {
  const isFailure = /^fail/i.test(state);
  return {
    code: `dcgm-${system.toLowerCase()}`,
    device,
    severity: isFailure ? "critical" : "warning",
    action: isFailure ? "reset-device" : "watch",
    summary: `DCGM's health watch reports a ${isFailure ? "failure" : "warning"}`,
  };
}

const amd: readonly FaultRule[] = [
  rule(
    "uncorrectable",
    new RegExp(`amdgpu ${pci}.{0,80}[1-9]\\d* uncorrectable`),
    critical("amdgpu-ras-uncorrected", "reset-device", "uncorrectable errors"),
  ),
  rule(
    "fatal error",
    new RegExp(
      `amdgpu ${pci}.{0,80}(?:RAS )?(?:ERREVENT_ATHUB_INTERRUPT|[Uu]ncorrectable hardware error|[Ff]atal error)`,
    ),
    critical("amdgpu-ras-uncorrected", "reset-device", "a fatal hardware error"),
  ),
  rule(
    "ras controller interrupt",
    new RegExp(`amdgpu ${pci}.{0,80}RAS controller interrupt triggered by \\w+ error`),
    critical("amdgpu-ras-uncorrected", "reset-device", "a fatal hardware error"),
  ),
  rule(
    "ecc error",
    new RegExp(`habanalabs ${pci}: (?:.{0,40} )?ECC error`),
    critical("habana-ecc", "reset-device", "an ECC error of an accelerator"),
  ),
  rule(
    "erreevent",
    new RegExp(`amdgpu ${pci}.*ERREVENT`),
    critical("amdgpu-ras-uncorrected", "reset-device", "a fatal hardware error"),
  ),
  rule(
    "errevent",
    new RegExp(`(?:amdgpu ${pci}.*)?ERREVENT_ATHUB_INTERRUPT`),
    critical("amdgpu-ras-uncorrected", "reset-device", "a fatal hardware error"),
  ),
  rule(
    "correctable",
    new RegExp(`amdgpu ${pci}.{0,80}[1-9]\\d* correctable`),
    warn("amdgpu-ras-corrected", "watch", "correctable errors"),
  ),
  rule(
    "poison",
    new RegExp(`amdgpu ${pci}.*(?:[Pp]oison(?: is)? (?:consum|creat)|poison consumption)`),
    critical("amdgpu-poison", "reset-device", "an application used poisoned memory"),
  ),
  rule(
    "bad page",
    new RegExp(`amdgpu ${pci}.*(?:bad page|[Rr]eserve).*?(?:threshold|exceed)`),
    critical("amdgpu-bad-pages", "replace-part", "too many bad pages"),
  ),
  rule(
    "timeout",
    new RegExp(`(?:amdgpu ${pci}.*)?ring (?<ring>[\\w.]+) timeout`),
    critical("amdgpu-ring-timeout", "reset-device", "a ring of the GPU does not answer"),
  ),
  rule(
    "gpu reset",
    new RegExp(`amdgpu ${pci}.{0,40}GPU reset\\(?\\d*\\)? ?(?:begin|failed)`),
    critical("amdgpu-reset", "watch", "the driver resets the GPU"),
  ),
  rule("gpu reset", new RegExp(`amdgpu ${pci}.{0,40}GPU reset\\(?\\d*\\)? ?succeeded`), {
    code: "amdgpu-reset-done",
    severity: "info",
    action: "watch",
    summary: "the GPU was reset",
  }),
  rule(
    "page fault",
    new RegExp(`amdgpu ${pci}.*\\bpage fault`),
    warn("amdgpu-page-fault", "check-application", "page fault, mostly an illegal address of the application"),
  ),
  rule(
    "page fault",
    /amdgpu: \[\w+\] .{0,40}page fault \(src_id:/,
    warn("amdgpu-page-fault", "check-application", "page fault, mostly an illegal address of the application"),
  ),
  rule(
    "hang",
    new RegExp(`amdgpu ${pci}.*(?:GPU hang|hw hang|HWS hang)`, "i"),
    critical("amdgpu-hang", "reset-device", "the GPU hangs"),
  ),
  rule(
    "smu",
    new RegExp(`amdgpu ${pci}.*SMU.*(?:not respond|no response|failed)`, "i"),
    critical("amdgpu-smu", "reset-device", "the power controller does not answer"),
  ),
  rule(
    "xgmi",
    new RegExp(`amdgpu ${pci}.*[Xx][Gg][Mm][Ii].*(?:error|fail)`),
    critical("amdgpu-xgmi", "check-link", "an error of the link between GPUs"),
  ),
  rule(
    "amdgpu",
    new RegExp(`amdgpu ${pci}.*(?:thermal (?:throttl|fault)|ERROR: GPU over temperature|over temperature|CTF)`, "i"),
    critical("amdgpu-thermal", "check-cooling", "the GPU is too hot"),
  ),
];

const others: readonly FaultRule[] = [
  rule(
    "habanalabs",
    new RegExp(`habanalabs (?:hl\\d+ )?${pci}.*(?:ECC|HBM).*(?:uncorrectable|DERR|double)`, "i"),
    critical("habana-ecc", "reset-device", "uncorrectable error of the memory"),
  ),
  rule(
    "habanalabs",
    new RegExp(`habanalabs (?:hl\\d+ )?${pci}.*(?:ECC|HBM).*(?:correctable|SERR|single)`, "i"),
    warn("habana-ecc-corrected", "watch", "corrected error of the memory"),
  ),
  rule(
    "habanalabs",
    new RegExp(
      `habanalabs (?:hl\\d+ )?${pci}.*(?:hard.?reset|[Gg]oing to reset|[Ff]ailed to (?:reset|init)|heartbeat failed|CPU is stuck|not responding)`,
      "i",
    ),
    critical("habana-reset", "reset-device", "the device is reset or does not answer"),
  ),
  rule(
    "habanalabs",
    new RegExp(`habanalabs (?:hl\\d+ )?${pci}.*(?:timed out|timeout|got stuck)`, "i"),
    warn("habana-timeout", "check-application", "a command took too long"),
  ),
  rule(
    "habanalabs",
    new RegExp(`habanalabs (?:hl\\d+ )?${pci}.*(?:link|port).*(?:down|lost)`, "i"),
    critical("habana-link-down", "check-link", "a link is down"),
  ),
  rule(
    "gpu hang",
    new RegExp(`(?:i915|xe) ${pci}.*GPU HANG`),
    critical("intel-gpu-hang", "reset-device", "the GPU hangs"),
  ),
  rule(
    "wedged",
    new RegExp(`(?:i915|xe) ${pci}.*(?:declared wedged|wedged)`),
    critical("intel-gpu-wedged", "reboot-node", "the driver gave the GPU up"),
  ),
  rule(
    "engine reset",
    new RegExp(`(?:i915|xe) ${pci}.*[Ee]ngine reset`),
    warn("intel-gpu-reset", "watch", "an engine of the GPU was reset"),
  ),
];

export const gpuRules: readonly FaultRule[] = [
  ...nvidiaDriver,
  ...amd,
  ...others,
  ...nvidiaMemory,
  ...nvidiaLinks,
  ...throttling,
  ...dcgm,
];
