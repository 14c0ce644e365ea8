/** Values that depend on whether the accelerator works: they are averaged while it does, and compared among those that mostly do. */

const UNDER_LOAD = /^(?:temperatureC|memoryTemperatureC|powerMilliwatts|smClockMhz|memoryClockMhz)$/;

/** Thousandths of the time that the accelerator is busy from which on it works. */
export const BUSY_MILLI_MIN = 500;

export const isUnderLoad = (metric: string): boolean => UNDER_LOAD.test(metric);
