/** Messages between the crash tests' client and the control plane under test: JSON lines on stdin and stdout. */
import type { Reply } from "@headroom/model";
import type { CommandRequest } from "../../src/driver/driver.ts";
import type { FaultPoint } from "../../src/faults/fault-points.ts";

export interface ControlPlaneOptions {
  readonly home: string;
  readonly executor: "file" | "local";
  readonly synchronous: "full" | "off";
  /** Sequence of the first event from which ends of workloads are reported. */
  readonly eventsFrom: number;
  /**
   * True: the process writes to /dev/null at each fault point, so that the point appears in a trace of system calls.
   */
  readonly marksPoints: boolean;
  /** The process kills itself when it passes the point for the `count`-th time, after `delayMicros` microseconds. */
  readonly kill: { readonly point: FaultPoint; readonly count: number; readonly delayMicros: number } | null;
}

export type ClientLine =
  | { readonly kind: "command"; readonly id: number; readonly request: CommandRequest }
  | { readonly kind: "close" };

export type ControlPlaneLine =
  | { readonly kind: "ready"; readonly sequence: number }
  | { readonly kind: "reply"; readonly id: number; readonly reply: Reply }
  | { readonly kind: "killing"; readonly point: FaultPoint }
  | { readonly kind: "fatal"; readonly message: string }
  /** A workload has ended: read from the event stream, so it is durable. */
  | { readonly kind: "ended"; readonly workloadId: string; readonly sequence: number }
  | { readonly kind: "closed" };
