import type { ErrorComponentProps } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { Failure } from "../parts/states.tsx";

/**
 * Shown for a page that failed to load or render. After an update of the control plane the old files no longer exist,
 * and a reload helps.
 */
export function RouteFailure({ error }: ErrorComponentProps): ReactElement {
  return <Failure error={error} onRetry={() => window.location.reload()} />;
}
