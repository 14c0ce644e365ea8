/** The sizing page: time, memory and cost of training and serving. The performance model runs in the browser. */
import { getRouteApi } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { Segments } from "../../parts/controls.tsx";
import { Page } from "../../parts/page.tsx";
import { sizingDefault, type SizingKind } from "../../routes/search-params.ts";
import { FailuresPanel } from "./failures-panel.tsx";
import { NetworkPanel } from "./network-panel.tsx";
import { ServingPanel } from "./serving-panel.tsx";
import { TrainingPanel } from "./training-panel.tsx";

const route = getRouteApi("/size");

const kinds: readonly { readonly value: SizingKind; readonly label: string }[] = [
  { value: "training", label: "Training" },
  { value: "serving", label: "Serving" },
  { value: "network", label: "Network" },
  { value: "failures", label: "Failures" },
];

const panels: Readonly<Record<SizingKind, () => ReactElement>> = {
  training: TrainingPanel,
  serving: ServingPanel,
  network: NetworkPanel,
  failures: FailuresPanel,
};

export function SizePage(): ReactElement {
  const { of = sizingDefault } = route.useSearch();
  const navigate = route.useNavigate();
  const Shown = panels[of];
  return (
    <Page
      title="Size"
      layout="flow"
      summary="Time, memory and cost of training and serving"
      toolbar={
        <Segments
          label="Choose a calculation"
          name="sizing"
          value={of}
          options={kinds}
          onValue={(kind) => void navigate({ search: kind === sizingDefault ? {} : { of: kind }, replace: true })}
        />
      }
    >
      <Shown />
    </Page>
  );
}
