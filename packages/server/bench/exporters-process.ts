/** Exporters of a fleet in a process of its own: one HTTP server answers as many nodes as ask, each with eight accelerators. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

const ACCELERATORS = 8;
const names = (process.env["EXPORTER_METRICS"] ?? "").split(",");

/** Text in the form of dcgm-exporter, with values that change a little from one reading to the next. */
function textOf(node: string, turn: number): string {
  const lines: string[] = [];
  for (const [at, name] of names.entries()) {
    lines.push(`# HELP ${name} A reading of the accelerator.`, `# TYPE ${name} gauge`);
    for (let index = 0; index < ACCELERATORS; index++) {
      const labels = `gpu="${index}",UUID="GPU-6ad7ea4c-5517-05e7-${node}-${index}",pci_bus_id="00000000:1B:00.0",device="nvidia${index}",modelName="NVIDIA H100 80GB HBM3",Hostname="${node}",DCGM_FI_DRIVER_VERSION="550.90.07"`;
      const wave = Math.sin(turn * 0.7 + at + index) * (at % 3 === 0 ? 0 : 9);
      lines.push(`${name}{${labels}} ${Math.round((at * 17 + index + 20 + wave) * 10) / 10}`);
    }
  }
  return `${lines.join("\n")}\n`;
}

// Few texts are made ahead, so that this process does not compete for the cores.
const texts = Array.from({ length: 16 }, (_, turn) => textOf("node-0000", turn));
let requests = 0;
const server = createServer((_request, response) => {
  response.end(texts[requests++ % texts.length]);
}).listen(0, "127.0.0.1", () => process.send?.({ port: (server.address() as AddressInfo).port }));
process.on("disconnect", () => process.exit(0));
