/** Messages of the kernel and of a node's controllers: PCIe, memory, tasks, temperature. */
import { critical, deviceText, rule, warn, type Fault, type FaultRule } from "./fault.ts";
import { networkRules } from "./network-rules.ts";
import { fileSystemRules, storageRules } from "./storage-rules.ts";

const pci = String.raw`(?<device>[0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7])`;

const buses: readonly FaultRule[] = [
  {
    hint: "pcie bus error",
    pattern: new RegExp(`${pci}: PCIe Bus Error: severity=(?<kind>Corrected|Uncorrected|Uncorrectable)(?<text>[^,]*)`),
    fault: ({ device, kind = "", text = "" }) => aerFault(device, kind + text),
  },
  {
    hint: "aer:",
    pattern: new RegExp(
      `AER: (?:Multiple )?(?<kind>Correct(?:ed|able)|Uncorrect(?:ed|able)(?: ?\\((?:Non-)?Fatal\\))?|Fatal|Non-Fatal) error.*?(?:received|message received)?(?:: |: id=| from )${pci}?`,
      "i",
    ),
    fault: ({ device, kind = "" }) => aerFault(device, kind),
  },
  rule(
    "aer:",
    new RegExp(`${pci}: AER: (?:can't recover|device recovery failed)`),
    critical("pcie-aer-unrecovered", "reboot-node", "a PCIe device did not recover"),
  ),
  rule(
    "link down",
    new RegExp(`pciehp.*${pci}?.*Link Down`),
    critical("pcie-link-down", "check-link", "a PCIe link is down"),
  ),
  rule(
    "card not present",
    /pciehp.*(?<device>Slot\([^)]*\)).*Card not present/,
    critical("pcie-link-down", "check-link", "a PCIe device is gone"),
  ),
  rule(
    "available pcie bandwidth",
    new RegExp(`${pci}: [\\d.]+ Gb/s available PCIe bandwidth, limited by`),
    warn("pcie-bandwidth", "check-link", "a PCIe link is slower than the device"),
  ),
  rule(
    "dpc:",
    new RegExp(`${pci}: DPC: (?:containment event|unmasked uncorrectable)`),
    critical("pcie-dpc", "check-link", "a PCIe port was shut off after an error"),
  ),
];

function aerFault(device: string | undefined, kind: string): Fault {
  const name = deviceText(device);
  if (/^correct/i.test(kind)) return { ...warn("pcie-aer-corrected", "watch", "corrected PCIe error"), device: name };
  const isFatal = /fatal/i.test(kind) && !/non-?fatal/i.test(kind);
  return isFatal
    ? { ...critical("pcie-aer-fatal", "reset-device", "fatal PCIe error"), device: name }
    : { ...critical("pcie-aer-uncorrected", "reset-device", "uncorrected PCIe error"), device: name };
}

const memory: readonly FaultRule[] = [
  rule(
    "edac",
    /EDAC (?<device>\S+): [1-9]\d* UE\b/,
    critical("edac-uncorrected", "replace-part", "uncorrected memory error"),
  ),
  rule("edac", /EDAC (?<device>\S+): [1-9]\d* CE\b/, warn("edac-corrected", "check-memory", "corrected memory error")),
  rule(
    "hardware error",
    /\[Hardware Error\]: (?:CPU (?<device>\d+)|event severity): ?.*(?:Machine Check(?: Exception)?: \d+ Bank|fatal)/,
    critical("mce", "check-memory", "machine check"),
  ),
  rule(
    "hardware error",
    /\[Hardware Error\]: (?:event severity: corrected|Corrected error)/,
    warn("mce-corrected", "check-memory", "corrected hardware error"),
  ),
  rule(
    "hardware error",
    /\[Hardware Error\]: (?:event severity: (?:fatal|recoverable)|Uncorrected|Deferred error)/,
    critical("mce", "check-memory", "uncorrected hardware error"),
  ),
  rule(
    "processor context corrupt",
    /\[Hardware Error\]: Machine check: Processor context corrupt/,
    critical("mce", "check-memory", "machine check"),
  ),
  rule(
    "apei generic hardware error",
    /\[Hardware Error\]: Hardware error from APEI Generic Hardware Error Source/,
    warn("mce-logged", "check-memory", "the firmware reports a hardware error; the next lines say which"),
  ),
  rule(
    "bert:",
    /BERT: Error records from previous boot/,
    warn("mce-logged", "check-memory", "hardware errors were logged before the last boot"),
  ),
  rule(
    "mce:",
    /mce: \[Hardware Error\]: Machine check events logged/,
    warn("mce-logged", "check-memory", "machine checks were logged"),
  ),
  rule(
    "uncorrected",
    /mce: (?:Uncorrected hardware memory error|.*Memory failure)/,
    critical("mce", "check-memory", "uncorrected memory error"),
  ),
  rule(
    "memory failure",
    /Memory failure: (?<device>0x[0-9a-f]+): .*(?:recovery action|Killing|Sending SIGBUS)/,
    critical("memory-failure", "check-memory", "the kernel took a page with an uncorrected error out of use"),
  ),
  rule(
    "mcelog",
    /mcelog: .*(?:exceeded threshold|[Uu]ncorrected)/,
    warn("mce-corrected", "check-memory", "many corrected memory errors"),
  ),
  rule(
    "cpu clock throttled",
    /(?<device>CPU\d+): (?:Core|Package) temperature (?:above threshold|is above threshold),? cpu clock throttled/i,
    warn("cpu-thermal", "check-cooling", "a processor is slowed down because of its temperature"),
  ),
  rule(
    "temperature above threshold",
    /(?<device>CPU\d+): (?:Core|Package) temperature above threshold/i,
    warn("cpu-thermal", "check-cooling", "a processor is slowed down because of its temperature"),
  ),
];

const power: readonly FaultRule[] = [
  rule(
    "critical temperature reached",
    /thermal\b.{0,60}[Cc]ritical temperature reached/,
    critical("host-thermal", "check-cooling", "the node shuts down because of its temperature"),
  ),
  rule(
    "power supply failure",
    /(?<device>Power Supply \d+)\b.{0,40}Power Supply Failure detected(?!.*[Dd]eassert)/,
    critical("bmc-power", "check-power", "a power supply failed"),
  ),
  rule(
    "lower critical going low",
    /(?<device>\bFan ?\d+)\b.{0,20}Lower Critical going low(?!.*[Dd]eassert)/,
    critical("bmc-fan", "check-cooling", "a fan failed"),
  ),
];

const tasks: readonly FaultRule[] = [
  rule(
    "out of memory",
    /(?:Out of memory|Memory cgroup out of memory): Kill(?:ed)? process (?<device>\d+ \([^)]*\))/,
    warn("oom-kill", "check-application", "a process was killed because memory ran out"),
  ),
  rule(
    "oom-killer",
    /(?<device>\S+) invoked oom-killer/,
    warn("oom-kill", "check-application", "a process was killed because memory ran out"),
  ),
  rule(
    "oom-kill:",
    /oom-kill:constraint=\w+.*task=(?<device>[^,]+)/,
    warn("oom-kill", "check-application", "a process was killed because memory ran out"),
  ),
  rule(
    "blocked for more than",
    /task (?<device>\S+:\d+) blocked for more than \d+ seconds/,
    warn("hung-task", "check-storage", "a task waits in the kernel"),
  ),
  rule(
    "soft lockup",
    /soft lockup - (?<device>CPU#\d+)/,
    critical("soft-lockup", "reboot-node", "a processor is stuck in the kernel"),
  ),
  rule(
    "hard lockup",
    /(?:hard LOCKUP on cpu (?<device>\d+)|Hard LOCKUP)/i,
    critical("hard-lockup", "reboot-node", "a processor is stuck"),
  ),
  rule(
    "rcu",
    /rcu\w*: .*(?:self-detected stall|detected stalls?) on (?:CPU|CPUs\/tasks)/,
    critical("rcu-stall", "reboot-node", "a processor is stuck in the kernel"),
  ),
  rule(
    "detected stalls on cpus",
    /\brcu\w* detected stalls on CPUs\/tasks/,
    critical("rcu-stall", "reboot-node", "a processor is stuck in the kernel"),
  ),
  rule("kernel panic", /Kernel panic - not syncing/, critical("kernel-panic", "reboot-node", "the kernel stopped")),
  rule("kernel bug", /kernel BUG at (?<device>\S+)/, critical("kernel-bug", "reboot-node", "an error of the kernel")),
  rule(
    "bug:",
    /BUG: (?:unable to handle|kernel NULL pointer|scheduling while atomic)/,
    critical("kernel-oops", "reboot-node", "an error of the kernel"),
  ),
  rule("oops:", /\bOops: \d+ \[#\d+\]/, critical("kernel-oops", "reboot-node", "an error of the kernel")),
  rule(
    "general protection fault",
    /general protection fault(?:,|:).*(?:\[#\d+\]|\d+)/,
    critical("kernel-oops", "reboot-node", "an error of the kernel"),
  ),
  rule(
    "nmi",
    /NMI: (?:PCI system error|IOCK error|Not continuing)|Uhhuh\. NMI received for unknown reason/,
    critical("nmi", "reboot-node", "the hardware reports an error"),
  ),
];

export const controllerRules: readonly FaultRule[] = [
  rule(
    "asserted",
    /(?<device>[\w .#/-]*(?:Temp|Thermal|Inlet|Exhaust)[\w .#/-]*?)\s*\|\s*(?:Upper (?:Critical|Non-[Rr]ecoverable)|Critical|Transition to (?:Critical|Non-recoverable))[^|]*\|\s*Asserted/,
    critical("bmc-thermal", "check-cooling", "the node's controller reports a critical temperature"),
  ),
  rule(
    "upper",
    /(?<device>[\w .#/-]*(?:Temp|Thermal|Inlet|Exhaust)[\w .#/-]*?)\s*\|\s*Upper Non-critical going high[^|]*\|\s*Asserted/i,
    warn("bmc-thermal", "check-cooling", "the node's controller reports a high temperature"),
  ),
  rule(
    "temp",
    /(?<device>[\w .#-]*Temp\w*)\s*\|\s*[\d.]+\s*\|\s*degrees C\s*\|\s*(?:cr|nr)\b/,
    critical("bmc-thermal", "check-cooling", "the node's controller reports a critical temperature"),
  ),
  rule(
    "fan",
    /(?<device>(?:System )?Fan[\w .#/-]*?)\s*\|\s*(?:Lower (?:Critical|Non-[Rr]ecoverable)|Transition to (?:Critical|Non-recoverable|Off Line)|Fully Redundant|Redundancy Lost|Device Absent|Failure)[^|]*\|\s*Asserted/i,
    critical("bmc-fan", "check-cooling", "a fan failed"),
  ),
  rule(
    "power supply",
    /(?<device>Power Supply[\w .#/-]*?)\s*\|\s*(?:Failure detected|Power Supply (?:input lost|AC lost)|Predictive failure|Redundancy Lost)[^|]*(?:\|\s*Asserted|$)/i,
    critical("bmc-power", "check-power", "a power supply failed"),
  ),
  rule(
    "memory",
    /(?<device>Memory[\w .#/-]*?)\s*\|\s*Uncorrectable ECC[^|]*\|\s*Asserted/i,
    critical("edac-uncorrected", "replace-part", "uncorrected memory error"),
  ),
  rule(
    "memory",
    /(?<device>Memory[\w .#/-]*?)\s*\|\s*Correctable ECC[^|]*\|\s*Asserted/i,
    warn("edac-corrected", "check-memory", "corrected memory error"),
  ),
  rule(
    "processor",
    /(?<device>Processor[\w .#/-]*?)\s*\|\s*(?:IERR|Thermal Trip|Configuration Error)[^|]*\|\s*Asserted/i,
    critical("bmc-processor", "replace-part", "a processor failed"),
  ),
];

export const hostRules: readonly FaultRule[] = [
  ...buses,
  ...memory,
  ...power,
  ...networkRules,
  ...fileSystemRules,
  ...storageRules,
  ...tasks,
];
