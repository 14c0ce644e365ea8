/** Drills over HTTP. */
import type { Answer, Call, Gone } from "./calls.ts";
import type { ControlPlane } from "./control-plane.ts";

export const forecastDrill = (
  { drills }: ControlPlane,
  { body, actor }: Call<"forecastDrill">,
  gone: Gone,
): Promise<Answer<"forecastDrill">> => drills.forecast(body, actor, gone());

export const startDrill = (
  { drills }: ControlPlane,
  { body, actor, idempotencyKey }: Call<"startDrill">,
  gone: Gone,
): Promise<Answer<"startDrill">> => drills.begin(body, { actor, idempotencyKey }, gone());

export const listDrills = ({ drills }: ControlPlane): Answer<"listDrills"> => ({ items: drills.list() });

export const getDrill = ({ drills }: ControlPlane, { params: { id } }: Call<"getDrill">): Answer<"getDrill"> =>
  drills.find(id);

export const cancelDrill = (
  { drills }: ControlPlane,
  { params: { id }, actor, idempotencyKey }: Call<"cancelDrill">,
): Promise<Answer<"cancelDrill">> => drills.cancel(id, { actor, idempotencyKey });
