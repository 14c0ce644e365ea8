import { generalKnowledge, mlNetwork } from "./sources.ts";

/** A network or host link, or the network of a known server, with its bandwidth in GB/s for each direction. */
export interface LinkEntry {
  readonly name: string;
  readonly kind: "port" | "server" | "host";
  readonly gbPerS: number;
  readonly note?: string;
  readonly source: string;
}

export const links: readonly LinkEntry[] = [
  { name: "InfiniBand HDR", kind: "port", gbPerS: 25, source: mlNetwork },
  { name: "InfiniBand NDR", kind: "port", gbPerS: 50, source: mlNetwork },
  { name: "InfiniBand XDR", kind: "port", gbPerS: 100, source: mlNetwork },
  { name: "InfiniBand GDR", kind: "port", gbPerS: 200, note: "on the roadmap", source: mlNetwork },
  { name: "Ethernet 100G", kind: "port", gbPerS: 12.5, source: generalKnowledge },
  { name: "Ethernet 400G", kind: "port", gbPerS: 50, source: generalKnowledge },
  { name: "Ethernet 800G", kind: "port", gbPerS: 100, source: generalKnowledge },
  { name: "DGX A100 HDR", kind: "server", gbPerS: 200, note: "8 x 200 Gb/s", source: generalKnowledge },
  { name: "DGX H100 NDR", kind: "server", gbPerS: 400, note: "8 x 400 Gb/s", source: mlNetwork },
  { name: "DGX B300 XDR", kind: "server", gbPerS: 800, note: "8 x 800 Gb/s", source: mlNetwork },
  { name: "AWS EFA v1 P4d", kind: "server", gbPerS: 50, note: "4 x 100 Gb/s", source: mlNetwork },
  { name: "AWS EFA v2 P5", kind: "server", gbPerS: 400, note: "32 x 100 Gb/s", source: mlNetwork },
  { name: "AWS EFA v3 P5en", kind: "server", gbPerS: 400, note: "16 x 200 Gb/s", source: mlNetwork },
  { name: "AWS EFA v4 P6-B200", kind: "server", gbPerS: 400, note: "8 x 400 Gb/s", source: mlNetwork },
  { name: "AWS EFA v4 P6-B300", kind: "server", gbPerS: 800, note: "16 x 400 Gb/s", source: mlNetwork },
  { name: "GCP A3 High TCPX", kind: "server", gbPerS: 100, note: "4 x 200 Gb/s", source: mlNetwork },
  { name: "GCP A3 Mega TCPXO", kind: "server", gbPerS: 200, note: "8 x 200 Gb/s", source: mlNetwork },
  { name: "Gaudi2 node", kind: "server", gbPerS: 300, note: "24 x 100 Gb/s", source: mlNetwork },
  { name: "Gaudi3 node", kind: "server", gbPerS: 600, note: "24 x 200 Gb/s", source: mlNetwork },
  { name: "Slingshot", kind: "server", gbPerS: 100, note: "4 x 200 Gb/s", source: mlNetwork },
  { name: "PCIe 4 x16", kind: "host", gbPerS: 31, source: mlNetwork },
  { name: "PCIe 5 x16", kind: "host", gbPerS: 63, source: mlNetwork },
  { name: "PCIe 6 x16", kind: "host", gbPerS: 121, source: mlNetwork },
  { name: "NVLink-C2C", kind: "host", gbPerS: 450, source: mlNetwork },
];

export function findLink(name: string): LinkEntry | undefined {
  const wanted = name.toLowerCase();
  return links.find((link) => link.name.toLowerCase() === wanted);
}
