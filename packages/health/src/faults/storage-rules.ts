/** Messages about storage devices and file systems, local and remote. */
import { critical, info, rule, warn, type FaultRule, type FaultText } from "./fault.ts";

/** The target is found apart from the message: one pattern for both would take very long on hostile lines. */
function lustreRule(hint: string, { tail, fault }: { readonly tail: RegExp; readonly fault: FaultText }): FaultRule {
  return {
    hint,
    pattern: tail,
    fault(_groups, message) {
      const target = /\b[\w-]{1,64}-(?:OST|MDT)[\da-f]{4}/.exec(message)?.[0];
      return target === undefined ? null : { ...fault, device: target };
    },
  };
}

export const storageRules: readonly FaultRule[] = [
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
    "smart prefailure attribute",
    /Device: (?<device>[^\s,]+).{0,40}SMART Prefailure Attribute: (?:5|10|184|196) \w+ changed/,
    warn("smart-prefailure", "watch", "an attribute that predicts failures changed"),
  ),
  rule(
    "reached critical limit",
    /Device: (?<device>[^\s,]+).{0,40}Temperature \d+ Celsius reached critical limit/,
    warn("storage-temperature", "check-cooling", "a device is too hot"),
  ),
  rule(
    "aborting journal",
    /Aborting journal on device (?!loop)(?<device>\w+)/,
    critical("fs-error", "check-storage", "a file system stopped its journal"),
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

export const fileSystemRules: readonly FaultRule[] = [
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
  rule(
    "lneterror",
    /LNetError: .{0,200}(?:Timed out tx|Timed out RDMA|No route to)/,
    warn("lustre-timeout", "check-storage", "messages of Lustre's network time out"),
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
