/** Incidents: failures of nodes with one cause, and what people do about them. */
import { z } from "zod";
import { instantMs } from "@headroom/spec";

const silence = { kind: z.literal("silence"), untilMs: instantMs };

/** As the journal has it. */
export const incidentAnnotation = z
  .discriminatedUnion("kind", [
    z.object({ kind: z.literal("acknowledge") }),
    z.object(silence),
    z.object({ kind: z.literal("resolve") }),
    z.object({ kind: z.literal("note"), text: z.string() }),
  ])
  .meta({ id: "IncidentAnnotation" });

const faultSeverity = z.enum(["info", "warning", "critical"]);

/** As the journal has it. */
export const nodeFault = z
  .object({ code: z.string(), severity: faultSeverity, device: z.string().optional(), detail: z.string() })
  .meta({ id: "NodeFault" });
