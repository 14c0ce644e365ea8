/** The demo's bar: a notice that all data is simulated, and a control for the speed. */
import { useSyncExternalStore } from "react";
import type { ReactElement } from "react";
import type { DemoControls } from "../connect/demo-controls.ts";
import { useNow } from "../connect/use-now.ts";
import { demoSpeeds } from "../demo/demo-messages.ts";
import { clockText } from "../format/moment.ts";
import { IconButton } from "../parts/button.tsx";
import { Segments, Select } from "../parts/controls.tsx";

const SPEED_LABEL = "Simulated seconds per second";
const speedOptions = demoSpeeds.map((speed) => ({ value: String(speed), label: `${speed}×` }));

export function DemoBar({ demo }: { readonly demo: DemoControls }): ReactElement {
  const { speed, isPaused, reachedSpeed, failure } = useSyncExternalStore(demo.subscribe, () => demo.state);
  const isBehind = !isPaused && reachedSpeed < speed * 0.9;
  return (
    <section
      aria-label="Simulation"
      className="flex flex-wrap items-center gap-x-4 gap-y-1.5 border-b border-line bg-sunken px-4 py-1.5 md:px-6"
    >
      <p className="min-w-0 flex-1">
        <strong className="hidden font-semibold sm:inline">Simulation. </strong>
        <span className="hidden text-ink-2 xl:inline">
          The real engine on a made-up fleet of 512 accelerators, in this browser.{" "}
        </span>
        <DemoClock />
        {isBehind ? <span className="text-wait"> This machine reaches {reachedSpeed}×.</span> : null}
        {failure === null ? null : (
          <span role="alert" className="text-bad">
            {" "}
            The simulation broke down ({failure}). Load the page again.
          </span>
        )}
      </p>
      <div className="flex items-center gap-1.5">
        <IconButton
          icon={isPaused ? "play" : "pause"}
          label={isPaused ? "Let simulated time run" : "Pause simulated time"}
          onClick={() => demo.setPaused(!isPaused)}
        />
        <div className="hidden sm:block">
          <Segments
            label={SPEED_LABEL}
            name="demo-speed"
            value={String(speed)}
            options={speedOptions}
            onValue={(value) => demo.setSpeed(Number(value))}
          />
        </div>
        <div className="sm:hidden">
          <Select
            label={SPEED_LABEL}
            value={String(speed)}
            options={speedOptions}
            onValue={(value) => demo.setSpeed(Number(value))}
          />
        </div>
      </div>
    </section>
  );
}

function DemoClock(): ReactElement {
  return <span className="whitespace-nowrap text-ink-2">{clockText(useNow())}</span>;
}
