import type { ErrorComponentProps } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { Failure } from "../parts/states.tsx";

/** A page that could not be drawn or loaded. After an update of the control plane its old files are gone: load again. */
export function RouteFailure({ error }: ErrorComponentProps): ReactElement {
  return <Failure error={error} onRetry={() => window.location.reload()} />;
}
