/** Metrics of Prometheus' node exporter, as values of a node. https://github.com/prometheus/node_exporter */
import { mappedValue } from "./rules.ts";
import type { Mapping } from "./rules.ts";

const value = mappedValue.bind(null, "node");
const summedRate = { combine: "sum", isRate: true } as const;
/** Interfaces whose traffic does not leave the node. */
const inner = { device: ["lo"] };

export const nodeMapping: Mapping = {
  values: [
    // Idle seconds of a core for each second are its idle share.
    value("cpuPercent", "%", { combine: "mean", isRate: true, factor: -100, offset: 100 }),
    value("memoryUsedBytes", "B", { combine: "sum" }),
    value("memoryTotalBytes", "B"),
    value("load1", ""),
    value("rootFreeBytes", "B"),
    value("networkReceivedBytesPerS", "B/s", summedRate),
    value("networkSentBytesPerS", "B/s", summedRate),
    value("networkErrorsPerS", "1/s", summedRate),
    value("diskReadBytesPerS", "B/s", summedRate),
    value("diskWrittenBytesPerS", "B/s", summedRate),
    value("diskBusyPercent", "%", { combine: "max", isRate: true, factor: 100 }),
    value("infinibandReceivedBytesPerS", "B/s", summedRate),
    value("infinibandSentBytesPerS", "B/s", summedRate),
    value("infinibandLinkDowned", "downs", { combine: "sum" }),
    value("memoryErrorCount", "errors", { combine: "sum" }),
    value("outOfMemoryKills", "kills"),
  ],
  rules: [
    { metric: "node_cpu_seconds_total", value: "cpuPercent", labels: { mode: "idle" } },
    { metric: "node_memory_MemTotal_bytes", value: "memoryUsedBytes" },
    { metric: "node_memory_MemAvailable_bytes", value: "memoryUsedBytes", part: -1 },
    { metric: "node_memory_MemTotal_bytes", value: "memoryTotalBytes" },
    { metric: "node_load1", value: "load1" },
    { metric: "node_filesystem_avail_bytes", value: "rootFreeBytes", labels: { mountpoint: "/" } },
    { metric: "node_network_receive_bytes_total", value: "networkReceivedBytesPerS", except: inner },
    { metric: "node_network_transmit_bytes_total", value: "networkSentBytesPerS", except: inner },
    { metric: "node_network_receive_errs_total", value: "networkErrorsPerS", except: inner },
    { metric: "node_network_transmit_errs_total", value: "networkErrorsPerS", except: inner },
    { metric: "node_disk_read_bytes_total", value: "diskReadBytesPerS" },
    { metric: "node_disk_written_bytes_total", value: "diskWrittenBytesPerS" },
    { metric: "node_disk_io_time_seconds_total", value: "diskBusyPercent" },
    { metric: "node_infiniband_port_data_received_bytes_total", value: "infinibandReceivedBytesPerS" },
    { metric: "node_infiniband_port_data_transmitted_bytes_total", value: "infinibandSentBytesPerS" },
    { metric: "node_infiniband_link_downed_total", value: "infinibandLinkDowned" },
    { metric: "node_edac_uncorrectable_errors_total", value: "memoryErrorCount" },
    { metric: "node_vmstat_oom_kill", value: "outOfMemoryKills" },
  ],
};
