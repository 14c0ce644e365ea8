/** Times of requests in ms, by index in the trace; NaN: the event has not happened. */
export class RequestTimes {
  readonly startMs: Float64Array;
  readonly firstTokenMs: Float64Array;
  readonly endMs: Float64Array;

  constructor(count: number) {
    this.startMs = new Float64Array(count).fill(Number.NaN);
    this.firstTokenMs = new Float64Array(count).fill(Number.NaN);
    this.endMs = new Float64Array(count).fill(Number.NaN);
  }
}
