/**
 * Metrics of NVIDIA's dcgm-exporter. Values that the vendors' tools also report have the names and units of their readings.
 * https://github.com/NVIDIA/dcgm-exporter/blob/main/etc/default-counters.csv
 */
import { mappedValue } from "./rules.ts";
import type { Mapping, MappingRule } from "./rules.ts";

/** Lines with this label are about a MIG instance, not the whole accelerator. */
const MIG_INSTANCE = "GPU_I_ID";

const rows = [
  ["DCGM_FI_DEV_GPU_UTIL", "busyMilli", "‰", 10],
  ["DCGM_FI_DEV_FB_USED", "memoryUsedMib", "MiB", 1],
  ["DCGM_FI_DEV_GPU_TEMP", "temperatureC", "°C", 1],
  ["DCGM_FI_DEV_POWER_USAGE", "powerMilliwatts", "mW", 1_000],
  ["DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", "errorCount", "errors", 1],
  ["DCGM_FI_DEV_ECC_SBE_VOL_TOTAL", "correctedErrorCount", "errors", 1],
  ["DCGM_FI_DEV_MEMORY_TEMP", "memoryTemperatureC", "°C", 1],
  ["DCGM_FI_DEV_SM_CLOCK", "smClockMhz", "MHz", 1],
  ["DCGM_FI_DEV_MEM_CLOCK", "memoryClockMhz", "MHz", 1],
  ["DCGM_FI_DEV_MEM_COPY_UTIL", "memoryCopyPercent", "%", 1],
  ["DCGM_FI_DEV_ENC_UTIL", "encoderPercent", "%", 1],
  ["DCGM_FI_DEV_DEC_UTIL", "decoderPercent", "%", 1],
  ["DCGM_FI_DEV_XID_ERRORS", "lastXid", "code", 1],
  ["DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", "throttleReasons", "bits", 1],
  ["DCGM_FI_DEV_CLOCKS_EVENT_REASONS", "throttleReasons", "bits", 1],
  ["DCGM_FI_DEV_POWER_VIOLATION", "powerViolation", "ns", 1],
  ["DCGM_FI_DEV_THERMAL_VIOLATION", "thermalViolation", "ns", 1],
  ["DCGM_FI_DEV_PCIE_REPLAY_COUNTER", "pcieReplayCount", "replays", 1],
  ["DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS", "correctedRemappedRows", "rows", 1],
  ["DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS", "uncorrectedRemappedRows", "rows", 1],
  ["DCGM_FI_DEV_ROW_REMAP_FAILURE", "rowRemapFailure", "failures", 1],
  ["DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL", "nvlinkErrorCount", "errors", 1],
  ["DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL", "nvlinkMib", "MiB", 1],
  ["DCGM_FI_PROF_GR_ENGINE_ACTIVE", "enginePercent", "%", 100],
  ["DCGM_FI_PROF_SM_ACTIVE", "smActivePercent", "%", 100],
  ["DCGM_FI_PROF_SM_OCCUPANCY", "smOccupancyPercent", "%", 100],
  ["DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", "tensorPercent", "%", 100],
  ["DCGM_FI_PROF_PIPE_FP16_ACTIVE", "fp16Percent", "%", 100],
  ["DCGM_FI_PROF_PIPE_FP32_ACTIVE", "fp32Percent", "%", 100],
  ["DCGM_FI_PROF_PIPE_FP64_ACTIVE", "fp64Percent", "%", 100],
  ["DCGM_FI_PROF_DRAM_ACTIVE", "dramPercent", "%", 100],
  ["DCGM_FI_PROF_PCIE_TX_BYTES", "pcieSentBytesPerS", "B/s", 1],
  ["DCGM_FI_PROF_PCIE_RX_BYTES", "pcieReceivedBytesPerS", "B/s", 1],
  ["DCGM_FI_PROF_NVLINK_TX_BYTES", "nvlinkSentBytesPerS", "B/s", 1],
  ["DCGM_FI_PROF_NVLINK_RX_BYTES", "nvlinkReceivedBytesPerS", "B/s", 1],
] as const;

const wholeDevice = { withoutLabels: [MIG_INSTANCE] } as const;

/** The memory of an accelerator is the sum of its used, free and reserved parts. */
const memoryParts: readonly MappingRule[] = [
  "DCGM_FI_DEV_FB_USED",
  "DCGM_FI_DEV_FB_FREE",
  "DCGM_FI_DEV_FB_RESERVED",
].map((metric) => ({ metric, value: "memoryTotalMib", ...wholeDevice }));

const named = new Map(
  rows.map(([, name, unit, factor]) => [name, mappedValue("accelerator", name, unit, { factor })] as const),
);

export const acceleratorMapping: Mapping = {
  values: [...named.values(), mappedValue("accelerator", "memoryTotalMib", "MiB", { combine: "sum" })],
  rules: [...rows.map(([metric, value]) => ({ metric, value, ...wholeDevice })), ...memoryParts],
};
