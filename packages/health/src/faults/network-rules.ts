/** Messages about network adapters and links: Ethernet, InfiniBand, bonds, and NCCL over them. */
import { critical, rule, warn, type FaultRule } from "./fault.ts";

const pci = String.raw`(?<device>[0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7])`;

export const networkRules: readonly FaultRule[] = [
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
    "print_health_info",
    new RegExp(`mlx[45]_core ${pci}.*print_health_info:.{0,30} synd 0x0*[1-9a-f]`),
    critical("nic-health", "reset-device", "the network adapter reports a fatal error"),
  ),
  rule(
    "handling bad device",
    new RegExp(`mlx[45]_core ${pci}.*health_care: handling bad device`),
    critical("nic-health", "reset-device", "the network adapter stopped after an error"),
  ),
  rule(
    " error",
    /infiniband (?<device>mlx[45]_\d+): .{0,40}port \d+ error/,
    critical("ib-port-error", "check-link", "an InfiniBand port failed"),
  ),
  rule(
    "transmit timeout",
    /(?<device>\bib\d+[\w.]*): transmit timeout: latency/,
    warn("nic-timeout", "check-link", "a network adapter sends late"),
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
