/** A real control plane with real processes in its own folder. The CLI runs against it in the process of the test. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { startControlPlane, type ControlPlaneOptions, type RunningControlPlane } from "@headroom/server";
import { headroom as run, type Said, type Surroundings } from "./recorded-terminal.ts";

export interface LiveControlPlane {
  /** Working directory in which commands run. */
  readonly folder: string;
  readonly plane: RunningControlPlane;
  headroom(args: readonly string[], extra?: Partial<Surroundings>): Promise<Said>;
  /** Stops the control plane and removes its folder. */
  close(): Promise<void>;
}

/** The machine counts as four accelerators of type `slot`, unless options say otherwise. */
export async function startLive(options: Partial<ControlPlaneOptions> = {}): Promise<LiveControlPlane> {
  const folder = mkdtempSync(path.join(tmpdir(), "headroom-cli-"));
  const home = path.join(folder, "home");
  const local = { accelerators: "declared", slotCount: 4, nodeName: "here" } as const;
  const plane = await startControlPlane({ home, port: 0, local, ...options });
  return {
    folder,
    plane,
    headroom: (args, extra = {}) =>
      run(args, { workingDirectory: folder, ...extra, env: { HEADROOM_HOME: home, ...extra.env } }),
    close: async () => {
      await plane.close();
      rmSync(folder, { recursive: true });
    },
  };
}
