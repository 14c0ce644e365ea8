/**
 * Names that drivers (`nvidia-smi`, `rocm-smi`), Kubernetes labels and clouds use for entries of the catalogue, in
 * addition to the entry's own name and aliases. Differences in spelling and vendor words are ignored. Sources: the list
 * of supported products of NVIDIA's data centre drivers, GKE's labels `cloud.google.com/gke-accelerator` and
 * `gke-tpu-accelerator`, SkyPilot's catalogue of accelerators.
 */
export const driverNames: Readonly<Record<string, readonly string[]>> = {
  "A100-SXM-40GB": ["A100-SXM4-40GB", "A100-40GB"],
  "A100-SXM-80GB": ["A100-SXM4-80GB", "A100-80GB"],
  "A100-PCIe-80GB": ["A100-80GB-PCIe"],
  "H100-SXM-80GB": ["H100-80GB-HBM3", "H100-SXM5-80GB", "H100-SXM5", "H100-80GB", "H100-MEGA-80GB"],
  "H100-PCIe-80GB": ["H100-80GB-PCIe"],
  "H100-SXM-96GB-HBM2e": ["H100-SXM5-96GB"],
  "H100-NVL": ["H100-NVL-94GB"],
  "H200-SXM": ["H200-141GB", "H200-141GB-HBM3e"],
  "B200-SXM": ["B200-180GB"],
  "B300-SXM": ["B300-SXM6-AC"],
  GH200: ["GH200-480GB", "GH200-120GB"],
  "RTX-6000-Ada": ["RTX-6000-Ada-Generation"],
  "RTX-PRO-6000": [
    "RTX-PRO-6000-Blackwell-Server-Edition",
    "RTX-PRO-6000-Blackwell-Workstation-Edition",
    "RTX-PRO-6000-Blackwell-Max-Q-Workstation-Edition",
  ],
  MI300X: ["MI300X-OAM"],
  MI325X: ["MI325X-OAM"],
  "TPU-v4": ["tpu-v4-podslice"],
  "TPU-v5e": ["TPU-v5-lite", "tpu-v5-lite-podslice", "tpu-v5-lite-device", "v5litepod"],
  "TPU-v5p": ["tpu-v5p-slice"],
  "TPU-v6e": ["TPU-v6-lite", "tpu-v6e-slice"],
  "TPU-v7x": ["tpu7x"],
  Gaudi2: ["HL-225"],
  Gaudi3: ["HL-325L"],
  Trainium2: ["trn2"],
};
