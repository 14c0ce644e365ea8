/** Messages between page and worker in addition to the client's calls. */
export interface DemoPorts {
  /** `HeadroomClient` over messages. */
  readonly calls: MessagePort;
  readonly control: MessagePort;
}

export type DemoRequest =
  | { readonly kind: "setSpeed"; readonly speed: number }
  | { readonly kind: "setPaused"; readonly isPaused: boolean };

export interface DemoReport {
  readonly nowMs: number;
  readonly speed: number;
  readonly reachedSpeed: number;
  readonly isPaused: boolean;
}

/** Number of simulated seconds in each real second. */
export const demoSpeeds = [1, 10, 60, 300, 1000] as const;
export const DEMO_SPEED_DEFAULT = 60;
