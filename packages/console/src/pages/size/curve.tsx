/** A curve over a logarithmic axis. A table beside it shows the numbers. */
import type { ReactElement } from "react";

export interface CurvePoint {
  readonly x: number;
  readonly y: number;
}

interface CurveProps {
  readonly points: readonly CurvePoint[];
  /** The ideal curve, drawn as a dashed line. */
  readonly ideal?: readonly CurvePoint[];
  /** The chosen point of the curve. */
  readonly mark?: number;
  readonly isLogarithmicY?: boolean;
}

const WIDTH = 320;
const HEIGHT = 140;
const MARGIN = 8;

export function Curve({ points, ideal = [], mark, isLogarithmicY = false }: CurveProps): ReactElement | null {
  const all = [...points, ...ideal];
  if (points.length < 2) return null;
  const scaleY = (y: number): number => (isLogarithmicY ? Math.log(y) : y);
  const horizontal = span(all.map(({ x }) => Math.log(x)));
  const vertical = span(all.map(({ y }) => scaleY(y)));
  const at = ({ x, y }: CurvePoint): readonly [number, number] => [
    MARGIN + (WIDTH - 2 * MARGIN) * horizontal(Math.log(x)),
    HEIGHT - MARGIN - (HEIGHT - 2 * MARGIN) * vertical(scaleY(y)),
  ];
  const line = (list: readonly CurvePoint[]): string => list.map((point) => at(point).join(",")).join(" ");
  const here = points.find(({ x }) => x === mark);
  const [markX, markY] = here === undefined ? [0, 0] : at(here);
  return (
    <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} aria-hidden="true" className="w-full max-w-md">
      <polyline points={line(ideal)} className="fill-none stroke-ink-3" strokeDasharray="4 4" strokeWidth="1" />
      <polyline points={line(points)} className="fill-none stroke-run" strokeWidth="2" />
      {points.map((point) => (
        <circle key={point.x} cx={at(point)[0]} cy={at(point)[1]} r="2" className="fill-run" />
      ))}
      {here === undefined ? null : (
        <circle cx={markX} cy={markY} r="4.5" className="fill-none stroke-ink" strokeWidth="1.5" />
      )}
    </svg>
  );
}

/** Position of a value between the smallest and the largest, from 0 to 1. */
function span(values: readonly number[]): (value: number) => number {
  const least = Math.min(...values);
  const most = Math.max(...values);
  return (value) => (most === least ? 0.5 : (value - least) / (most - least));
}
