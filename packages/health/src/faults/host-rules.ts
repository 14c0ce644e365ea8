/** Messages of the kernel and of a node's controllers: network links, PCIe, memory, storage, file systems, tasks, temperature. */
import { deviceText, rule, type Fault, type FaultRule } from "./fault.ts";

const pci = String.raw`(?<device>[0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7])`;

type Entry = Omit<Fault, "device">;
const warn = (code: string, action: Fault["action"], summary: string): Entry => ({
  code,
  severity: "warning",
  action,
  summary,
});
const critical = (code: string, action: Fault["action"], summary: string): Entry => ({
  code,
  severity: "critical",
  action,
  summary,
});
const info = (code: string, action: Fault["action"], summary: string): Entry => ({
  code,
  severity: "info",
  action,
  summary,
});

const network: readonly FaultRule[] = [
  rule(
    "link is down",
    new RegExp(`${pci}.*[Ll]ink is [Dd]own`),
    critical("link-down", "check-link", "a network link is down"),
  ),
  rule(
    "link down",
    new RegExp(`mlx[45]_(?:core|en)\\S* ${pci}(?: (?<port>\\S+))?:.*[Ll]ink down`),
    critical("link-down", "check-link", "a network link is down"),
  ),
  rule(
    "link is down",
    /(?<device>\b(?:en|eth|ib|bond|mlx)[\w.-]*): (?:NIC |\w+ )?[Ll]ink is (?:[Dd]own|not ready)/,
    critical("link-down", "check-link", "a network link is down"),
  ),
  rule(
    "link down",
    /^(?:.*[\s\]:])?(?<device>ib\d+): link down\s*$/,
    critical("link-down", "check-link", "a network link is down"),
  ),
  rule(
    "link status definitely down",
    /(?<device>bond\w+): .*link status definitely down/,
    critical("link-down", "check-link", "a network link is down"),
  ),
  rule(
    "flap",
    /(?<device>\b(?:en[opsx]\w+|(?:eth|ib|bond|mlx5_|swp|Ethernet)\d[\w./-]*))\b.*\bflap/i,
    warn("link-flap", "check-link", "a network link goes down and up"),
  ),
  rule(
    "flap",
    /\b(?:link|port) flap.*?\b(?<device>en[opsx]\w+|(?:eth|ib|bond|mlx5_|swp|Ethernet)\d[\w./-]*)/i,
    warn("link-flap", "check-link", "a network link goes down and up"),
  ),
  rule(
    "link down",
    /(?<device>\bmlx[45]_\d+): [Pp]ort:? ?\d+ (?:logical )?[Ll]ink (?:down|DOWN)\b/,
    critical("link-down", "check-link", "a network link is down"),
  ),
  rule(
    "carrier lost",
    /(?<device>\b(?:en|eth|ib)[\w.-]*): (?:lost carrier|carrier lost)/i,
    critical("link-down", "check-link", "a network link is down"),
  ),
  rule(
    "lost carrier",
    /(?<device>\b(?:en|eth|ib)[\w.-]*): (?:lost carrier|carrier lost)/i,
    critical("link-down", "check-link", "a network link is down"),
  ),
  rule(
    "health",
    new RegExp(`mlx[45]_core ${pci}.*(?:device's health compromised|health recovery|Fatal error|poll_health)`),
    critical("nic-health", "reset-device", "the network adapter reports a fatal error"),
  ),
  rule(
    "enter_error_state",
    new RegExp(`mlx[45]_core ${pci}.*enter_error_state`),
    critical("nic-health", "reset-device", "the network adapter stopped after an error"),
  ),
  rule(
    "firmware",
    new RegExp(`mlx[45]_core ${pci}.*(?:firmware (?:fatal|over|does not)|FW (?:fatal|hang))`, "i"),
    critical("nic-health", "reset-device", "the firmware of the network adapter failed"),
  ),
  rule(
    "temperature",
    new RegExp(`mlx[45]_core ${pci}.*(?:[Hh]igh temperature|temperature (?:on sensors|warning|exceed))`),
    warn("nic-temperature", "check-cooling", "the network adapter is too hot"),
  ),
  rule(
    "cable",
    new RegExp(`mlx[45]_core ${pci}.*(?:[Cc]able (?:error|unplugged)|Port module event\\[?error.*)`),
    warn("cable", "check-link", "a cable was unplugged or reports an error"),
  ),
  rule(
    "module event",
    new RegExp(`mlx[45]_core ${pci}.*Port module event\\[?error`),
    warn("cable", "check-link", "a cable or module reports an error"),
  ),
  rule(
    "timeout",
    new RegExp(`mlx[45]_core ${pci}.*(?:TX timeout|cmd_work_handler|timeout\\. Will cause a leak|wait_func.*timeout)`),
    critical("nic-timeout", "reset-device", "the network adapter does not answer"),
  ),
  rule(
    "transmit queue",
    /NETDEV WATCHDOG: (?<device>\S+) .*transmit queue \d+ timed out/,
    critical("nic-timeout", "check-link", "a network adapter does not send"),
  ),
  ibErrors("symbol", /\b(?:SymbolError\w*|symbol_error\w*|SymbolErr\w*)\W+[1-9]\d*/i),
  ibErrors("link_downed", /\blink_downed\W+[1-9]\d*/i),
  ibErrors("linkdowned", /\bLinkDowned\w*\W+[1-9]\d*/i),
  ibErrors("recovery", /\b(?:LinkErrorRecovery\w*|link_error_recovery)\W+[1-9]\d*/i),
  ibErrors("port_rcv_errors", /\bport_rcv_errors\W+[1-9]\d*/i),
  ibErrors("portrcverrors", /\bPortRcvErrors\W+[1-9]\d*/i),
  ibErrors("wc status", /\bWC status.*(?:error|RETRY_EXC)/i),
  ibErrors("net/ib", /NCCL WARN NET\/IB ?: Got completion .{0,200}?\b(?:status|error)[= ](?!0\b)\d+/),
  ibErrors("ibv_wc_", /\bIBV_WC_(?:RETRY_EXC|RNR_RETRY_EXC|REM_ACCESS|REM_OP|WR_FLUSH)_ERR/),
  {
    hint: "async event",
    pattern: /Got async event ?: ?(?:port error|local catastrophic error|device fatal)/,
    fault: (_groups, message) => ({
      ...critical("ib-port-error", "check-link", "an InfiniBand port failed"),
      device: ibDevice(message),
    }),
  },
];

function ibErrors(hint: string, pattern: RegExp): FaultRule {
  return {
    hint,
    pattern,
    fault: (_groups, message) => ({
      ...warn("ib-errors", "check-link", "errors on an InfiniBand link"),
      device: ibDevice(message),
    }),
  };
}

function ibDevice(message: string): string | null {
  return /\b(?:mlx[45]_\d+|ib\d+|HCA-\d+)\b/.exec(message)?.[0] ?? null;
}

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

/** The target is found apart from the message: one pattern for both would take very long on hostile lines. */
function lustreRule(hint: string, { tail, fault }: { readonly tail: RegExp; readonly fault: Entry }): FaultRule {
  return {
    hint,
    pattern: tail,
    fault(_groups, message) {
      const target = /\b[\w-]{1,64}-(?:OST|MDT)[\da-f]{4}/.exec(message)?.[0];
      return target === undefined ? null : { ...fault, device: target };
    },
  };
}

const storage: readonly FaultRule[] = [
  rule(
    "nvme",
    /nvme (?<device>nvme\d+): (?:controller is down|I\/O \d+ (?:\([^)]*\) )?QID \d+ timeout, (?:reset|disable)|Removing after probe failure|failed to set APST|Device not ready)/,
    critical("nvme-timeout", "check-storage", "an NVMe device does not answer"),
  ),
  rule(
    "nvme",
    /nvme (?<device>nvme\d+): I\/O (?:tag )?\d+ .*(?:timeout|aborting)/,
    warn("nvme-timeout", "check-storage", "an NVMe device answers late"),
  ),
  rule(
    "i/o error (sct 0x2",
    /(?<device>nvme\d+n\d+): I\/O Cmd\(.{0,80}I\/O Error \(sct 0x2 /,
    critical("storage-medium", "replace-part", "a sector cannot be read or written"),
  ),
  rule(
    "i/o error (sct",
    /(?<device>nvme\d+n\d+): I\/O Cmd\(.{0,80}I\/O Error \(sct 0x/,
    critical("storage-io-error", "check-storage", "an I/O error of a device"),
  ),
  rule(
    "critical medium error",
    /(?:critical medium error|unrecovered read error).*?dev (?<device>\w+)/,
    critical("storage-medium", "replace-part", "a sector cannot be read or written"),
  ),
  rule(
    "medium error",
    /\[(?<device>sd\w+)\].*(?:Sense Key : Medium Error|Unrecovered read error)/,
    critical("storage-medium", "replace-part", "a sector cannot be read or written"),
  ),
  rule(
    "i/o error",
    /(?:blk_update_request: |print_req_error: )?I\/O error,? (?:on )?dev(?:ice)? (?<device>[\w-]+)/,
    critical("storage-io-error", "check-storage", "an I/O error of a device"),
  ),
  rule(
    "critical target error",
    /critical (?:target|space allocation) error, dev (?<device>\w+)/,
    critical("storage-io-error", "check-storage", "an I/O error of a device"),
  ),
  rule(
    "buffer i/o error",
    /Buffer I\/O error on dev(?:ice)? (?<device>[\w-]+)/,
    critical("storage-io-error", "check-storage", "an I/O error of a device"),
  ),
  rule(
    "rejecting i/o",
    /(?<device>\S+): rejecting I\/O to (?:offline|dead) device/,
    critical("storage-offline", "replace-part", "a storage device is offline"),
  ),
  rule(
    "ata",
    /(?<device>ata\d+)(?:\.\d+)?: (?:exception Emask|failed command|status: \{ DRDY (?:ERR|DF)|SATA link down|hard resetting link|softreset failed|COMRESET failed|disabled$)/,
    warn("ata-error", "check-storage", "an error of a SATA device"),
  ),
  rule(
    "smart",
    /Device: (?<device>\S+).*(?:FAILED SMART self-check|SMART Failure|Failed SMART|SMART overall-health.*FAILED)/i,
    critical("smart-failing", "replace-part", "the device predicts its failure"),
  ),
  rule(
    "smart",
    /SMART overall-health self-assessment test result: FAILED/,
    critical("smart-failing", "replace-part", "the device predicts its failure"),
  ),
  rule(
    "sector",
    /Device: (?<device>[^\s,]+).*?[1-9]\d* (?:Currently unreadable \(pending\)|Offline uncorrectable|total_uncorrected) sectors/i,
    warn("smart-sectors", "replace-part", "the device has sectors that cannot be read"),
  ),
  rule(
    "critical warning",
    /(?:Device: (?<device>[^\s,]+).*)?Critical Warning \(0x(?!00)[0-9a-f]+\)/i,
    critical("nvme-critical-warning", "replace-part", "an NVMe device reports a critical warning"),
  ),
  rule(
    "critical_warning",
    /(?:(?<device>nvme\d+).*)?critical_warning\s*[:=]\s*(?:0x)?0*[1-9a-f]/i,
    critical("nvme-critical-warning", "replace-part", "an NVMe device reports a critical warning"),
  ),
  rule(
    "md/raid",
    /md\/raid\S*:(?<device>md\d+): Disk failure on \w+/,
    critical("raid-degraded", "replace-part", "a RAID array lost a disk"),
  ),
];

const fileSystems: readonly FaultRule[] = [
  rule(
    "read-only",
    /(?:EXT[234]-fs|XFS|BTRFS)[^(]*\((?:device )?(?<device>[\w-]+)\).*(?:Remounting filesystem read-only|forced readonly)/i,
    critical("fs-readonly", "check-storage", "a file system became read-only"),
  ),
  rule(
    "readonly",
    /BTRFS.*\((?:device )?(?<device>[\w-]+)\).*forced readonly/i,
    critical("fs-readonly", "check-storage", "a file system became read-only"),
  ),
  rule(
    "read-only file system",
    /(?:[Rr]ead-only file system)\s*$/,
    critical("fs-readonly", "check-storage", "a file system is read-only"),
  ),
  rule(
    "-fs error",
    /EXT[234]-fs error \(device (?<device>[\w-]+)\)/,
    critical("fs-error", "check-storage", "an error of a file system"),
  ),
  rule(
    "xfs",
    /XFS \((?<device>[\w-]+)\): .*(?:Corruption|Metadata corruption|xfs_do_force_shutdown|Metadata I\/O Error|metadata I\/O error|log I\/O error|Filesystem has been shut down|Shutting down filesystem)/,
    critical("fs-error", "check-storage", "an error of a file system"),
  ),
  rule(
    "btrfs",
    /BTRFS (?:error|critical) \(device (?<device>[\w-]+)/,
    critical("fs-error", "check-storage", "an error of a file system"),
  ),
  rule(
    "jbd2",
    /JBD2: .*(?:I\/O error|Error -\d+ detected).*?(?<device>[a-z]+\d*[-\d]*)?\.?$/,
    critical("fs-error", "check-storage", "an error of a file system's journal"),
  ),
  rule(
    "nfs:",
    /nfs: server (?<device>\S+) not responding/,
    warn("nfs-timeout", "check-storage", "an NFS server does not answer"),
  ),
  lustreRule("lustreerror", {
    tail: /LustreError: .{0,300}?(?:operation \w+ to node \S+ failed|rc = -\d+|evicted)/,
    fault: warn("lustre-error", "check-storage", "a target of Lustre refuses operations or evicts this client"),
  }),
  rule(
    "lustre",
    /LustreError: .*(?:-EIO|evicted|was evicted|Input\/output error|rc = -5\b)/,
    warn("lustre-error", "check-storage", "an error of the Lustre client"),
  ),
  lustreRule("lustre:", {
    tail: /Lustre: .{0,300}?(?:Connection to .{0,200}? was lost|timed out|Request sent has failed)/,
    fault: warn("lustre-timeout", "check-storage", "a target of Lustre does not answer"),
  }),
  rule(
    "libceph:",
    /libceph: (?:(?<device>osd\d+) down\b|mon\d+ .{0,80}(?:session lost|connect error|socket error on))/,
    warn("ceph-timeout", "check-storage", "a daemon of Ceph does not answer"),
  ),
  rule(
    "ceph: mds",
    /ceph: (?:\[[^\]]{0,80}\]: )?(?<device>mds\d+) (?:hung|session blocklisted|rejected session|reconnect denied)/,
    warn("ceph-timeout", "check-storage", "a daemon of Ceph does not answer"),
  ),
  rule("nfs: server", /nfs: server (?<device>\S+) OK/, info("nfs-ok", "none", "an NFS server answers again")),
  rule(
    "no space left on device",
    /No space left on device/,
    warn("no-space", "check-storage", "a file system is full"),
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

export const hostRules: readonly FaultRule[] = [...buses, ...memory, ...network, ...fileSystems, ...storage, ...tasks];
