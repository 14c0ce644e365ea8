/** A slider over round numbers. The value is shown beside the slider, and screen readers read it. */
import { useId } from "react";
import type { ReactElement } from "react";

interface SliderProps {
  readonly label: string;
  readonly steps: readonly number[];
  readonly value: number;
  readonly text: (value: number) => string;
  readonly onValue: (value: number) => void;
}

function Slider({ label, steps, value, text, onValue }: SliderProps): ReactElement {
  const id = useId();
  return (
    <div className="flex flex-col gap-1">
      <div className="flex items-baseline justify-between gap-2">
        <label htmlFor={id} className="font-medium">
          {label}
        </label>
        <output htmlFor={id} className="font-mono text-ink-2">
          {text(value)}
        </output>
      </div>
      <input
        id={id}
        type="range"
        min={0}
        max={steps.length - 1}
        step={1}
        value={nearestIndex(steps, value)}
        aria-valuetext={text(value)}
        className="h-5 w-full accent-accent pointer-coarse:h-8"
        onChange={(event) => onValue(steps[event.target.valueAsNumber] ?? value)}
      />
    </div>
  );
}

export interface SliderRow<Key extends string> {
  readonly key: Key;
  readonly label: string;
  readonly steps: readonly number[];
  readonly text: (value: number) => string;
}

interface SlidersProps<Key extends string> {
  readonly rows: readonly SliderRow<Key>[];
  readonly values: Readonly<Record<Key, number>>;
  readonly onValue: (key: Key, value: number) => void;
}

/** A group of sliders, each for one field of an object. */
export function Sliders<Key extends string>({ rows, values, onValue }: SlidersProps<Key>): ReactElement {
  return (
    <>
      {rows.map(({ key, ...slider }) => (
        <Slider key={key} {...slider} value={values[key]} onValue={(value) => onValue(key, value)} />
      ))}
    </>
  );
}

function nearestIndex(steps: readonly number[], value: number): number {
  let nearest = 0;
  for (const [index, step] of steps.entries()) {
    if (Math.abs(step - value) < Math.abs((steps[nearest] ?? 0) - value)) nearest = index;
  }
  return nearest;
}
